"""Drawing what one run has more or less of than another: a map, and a strip with the difference of each pass."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, Normalize, SymLogNorm
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from hvm4viz.figures.captions import WORDS
from hvm4viz.figures.layout import count_axis, figure_of, pixels_of, zero_entry
from hvm4viz.figures.region_map import BOX_INCHES
from hvm4viz.figures.style import IDLE, STEPS_MAX, diverging_map, ink, short_count, type_size
from hvm4viz.measure.differences import DifferenceMap


def draw_differences(
    ax: Axes, found: DifferenceMap, scale: Axes | None, norm: Literal["log", "linear"], zero: str
) -> None:
    """Draw the map, centred on 0, with its colours on the axes ``scale``."""
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


def _short_label(value: float, at: int | None) -> str:
    return _label(float(f"{value:.2g}"), at)


def _write(ax: Axes, values: NDArray[np.float64], brightness: NDArray[np.float64]) -> None:
    for row, column in np.argwhere(values != 0).tolist():
        color = "#111111" if brightness[row, column] > 0.5 else "white"
        text = _label(float(values[row, column]), None)
        ax.text(column, row, text, ha="center", va="center", fontsize=type_size("small"), color=color)


def draw_strip(ax: Axes, found: DifferenceMap) -> None:
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
    ax.yaxis.set_major_formatter(FuncFormatter(_short_label))
    ax.tick_params(labelbottom=False)
    ax.set_ylabel("per pass")
