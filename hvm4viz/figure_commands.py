"""Commands of the command line that draw: ``figure`` and ``animate``."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any, Final

from hvm4viz.arguments import add_figure_options
from hvm4viz.commands import OK, read_trace
from hvm4viz.figure_request import figure_kinds, figure_request, subject_of, write_figure
from hvm4viz.options import FIGURE
from hvm4viz.streams import note

STYLE: Final = ("venue", "width", "dark", "usetex")
ANIMATION: Final = ("passes", "stride", "fps", "size")
TABLES: Final = (".parquet", ".arrow", ".feather", ".csv")
"""Files that hold a table of runs."""


def add_figure_commands(verbs: Any) -> None:
    """Add the commands to the parser of the command line."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "figure",
        help="draw a figure of a trace, of two, or of a table of runs",
        description="Draw a figure of a trace, of two (--with), or of a table of runs.",
        allow_abbrev=False,
    )
    parser.add_argument("trace", metavar="TRACE", help="a .hvt file; for scaling a table: .parquet, .arrow or .csv")
    parser.add_argument("kind", metavar="KIND", help="which figure, such as overview")
    parser.add_argument("out", metavar="OUT", help="file to write: .png, .pdf or .svg")
    add_figure_options(parser, {option.dest for option in FIGURE} - {*ANIMATION} | {"passes"})
    parser.set_defaults(command=figure)

    parser = verbs.add_parser(
        "animate",
        help="write a moving picture of a trace",
        description="Write a moving picture of a trace, a frame a pass. MP4 needs ffmpeg; without it a GIF is written.",
        allow_abbrev=False,
    )
    parser.add_argument("trace", metavar="TRACE", help="a .hvt file")
    parser.add_argument("out", metavar="OUT", help="file to write: .gif, .mp4 or .html")
    add_figure_options(parser, {*ANIMATION, "dark"})
    parser.set_defaults(command=animate)


def figure(given: argparse.Namespace) -> int:
    """Draw a figure."""
    request = figure_request(given.kind, given.out, {o.dest: getattr(given, o.dest, None) for o in FIGURE})
    path = Path(given.out).expanduser()
    if subject_of(figure_kinds()[request.kind]) == "runs":
        write_figure(request.draw_of(_table(given.trace)), path)
    else:
        request.write(read_trace(given.trace), path)
    return OK


def _table(file: str) -> Any:
    """Read a table of runs."""
    from hvm4viz.trace.arrow import read_table

    if Path(file).suffix.lower() not in TABLES:
        raise ValueError(f"{file}: a table of runs ends in one of {', '.join(TABLES)}")
    return read_table(Path(file).expanduser())


def animate(given: argparse.Namespace) -> int:
    """Write a moving picture."""
    from hvm4viz.figures.animate import animate as write
    from hvm4viz.figures.style import style

    chosen = {name: getattr(given, name) for name in ANIMATION if getattr(given, name) is not None}
    trace = read_trace(given.trace)
    with warnings.catch_warnings(record=True) as said, style("screen", dark=bool(given.dark)):
        warnings.simplefilter("always")
        try:
            path = write(trace, Path(given.out).expanduser(), progress="auto", **chosen)
        except IndexError as error:
            raise ValueError(str(error)) from None
    for warning in said:
        note(str(warning.message))
    note(f"animation: {path}, {path.stat().st_size:,} bytes")
    return OK
