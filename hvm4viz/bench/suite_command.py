"""``hvm4viz bench suite``, which is what ``hvm4viz bench`` measures if it is not told what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hvm4viz.arguments import add_options, run_arguments
from hvm4viz.bench.suite import Timed, measure_suite
from hvm4viz.bench.suite_programs import SIZES, suite
from hvm4viz.bench.suite_report import as_figure, as_json, as_markdown
from hvm4viz.commands import CODES, DIFFERENT, OK
from hvm4viz.figure_request import FORMATS, write_figure
from hvm4viz.streams import complain, note, put

_SECONDS: Final = 20.0
_TIMEOUT: Final = 120.0
_OPTIONS: Final = (
    "device", "workers", "blocks", "threads_per_block", "region_size", "heap", "dup", "owner_unit", "visibility",
    "defer", "shard", "fork", "fuel",
)  # fmt: skip


def complete(argv: Sequence[str]) -> list[str]:
    """Put ``suite`` behind ``bench`` where nothing says what to measure."""
    words = list(argv)
    if words[:1] == ["bench"] and (len(words) == 1 or (words[1][:1] == "-" and words[1] not in ("-h", "--help"))):
        words.insert(1, "suite")
    return words


def add_suite(kinds: Any) -> None:
    """Add the command to those of ``bench``."""
    parser: argparse.ArgumentParser = kinds.add_parser(
        "suite",
        help="the suite of programs, alone or against another implementation (what is measured by default)",
        description="Interactions a second, passes and memory of the suite's programs: medians of rounds, answers "
        "checked. With --vs, the same programs on another implementation, in turn, and how many times as long it "
        "takes.",
        allow_abbrev=False,
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="names in the suite (default: all)")
    parser.add_argument("--vs", metavar="BINARY", help="compare with a binary that is called as HVM4's C runtime is")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each side (default: 5)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SECONDS,
        metavar="SEC",
        help=f"no new round of a program after SEC (default: {_SECONDS:g})",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT,
        metavar="SEC",
        help=f"stop a run of either side after SEC (default: {_TIMEOUT:g})",
    )
    parser.add_argument(
        "--size", choices=SIZES, default="medium", help="how much each program has to do (default: medium)"
    )
    parser.add_argument("--no-memory", action="store_true", help="leave out the runs that measure peaks of memory")
    parser.add_argument("--json", action="store_true", help="print every number as one JSON object")
    parser.add_argument("--fig", metavar="FILE", help="draw a figure: .png, .pdf or .svg")
    add_options(parser, "shell", only=_OPTIONS)
    parser.set_defaults(command=bench_suite)


def bench_suite(given: argparse.Namespace) -> int:
    """Measure the suite; print a table."""
    for name, usual in (("seconds", _SECONDS), ("timeout", _TIMEOUT)):
        if not getattr(given, name) >= 0:
            raise ValueError(
                f"--{name} {getattr(given, name)}: must be 0 or more; leave it out for {usual:g}, the default"
            )
    path = None if given.fig is None else _figure_file(given.fig)
    arguments = run_arguments(given, "shell")
    machine, device = arguments["machine"], arguments.get("device", "auto")
    programs = suite(given.programs, size=given.size)
    against = None if given.vs is None else Path(given.vs).name
    found: list[Timed] = []
    for each in measure_suite(
        programs,
        machine=machine,
        device=device,
        workers=given.workers,
        vs=given.vs,
        rounds=given.rounds,
        seconds=given.seconds,
        timeout=given.timeout,
        memory=not given.no_memory,
        on_program=lambda program: note(f"measuring {program.name}"),
    ):
        found.append(each)
        for problem in each.problems:
            complain(f"{each.name}: {problem}")
    put(as_json(found) if given.json else as_markdown(found, against=against))
    if path is not None:
        write_figure(as_figure(found, against=against), path)
        note(f"figure: {path}")
    stopped = [CODES[each.status] for each in found if each.status != "done"]
    wrong = any(each.problems for each in found)
    return stopped[0] if stopped else DIFFERENT if wrong else OK


def _figure_file(text: str) -> Path:
    """Refuse a file that cannot be written before anything runs."""
    path = Path(text).expanduser()
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"figure file {text!r} must end in one of {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise ValueError(f"figure file {text!r}: there is no folder {str(path.parent)!r}")
    return path
