"""The life of a cell: what was written to it, when, and by whom, where the trace tells."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OPERATIONS, OUTCOMES
from hvm4viz.trace.heaps import check_heap, owners_at
from hvm4viz.trace.origin import place_of, word_text

if TYPE_CHECKING:
    from hvm4viz.errors import Span
    from hvm4viz.trace.trace import Trace

_DONE = OUTCOMES.index("done")
_WRITES = [OPERATIONS.index(name) for name in ("take", "publish", "release", "stuck")]


@dataclass(frozen=True, slots=True)
class Write:
    """What a pass made of a cell.

    Attributes
    ----------
    pass_index : int
        The pass; -1 for what stood there when the run began.
    before, after : int
        Words at its start and at its end.
    text : str
        The word after, written out.
    thread : int or None
        Thread that wrote it: of a new cell the owner of its slice, since nobody else lays out cells there.
    event : int or None
        Index of the task's event among all events.
    loc : int or None
        Root cell of the task.
    op : str
        What the task did to the slot, if the cell is one: ``take``, ``publish``, ``release`` or ``stuck``; or empty.
    rule : str
        The rule that the task applied, where the pass applied only one; or empty.
    definition : str or None
        Definition that the term came from.
    span : Span or None
        Its place in the source. A value has the place of the closure that stood in the same cell before.
    """

    pass_index: int
    before: int
    after: int
    text: str
    thread: int | None
    event: int | None
    loc: int | None
    op: str
    rule: str
    definition: str | None
    span: Span | None


@dataclass(frozen=True, slots=True)
class CellHistory:
    """All that passes wrote to a cell, in order.

    Attributes
    ----------
    loc : int
        The cell.
    writes : tuple of Write
        One a pass that changed it, after what stood there at the start.
    until : int
        Last pass at whose start the cell is known.
    """

    loc: int
    writes: tuple[Write, ...]
    until: int

    def __len__(self) -> int:
        """Return how many times it was written."""
        return len(self.writes)

    def __iter__(self) -> Iterator[Write]:
        """Go through the writes, the first one first."""
        return iter(self.writes)

    def last(self, p: int) -> Write | None:
        """Return what made the cell what it is at the start of pass p; None: it is still empty."""
        place = bisect_left(self.writes, p, key=lambda write: write.pass_index)
        return self.writes[place - 1] if place else None

    def at(self, p: int) -> int:
        """Return the word at the start of pass p.

        Raises
        ------
        IndexError
            If the cell is not known then.
        """
        if not 0 <= p <= self.until:
            raise IndexError(f"pass {p}: cell {self.loc} is known from pass 0 to the start of pass {self.until}")
        write = self.last(p)
        return write.after if write else 0


def cell_history(trace: Trace, loc: int) -> CellHistory:
    """Return the life of a cell; see ``Trace.cell``."""
    check_heap(trace, 0, what="the history of a cell")
    n_cells = owners_at(trace, trace.n_passes).size * trace.region_size
    if not 0 <= loc < n_cells:
        raise IndexError(f"cell {loc}: the trace has cells 0 to {n_cells - 1}")
    book = trace.program.book if trace.program else None
    first = int(trace.header.heap[loc]) if loc < trace.header.heap.size else 0
    writes: list[Write] = []
    place = place_of(first, book)
    if first:
        writes.append(Write(-1, 0, first, word_text(first, book), None, None, None, "", "", *place))
    for p, before, after in changes_of(trace, loc):
        found = place_of(after, book)
        place = found if found[0] is not None else place
        writer = _writer(trace, loc, p, before)
        writes.append(Write(p, before, after, word_text(after, book), *writer, _rule(trace, p, writer[1]), *place))
    return CellHistory(loc, tuple(writes), trace.events_until)


def changes_of(trace: Trace, loc: int, p0: int = 0, p1: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Go through the passes that changed a cell: pass, word before, word after."""
    for first, offsets, table in trace.parts(p0, p1, table="deltas"):
        lo, hi = int(offsets[0]), int(offsets[-1])
        at = lo + np.flatnonzero(table.column("cell", lo, hi) == loc)
        passes = first + np.searchsorted(offsets, at, side="right") - 1
        words: list[NDArray[np.uint64]] = [table.column(name)[at] for name in ("before", "after")]
        yield from zip(passes.tolist(), words[0].tolist(), words[1].tolist(), strict=True)


def _writer(trace: Trace, loc: int, p: int, before: int) -> tuple[int | None, int | None, int | None, str]:
    """Return thread, event and root cell of the task that wrote a cell in pass p, and what it did to the slot."""
    events, start = trace.events(p, p + 1), int(trace.event_offsets[p])

    def by(event: int, op: str = "") -> tuple[int, int, int, str]:
        return int(events["thread"][event]), start + event, int(events["loc"][event]), op

    ops = trace.long_table("ops", p, p + 1)
    ops = ops[(ops["slot"] == loc) & np.isin(ops["op"], _WRITES)]
    if ops.size:
        return by(int(ops["event"][-1]), OPERATIONS[int(ops["op"][-1])])
    if events.size == 1:
        return by(0)
    own = np.flatnonzero((events["loc"] == loc) & (events["outcome"] == _DONE))
    if own.size and not before:
        own = own[:0]  # a new cell cannot be the root of a task that ran in the same pass
    if own.size:
        return by(int(own[-1]))
    if before:
        return None, None, None, ""
    return (*_maker(trace, loc, p, events, start), "")


def _maker(
    trace: Trace, loc: int, p: int, events: NDArray[np.void], start: int
) -> tuple[int | None, int | None, int | None]:
    """Return who laid out a new cell: the thread whose slice it lies in, and its task if only one of them did so."""
    made = events["cells"] > 0
    threads = np.unique(events["thread"][made])
    region, inside = divmod(loc, trace.region_size)
    tpb = trace.header.threads_per_block
    owner = int(owners_at(trace, p + 1)[region]) * tpb + inside // (trace.region_size // tpb)
    thread = owner if owner in threads else int(threads[0]) if threads.size == 1 else None
    if thread is None:
        return None, None, None
    tasks = np.flatnonzero(made & (events["thread"] == thread))
    if tasks.size != 1:
        return thread, None, None
    return thread, start + int(tasks[0]), int(events["loc"][tasks[0]])


def _rule(trace: Trace, p: int, event: int | None) -> str:
    """Return the rule that a task applied in pass p, if it applied one and the pass knows no other."""
    if event is None or not trace.column("interactions", p, p + 1)[event - int(trace.event_offsets[p])]:
        return ""
    applied = np.flatnonzero(trace.rules.at(p))
    return trace.header.rules[int(applied[0])] if applied.size == 1 else ""
