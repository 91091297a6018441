"""One pass: what each thread ran, and to whom it had to defer."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.figures.above import legend_above
from hvm4viz.figures.entry_boxes import draw_entries, draw_way
from hvm4viz.figures.layout import (
    count_axis,
    figure_of,
    framed,
    pixels_of,
)
from hvm4viz.figures.outcomes import outcome_handles
from hvm4viz.figures.style import DEFERRED, PUBLISHED, drawing, ink, type_size
from hvm4viz.figures.thread_rows import ROW_INCHES, ThreadRows, draw_note, draw_thread_axis, thread_rows, why_no_events
from hvm4viz.measure.deferrals import most_stopping_pass
from hvm4viz.measure.owners import owner_threads
from hvm4viz.trace.sparse import check_pass
from hvm4viz.trace.trace import Trace

ROOM: Final = 32
"""Most rows of a figure of our own."""

OWNER_INCHES: Final = 0.82
"""Width that the names of slots take."""

ENTRIES_MIN: Final = 5
"""Least length of the axis: one entry is no bar across the picture."""

BOXES_MANY: Final = 100
"""Entries from which on the boxes of an outcome are one shape."""

_DEFERRED, _CONTENDED = OUTCOMES.index("deferred"), OUTCOMES.index("contended")
_WAITS: Final = tuple(REASONS.index(name) for name in ("busy", "claim"))
_LINES: Final = {False: "-", True: "--"}
_WORDS: Final = {False: "goes to the slot's owner", True: "waits for the slot"}


def pass_diagram(trace: Trace, p: int | None = None, *, ax: Axes | None = None) -> Figure:
    """Draw the entries of one pass by thread, and an arrow from each one that was stopped to the owner of its slot.

    Parameters
    ----------
    trace : Trace
        Recorded at ``events`` or more.
    p : int, optional
        Which pass, -1 is the last; if left out, the first of those in which most entries were stopped at a slot, or
        else of the widest ones.
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
    p = most_stopping_pass(trace) if p is None else check_pass(p, trace.n_passes)
    why = why_no_events(trace, p)
    events = np.empty(0, [("thread", "<u4"), ("outcome", "u1"), ("slot", "<u4")]) if why else trace.events(p, p + 1)
    stopped = events["slot"][np.isin(events["outcome"], (_DEFERRED, _CONTENDED))]
    owners = owner_threads(trace, stopped, p)
    involved = np.concatenate([events["thread"], owners])
    with drawing((9.0, 1.35 + ROW_INCHES * max(thread_rows(trace, involved, ROOM).count, 3))) as size:
        if ax is None:
            shown = f"Entries of pass {p} by thread, and the owners of the slots that stopped them"
            ax = framed(trace, size, shown, above=lambda _: 0.3, right=0.2)
        ax.set_xlabel("entries of a thread, in order")
        if why:
            draw_note(ax, why)
            legend_above(ax, [], which_pass(trace, p))
            return figure_of(ax)
        rows = thread_rows(trace, involved, min(int(pixels_of(ax)[0] / figure_of(ax).dpi / ROW_INCHES * 1.05), 200))
        draw_pass(ax, trace, p, rows, events)
        return figure_of(ax)


def draw_pass(
    ax: Axes,
    trace: Trace,
    p: int,
    rows: ThreadRows,
    events: NDArray[np.void],
    *,
    longest: int = ENTRIES_MIN,
    grow: bool = True,
) -> None:
    """Draw boxes, arrows and the owners they lead to; the axis has room for ``longest`` entries, or for all there are.

    ``grow`` is as in ``legend_above``.
    """
    row = rows.of(events["thread"])
    counts = np.bincount(row, minlength=rows.count)
    longest = max(int(counts.max(initial=0)), longest)
    stops = np.flatnonzero(np.isin(events["outcome"], (_DEFERRED, _CONTENDED)))
    inches = pixels_of(ax)[1] / figure_of(ax).dpi
    beside = min(OWNER_INCHES + 0.22 * inches, 0.6 * inches) if stops.size else 0.0
    inch = (inches - beside) / longest
    lane = longest + (beside - OWNER_INCHES) / inch
    ax.set_xlim(0, inches / inch)
    draw_thread_axis(ax, rows)
    draw_entries(ax, events, row, inches=inch, together=events.size > BOXES_MANY)
    kinds: list[bool] = []
    if stops.size:
        target = rows.of(owner_threads(trace, events["slot"][stops], p))
        stops, target = stops[target >= 0], target[target >= 0]
        waits = np.isin(events["reason"][stops], _WAITS)
        kinds = sorted(set(waits.tolist()))
        _draw_arrows(ax, np.stack([row[stops], target, waits], axis=1), counts, (longest, lane))
        _draw_owners(ax, trace, events["slot"][stops], target, lane)
    count_axis(ax, "x")
    ax.set_xticks([tick for tick in ax.get_xticks().tolist() if tick <= longest])
    arrows: list[Artist] = [Line2D([], [], color=ink(DEFERRED), ls=_LINES[kind], label=_WORDS[kind]) for kind in kinds]
    legend_above(ax, outcome_handles(events["outcome"].tolist()) + arrows, which_pass(trace, p), grow=grow)


def which_pass(trace: Trace, p: int) -> str:
    """Say which pass is shown."""
    return f"pass {p:,} of 0 to {trace.n_passes - 1:,}" if trace.n_passes else ""


def _draw_arrows(ax: Axes, ways: NDArray[Any], counts: NDArray[np.int64], between: tuple[float, float]) -> None:
    """Draw an arrow from each row with stopped entries to each owner's row, thicker where it stands for more."""
    found, many = np.unique(ways, axis=0, return_counts=True)
    begin, end = between
    for (y, target, waits), count in zip(found.tolist(), many.tolist(), strict=True):
        width = 0.9 + 2.1 * (count - 1) / max(int(many.max()) - 1, 3)
        last = begin + (end - begin) * 0.95
        draw_way(
            ax, (int(counts[y]), y), (begin, last), (last, target), color=ink(DEFERRED), line=_LINES[waits],
            width=width, alpha=0.8,
        )  # fmt: skip


def _draw_owners(ax: Axes, trace: Trace, slots: NDArray[np.uint32], target: NDArray[np.int64], lane: float) -> None:
    """Mark the rows of owners, with the slots they were asked for."""
    for y in np.unique(target).tolist():
        asked = np.unique(slots[target == y])
        region = np.unique(asked // trace.region_size)
        what = f"slot {asked[0]}" if asked.size == 1 else f"{asked.size:,} slots"
        where = f"region {region[0]}" if region.size == 1 else f"{region.size:,} regions"
        ax.plot([lane], [y], marker="s", ms=5, mfc="none", mec=ink(PUBLISHED), mew=1.6, zorder=5)
        at: Any = {"xytext": (7, 0), "textcoords": "offset points", "linespacing": 0.95}
        ax.annotate(f"{what}\n{where}", (lane, y), fontsize=type_size("small"), va="center", **at)
