"""One table of options: the command line and the notebook cell are both built from it, so neither lags the other.

Defaults are not set here: an option that was not given is not passed on, and ``run`` and ``Machine`` decide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import signature
from keyword import iskeyword
from typing import Final, Literal, cast

from hvm4viz.run import run
from hvm4viz.settings import CHOICES, Machine, parse_size

Door = Literal["cell", "shell"]
Target = Literal["machine", "run", "door", "figure", "style"]

BOTH: Final[tuple[Door, ...]] = ("cell", "shell")
CELL: Final[tuple[Door, ...]] = ("cell",)
SHELL: Final[tuple[Door, ...]] = ("shell",)

MODES: Final = ("snf", "collapse")
RECORDS: Final = ("off", "counts", "events", "full")
VIEWS: Final = ("auto", "widget", "static", "table", "text", "none")
PANELS: Final = ("overview", "heap", "inspector", "events")


PASS_LIST_MAX: Final = 10_000_000
"""Most passes that a list may name: more than a run has unless it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes
    ----------
    flags : tuple of str
        Short form first, if there is one.
    target : {"machine", "run", "door", "figure", "style"}
        Whose setting it is: ``Machine``'s, ``run``'s, that of the door it came through, a figure's or ``style``'s.
    dest : str
        Name of that setting.
    help : str
    kind : callable or None
        From text to value; None: a switch.
    metavar : str or None
    choices : tuple of str
    many : bool
        Whether it may be given more than once.
    doors : tuple of {"cell", "shell"}
        Where it is understood.
    """

    flags: tuple[str, ...]
    target: Target
    dest: str
    help: str
    kind: Callable[[str], object] | None
    metavar: str | None
    choices: tuple[str, ...]
    many: bool
    doors: tuple[Door, ...]


def _option(
    flags: str,
    place: str,
    text: str,
    metavar: str | None = None,
    *,
    kind: Callable[[str], object] | None = str,
    choices: tuple[str, ...] = (),
    many: bool = False,
    doors: tuple[Door, ...] = BOTH,
) -> Option:
    """Describe an option: its flags, ``target.dest``, its help, and what stands for its value."""
    target, dest = place.split(".")
    return Option(
        flags=tuple(flags.split()),
        target=cast("Target", target),
        dest=dest,
        help=text,
        kind=kind,
        metavar=metavar,
        choices=choices,
        many=many,
        doors=doors,
    )


def _setting(flags: str, text: str, metavar: str | None = None, kind: Callable[[str], object] | None = None) -> Option:
    """Describe a field of ``Machine``; name, choices and default are read from there."""
    dest = flags.rsplit(maxsplit=1)[-1].removeprefix("--").replace("-", "_")
    default = next(field.default for field in fields(Machine) if field.name == dest)
    choices = CHOICES.get(dest, ())
    return _option(
        flags,
        f"machine.{dest}",
        f"{text} (default: {default})",
        metavar,
        kind=kind or str,
        choices=choices,
    )


def _argument(
    flags: str,
    place: str,
    text: str,
    metavar: str | None = None,
    *,
    kind: Callable[[str], object] = str,
    choices: tuple[str, ...] = (),
) -> Option:
    """Describe an argument of ``run``, whose default is read from there."""
    default = signature(run).parameters[place.removeprefix("run.")].default
    shown = f"{default:_}" if isinstance(default, int) else default
    return _option(flags, place, f"{text} (default: {shown})", metavar, kind=kind, choices=choices)


def _size(text: str) -> str:
    """Check a size, and pass it on as it was written."""
    try:
        parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _size_or_auto(text: str) -> str:
    return text if text == "auto" else _size(text)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number") from None


def _fuel(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number or auto") from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of seconds above 0")
    return seconds


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number") from None


def _definition(text: str) -> str:
    return text.removeprefix("@")


def _pixels(text: str) -> int:
    if not text.isdigit() or not 320 <= int(text) <= 2000:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of pixels from 320 to 2,000")
    return int(text)


def _panels(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in PANELS:
            raise argparse.ArgumentTypeError(f"{name!r} is no panel; write some of {','.join(PANELS)}")
    return names


def page_file(text: str) -> str:
    """Let the name of a page pass.

    Raises
    ------
    argparse.ArgumentTypeError
        If it does not end as one.
    """
    if not text.lower().endswith((".html", ".htm")):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .html")
    return text


def _two_numbers(text: str) -> tuple[int, int]:
    first, _, second = text.partition("x")
    if not (first.isdecimal() and second.isdecimal() and int(first) and int(second)):
        raise argparse.ArgumentTypeError(f"{text!r} must be two whole numbers above 0, such as 300x400")
    return int(first), int(second)


def _pass_list(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split("+"):
        first, dots, last = part.partition("..")
        ends = (_whole(first), _whole(last if dots else first))
        if dots and not 0 <= ends[0] <= ends[1] <= ends[0] + PASS_LIST_MAX:
            raise argparse.ArgumentTypeError(f"{part!r} must go up from one pass to a later one, such as 0..9")
        found += range(ends[0], ends[1] + 1)
    return found


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split("+") if name)


def _variable(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} cannot name a variable; write letters, digits and _, such as run")
    return text


# fmt: off
GROUPS: Final[dict[str, tuple[Option, ...]]] = {
    "program": (
        _option("-o --out", "door.out", "bind the run to NAME (it is also the cell's value)", "NAME", kind=_variable,
                doors=CELL),
        _option("-n --name", "door.name", "save this cell's definitions as BOOK", "BOOK", doors=CELL),
        _option("-i --import", "door.imports", "add the definitions saved as BOOK (repeat)", "BOOK", many=True,
                doors=CELL),
        _argument("-m --main", "run.entry", "entry definition", "NAME", kind=_definition),
        _option("--include-root", "door.include_root", "how far #include may reach (default: its folder)", "DIR"),
        _option("-x --expand", "door.expand", "replace {{name}} by the notebook's variable", kind=None, doors=CELL),
        _option("--no-run", "door.no_run", "parse and check only", kind=None),
    ),
    "run": (
        _argument("-D --device", "run.device", "kind of device that runs the kernel", "KIND"),
        _option("--mode", "run.mode", "normal form, or each branch of superpositions (default: snf)", choices=MODES),
        _option("-C --collapse", "door.collapse", "short for --mode collapse", kind=None),
        _option("-l --limit", "run.limit", "collapse, and stop after N results; negative: no limit", "N", kind=_whole),
        _argument("-p --max-passes", "run.max_passes", "stop after N passes", "N", kind=_whole),
        _option("--timeout", "run.timeout", "stop after SEC seconds (default: never)", "SEC", kind=_seconds),
        _option("--workers", "run.workers", "host threads of the cpu device (default: one a core)", "N", kind=_whole),
        _argument("--seed", "run.seed", "schedule of the sim device", "N", kind=_whole),
        _option("-c --check", "run.check", "compare with one block of one thread on the cpu", kind=None),
        _argument("--repeat", "run.repeat", "run N times and require one digest", "N", kind=_whole),
    ),
    "machine": (
        _setting("-B --blocks", "logical blocks", "N", _whole),
        _setting("-t --threads-per-block", "threads a block, a power of two", "N", _whole),
        _setting("-s --region-size", "cells a region, a power of two", "CELLS", _whole),
        _setting("-H --heap", "most memory the heap may take", "SIZE", _size),
        _setting("-d --dup", "who may take a duplication slot"),
        _setting("--owner-unit", "what owns a slot"),
        _setting("--visibility", "when other threads see a published value"),
        _setting("--shard", "how fresh entries are dealt"),
        _setting("--defer", "what a deferred task does next"),
        _setting("--fork", "whether strict operands are tasks of their own"),
        _setting("--fuel", "interactions an entry may spend in a pass, or auto", "N", _fuel),
        _setting("--memory", "where heap and frontier live"),
    ),
    "trace": (
        _argument("-R --record", "run.record", "how much to record", choices=RECORDS),
        _argument("--trace-limit", "run.trace_limit", "most memory of the trace", "SIZE", kind=_size_or_auto),
        _option("--save", "run.save", "write the trace to FILE while running", "FILE", doors=CELL),
        _option("-o --save", "run.save", "write the trace to FILE while running", "FILE", doors=SHELL),
    ),
    "output": (
        _option("-v --view", "door.view", "what the cell shows (default: auto)", choices=VIEWS, doors=CELL),
        _option("--panels", "door.panels", f"panels of the view: some of {','.join(PANELS)}", "LIST", kind=_panels,
                doors=CELL),
        _option("--pass", "door.pass_index", "pass that the view begins with (default: 0)", "N", kind=_whole,
                doors=CELL),
        _option("--height", "door.height", "height of the view (default: 560)", "PX", kind=_pixels, doors=CELL),
        _option("--html", "door.html", "write the view to FILE, one page that needs no kernel and no network", "FILE",
                kind=page_file),
        _option("--fig", "door.fig", "draw a figure of the trace (repeat); FILE ends in .png, .pdf or .svg; options "
                "are those of `hvm4viz figure`, such as pass_diagram,pass=3,venue=acm=run.pdf",
                "KIND[,OPTION...][=FILE]", many=True),
        _option("-e --expect", "door.expect", "fail unless the answer is TEXT", "TEXT"),
        _option("-q --quiet", "door.quiet", "show nothing but the answer and errors", kind=None, doors=SHELL),
        _option("-q --quiet", "door.quiet", "show nothing but errors", kind=None, doors=CELL),
        _option("--json", "door.json", "print one JSON object instead of the result lines", kind=None, doors=SHELL),
    ),
}
"""Every option that this version supports, by group, in the order of the help text."""

FIGURE: Final[tuple[Option, ...]] = (
    _option("--pass", "figure.p", "which pass; -1 is the last", "N", kind=_whole, doors=()),
    _option("--passes", "figure.passes", "which passes: 3, 0..9, or several of these with + between", "LIST",
            kind=_pass_list, doors=()),
    _option("--with", "figure.b", "the trace that is set against the first one", "B.hvt", doors=()),
    _option("--root", "figure.root", "cell to start from", "CELL", kind=_whole, doors=()),
    _option("--depth", "figure.depth", "most steps from there", "N", kind=_whole, doors=()),
    _option("--max-nodes", "figure.max_nodes", "most cells", "N", kind=_whole, doors=()),
    _option("--what", "figure.what", "what is counted (default: deferrals)",
            choices=("deferrals", "deferrals to", "entries", "cells", "remote writes", "takes", "writes"), doors=()),
    _option("--reduce", "figure.reduce", "what becomes of values that share a pixel (default: max)",
            choices=("max", "sum", "mean"), doors=()),
    _option("--norm", "figure.norm", "scale of the colours (default: log)", choices=("log", "linear"), doors=()),
    _option("--shape", "figure.shape", "most regions and passes drawn apart (default: as many as pixels)", "RxP",
            kind=_two_numbers, doors=()),
    _option("--zero", "figure.zero", "colour of what is zero", "COLOR", doors=()),
    _option("--marks", "figure.marks", "passes to mark with a line", "LIST", kind=_pass_list, doors=()),
    _option("--no-colorbar", "figure.colorbar", "leave out the scale of the colours", kind=None, doors=()),
    _option("--no-share", "figure.share", "draw numbers instead of shares", kind=None, doors=()),
    _option("--against", "figure.against", "what threads are set against (default: pass)", choices=("pass", "region"),
            doors=()),
    _option("--x", "figure.x", "column of the setting (default: regions)", "COLUMN", doors=()),
    _option("--y", "figure.y", "column of the quantity, or ips or speedup (default: ips)", "COLUMN", doors=()),
    _option("--by", "figure.by", "columns that tell curves apart, with + between (default: program+device)", "LIST",
            kind=_names, doors=()),
    _option("--stride", "figure.stride", "take every N-th pass", "N", kind=_whole, doors=()),
    _option("--fps", "figure.fps", "frames a second (default: 12)", "N", kind=_rate, doors=()),
    _option("--size", "figure.size", "pixels (default: 960x540)", "WxH", kind=_two_numbers, doors=()),
    _option("--venue", "style.venue", "widths and type sizes of a venue (default: screen)",
            choices=("screen", "acm", "ieee", "nature", "lncs"), doors=()),
    _option("--width", "style.width", "width of a column, or of the whole text (default: column)",
            choices=("column", "text"), doors=()),
    _option("--dark", "style.dark", "light on dark", kind=None, doors=()),
    _option("--usetex", "style.usetex", "let LaTeX set the words", kind=None, doors=()),
)
"""The options of figures and animations: flags of ``hvm4viz figure`` and ``animate``, and words of ``--fig``."""
# fmt: on


def options(door: Door) -> tuple[Option, ...]:
    """Return the options of one door, in the order of the table."""
    return tuple(option for group in GROUPS.values() for option in group if door in option.doors)
