"""What both doors can make of a run besides its answer: figures (``KIND`` or ``KIND=FILE``), and the view as a page."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hvm4viz.arguments import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hvm4viz.run import Run
    from hvm4viz.trace import Trace

FORMATS: Final = (".png", ".pdf", ".svg")


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """A figure to draw: its kind, and the file to write it to, if one was named."""

    kind: str
    path: Path | None

    def draw(self, trace: Trace) -> Figure:
        """Draw the figure."""
        return figure_kinds()[self.kind](trace)

    def write(self, trace: Trace, path: Path) -> Figure:
        """Draw the figure and write it to a file."""
        from hvm4viz.figures.save import save

        figure = self.draw(trace)
        save(figure, path.with_suffix(""), formats=(path.suffix[1:].lower(),))
        return figure


def figure_kinds() -> dict[str, Callable[[Trace], Figure]]:
    """Return every figure that draws one trace, by name."""
    from hvm4viz import figures

    found = ((name, getattr(figures, name)) for name in figures.__all__)
    return {
        name: cast("Callable[[Trace], Figure]", value)
        for name, value in found
        if inspect.isfunction(value) and next(iter(inspect.signature(value).parameters), "") == "trace"
    }


def requested_figures(texts: Iterable[str]) -> list[FigureRequest]:
    """Read ``KIND[=FILE]``, and check all that can be checked before the run.

    Raises
    ------
    ValueError
        If there is no such figure, no such format, or no folder for the file.
    """
    requests: list[FigureRequest] = []
    for text in texts:
        kind, _, file = text.partition("=")
        known = list(figure_kinds())
        if kind not in known:
            raise ValueError(f"no figure {kind!r}{nearest(kind, known)}; there are: {', '.join(known)}")
        path = Path(file).expanduser() if file else None
        if path is not None and path.suffix.lower() not in FORMATS:
            raise ValueError(f"figure file {file!r} must end in one of {', '.join(FORMATS)}")
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"figure file {file!r}: there is no folder {str(path.parent)!r}")
        requests.append(FigureRequest(kind, path))
    return requests


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
