"""Where the parts of a figure stand: margins in inches, so that type fits at every width."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from hvm4viz.figures.captions import alt_text, facts, provenance, title
from hvm4viz.figures.style import IDLE, short_count, type_size
from hvm4viz.trace.trace import Trace

NARROW: Final = 6.0
"""Inches below which what is written around a figure takes more lines."""

LETTER_INCHES: Final = 0.105
"""Width of a letter of the title, nearly the widest."""

LEFT, RIGHT, BOTTOM = 0.72, 0.72, 0.48
"""Margins in inches: for tick labels, for a scale of colours, for ticks and the name of the axis."""


def new_figure(size: tuple[float, float]) -> Figure:
    """Make a figure that no global list knows."""
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that axes belong to."""
    figure = ax.figure
    while not isinstance(figure, Figure):
        figure = figure.figure
    return figure


def pixels_of(ax: Axes) -> tuple[int, int]:
    """Return how many pixels high and wide the axes are."""
    box = ax.get_window_extent()
    return max(int(box.height), 1), max(int(box.width), 1)


def describe(figure: Figure, trace: Trace, shown: str) -> None:
    """Give a figure its trace, and the words that ``save`` writes into its files: alternative text and origin."""
    described: Any = figure
    described.trace = trace
    described.alt = alt_text(trace, shown)
    described.provenance = provenance(trace)


def is_narrow(figure: Figure) -> bool:
    """Tell whether a figure is as narrow as a column of print."""
    return figure.get_figwidth() < NARROW


def is_ours(figure: Figure) -> bool:
    """Tell whether a figure was made here, so that there is nothing on it but what we put there."""
    return hasattr(figure, "provenance")


def heading_inches(figure: Figure) -> float:
    """Return the height that the heading of a figure takes."""
    return 0.48 if is_narrow(figure) else 0.34


def place(
    figure: Figure, *, bottom: float, top: float, left: float = LEFT, right: float = RIGHT, sharex: Axes | None = None
) -> Axes:
    """Add axes that leave margins of so many inches."""
    width, height = figure.get_size_inches().tolist()
    box = (left / width, bottom / height, (width - left - right) / width, max(height - bottom - top, 0.1) / height)
    return figure.add_axes(box, sharex=sharex)


def place_scale(figure: Figure, beside: Axes) -> Axes:
    """Add axes for a scale of colours to the right of others."""
    box = beside.get_position()
    width = figure.get_figwidth()
    return figure.add_axes((box.x1 + 0.13 / width, box.y0, 0.12 / width, box.height))


def framed(
    trace: Trace, size: tuple[float, float], shown: str, *, above: Callable[[Figure], float], right: float = RIGHT
) -> Axes:
    """Make a figure that names its run, and its axes.

    Parameters
    ----------
    trace : Trace
    size : (float, float)
        Width and height in inches.
    shown : str
        What it shows, in words.
    above : callable
        From the figure to the inches between heading and axes.
    right : float
        Inches right of the axes.
    """
    figure = new_figure(size)
    describe(figure, trace, shown)
    return place(figure, bottom=BOTTOM, top=heading(figure, trace) + above(figure), right=right)


def heading(figure: Figure, trace: Trace) -> float:
    """Write the name of the program and how its run went at the top; returns the inches taken."""
    return write_heading(figure, lambda chars: title(trace, chars_max=chars), facts(trace))


def write_heading(figure: Figure, name: Callable[[int], str], parts: Sequence[str]) -> float:
    """Write a name, and some facts beside or below it, at the top of a figure; returns the inches taken.

    Parameters
    ----------
    figure : Figure
    name : callable
        From the most characters that there is room for to the name.
    parts : sequence of str
        Facts, each a few words.
    """
    width, height = figure.get_size_inches().tolist()
    left = LEFT / width if not is_narrow(figure) else 0.02

    def line(inches: float) -> float:
        return 1 - inches / height

    if not is_narrow(figure):
        text = "  ·  ".join(parts)
        said = figure.text(1 - 0.12 / width, line(0.19), text, ha="right", va="center", alpha=0.8, parse_math=False)
        room = said.get_window_extent().x0 / figure.dpi - LEFT - 0.15
        words = name(max(int(room / LETTER_INCHES), 8))
        figure.text(
            left, line(0.19), words, fontsize=type_size("large"), fontweight="bold", va="center", parse_math=False
        )
        return heading_inches(figure)
    figure.text(left, line(0.12), name(28), fontweight="bold", va="center", parse_math=False)
    half = -(-len(parts) // 2)
    for row, some in enumerate((parts[:half], parts[half:])):
        text = "  ·  ".join(some)
        figure.text(
            left, line(0.27 + 0.13 * row), text, fontsize=type_size("small"), va="center", alpha=0.8, parse_math=False
        )
    return heading_inches(figure)


def zero_entry(scale: Axes, color: str, label: str = "0") -> None:
    """Name a colour that is none of a scale's at its lower end, which moves up to make room for it: what is zero."""
    figure = figure_of(scale)
    box, inch = scale.get_position(), 1 / figure.get_figheight()
    if box.height < 0.5 * inch:
        return
    scale.set_position((box.x0, box.y0 + 0.2 * inch, box.width, box.height - 0.2 * inch))
    patch = Rectangle((box.x0, box.y0), box.width, 0.13 * inch, facecolor=color, edgecolor=IDLE.color, lw=0.5)
    patch.set_transform(figure.transFigure)
    figure.add_artist(patch)
    size, paint = mpl.rcParams["ytick.labelsize"], mpl.rcParams["ytick.color"]
    right = box.x1 + 0.09 / figure.get_figwidth()  # where the numbers of the scale begin
    figure.text(right, box.y0 + 0.065 * inch, label, va="center_baseline", fontsize=size, color=paint)


def count_axis(ax: Axes, which: Literal["x", "y"]) -> None:
    """Put as many whole numbers on an axis as it has room for."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    height, width = pixels_of(ax)
    dpi = figure_of(ax).dpi
    ticks = min(int(width / dpi / 0.6), 10) if which == "x" else min(int(height / dpi / 0.22), 6)
    axis.set_major_locator(MaxNLocator(max(ticks, 1), integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axis.set_major_formatter(count_labels())


def label_scale(axes: Axes, norm: Normalize) -> None:
    """Put counts on the axes of a scale of colours; a logarithmic one of less than two decades gets more than one."""
    axes.yaxis.set_minor_locator(NullLocator())
    if isinstance(norm, LogNorm) and norm.vmin and norm.vmax and norm.vmax < 100 * norm.vmin:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(count_labels())


def count_labels() -> FuncFormatter:
    """Return a formatter that writes ticks as ``short_count`` does."""

    def label(value: float, _: int | None) -> str:
        return short_count(value)

    return FuncFormatter(label)
