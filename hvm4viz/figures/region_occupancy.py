"""How full each region is at the end of a pass."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hvm4viz.figures.above import caption
from hvm4viz.figures.layout import count_axis, figure_of, framed, pixels_of
from hvm4viz.figures.region_map import caption_inches
from hvm4viz.figures.style import FRONTIER, IDLE, drawing, ink, short_count
from hvm4viz.measure.frontier import bin_edges
from hvm4viz.measure.occupancy import region_occupancy as cells_by_region
from hvm4viz.trace.sparse import check_pass
from hvm4viz.trace.trace import Trace

STEP_INCHES: Final = 0.02
"""Least width of a step."""


def region_occupancy(trace: Trace, p: int = -1, *, ax: Axes | None = None) -> Figure:
    """Draw the cells in use by region at the end of a pass, against the size of a region.

    Parameters
    ----------
    trace : Trace
        Recorded at ``counts`` or more.
    p : int
        Which pass, -1 is the last.
    ax : Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    figure : Figure

    Raises
    ------
    IndexError
        If there is no such pass.
    """
    p = check_pass(p, trace.n_passes) if trace.n_passes or p != -1 else -1
    with drawing((9.0, 3.0)) as size:
        if ax is None:
            shown = f"Cells in use by region at the end of pass {p}"
            ax = framed(trace, size, shown, above=caption_inches, right=0.2)
        draw_occupancy(ax, trace, p)
        return figure_of(ax)


def draw_occupancy(ax: Axes, trace: Trace, p: int) -> None:
    """Draw the occupancy; where regions would stand too close, each step shows the fullest and the emptiest of some."""
    ax.set_xlabel("region")
    ax.set_ylabel("cells in use")
    ax.set_xlim(-0.5, max(trace.n_regions, 1) - 0.5)
    ax.set_ylim(0, max(trace.region_size, 1) * 1.06)
    count_axis(ax, "x")
    count_axis(ax, "y")
    cells = cells_by_region(trace, p) if trace.n_passes else np.zeros(0, np.int64)
    if not cells.any():
        note = f"no cell is in use at the end of pass {p:,}" if trace.n_passes else "0 passes: nothing was run"
        ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        return
    edges = bin_edges(cells.size, max(int(pixels_of(ax)[1] / figure_of(ax).dpi / STEP_INCHES), 10))
    most, least = np.maximum.reduceat(cells, edges[:-1]), np.minimum.reduceat(cells, edges[:-1])
    shifted, per_bin = edges - 0.5, int(edges[1])
    ax.stairs(most, shifted, fill=True, color=FRONTIER.color, alpha=0.28, lw=0)
    ax.stairs(most, shifted, color=FRONTIER.color, lw=1.0)
    if per_bin > 1:
        ax.stairs(least, shifted, fill=True, color=FRONTIER.color, alpha=0.45, lw=0)
    ax.axhline(trace.region_size, color=ink(IDLE), ls=IDLE.line, lw=1.0)
    total = int(cells.sum())
    used, size = int((cells > 0).sum()), cells.size * trace.region_size
    caption(
        ax,
        f"after pass {p:,}: {short_count(total)} cells ({total / size:.0%}), {used:,} of {cells.size:,} regions",
        f"each step: fullest and (darker) emptiest of {per_bin:,}" if per_bin > 1 else "",
    )
