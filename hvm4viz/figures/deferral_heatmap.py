"""Where tasks had to wait: a map of regions and passes."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hvm4viz.figures.layout import BOTTOM, describe, figure_of, heading, new_figure, pixels_of, place, place_scale
from hvm4viz.figures.region_map import caption_inches, draw_map
from hvm4viz.figures.style import ERROR, drawing
from hvm4viz.measure.regions import Reduce, What, region_map
from hvm4viz.trace.trace import Trace


def deferral_heatmap(
    trace: Trace,
    *,
    ax: Axes | None = None,
    what: What = "deferrals",
    shape: tuple[int, int] | None = None,
    reduce: Reduce = "max",
    norm: Literal["log", "linear"] = "log",
    zero: str | None = None,
    marks: Sequence[int] = (),
    colorbar: bool = True,
) -> Figure:
    """Draw how often something happened, by region and pass.

    Parameters
    ----------
    trace : Trace
    ax : Axes, optional
        Where to draw; a new figure if left out.
    what : {"deferrals", "deferrals to", "entries", "cells", "remote writes", "takes", "writes"}
        Deferrals by home region, by owner region, entries that ran, cells in use, or linear cells that other blocks
        wrote; at level ``full`` slots taken, and cells changed.
    shape : (int, int), optional
        Most regions and passes drawn apart; as many as the axes have pixels if left out.
    reduce : {"max", "sum", "mean"}
        What becomes of the regions and passes that share a pixel; "max" keeps a lone one visible.
    norm : {"log", "linear"}
        Scale of the colours.
    zero : color, optional
        What is zero; light grey if left out, or nearly black on a dark page. The scale of the colours names it.
    marks : sequence of int
        Passes to mark with a line.
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
        If the trace does not hold it.
    """
    with drawing((9.0, 3.6)) as size:
        if ax is None:
            figure = new_figure(size)
            describe(figure, trace, f"Map of {what} by region and pass")
            ax = place(figure, bottom=BOTTOM, top=heading(figure, trace) + caption_inches(figure))
        scale = place_scale(figure_of(ax), ax) if colorbar else None
        bins = np.minimum(pixels_of(ax), 2048) if shape is None else shape
        found = region_map(trace, what, shape=(int(bins[0]), int(bins[1])), reduce=reduce)
        draw_map(ax, found, scale=scale, norm=norm, zero=zero)
        for p in marks:
            ax.axvline(p, color=ERROR.color, lw=1, ls="--")
        return figure_of(ax)
