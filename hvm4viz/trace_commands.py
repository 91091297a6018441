"""Commands of the command line that read traces: ``export`` and ``compare``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.commands import DIFFERENT, OK, read_trace
from hvm4viz.streams import note, put

if TYPE_CHECKING:
    from hvm4viz.trace import Trace

FORMATS: Final = ("perfetto", "csv", "parquet", "npz", "dot", "graphml")
TABLES: Final = (
    "passes", "events", "deferrals", "pairs", "outcomes", "rules", "cells", "remote", "given", "ops", "deltas",
)  # fmt: skip
"""What csv, parquet and npz can hold: one table a file (``trace/export/tables.py``)."""

_OPTIONS: Final = {
    "csv": ("table",),
    "parquet": ("table",),
    "npz": ("table",),
    "dot": ("pass_index", "root", "depth", "max_nodes"),
    "graphml": ("pass_index", "root", "depth", "max_nodes"),
    "perfetto": ("clock",),
}
"""Which options each format takes."""


def add_trace_commands(verbs: Any) -> None:
    """Add the commands to the parser of the command line."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "export",
        help="write a trace as other tools read it",
        description="Write a trace as other tools read it: for ui.perfetto.dev, as tables, or as the graph of a pass.",
        allow_abbrev=False,
    )
    parser.add_argument("trace", metavar="TRACE", help="a .hvt file")
    parser.add_argument("--to", required=True, choices=FORMATS, dest="format", help="the format")
    parser.add_argument("out", metavar="OUT", help="file to write")
    parser.add_argument("--table", choices=TABLES, help="table of csv, parquet and npz (default: deferrals)")
    parser.add_argument("--pass", dest="pass_index", type=int, metavar="N", help="pass of dot and graphml (default: 0)")
    parser.add_argument("--root", type=int, metavar="CELL", help="cell that dot and graphml start from")
    parser.add_argument("--depth", type=int, metavar="N", help="steps from there (default: 6)")
    parser.add_argument("--max-nodes", type=int, metavar="N", help="most cells of dot and graphml (default: 300)")
    parser.add_argument("--clock", choices=("pass", "time"), help="length of a pass in perfetto (default: pass)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it is there")
    parser.set_defaults(command=export)

    parser = verbs.add_parser(
        "compare",
        help="compare two traces; exit 1 if they differ",
        description="Compare two traces: where they part first, and what differs in all. Exit code 1 if they differ.",
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", help="a .hvt file")
    parser.add_argument("b", metavar="B", help="another one")
    parser.add_argument(
        "--align",
        choices=("pass", "interactions"),
        default="pass",
        help="pass by pass, or task by task whatever passes they ran in (default: pass)",
    )
    parser.set_defaults(command=compare)


def export(given: argparse.Namespace) -> int:
    """Write a trace in another format."""
    names = ("table", "pass_index", "root", "depth", "max_nodes", "clock")
    chosen = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    for name in chosen:
        if name not in _OPTIONS[given.format]:
            flag = "--pass" if name == "pass_index" else f"--{name.replace('_', '-')}"
            takers = ", ".join(each for each, taken in _OPTIONS.items() if name in taken)
            raise ValueError(f"{given.format} has no option {flag}; it is for {takers}")
    trace = read_trace(given.trace)
    if given.format in ("dot", "graphml") and trace.level != "full":
        raise ValueError(
            f"{given.trace}: --to {given.format} draws cells, which were not recorded (level {trace.level}); "
            "record the program again under another name with record='full' save='FILE.hvt'"
        )
    try:
        path = _write(trace, given.format, Path(given.out), chosen, overwrite=given.overwrite)
    except IndexError as error:  # no such pass, or no such cell
        raise ValueError(str(error)) from None
    note(f"{given.format}: {path}, {path.stat().st_size:,} bytes")
    return OK


def _write(trace: Trace, kind: str, path: Path, chosen: dict[str, Any], *, overwrite: bool) -> Path:
    if kind in ("dot", "graphml"):
        p = chosen.pop("pass_index", 0)
        write = trace.to_dot if kind == "dot" else trace.to_graphml
        return write(path, p, overwrite=overwrite, **chosen)
    if kind == "perfetto":
        return trace.to_perfetto(path, overwrite=overwrite, **chosen)
    tables = {"csv": trace.to_csv, "parquet": trace.to_parquet, "npz": trace.to_npz}
    return tables[kind](path, overwrite=overwrite, **chosen)


def compare(given: argparse.Namespace) -> int:
    """Compare two traces; exit 1 if they differ."""
    from hvm4viz.trace.compare import Comparison

    found = Comparison(read_trace(given.a), read_trace(given.b), given.align, (given.a, given.b))
    put(str(found))
    return OK if found.equal else DIFFERENT
