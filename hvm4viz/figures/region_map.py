"""Drawing a map of regions and passes."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hvm4viz.figures.above import caption
from hvm4viz.figures.captions import what_a_pixel_is, what_is_shown
from hvm4viz.figures.layout import count_axis, figure_of, is_narrow, label_scale, pixels_of, zero_entry
from hvm4viz.figures.style import COLOR_MAP, map_scale, short_count, type_size, zero_color
from hvm4viz.measure.regions import RegionMap

BOX_INCHES: Final = (0.13, 0.2)
"""Height and width from which a field of the map is drawn as a box with its number in it."""


def caption_inches(figure: Figure) -> float:
    """Return the height that the words above a map take."""
    return 0.34 if is_narrow(figure) else 0.24


def draw_map(
    ax: Axes,
    found: RegionMap,
    *,
    scale: Axes | None,
    norm: Literal["log", "linear"] = "log",
    colors: str = COLOR_MAP,
    zero: str | None = None,
) -> None:
    """Draw a map, its colours on the axes ``scale``, and above it what it shows."""
    rows, columns = found.values.shape
    ax.set_xlim(-0.5, max(found.n_passes, 1) - 0.5)
    ax.set_ylim(-0.5, max(found.n_regions, 1) - 0.5)
    ax.set_xlabel("pass")
    ax.set_ylabel("region")
    ax.set_facecolor(zero_color(zero))
    if not found.values.any():
        if scale is not None:
            scale.set_axis_off()
        note = f"no {found.what} in any pass" if found.n_passes else "0 passes: nothing was run"
        ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        _count_axes(ax)
        return
    caption(ax, what_is_shown(found), what_a_pixel_is(found))
    scaled, colormap, ticks = map_scale(found.values, norm, name=colors, zero=zero)
    limits = ax.get_xlim(), ax.get_ylim()
    image = ax.imshow(
        np.ma.masked_less_equal(found.values, 0),
        cmap=colormap,
        norm=scaled,
        # The last bins may reach beyond the last region and pass: the limits of the axes cut them.
        extent=(-0.5, columns * found.passes_per_bin - 0.5, -0.5, rows * found.regions_per_bin - 0.5),
        origin="lower",
        aspect="auto",
        interpolation="none",
    )
    ax.set(xlim=limits[0], ylim=limits[1])
    inches = np.divide(pixels_of(ax), figure_of(ax).dpi) / (rows, columns)
    if not found.is_binned and np.all(inches >= BOX_INCHES):
        _draw_boxes(ax, found.values, image.to_rgba(found.values)[..., :3])
    _count_axes(ax)
    if scale is not None:
        bar = figure_of(ax).colorbar(image, cax=scale, ticks=ticks)
        bar.outline.set_visible(False)  # type: ignore[operator]
        label_scale(bar.ax, scaled)
        if not found.values.all():
            zero_entry(bar.ax, zero_color(zero))


def _count_axes(ax: Axes) -> None:
    count_axis(ax, "x")
    count_axis(ax, "y")


def _draw_boxes(ax: Axes, values: NDArray[np.float64], fills: NDArray[np.float64]) -> None:
    """Draw the fields as boxes with their numbers."""
    rows, columns = values.shape
    ax.hlines([row - 0.5 for row in range(1, rows)], -0.5, columns - 0.5, color="white", lw=1)
    ax.vlines([column - 0.5 for column in range(1, columns)], -0.5, rows - 0.5, color="white", lw=1)
    brightness = fills @ np.array([0.299, 0.587, 0.114])
    for row, column in np.argwhere(values > 0).tolist():
        is_light = brightness[row, column] > 0.5
        ax.text(
            column,
            row,
            short_count(float(values[row, column])),
            ha="center",
            va="center",
            fontsize=type_size("small"),
            color="#111111" if is_light else "white",
        )
