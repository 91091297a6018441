"""Which threads ran how many entries: a map of threads by pass, or by region."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hvm4viz.figures.above import caption
from hvm4viz.figures.layout import (
    BOTTOM,
    count_axis,
    describe,
    figure_of,
    heading,
    label_scale,
    new_figure,
    pixels_of,
    place,
    place_scale,
    zero_entry,
)
from hvm4viz.figures.region_map import caption_inches
from hvm4viz.figures.style import drawing, map_scale, zero_color
from hvm4viz.figures.thread_rows import draw_note, why_no_events
from hvm4viz.measure.threads import Against, ThreadMap, thread_speedup
from hvm4viz.measure.threads import thread_map as count_by_thread
from hvm4viz.trace.trace import Trace

_MANY: Final = {"pass": "passes", "region": "regions"}

BINS_MAX: Final = (256, 1024)
"""Most rows and columns drawn apart."""


def thread_map(trace: Trace, *, ax: Axes | None = None, against: Against = "pass") -> Figure:
    """Draw how many entries each thread ran, by pass, or by the region of the task's root cell.

    By pass it shows how evenly the work is spread; by region, how far threads work on regions of other blocks. The
    region map of a run in which every thread stays at home is a diagonal.

    Parameters
    ----------
    trace : Trace
        Recorded at ``events`` or more.
    ax : Axes, optional
        Where to draw; a new figure if left out.
    against : {"pass", "region"}

    Returns
    -------
    figure : Figure

    Raises
    ------
    ValueError
        If ``against`` is neither.
    """
    with drawing((9.0, 3.4)) as size:
        if ax is None:
            figure = new_figure(size)
            describe(figure, trace, f"Map of entries by thread and {against}")
            ax = place(figure, bottom=BOTTOM, top=heading(figure, trace) + caption_inches(figure))
        ax.set_xlabel(against)
        why = why_no_events(trace)
        if why:
            draw_note(ax, why)
            return figure_of(ax)
        bins = np.minimum(pixels_of(ax), BINS_MAX)
        found = count_by_thread(trace, against, shape=(int(bins[0]), int(bins[1])))
        _draw(ax, found)
        words = [f"entries of each thread · evenness: {thread_speedup(trace):.3g} of {found.n_threads:,} threads busy"]
        if found.threads_per_bin > 1 or found.columns_per_bin > 1:
            threads = "1 thread" if found.threads_per_bin == 1 else f"{found.threads_per_bin:,} threads"
            words.append(f"each pixel: max of {threads} × {found.columns_per_bin:,} {_MANY[against]}")
        caption(ax, *words)
        return figure_of(ax)


def _draw(ax: Axes, found: ThreadMap) -> None:
    """Draw the map, the first thread at the top, and the scale of its colours."""
    rows, columns = found.values.shape
    ax.set_facecolor(zero_color())
    ax.set_ylabel("thread")
    if found.values.any():
        norm, colors, ticks = map_scale(found.values)
        image = ax.imshow(
            np.ma.masked_less_equal(found.values, 0),
            cmap=colors,
            norm=norm,
            extent=(-0.5, columns * found.columns_per_bin - 0.5, rows * found.threads_per_bin - 0.5, -0.5),
            aspect="auto",
            interpolation="none",
        )
        bar = figure_of(ax).colorbar(image, cax=place_scale(figure_of(ax), ax), ticks=ticks)
        bar.outline.set_visible(False)  # type: ignore[operator]
        label_scale(bar.ax, norm)
        if not found.values.all():
            zero_entry(bar.ax, zero_color())
    else:
        ax.text(0.5, 0.5, "no entry in any pass", transform=ax.transAxes, ha="center", va="center", alpha=0.7)
    # The last bins may reach beyond the last thread and column: the limits of the axes cut them.
    ax.set_xlim(-0.5, max(found.n_columns, 1) - 0.5)
    ax.set_ylim(max(found.n_threads, 1) - 0.5, -0.5)
    count_axis(ax, "x")
    count_axis(ax, "y")
