"""Several passes beside each other: what each thread ran, and where the tasks went that were not done."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES
from hvm4viz.figures.above import legend_above
from hvm4viz.figures.entry_boxes import draw_entries, draw_way
from hvm4viz.figures.layout import figure_of, framed, pixels_of
from hvm4viz.figures.outcomes import outcome_handles
from hvm4viz.figures.pass_diagram import BOXES_MANY, ROOM
from hvm4viz.figures.style import DEFERRED, IDLE, drawing, ink, short_count
from hvm4viz.figures.thread_rows import ROW_INCHES, ThreadRows, draw_note, draw_thread_axis, thread_rows, why_no_events
from hvm4viz.measure.deferrals import most_stopping_pass
from hvm4viz.trace.sparse import check_pass
from hvm4viz.trace.trace import Trace

PASSES_SHOWN: Final = 12
"""Passes that are shown if none are named."""

BOXES: Final = 0.62
"""Share of a pass's width that the boxes of its fullest thread take; arrows have the rest."""

LINES_MANY: Final = 80
"""Lines from which on they are drawn thin and pale, so that the boxes stay in front."""

_ENDS: Final = tuple(OUTCOMES.index(name) for name in ("done", "stale", "aborted", "error"))
_LINES: Final = {True: ("goes on at another thread", DEFERRED, "-"), False: ("goes on where it is", IDLE, ":")}


def filmstrip(trace: Trace, passes: Sequence[int] | None = None, *, ax: Axes | None = None) -> Figure:
    """Draw the entries of several passes by thread, with a line from each task that goes on to where it does.

    Parameters
    ----------
    trace : Trace
        Recorded at ``events`` or more.
    passes : sequence of int, optional
        Which passes, drawn in ascending order, -1 is the last; if left out, all of a short run, or the twelve around
        the pass in which most entries were stopped at a slot.
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
    shown = _around(trace) if passes is None else sorted({check_pass(p, trace.n_passes) for p in passes})
    kept = [p for p in shown if not why_no_events(trace, p)]
    events = [trace.events(p, p + 1) for p in kept]
    involved = np.concatenate([np.empty(0, np.uint32), *(each["thread"] for each in events)])
    with drawing((9.0, 1.35 + ROW_INCHES * max(thread_rows(trace, involved, ROOM).count, 3))) as size:
        if ax is None:
            shown_words = f"Entries of {len(kept)} passes by thread, and where their tasks went on"
            ax = framed(trace, size, shown_words, above=lambda _: 0.3, right=0.2)
        ax.set_xlabel("pass")
        if not kept:
            draw_note(ax, why_no_events(trace, shown[0] if shown else 0) or "no pass was chosen")
            return figure_of(ax)
        rows = thread_rows(trace, involved, min(int(pixels_of(ax)[0] / figure_of(ax).dpi / ROW_INCHES * 1.05), 200))
        handles = _draw(ax, rows, kept, events)
        cut = f", from pass {kept[-1] + 1:,} on no entries were kept" if len(kept) < len(shown) else ""
        words = f"{len(kept):,} of {trace.n_passes:,} passes{cut}" if len(kept) < trace.n_passes else ""
        legend_above(ax, handles, words)
        return figure_of(ax)


def _around(trace: Trace) -> list[int]:
    """Choose all passes, or those around the one that tells most."""
    count = min(trace.n_passes, PASSES_SHOWN)
    first = min(max(most_stopping_pass(trace) - count // 3, 0), trace.n_passes - count)
    return list(range(first, first + count))


def _draw(ax: Axes, rows: ThreadRows, passes: list[int], events: list[NDArray[np.void]]) -> list[Artist]:
    """Draw boxes and lines; return what names them."""
    draw_thread_axis(ax, rows)
    ax.set_xlim(-0.05, len(passes))
    ax.set_xticks(np.arange(len(passes)) + BOXES / 2, [short_count(p) for p in passes])
    for column in np.flatnonzero(np.diff(passes) > 1).tolist():
        ax.axvline(column + 1 - (1 - BOXES) / 2, color=IDLE.color, ls=":", lw=0.9)
    row = [rows.of(each["thread"]) for each in events]
    most = max((int(np.bincount(each).max(initial=0)) for each in row), default=0)
    unit = BOXES / max(most, 1)
    inches = pixels_of(ax)[1] / figure_of(ax).dpi / len(passes) * unit
    is_many = sum(each.size for each in events) > BOXES_MANY
    for column, (each, y) in enumerate(zip(events, row, strict=True)):
        draw_entries(ax, each, y, inches=inches, start=column, unit=unit, together=is_many)
    ends = [np.bincount(each, minlength=rows.count) * unit for each in row]
    lines = _draw_lines(ax, passes, events, row, ends)
    return [*outcome_handles(int(code) for each in events for code in np.unique(each["outcome"])), *lines]


def _draw_lines(
    ax: Axes,
    passes: list[int],
    events: list[NDArray[np.void]],
    row: list[NDArray[np.int64]],
    ends: list[NDArray[np.floating[Any]]],
) -> list[Line2D]:
    """Draw a line from each task that is not done to its next entry, thicker where it stands for more; name them.

    A task is told by its root cell: at most one live task has it.
    """
    last: dict[int, tuple[int, int, int]] = {}
    ways: dict[tuple[int, int, int, int, bool], int] = {}
    for column, each in enumerate(events):
        if column and passes[column] > passes[column - 1] + 1:
            last.clear()  # what happened between is not shown
        for event, y in zip(each, row[column].tolist(), strict=True):
            loc, thread = int(event["loc"]), int(event["thread"])
            before = last.pop(loc, None)
            if before is not None:
                way = (before[0], before[1], column, y, before[2] != thread)
                ways[way] = ways.get(way, 0) + 1
            if int(event["outcome"]) not in _ENDS:
                last[loc] = (column, y, thread)
    most, is_many = max(ways.values(), default=1), len(ways) > LINES_MANY
    for (begin, y, end, target, moves), count in ways.items():
        line = _LINES[moves]
        draw_way(
            ax, (begin + float(ends[begin][y]), y), (begin + BOXES, begin + 0.97), (end, target), color=ink(line[1]),
            line=line[2], width=0.6 + 0.3 * (not is_many) + 1.8 * (count - 1) / max(most - 1, 3),
            alpha=0.4 if is_many else 0.85,
        )  # fmt: skip
    kinds = sorted({way[4] for way in ways}, reverse=True)
    return [Line2D([], [], color=ink(look), ls=line, label=name) for name, look, line in map(_LINES.__getitem__, kinds)]
