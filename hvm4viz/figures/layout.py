"""Where the parts of a figure stand: margins in inches, so that type fits at every width."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final, Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from hvm4viz.figures.captions import alt_text, facts, provenance, title
from hvm4viz.figures.style import short_count
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


def heading(figure: Figure, trace: Trace) -> float:
    """Write the name of the program and how its run went at the top; returns the inches taken."""
    width, height = figure.get_size_inches().tolist()
    left = LEFT / width if not is_narrow(figure) else 0.02

    def line(inches: float) -> float:
        return 1 - inches / height

    if not is_narrow(figure):
        text = "  ·  ".join(facts(trace))
        said = figure.text(1 - 0.12 / width, line(0.19), text, ha="right", va="center", alpha=0.8, parse_math=False)
        room = said.get_window_extent().x0 / figure.dpi - LEFT - 0.15
        name = title(trace, chars_max=max(int(room / LETTER_INCHES), 8))
        figure.text(left, line(0.19), name, fontsize="large", fontweight="bold", va="center", parse_math=False)
        return 0.34
    parts = facts(trace)
    figure.text(left, line(0.12), title(trace), fontweight="bold", va="center", parse_math=False)
    for row, some in enumerate((parts[:3], parts[3:])):
        text = "  ·  ".join(some)
        figure.text(left, line(0.27 + 0.13 * row), text, fontsize="small", va="center", alpha=0.8, parse_math=False)
    return 0.48


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
