"""A run at one glance: how wide each pass was, and in which regions tasks had to wait."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hvm4viz.figures.frontier_profile import draw_profile, legend_inches
from hvm4viz.figures.layout import BOTTOM, describe, heading, new_figure, pixels_of, place, place_scale
from hvm4viz.figures.region_map import caption_inches, draw_map
from hvm4viz.figures.style import ERROR, drawing, ink, type_size
from hvm4viz.measure.regions import What, region_map
from hvm4viz.trace.trace import Trace

SIZE: Final = (9.0, 4.2)
"""Inches; 900 x 420 pixels at 100 a inch."""

GAP: Final = 0.12
"""Inches between the profile and the words above the map."""

BINS_MAX: Final = (120, 480)
"""Most rows and columns of the map: enough to see, little enough for a small file."""


def overview(trace: Trace, *, fig: Figure | None = None) -> Figure:
    """Draw the frontier's width over passes, and below it a map of regions and passes.

    The map shows deferrals by home region; if there are none, the entries that ran; at level ``counts``, the cells in
    use. Which one it is stands beside it.

    Parameters
    ----------
    trace : Trace
    fig : Figure, optional
        An empty figure to draw on; a new one if left out.

    Returns
    -------
    figure : Figure
    """
    with drawing(SIZE) as size:
        if fig is None:
            fig = new_figure(size)
        what = _shown(trace)
        describe(fig, trace, f"Entries of each pass, and a map of {what} by region and pass")
        height = float(fig.get_figheight())
        taken = heading(fig, trace) + legend_inches(fig)
        share = (height - taken - BOTTOM - GAP - caption_inches(fig)) * 0.43  # of the profile; the map has the rest
        top = place(fig, bottom=height - taken - share, top=taken)
        below = place(fig, bottom=BOTTOM, top=taken + share + GAP + caption_inches(fig), sharex=top)
        draw_profile(top, trace)
        top.tick_params(labelbottom=False)
        shape = np.minimum(pixels_of(below), BINS_MAX)
        found = region_map(trace, what, shape=(int(shape[0]), int(shape[1])), crop=True)
        draw_map(below, found, scale=place_scale(fig, below))
        _mark_gaps(top, below, trace)
        fig.align_ylabels([top, below])
        return fig


def _shown(trace: Trace) -> What:
    if trace.n_deferrals:
        return "deferrals"
    return "entries" if trace.n_events else "cells"


def _mark_gaps(top: Axes, below: Axes, trace: Trace) -> None:
    """Mark where the recording or the run was cut off."""
    if trace.dropped and trace.level == "events":
        for ax in (top, below):
            ax.axvline(trace.events_until - 0.5, color=ERROR.color, ls="--", lw=1)
        top.text(trace.events_until - 0.5, 0.97, " events kept up to here", color=ink(ERROR),
                 fontsize=type_size("small"), transform=top.get_xaxis_transform(), va="top")  # fmt: skip
    if trace.n_passes and not (trace.end and trace.end.status == "done"):
        for ax in (top, below):
            ax.axvline(trace.n_passes - 0.5, color=ERROR.color, lw=3, clip_on=False, solid_capstyle="butt")
