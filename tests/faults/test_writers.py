"""No module writes a file but through ``whole.py``, or for a reason that stands here; read from the modules' text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[2] / "hvm4viz"

REASONS: Final = {
    "trace/whole.py": "the home of it",
    "trace/writer.py _Sink.__init__": "a recording grows while its run goes on, and is readable up to any batch",
    "trace/writer.py Writer.__init__": "puts the library's stream on that file",
    "figures/animation_files.py write_gif": "writes the part that animate has from whole_file",
    "figures/animation_files.py write_page": "writes the part that animate has from whole_file",
    "device/compiler.py _built": "compiled in a folder of its own, then renamed into the cache",
    "device/compiler.py _ask_for_room": "in that folder, to see whether there is room",
    "device/openings.py _open_copy": "in a folder that goes with the process",
    "kernel_text/metal_text.py compiled": "in a temporary folder, for a compiler",
    "bench/suite.py _written": "in a temporary folder, for a rival",
    "streams.py": "no file: what takes the place of a closed standard stream",
    "sweeps/processes.py serve": "no file: pipes to a process",
    "collapse.py Enumeration._go_on": "no file: a turn takes the place of another",
}
"""Modules, or functions of them, that open something for writing themselves."""

LENDING: Final = ("whole_file", "part_of")
IN_MEMORY: Final = ("io.BytesIO", "io.StringIO", "pa.BufferOutputStream")
WRITING: Final = {
    "copy", "copy2", "copyfile", "copyfileobj", "copytree", "fdopen", "imsave", "imwrite", "link", "link_to", "mkstemp",
    "move", "NamedTemporaryFile", "rename", "renames", "save", "savefig", "savetxt", "savez", "savez_compressed",
    "symlink_to", "to_csv", "to_parquet", "tofile", "touch", "write_bytes", "write_csv", "write_feather",
    "write_graphml", "write_graphml_xml", "write_table", "write_text", "CSVWriter", "ParquetWriter", "OSFile",
    "new_file",
}  # fmt: skip
"""Names of functions and methods that write files, in Python and in the libraries that we use."""
OURS: Final = {"save", "to_csv", "to_parquet", "copy", "move"}
"""Those that are methods of our own, too: they count where the call has an option of the libraries' alone."""
THEIRS: Final = {"format", "save_all", "index", "engine"}


def opens_for_writing(call: ast.Call) -> bool:
    """Tell whether a call opens or makes a file, as far as its text says."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    words = [*call.args, *(each.value for each in call.keywords)]
    if name == "open":
        text = ast.unparse(call)
        if text.startswith("os.open("):
            return "O_WRONLY" in text or "O_RDWR" in text or "flags" in text
        modes = [each.value for each in words if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return any(set(mode) <= set("rwxabt+U") and set(mode) & set("wxa+") for mode in modes)
    if name == "replace":
        return isinstance(call.func, ast.Attribute) and len(words) == 1 and not call.keywords
    if name in OURS:
        return any(each.arg in THEIRS for each in call.keywords) or ast.unparse(call.func).startswith("shutil.")
    return name in WRITING


def writers(tree: ast.AST, name: str = "", lent: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield the function and the text of each call that writes, but into memory or what ``whole_file`` has lent."""
    for node in ast.iter_child_nodes(tree):
        within, names = name, lent
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = f"{name}.{node.name}".strip(".")
            made = [
                each for each in ast.walk(node) if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)
            ]
            in_memory = [each for each in made if ast.unparse(each.value.func) in IN_MEMORY]  # type: ignore[attr-defined]
            names |= {ast.unparse(target) for each in in_memory for target in each.targets}
        if isinstance(node, ast.With):
            items = [each for each in node.items if isinstance(each.context_expr, ast.Call)]
            calls = {each: ast.unparse(each.context_expr.func) for each in items}  # type: ignore[attr-defined]
            names |= {ast.unparse(e.optional_vars) for e in items if calls[e] in LENDING and e.optional_vars}
            for each in node.items:  # what is opened in the same line counts as inside of it
                opened = {n.id for n in ast.walk(each.context_expr) if isinstance(n, ast.Name)}
                if opened & names and each.optional_vars:
                    names |= {ast.unparse(each.optional_vars)}
        if isinstance(node, ast.Call) and opens_for_writing(node):
            used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if not used & names:
                yield within, ast.unparse(node)
        yield from writers(node, within, names)


def found() -> Iterator[tuple[str, str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        for function, text in writers(ast.parse(path.read_text(encoding="utf-8"))):
            yield module, function, text


def test_every_file_is_written_whole_or_for_a_reason() -> None:
    used = set()
    for module, function, text in found():
        reason = {module, f"{module} {function}"} & set(REASONS)
        assert reason, f"{module}, {function}: {text}: write through whole.py, or say in REASONS why not"
        used |= reason
    assert used == set(REASONS), "a reason for what is there no more"


@pytest.mark.parametrize(
    "text",
    [
        'open(path, "w")', 'open(path, mode="ab")', 'path.open("xb")', 'io.open(path, "r+")', "path.write_text(x)",
        "path.write_bytes(x)", "figure.savefig(path)", "plt.imsave(path, x)", "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "shutil.copyfile(a, b)", "shutil.copy(a, b)", "os.rename(a, b)", "a.replace(b)", "a.rename(b)", "os.link(a, b)",
        "np.savez(path, **x)", "x.tofile(path)", 'image.save(path, format="PNG")', "parquet.write_table(t, path)",
        "with whole_file(other) as part: path.write_text(x)", "frame.to_csv(path, index=False)",
    ],
)  # fmt: skip
def test_a_writer_that_forgets_is_seen(text: str) -> None:
    assert len(list(writers(ast.parse(text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "with whole_file(path) as part: part.write_text(x)",
        'with whole_file(path) as part, part.open("wb") as f: f.write(x)',
        'with whole_file(path) as part, part.open("wb") as file: np.savez(file, **x)',
        "open(path)", 'open(path, "rb")', 'path.open(encoding="utf-8")', 'a.replace("x", "y")', "replace(run, name=x)",
        "trace.save(path)", "def f(): sink = io.BytesIO(); image.save(sink, format='PNG')",
        "os.open(path, os.O_RDONLY)", 'open_device("cpu")',
    ],
)  # fmt: skip
def test_what_writes_no_file_of_its_own_is_not_taken_for_one(text: str) -> None:
    assert not list(writers(ast.parse(text)))
