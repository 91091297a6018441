"""The heap at any pass: from the nearest image, over the cells that passes changed, forward or backward."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import DamagedTrace, TraceError
from hvm4viz.events import DELTA
from hvm4viz.heap import Heap, Task
from hvm4viz.state import Misfit, State, tasks_of
from hvm4viz.trace.columns import Ragged

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

CELLS_MAX: Final = 1 << 32
"""Cells of a heap: what a word can point to."""


@dataclass(frozen=True, slots=True)
class _Image:
    """The heap at the start of pass ``at``: values ``start`` to ``stop`` of an image table, or words as they are."""

    at: int
    table: Ragged | None
    start: int
    stop: int


class Heaps:
    """The heaps of one trace.

    Parameters
    ----------
    trace : Trace
        Recorded at level ``full``.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.until = trace.events_until
        """Last pass at whose start the heap is known."""
        lengths = [np.diff(chunk.tables["deltas"].offsets) for chunk in trace.chunks]
        self._offsets = np.concatenate([[0], *lengths]).cumsum(dtype=np.int64)
        self._images = [_Image(0, None, 0, 0)]
        for chunk in trace.chunks:
            table = chunk.tables["image"]
            for row in np.flatnonzero(np.diff(table.offsets)).tolist():
                bounds = int(table.offsets[row]), int(table.offsets[row + 1])
                self._images.append(_Image(chunk.first + row + 1, table, *bounds))
        self._starts = [image.at for image in self._images]
        self._last: tuple[int, NDArray[np.uint64]] | None = None

    def heap(self, p: int) -> Heap:
        """Return the heap at the start of pass p, of which 0 to ``n_passes`` are there."""
        header = self.trace.header
        owners = owners_at(self.trace, p)
        n_cells = owners.size * header.region_size
        words = self._words(p, n_cells)
        words.flags.writeable = False
        return Heap(
            words=words,
            root=header.root,
            region_size=header.region_size,
            threads_per_block=header.threads_per_block,
            owners=owners,
            tasks=self._tasks(p),
            stamps=header.stamps + p + 1,
        )

    def _tasks(self, p: int) -> tuple[Task, ...]:
        """Return the tasks at work, where the state of the machine was kept."""
        known, packed = self.trace.last_state(p)
        if known != p or not packed:
            return ()
        try:
            return tasks_of(State.from_bytes(packed))
        except Misfit:
            return ()

    def _words(self, p: int, n_cells: int) -> NDArray[np.uint64]:
        if n_cells > CELLS_MAX:
            raise DamagedTrace(f"the heap at pass {p} has {n_cells:,} cells, a word can point to {CELLS_MAX:,}")
        words = np.zeros(n_cells, np.uint64)
        try:
            at = self._nearest(p, words)
            self._walk(words, at, p)
        except IndexError:
            raise DamagedTrace(f"a cell that changed before pass {p} lies in none of its regions") from None
        self._last = p, words
        return words

    def _nearest(self, p: int, words: NDArray[np.uint64]) -> int:
        """Fill in the heap that is the fewest changes away from p; return its pass."""
        after = bisect_left(self._starts, p)
        near = [i for i in (after - 1, after) if 0 <= i < len(self._images)]
        place = min(near, key=lambda i: self._distance(self._images[i].at, p))
        image = self._images[place]
        if self._last is not None and self._distance(self._last[0], p) <= self._distance(image.at, p):
            at, known = self._last
            size = min(known.size, words.size)
            words[:size] = known[:size]
            return at
        if image.table is None:
            start = self.trace.header.heap
            words[: start.size] = start
        else:
            cells = image.table.column("cell", image.start, image.stop)
            inside = cells < words.size  # what lies behind came later, and is zero at p
            words[cells[inside]] = image.table.column("word", image.start, image.stop)[inside]
        return image.at

    def _distance(self, p: int, q: int) -> int:
        return abs(int(self._offsets[q] - self._offsets[p]))

    def _walk(self, words: NDArray[np.uint64], p: int, q: int) -> None:
        """Turn the heap at the start of pass p into that of pass q."""
        if q >= p:
            for cells, after in self._changes(p, q, "after"):
                words[cells] = after  # of several changes of a cell, the last one stays
            return
        for cells, before in reversed(list(self._changes(q, p, "before"))):
            inside = cells < words.size
            words[cells[inside][::-1]] = before[inside][::-1]

    def _changes(self, p: int, q: int, word: str) -> list[tuple[NDArray[np.uint32], NDArray[np.uint64]]]:
        return [
            (table.column("cell", start, stop), table.column(word, start, stop))
            for _, offsets, table in self.trace.parts(p, q, table="deltas")
            for start, stop in ((int(offsets[0]), int(offsets[-1])),)
        ]


def owners_at(trace: Trace, p: int) -> NDArray[np.uint32]:
    """Return the owner block of each region in use at the start of pass p."""
    first, given = trace.header.regions, trace.given
    given = given[: int(np.searchsorted(given["pass"], p))]
    n_regions = max(first.size, int(given["region"].max(initial=0)) + 1 if given.size else 0)
    owners = np.zeros(n_regions, np.uint32)
    owners[: first.size] = first
    owners[given["region"]] = given["block"]  # of several, the last one holds
    return owners


def check_heap(trace: Trace, p: int, *, what: str = "the heap") -> int:
    """Return p counted from the front; the start of pass ``n_passes`` is the end of the run.

    Raises
    ------
    TraceError
        If the trace does not know the heap there.
    IndexError
        If there is no such pass.
    """
    if trace.level != "full":
        raise TraceError(f"{what}: this trace was recorded at level {trace.level!r}; run it again with record='full'")
    n_passes = trace.n_passes
    if not -n_passes - 1 <= p <= n_passes:
        raise IndexError(f"pass {p}: the trace has passes 0 to {n_passes - 1}, and {n_passes} is its end")
    p = p if p >= 0 else p + n_passes + 1
    if p > trace.events_until:
        raise TraceError(
            f"{what} at pass {p}: changed cells of passes from {trace.events_until} on were not kept; "
            "run with a larger trace_limit"
        )
    return p


def squash(deltas: NDArray[np.void]) -> NDArray[np.void]:
    """Put changes of several passes, in order, together: one a cell, its first word and its last.

    Returns
    -------
    deltas : ndarray of DELTA
        Ascending by cell, only cells that differ.
    """
    order = np.argsort(deltas["cell"], kind="stable")
    cells = deltas["cell"][order]
    first = np.flatnonzero(np.diff(cells.astype(np.int64), prepend=-1))
    last = np.append(first[1:], cells.size)[: first.size] - 1
    out = np.empty(first.size, DELTA)
    out["cell"] = cells[first]
    out["before"], out["after"] = deltas["before"][order[first]], deltas["after"][order[last]]
    return out[out["before"] != out["after"]]
