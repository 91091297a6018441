"""Which way imports point: style.md's order, read from the imports themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "hvm4viz"

LAYERS = (
    {"errors", "limits", "interrupt"},
    {"term", "events", "settings", "preferences", "resuming"},
    {"syntax", "rules"},
    {"book", "program"},
    {"syntax.printer", "syntax.shapes", "syntax.spelling", "syntax.spines", "syntax.view"},
    {"kernel_text"},
    {"heap", "readback", "regions", "stops", "admit"},
    {"far", "far_heap"},
    {"device"},
    {"watch", "shadow"},
    {"deltas"},
    {
        "kernel_text.address_spaces",
        "kernel_text.lint",
        "kernel_text.metal_text",
        "kernel_text.words",
    },
    {"store"},
    {"workspace", "turns"},
    {"joining", "batch", "settling"},
    {"fuel"},
    {"frontier"},
    {"machine", "primitives", "nodes", "evaluate"},
    {"collapse"},
    {"state"},
    {"readmit"},
    {"trace"},
    {"measure"},
    {"progress"},
    {"figures"},
    {"widgets"},
    {"outcome", "estimate"},
    {"execution", "resume"},
    {"run"},
    {"sweeps"},
    {"quiet"},
    {"golden"},
    {"options", "arguments", "figure_request", "wording", "outputs", "completion", "lab", "streams", "bench"},
    {"selftest", "diagnosis", "health", "doctor"},
    {"commands", "magics"},
    {"bench.command", "bench.suite_command", "figure_commands", "sweep_command", "trace_commands"},
    {"cli"},
    {"__init__"},
    {"__main__"},
)
"""An import may point to an earlier layer, or stay in its own. A longer name goes before a shorter one."""

RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}

BORDERS = {
    "IPython": {"widgets", "figures", "magics", "progress"},
    "anywidget": {"widgets"},
    "ipywidgets": {"widgets"},
    "matplotlib": {"widgets", "figures", "figure_request"},
    "pyarrow": {"trace"},
    "metalcompute": {"device"},
}
"""Where a library may be met; everything else stays importable without it."""

LAZY = {"IPython", "anywidget", "ipywidgets", "matplotlib", "pyarrow", "metalcompute"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def top(path: Path) -> str:
    return dotted(path).split(".")[0]


def rank(module: str) -> int | None:
    """Return the layer of a module, by the longest name that stands in ``LAYERS``."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((RANK[name] for name in names if name in RANK), None)


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield each imported module with whether importing ``path`` imports it too; annotations alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    lazy = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node not in lazy
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            assert node.module
            if node.module == "hvm4viz":
                for alias in node.names:
                    yield f"hvm4viz.{alias.name}", node not in lazy
            else:
                yield node.module, node not in lazy


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_left(path: Path) -> None:
    own = rank(dotted(path))
    assert own is not None, f"{dotted(path)} has no layer: put it into LAYERS"
    for name, _ in imported(path):
        library, _, module = name.partition(".")
        if library == "hvm4viz" and module != "__version__":
            other = rank(module)
            assert other is not None, f"{name} has no layer: put it into LAYERS"
            assert other <= own, f"{dotted(path)} must not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_libraries_stay_behind_their_borders(path: Path) -> None:
    for name, at_import in imported(path):
        library = name.split(".")[0]
        assert top(path) in BORDERS.get(library, {top(path)}), f"{top(path)} must not import {library}"
        if library in LAZY and at_import:
            assert top(path) not in {"run", "device", "machine", "widgets"} or path.name == "base.py", (
                f"{path.name} must import {library} where it is used"
            )
