"""Where two runs differ: a map of regions and passes."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, Normalize, SymLogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from hvm4viz import __version__
from hvm4viz.figures.above import caption
from hvm4viz.figures.captions import WORDS, difference_facts, difference_title, plural
from hvm4viz.figures.layout import (
    BOTTOM,
    count_axis,
    figure_of,
    new_figure,
    pixels_of,
    place,
    place_scale,
    write_heading,
    zero_entry,
)
from hvm4viz.figures.region_map import BOX_INCHES, caption_inches
from hvm4viz.figures.style import (
    ERROR,
    IDLE,
    STEPS_MAX,
    diverging_map,
    drawing,
    ink,
    plain_text,
    short_count,
    type_size,
    zero_color,
)
from hvm4viz.measure.differences import DifferenceMap, region_differences
from hvm4viz.measure.regions import Reduce, What
from hvm4viz.trace.trace import Trace

PIXELS_MAX: Final = 2048
"""Most rows and columns drawn apart."""

STRIP_INCHES: Final = 0.5
"""Height of the strip that shows the difference of each pass, with its sign as a direction."""


def compare_heatmap(
    a: Trace,
    b: Trace,
    *,
    ax: Axes | None = None,
    what: What = "deferrals",
    shape: tuple[int, int] | None = None,
    reduce: Reduce = "max",
    norm: Literal["log", "linear"] = "log",
    zero: str | None = None,
    colorbar: bool = True,
) -> Figure:
    """Draw how much more often something happened in b than in a, by region and pass.

    The colours are centred on 0: red is more, blue is less. A strip above the map shows the difference of each pass.

    Parameters
    ----------
    a, b : Trace
        Pass p of one stands against pass p of the other; marks show where the shorter one ends.
    ax : Axes, optional
        Where to draw, without the strip; a new figure if left out.
    what : str
        As in ``deferral_heatmap``.
    shape : (int, int), optional
        Most regions and passes drawn apart; as many as the axes have pixels if left out.
    reduce : {"max", "sum", "mean"}
        What becomes of the differences that share a pixel; "max" keeps the one that is farthest from 0.
    norm : {"log", "linear"}
        Scale of the colours; both are linear around 0.
    zero : color, optional
        Where both are the same.
    colorbar : bool
        Whether to draw the scale of the colours.

    Returns
    -------
    figure : Figure

    Raises
    ------
    ValueError
        If ``what`` or ``reduce`` is none of these.
    TraceError
        If a trace does not hold it.
    """
    with drawing((9.0, 4.0)) as size:
        strip = None
        if ax is None:
            figure = new_figure(size)
            _describe(figure, a, b, what)
            taken = write_heading(figure, lambda chars: difference_title(a, b, chars_max=chars), difference_facts(a, b))
            above = taken + caption_inches(figure)
            strip = place(figure, bottom=size[1] - above - STRIP_INCHES, top=above)
            ax = place(figure, bottom=BOTTOM, top=above + STRIP_INCHES + 0.1, sharex=strip)
        bins = np.minimum(pixels_of(ax), PIXELS_MAX) if shape is None else shape
        found = region_differences(a, b, what, shape=(int(bins[0]), int(bins[1])), reduce=reduce)
        scale = place_scale(figure_of(ax), ax) if colorbar else None
        _draw(ax, found, scale, norm, zero_color(zero))
        if strip is not None:
            _draw_strip(strip, found)
        _title(ax if strip is None else strip, found)
        if a.n_passes != b.n_passes and min(a.n_passes, b.n_passes):
            for each in filter(None, (ax, strip)):
                each.axvline(min(a.n_passes, b.n_passes) - 0.5, color=ERROR.color, ls="--", lw=0.8)
            shorter = "a" if a.n_passes < b.n_passes else "b"
            top = strip or ax
            top.annotate(
                f"{shorter} ends ", (min(a.n_passes, b.n_passes) - 0.5, 1), xycoords=("data", "axes fraction"),
                ha="right", va="top", fontsize=type_size("small"), color=ink(ERROR),
                bbox={"facecolor": mpl.rcParams["axes.facecolor"], "alpha": 0.8, "pad": 0.5, "linewidth": 0},
            )  # fmt: skip
        return figure_of(ax)


def _describe(figure: Figure, a: Trace, b: Trace, what: str) -> None:
    """Give a figure the words that ``save`` writes into its files; each run is named by its digest."""
    described: Any = figure
    facts = ", ".join(difference_facts(a, b))
    described.alt = (
        f"Map of {what} by region and pass, of a second run less those of a first one: "
        f"{difference_title(a, b, chars_max=60)}; {facts}."
    )
    runs = "; ".join(
        f"{name}: digest {trace.digest_or_none() or 'none'}, "
        + ", ".join(f"{key}={value}" for key, value in trace.header.machine.items())
        for name, trace in (("a", a), ("b", b))
    )
    described.provenance = plain_text(f"hvm4viz {__version__}; {runs}", chars_max=1500)


def _title(ax: Axes, found: DifferenceMap) -> None:
    words = [f"{WORDS[found.what]}, b − a"]
    if found.regions_per_bin > 1 or found.passes_per_bin > 1:
        kept = "the farthest from 0" if found.reduce == "max" else found.reduce
        regions = plural(found.regions_per_bin, "region", "regions")
        words.append(f"each pixel: {kept} of {regions} × {plural(found.passes_per_bin, 'pass', 'passes')}")
    caption(ax, *words)


def _draw(ax: Axes, found: DifferenceMap, scale: Axes | None, norm: Literal["log", "linear"], zero: str) -> None:
    rows, columns = found.values.shape
    ax.set_xlabel("pass")
    ax.set_ylabel("region")
    ax.set_facecolor(zero)
    if found.values.any():
        scaled, ticks = _scale(found.values, norm)
        image = ax.imshow(
            np.ma.masked_equal(found.values, 0),
            cmap=diverging_map().with_extremes(bad=zero),
            norm=scaled,
            extent=(-0.5, columns * found.passes_per_bin - 0.5, -0.5, rows * found.regions_per_bin - 0.5),
            origin="lower",
            aspect="auto",
            interpolation="none",
        )
        inches = np.divide(pixels_of(ax), figure_of(ax).dpi) / (rows, columns)
        if found.regions_per_bin == found.passes_per_bin == 1 and np.all(inches >= BOX_INCHES):
            _write(ax, found.values, image.to_rgba(found.values)[..., :3] @ np.array([0.299, 0.587, 0.114]))
        if scale is not None:
            bar = figure_of(ax).colorbar(image, cax=scale, ticks=ticks)
            bar.outline.set_visible(False)  # type: ignore[operator]
            bar.ax.yaxis.set_minor_locator(NullLocator())
            bar.ax.yaxis.set_major_formatter(FuncFormatter(_label))
            zero_entry(bar.ax, zero, "same")
    else:
        if scale is not None:
            scale.set_axis_off()
        note = f"no difference: {WORDS[found.what]} are the same" if found.n_passes else "0 passes: nothing was run"
        ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
    # The last bins may reach beyond the last region and pass: the limits of the axes cut them.
    ax.set_xlim(-0.5, max(found.n_passes, 1) - 0.5)
    ax.set_ylim(-0.5, max(found.n_regions, 1) - 0.5)
    count_axis(ax, "x")
    count_axis(ax, "y")


def _scale(values: NDArray[np.float64], norm: Literal["log", "linear"]) -> tuple[Normalize, list[float]]:
    """Choose a scale that is centred on 0, and its ticks: few whole numbers get a colour each."""
    sizes = np.abs(values[values != 0])
    low, high = float(sizes.min()), float(sizes.max())
    if high <= STEPS_MAX / 2 and bool((sizes == np.round(sizes)).all()):
        steps = int(high)
        return BoundaryNorm(np.arange(-steps - 0.5, steps + 1), 256), [float(n) for n in range(-steps, steps + 1)]
    if norm == "log" and high > STEPS_MAX * low:
        decades = [10.0**n for n in range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)]
        decades = decades[:: max(-(-len(decades) // 3), 1)]
        return SymLogNorm(low, linscale=0.2, vmin=-high, vmax=high), [-tick for tick in decades[::-1]] + decades
    return Normalize(-high, high), [-high, -high / 2, 0, high / 2, high]


def _label(value: float, _: int | None) -> str:
    return ("+" if value > 0 else "−" if value < 0 else "") + short_count(abs(value))


def _write(ax: Axes, values: NDArray[np.float64], brightness: NDArray[np.float64]) -> None:
    for row, column in np.argwhere(values != 0).tolist():
        color = "#111111" if brightness[row, column] > 0.5 else "white"
        text = _label(float(values[row, column]), None)
        ax.text(column, row, text, ha="center", va="center", fontsize=type_size("small"), color=color)


def _draw_strip(ax: Axes, found: DifferenceMap) -> None:
    """Draw the difference of each pass: up is more, down is less, hatched."""
    colors = diverging_map()
    edges = np.append(np.arange(found.by_pass.size) * found.passes_per_bin, found.n_passes) - 0.5
    ax.stairs(np.maximum(found.by_pass, 0), edges, fill=True, color=colors(0.9), lw=0)
    ax.stairs(
        np.minimum(found.by_pass, 0),
        edges,
        fill=True,
        facecolor=colors(0.22),
        edgecolor=colors(0.75),
        hatch="////",
        lw=0,
    )
    ax.axhline(0, color=ink(IDLE), lw=0.6)
    most = max(float(np.abs(found.by_pass).max(initial=0)), 1e-9)
    ax.set_ylim(-most * 1.1, most * 1.1)
    ax.set_yticks([-most, most] if found.by_pass.any() else [])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, at: _label(float(f"{value:.2g}"), at)))
    ax.tick_params(labelbottom=False)
    ax.set_ylabel("per pass")
