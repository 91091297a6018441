"""What linters cannot see: style.md's promises about files, checked on the tree that git knows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CROSS_CUTTING = {"messages", "mutation",
    "cases", "differential", "escaping", "faults", "fuzz", "golden", "notebooks", "oracle", "rules", "sanitizers",
    "schedules"
}  # fmt: skip
WHOLE_TREE = {"test_layers.py", "test_livelock.py", "test_readme.py", "test_tidy.py"}
ENTRIES = {"hvm4viz/__main__.py", "hvm4viz/__init__.py"}
DISCOVERED = {"figures", "device", "widgets"}
"""Folders whose files are found by name: nothing needs to import them."""


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git checkout: nothing says which files belong to the project")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def texts(*suffixes: str) -> list[tuple[str, str]]:
    return [
        (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in tracked()
        if path.suffix in suffixes
    ]


def test_every_test_file_stands_where_its_subject_does() -> None:
    for path in (ROOT / "tests").rglob("test_*.py"):
        inside = path.relative_to(ROOT / "tests")
        if inside.parts[0] in CROSS_CUTTING or inside.name in WHOLE_TREE:
            continue
        name = inside.name.removeprefix("test_").removesuffix(".py")
        subjects = [ROOT / folder / inside.parent / name for folder in ("hvm4viz", "", "tests")]
        found = [s for s in subjects if s.is_dir() or s.with_suffix(".py").is_file() or s.with_suffix(".h").is_file()]
        shared = inside.parent != Path() and (ROOT / "hvm4viz" / inside.parent).is_dir() and not found
        assert found or shared, f"{inside} tests nothing of that name"


def test_no_module_is_left_unused() -> None:
    code = "\n".join(text for _, text in texts(".py", ".toml", ".ipynb"))
    for path in sorted((ROOT / "hvm4viz").rglob("*.py")):
        name = path.relative_to(ROOT)
        if name.as_posix() in ENTRIES or name.parts[1] in DISCOVERED or path.name == "__init__.py":
            continue
        dotted = ".".join(name.with_suffix("").parts)
        parent, _, last = dotted.rpartition(".")
        used = rf"\b{re.escape(dotted)}\b|from {re.escape(parent)} import (\([^)]*|[^\n]*)\b{last}\b"
        assert re.search(used, code), f"nothing uses {name}"


def test_nothing_names_the_machine_it_was_made_on() -> None:
    for name, text in texts(".py", ".md", ".toml", ".yml", ".ipynb", ".h", ".metal", ".hvm4", ".js", ".css", ".json"):
        found = re.search(r"(?<![\w.])/(?:home|Users|root|work|mnt)/\w+", text)
        assert not found or name == "tests/test_tidy.py", f"{name}: {found and found[0]}"


def test_text_files_end_in_one_line_break_and_hold_no_stray_blanks() -> None:
    for name, text in texts(".py", ".md", ".toml", ".yml", ".h", ".metal"):
        assert not text or (text.endswith("\n") and not text.endswith("\n\n")), name
        stray = [number for number, line in enumerate(text.splitlines(), 1) if line != line.rstrip()]
        assert not stray, f"{name}: blanks at the end of lines {stray}"


def test_no_file_is_larger_than_a_megabyte() -> None:
    for path in tracked():
        assert path.stat().st_size < 1_000_000, path


def test_most_files_are_read_at_one_sitting() -> None:
    lengths = {
        name: text.count("\n") for name, text in texts(".py", ".h", ".metal") if name.startswith(("hvm4viz", "kernels"))
    }
    long = {name: lines for name, lines in lengths.items() if lines > 150}
    assert len(long) <= len(lengths) / 4, f"too many files over 150 lines: {long}"
    assert not (over := {name: lines for name, lines in lengths.items() if lines > 500}), over


@pytest.mark.parametrize("path", sorted((ROOT / "kernels/rules").glob("*.h")), ids=lambda path: path.stem)
def test_every_rule_is_small_and_opens_with_sequent_words_writes_and_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    head = text.split("FUNC ", 1)[0]
    assert re.search(r"^// -{3,}", head, flags=re.MULTILINE), "no bar of the sequent"
    for label in ("words:", "writes:", "example:"):
        assert re.search(rf"^// {label}", head, flags=re.MULTILINE), f"no {label} line"
    assert f"rule_{path.stem}" in text


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_saved_clean(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d\d_\w+\.ipynb", path.name)
    assert set(book["metadata"]) <= {"kernelspec", "language_info"}
    for cell in book["cells"]:
        assert not cell.get("outputs"), "an output was saved"
        assert cell.get("execution_count") is None, "an execution count was saved"
        assert set(cell["metadata"]) <= {"tags"}
    first = "".join(book["cells"][0]["source"])
    assert "**Question.**" in first
    assert "**Answer.**" in first


def test_the_wheel_ships_every_notebook() -> None:
    shipped = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f'"notebooks/{path.name}"' in shipped
