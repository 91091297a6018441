"""What both doors can make of a run besides its answer and figures: the view, in a cell or as a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hvm4viz.run import Run
    from hvm4viz.trace import Trace


def view_options(given: argparse.Namespace) -> dict[str, Any]:
    """Return how a cell asked to see its run: what ``show_run`` takes."""
    names = ("view", "panels", "pass_index", "height")
    return {name: value for name in names if (value := getattr(given, name)) is not None}


def check_page(file: str | None) -> None:
    """Check before the run that a page can be written after it.

    Raises
    ------
    ValueError
        If there is no folder for the file.
    """
    if file is not None and not Path(file).expanduser().parent.is_dir():
        raise ValueError(f"page {file!r}: there is no folder {str(Path(file).expanduser().parent)!r}")


def write_view(subject: Run | Trace, file: str, **options: Any) -> Path:
    """Write the view of a run or a trace to one HTML page."""
    from hvm4viz.widgets.trace_view import TraceView

    return TraceView(subject, **options).to_html(Path(file).expanduser())
