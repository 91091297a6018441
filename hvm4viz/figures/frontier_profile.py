"""Frontier width over passes, and how much of it had to wait."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hvm4viz.figures.above import legend_above
from hvm4viz.figures.layout import (
    BOTTOM,
    count_axis,
    count_labels,
    describe,
    figure_of,
    heading,
    is_narrow,
    new_figure,
    pixels_of,
    place,
)
from hvm4viz.figures.style import DEFERRED, FRONTIER, IDLE, REDUCED, drawing, ink
from hvm4viz.measure.frontier import deferred_sizes, frontier_sizes, ideal_parallelism, largest_by_bin
from hvm4viz.trace.trace import Trace

STEP_INCHES: Final = 0.03
"""Least width of a step."""


def frontier_profile(trace: Trace, *, ax: Axes | None = None) -> Figure:
    """Draw the entries of each pass, those deferred in front, and how many threads the pass could have kept busy.

    Parameters
    ----------
    trace : Trace
    ax : Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    figure : Figure
    """
    with drawing((9.0, 3.0)) as size:
        if ax is None:
            figure = new_figure(size)
            describe(figure, trace, "Entries of each pass, and how many of them were deferred")
            ax = place(figure, bottom=BOTTOM, top=heading(figure, trace) + legend_inches(figure), right=0.12)
        draw_profile(ax, trace)
        ax.set_xlabel("pass")
        return figure_of(ax)


def legend_inches(figure: Figure) -> float:
    """Return the height that the legend above the profile takes."""
    return 0.5 if is_narrow(figure) else 0.24


def draw_profile(ax: Axes, trace: Trace) -> None:
    """Draw the profile; where passes would stand too close, each step shows the largest of several."""
    n_bins = max(int(pixels_of(ax)[1] / figure_of(ax).dpi / STEP_INCHES), 10)
    edges, width = largest_by_bin(frontier_sizes(trace), n_bins)
    _, deferred = largest_by_bin(deferred_sizes(trace), n_bins)
    _, parked = largest_by_bin(trace.parked.astype(np.int64), n_bins)
    _, ideal = largest_by_bin(ideal_parallelism(trace), n_bins)
    top = int(width.max(initial=1))
    typical = float(np.median(width)) if width.size else 1.0
    is_log = top > 40 * max(typical, 1.0)
    base = 0.5 if is_log else 0
    shifted = edges - 0.5
    ax.stairs(width, shifted, baseline=base, fill=True, color=FRONTIER.color, alpha=0.28, lw=0)
    ax.stairs(width, shifted, baseline=base, color=FRONTIER.color, lw=1.1, label="entries")
    if deferred.any():
        ax.stairs(
            deferred, shifted, baseline=base, fill=True, facecolor=DEFERRED.color, edgecolor=DEFERRED.text,
            hatch=DEFERRED.hatch, lw=0.5, label="of these deferred",
        )  # fmt: skip
    if parked.any():
        ax.stairs(parked, shifted, baseline=None, color=ink(IDLE), ls=IDLE.line, lw=1.1, label="parked")
    if ideal.any():
        ax.stairs(ideal, shifted, baseline=None, color=REDUCED.color, ls=REDUCED.line, lw=1, label="ideal parallelism")
    if is_log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(count_labels())
    most = max(top, int(parked.max(initial=0)), float(ideal.max(initial=0)))
    ax.set_ylim(base, most**1.18 if is_log else most * 1.12)
    ax.set_xlim(-0.5, max(trace.n_passes, 1) - 0.5)
    ax.set_ylabel("entries (log)" if is_log else "entries")
    words = ""
    if edges.size > 1 and edges[1] > 1:
        words = f"each step: max of {edges[1]:,} passes"
    if not trace.n_passes:
        ax.text(0.5, 0.5, "0 passes: nothing was run", transform=ax.transAxes, ha="center", va="center", alpha=0.7)
    count_axis(ax, "x")
    if not is_log:
        count_axis(ax, "y")
    legend_above(ax, ax.get_legend_handles_labels()[0], words, grow=False)
