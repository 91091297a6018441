"""Searching a trace: the next or the previous thing that fits, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import OPERATIONS, OUTCOMES, REASONS
from hvm4viz.trace.origin import word_text
from hvm4viz.trace.query import Query, Subject, parse_query

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found.

    Attributes
    ----------
    pass_index : int
        Pass in which it happened; of a cell that was there from the start, 0.
    kind : {"event", "deferral", "operation", "cell"}
    index : int
        Place among all events, deferrals, operations or changed cells of the trace; -1 for a cell that was there from
        the start.
    loc : int
        The cell, or the root cell of the task.
    slot : int
        The slot, if there is one; or 0.
    text : str
        What it is, in words.
    """

    pass_index: int
    kind: str
    index: int
    loc: int
    slot: int
    text: str


def search(trace: Trace, text: str, *, start: int | None = None, back: bool = False) -> Iterator[Hit]:
    """Go through all that fits, from pass ``start`` on, or from its end back; see ``Trace.find``."""
    book = trace.program.book if trace.program else None
    query = parse_query(text, book, region_size=trace.region_size, is_full=trace.level == "full")
    n = trace.n_passes
    if start is None:
        start = n - 1 if back else 0
    start = min(max(start if start >= 0 else start + n, 0), n)
    bounds = (0, min(start + 1, n)) if back else (start, n)
    streams = [_STREAMS[subject](trace, query, *bounds, back=back) for subject in query.subjects]
    if len(streams) == 1:
        return streams[0]
    return merge(*streams, key=lambda hit: hit.pass_index, reverse=back)


def _in_parts(
    trace: Trace,
    query: Query,
    subject: Subject,
    table: str,
    bounds: tuple[int, int],
    *,
    back: bool,
    columns: Callable[[Any, int, int, int, NDArray[np.int64]], Callable[[str], NDArray[Any]]],
) -> Iterator[tuple[int, int, int, Any]]:
    """Go through what fits in a long table: pass, place in all of the table, place in its part, the part."""
    parts = list(trace.parts(*bounds, table=table))
    sizes = [int(offsets[-1] - offsets[0]) for _, offsets, _ in parts]
    starts = np.cumsum([_values_before(trace, table, bounds[0]), *sizes])
    order = range(len(parts) - 1, -1, -1) if back else range(len(parts))
    for i in order:
        first, offsets, values = parts[i]
        lo, hi = int(offsets[0]), int(offsets[-1])
        at = np.flatnonzero(query.fits(subject, columns(values, lo, hi, first, offsets)))
        passes = first + np.searchsorted(offsets - lo, at, side="right") - 1
        for k in range(at.size - 1, -1, -1) if back else range(at.size):
            yield int(passes[k]), int(starts[i] + at[k]), lo + int(at[k]), values


def _values_before(trace: Trace, table: str, p: int) -> int:
    return sum(int(offsets[-1] - offsets[0]) for _, offsets, _ in trace.parts(0, p, table=table))


def _plain(values: Any, lo: int, hi: int, first: int, offsets: NDArray[np.int64]) -> Callable[[str], NDArray[Any]]:
    del first, offsets
    return lambda name: values.column(name, lo, hi)


def _events(trace: Trace, query: Query, p0: int, p1: int, *, back: bool) -> Iterator[Hit]:
    trace.need_events("a search for tasks")
    for p, index, place, values in _in_parts(trace, query, "event", "events", (p0, p1), back=back, columns=_plain):
        loc, slot, outcome, reason = (int(values.column(name)[place]) for name in ("loc", "slot", "outcome", "reason"))
        why = f" ({REASONS[reason]}, slot {slot})" if reason else ""
        yield Hit(p, "event", index, loc, slot, f"task {loc} {OUTCOMES[outcome]}{why}")


def _operations(trace: Trace, query: Query, p0: int, p1: int, *, back: bool) -> Iterator[Hit]:
    if trace.level != "full":
        raise TraceError(
            f"operations on slots: this trace was recorded at level {trace.level!r}; run it again with record='full'"
        )

    def columns(values: Any, lo: int, hi: int, first: int, offsets: NDArray[np.int64]) -> Callable[[str], NDArray[Any]]:
        passes = first + np.searchsorted(offsets, np.arange(lo, hi), side="right") - 1
        events = trace.event_offsets[passes] - trace.event_offsets[first] + values.column("event", lo, hi)

        def column(name: str) -> NDArray[Any]:
            if name in ("loc", "thread"):
                return trace.column(name, first, first + offsets.size - 1)[events]
            return values.column(name, lo, hi)

        return column

    for p, index, place, values in _in_parts(trace, query, "operation", "ops", (p0, p1), back=back, columns=columns):
        op, slot, event = (int(values.column(name)[place]) for name in ("op", "slot", "event"))
        loc = int(trace.column("loc", p, p + 1)[event])
        yield Hit(p, "operation", index, loc, slot, f"task {loc}: {OPERATIONS[op]} of slot {slot}")


def _cells(trace: Trace, query: Query, p0: int, p1: int, *, back: bool) -> Iterator[Hit]:
    if trace.level != "full":
        raise TraceError(
            f"a search for cells: this trace was recorded at level {trace.level!r}; run it again with record='full'"
        )
    book = trace.program.book if trace.program else None

    def at_start() -> Iterator[Hit]:
        heap = trace.header.heap
        cells = np.flatnonzero(heap).astype(np.uint32)
        known = {"cell": cells, "after": heap[cells]}
        fits = query.fits("cell", known.__getitem__) & trace.roles.is_term(cells, heap[cells])
        found = cells[fits].tolist()
        for cell in reversed(found) if back else found:
            yield Hit(0, "cell", -1, cell, 0, f"cell {cell}: {word_text(int(heap[cell]), book)} from the start")

    if p0 == 0 and not back:
        yield from at_start()
    for p, index, place, values in _in_parts(trace, query, "cell", "deltas", (p0, p1), back=back, columns=_plain):
        cell, word = values.column("cell")[place : place + 1], values.column("after")[place : place + 1]
        if trace.roles.is_term(cell, word)[0]:
            loc = int(cell[0])
            yield Hit(p, "cell", index, loc, 0, f"cell {loc}: {word_text(int(word[0]), book)}")
    if p0 == 0 and back:
        yield from at_start()


def _deferrals(trace: Trace, query: Query, p0: int, p1: int, *, back: bool) -> Iterator[Hit]:
    found = trace.deferrals()
    lo, hi = np.searchsorted(found["opened"], [p0, p1]).tolist()
    part = found[lo:hi]
    at = np.flatnonzero(query.fits("deferral", part.__getitem__))
    for k in at[::-1].tolist() if back else at.tolist():
        each = part[k]
        loc, slot = int(each["loc"]), int(each["slot"])
        reason = REASONS[int(each["reason"])]
        age = f"for {int(each['age'])} passes" if each["age"] >= 0 else "to the end"
        text = f"task {loc} waits at slot {slot} ({reason}) {age}"
        yield Hit(int(each["opened"]), "deferral", lo + k, loc, slot, text)


_STREAMS: dict[Subject, Callable[..., Iterator[Hit]]] = {
    "event": _events,
    "deferral": _deferrals,
    "operation": _operations,
    "cell": _cells,
}
