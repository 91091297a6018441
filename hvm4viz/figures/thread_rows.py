"""Rows of a picture that stand for threads: one each while there is room, several together where there is not."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hvm4viz.trace.trace import Trace

ROW_INCHES: Final = 0.19
"""Height that a row needs for its name."""

BAND_COLOR: Final = "#8080801c"
"""Behind every other block: told apart on white and on black."""


@dataclass(frozen=True, slots=True)
class ThreadRows:
    """Which threads stand in which row, from the top down.

    Attributes
    ----------
    first : ndarray of int64, shape (n_rows,)
        First thread of each row, ascending.
    per_row : int
        Threads a row; 1 if each has its own.
    threads_per_block : int
    """

    first: NDArray[np.int64]
    per_row: int
    threads_per_block: int

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.first.size

    def of(self, threads: NDArray[Any]) -> NDArray[np.int64]:
        """Return the row of each thread."""
        return np.searchsorted(self.first, threads, side="right") - 1

    def names(self) -> list[str]:
        """Name the rows: block and thread, or the first of several."""
        blocks, lanes = np.divmod(self.first, self.threads_per_block)
        more = " …" if self.per_row > 1 else ""
        return [f"B{block}/t{lane}{more}" for block, lane in zip(blocks.tolist(), lanes.tolist(), strict=True)]


def thread_rows(trace: Trace, involved: NDArray[Any], room: int) -> ThreadRows:
    """Choose the rows: all threads if there is room for them, else those involved, else runs of equally many."""
    lanes = trace.header.threads_per_block
    n_threads = trace.header.blocks * lanes
    if n_threads <= room:
        return ThreadRows(np.arange(n_threads), 1, lanes)
    involved = np.unique(involved[involved >= 0]).astype(np.int64)
    if 0 < involved.size <= room:
        return ThreadRows(involved, 1, lanes)
    per_row = -(-n_threads // max(room, 1))
    return ThreadRows(np.arange(0, n_threads, per_row), per_row, lanes)


def draw_thread_axis(ax: Axes, rows: ThreadRows) -> None:
    """Name the rows, the first one at the top, and shade every other block."""
    ax.set_ylim(rows.count - 0.5, -0.5)
    ax.set_yticks(range(rows.count), rows.names())
    ax.set_ylabel("thread" if rows.per_row == 1 else f"threads, {rows.per_row:,} a row")
    ax.tick_params(axis="y", length=0)
    if rows.per_row > 1:
        return
    blocks = rows.first // rows.threads_per_block
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), rows.count], strict=True):
        if blocks[start] % 2:
            ax.axhspan(start - 0.5, end - 0.5, color=BAND_COLOR, lw=0, zorder=0)


def draw_note(ax: Axes, text: str) -> None:
    """Write in the middle of empty axes why nothing is drawn."""
    ax.set(xlim=(-0.5, 0.5), ylim=(0.5, -0.5), xticks=[], yticks=[])
    ax.set_ylabel("thread")
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", alpha=0.7, parse_math=False)


def why_no_events(trace: Trace, p: int = 0) -> str:
    """Say why the entries of a pass cannot be drawn, or nothing if they can."""
    if not trace.n_passes:
        return "0 passes: nothing was run"
    if trace.level in ("off", "counts"):
        return f"recorded at level {trace.level}: no entries were kept"
    return f"the trace was cut: no entries from pass {trace.events_until:,} on" if p >= trace.events_until else ""
