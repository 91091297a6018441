"""One pass of a trace as a picture, drawn without a browser: the overview, and below it the cells."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.figures.style import DEFERRED, ERROR, FRONTIER, IDLE, PUBLISHED, REDUCED, Look, drawing, plain_text
from hvm4viz.syntax.printer import show
from hvm4viz.widgets import cells
from hvm4viz.widgets.static import Pixels, figure_pixels, png_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hvm4viz.book import Book
    from hvm4viz.widgets.service import TraceService

BOXES_MAX: Final = 160
"""Cells up to which each is a box with its number and state; above, each is a tile."""

_NAMES: Final = ("not in use", "freed", "idle", "reduced", "SUB", "frontier", "deferred", "error")
_LOOKS: Final = (None, Look("#bbbbbb", hatch="xx"), IDLE, REDUCED, PUBLISHED, FRONTIER, DEFERRED, ERROR)


def draw(service: TraceService, p: int, *, width: int = 1200, dpr: float = 2, fmt: str = "png") -> bytes:
    """Draw pass p of a trace.

    Parameters
    ----------
    service : TraceService
    p : int
        The heap is shown as it is at the start of pass p; ``n_passes`` is the end.
    width : int
        Pixels of the screen, 200 to 8,000.
    dpr : float
        Pixels of the picture for one of the screen, up to 4.
    fmt : {"png"}

    Returns
    -------
    picture : bytes

    Raises
    ------
    ValueError
        If the format or a size is out of range; ``hvm4viz.figures`` draws PDF and SVG.
    IndexError
        If there is no such pass.
    """
    trace = service.trace
    if fmt != "png":
        raise ValueError(f"fmt={fmt!r}: must be 'png'; figures.save writes PDF and SVG")
    if not 200 <= width <= 8000 or not 0.5 <= dpr <= 4:
        raise ValueError(f"width={width!r}, dpr={dpr!r}: must be 200 to 8,000 pixels, and 0.5 to 4")
    if not -trace.n_passes <= p <= trace.n_passes:
        raise IndexError(f"pass {p}: the trace has passes 0 to {trace.n_passes - 1}; {trace.n_passes} is the end")
    p = p if p >= 0 else trace.n_passes + p
    from hvm4viz.figures import overview

    figure = overview(trace)
    for ax in figure.axes[:2]:
        ax.axvline(min(p, trace.n_passes - 0.5), color="black", lw=1.2)
    dpi = dpr * width / figure.get_figwidth()
    whole = [figure_pixels(figure, dpi=dpi)]
    if trace.n_events:
        whole.append(_heap(service, p, dpi, figure.get_figwidth()))
    wide = min(part.shape[1] for part in whole)
    return png_bytes(np.vstack([part[:, :wide] for part in whole]))


def _heap(service: TraceService, p: int, dpi: float, inches: float) -> Pixels:
    from matplotlib.figure import Figure

    trace, times = service.trace, service.history
    codes = cells.statuses(trace, times, p)
    found = np.flatnonzero(codes)
    boxes = found.size <= BOXES_MAX
    columns = 16 if boxes else int(np.clip(np.sqrt(found.size * 3), 64, 1200))
    rows = max(-(-found.size // columns), 1)
    high = 0.5 + (rows * 0.36 if boxes else min(max(rows * 9 / columns, 0.4), 6.0))
    with drawing((inches, high)):
        figure: Any = Figure(figsize=(inches, high), facecolor="white")
        ax = figure.add_axes((0.01, 0.01, 0.98, (high - 0.45) / high))
        ax.set_axis_off()
        n = trace.n_passes
        where = f"pass {p:,} of {n:,}" if p < n else f"the end, after {n:,} passes"
        text = f"heap at {where}: {found.size:,} cells in use"
        figure.text(0.012, 1 - 0.16 / high, text, fontweight="bold", va="center")
        _legend(figure, high, codes)
        if boxes:
            _boxes(ax, service, p, times.cells[found], codes[found], columns)
        else:
            _tiles(ax, codes[found], columns)
    return figure_pixels(figure, dpi=dpi)


def _legend(figure: Any, high: float, codes: NDArray[np.uint8]) -> None:
    from matplotlib.patches import Patch

    shown = [code for code in np.unique(codes).tolist() if code]
    handles = [_patch(code, Patch, label=_NAMES[code]) for code in shown]
    if handles:
        figure.legend(handles=handles, loc="upper right", ncols=len(handles), bbox_to_anchor=(0.995, 1 - 0.02 / high))


def _patch(code: int, kind: Any, *args: Any, **kw: Any) -> Any:
    look = _LOOKS[code]
    assert look is not None
    fill = "white" if code in (cells.IDLE, cells.FREED) else _pale(look.color)
    return kind(*args, facecolor=fill, edgecolor=look.color, hatch=look.hatch, lw=1.2, **kw)


def _pale(color: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(1 - 0.25 * (1 - part) for part in to_rgb(color))


def _boxes(
    ax: Axes, service: TraceService, p: int, locs: NDArray[np.uint32], codes: NDArray[np.uint8], columns: int
) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    book = service.origin.book
    full = cells.has_words(service.trace)
    words: NDArray[np.uint64] | None = cells.words_at(service.trace, p) if full else None
    for i in range(locs.size):
        loc, code = int(locs[i]), int(codes[i])
        row, column = divmod(i, columns)
        ax.add_patch(_patch(code, Rectangle, (column + 0.04, -row - 0.94), 0.92, 0.88))
        label = _label(words, loc, book) or _NAMES[code]
        for high, text, size in ((0.24, str(loc), 6), (0.66, plain_text(label, chars_max=12), 7)):
            drawn = ax.text(column + 0.08, -row - high, text, fontsize=size, va="center", parse_math=False)
            drawn.set_path_effects([withStroke(linewidth=2, foreground="white")])  # stays readable over a hatch
    ax.set_xlim(0, columns)
    ax.set_ylim(-max(-(-locs.size // columns), 1), 0)


def _label(words: NDArray[np.uint64] | None, loc: int, book: Book | None) -> str:
    """Print what a cell holds, in a few characters; nothing if that is not known."""
    if words is None or book is None or not words[loc]:
        return ""
    return show(words, loc, book, limit=14)


def _tiles(ax: Axes, codes: NDArray[np.uint8], columns: int) -> None:
    from matplotlib.colors import to_rgb

    colors = np.array([(1, 1, 1), *(to_rgb(look.color) for look in _LOOKS if look is not None)])
    padded = np.zeros(-(-codes.size // columns) * columns, np.uint8)
    padded[: codes.size] = codes
    ax.imshow(colors[padded.reshape(-1, columns)], interpolation="none", aspect="auto")
