"""Whose each region was, over passes."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure

from hvm4viz.figures.above import caption
from hvm4viz.figures.captions import plural
from hvm4viz.figures.layout import count_axis, count_labels, figure_of, framed, pixels_of, place_scale, zero_entry
from hvm4viz.figures.region_map import BOX_INCHES, caption_inches
from hvm4viz.figures.style import IDLE, color_map, drawing, type_size, zero_color
from hvm4viz.measure.owners import NOBODY, SEVERAL, OwnerMap, owner_map
from hvm4viz.trace.trace import Trace

PIXELS_MAX: Final = 2048
"""Most rows and columns drawn apart."""


def ownership_map(
    trace: Trace, *, ax: Axes | None = None, shape: tuple[int, int] | None = None, colorbar: bool = True
) -> Figure:
    """Draw which block owned each region in each pass.

    Parameters
    ----------
    trace : Trace
    ax : Axes, optional
        Where to draw; a new figure if left out.
    shape : (int, int), optional
        Most regions and passes drawn apart; as many as the axes have pixels if left out. Regions of different owners
        that share a pixel have a colour of their own, and so have regions without an owner.
    colorbar : bool
        Whether to draw the scale of the colours.

    Returns
    -------
    figure : Figure
    """
    with drawing((9.0, 3.4)) as size:
        if ax is None:
            ax = framed(
                trace, size, "Map of the blocks that own each region in each pass", above=caption_inches, right=0.85
            )
        bins = np.minimum(pixels_of(ax), PIXELS_MAX) if shape is None else shape
        found = owner_map(trace, shape=(int(bins[0]), int(bins[1])))
        ax.set_xlabel("pass")
        ax.set_ylabel("region")
        ax.set_facecolor(zero_color())
        if not found.values.size or (found.values == NOBODY).all():
            note = "no region has an owner" if found.n_passes else "0 passes: nothing was run"
            ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        else:
            _draw(ax, found, scale=place_scale(figure_of(ax), ax) if colorbar else None)
        ax.set_xlim(-0.5, max(found.n_passes, 1) - 0.5)
        ax.set_ylim(-0.5, max(found.n_regions, 1) - 0.5)
        count_axis(ax, "x")
        count_axis(ax, "y")
        return figure_of(ax)


def _draw(ax: Axes, found: OwnerMap, *, scale: Axes | None) -> None:
    rows, columns = found.values.shape
    extent = (-0.5, columns * found.passes_per_bin - 0.5, -0.5, rows * found.regions_per_bin - 0.5)
    colors = color_map("viridis").resampled(max(found.n_blocks, 1))
    norm = BoundaryNorm(np.arange(found.n_blocks + 1) - 0.5, max(found.n_blocks, 1))
    shown = np.ma.masked_less(found.values, 0)
    image = ax.imshow(
        shown, cmap=colors.with_extremes(bad=zero_color()), norm=norm, extent=extent, origin="lower", aspect="auto",
        interpolation="none",
    )  # fmt: skip
    several = np.zeros((rows, columns, 4), np.uint8)
    several[found.values == SEVERAL] = (*bytes.fromhex(IDLE.color[1:]), 255)
    if several.any():
        ax.imshow(several, extent=extent, origin="lower", aspect="auto", interpolation="none")
    if found.regions_per_bin == found.passes_per_bin == 1:
        _number(ax, found, image.to_rgba(shown)[..., :3] @ np.array([0.299, 0.587, 0.114]))
        caption(ax, "owner of each region")
    else:
        regions = plural(found.regions_per_bin, "region", "regions")
        caption(ax, "owner of each region", f"each pixel: {regions} × {plural(found.passes_per_bin, 'pass', 'passes')}")
    if scale is None:
        return
    few = range(found.n_blocks) if found.n_blocks <= 8 else None
    bar = figure_of(ax).colorbar(image, cax=scale, ticks=few)
    if few is None:
        count_axis(bar.ax, "y")
    bar.ax.yaxis.set_major_formatter(count_labels())
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.ax.set_title("block", fontsize=type_size("small"), loc="left", pad=3)
    if (found.values == NOBODY).any():
        zero_entry(bar.ax, zero_color(), "none")
    if several.any():
        zero_entry(bar.ax, IDLE.color, "several")


def _number(ax: Axes, found: OwnerMap, brightness: np.ndarray) -> None:
    """Write the blocks into the fields, at each change along a row, where there is room."""
    inches = np.divide(pixels_of(ax), figure_of(ax).dpi) / found.values.shape
    if inches[0] < BOX_INCHES[0]:
        return
    ax.hlines([row - 0.5 for row in range(1, found.n_regions)], -0.5, found.n_passes - 0.5, color="white", lw=1)
    for row, owners in enumerate(found.values):
        starts = np.flatnonzero(np.diff(owners, prepend=owners[0] - 1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), owners.size], strict=True):
            if owners[start] >= 0 and (end - start) * inches[1] >= BOX_INCHES[1]:
                ax.text(
                    start - 0.5 + 0.06 / inches[1], row, f"{owners[start]}", va="center", fontsize=type_size("small"),
                    color="#111111" if brightness[row, start] > 0.5 else "white",
                )  # fmt: skip
