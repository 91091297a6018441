"""The tables of a trace as Arrow sees them, with names instead of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.heaps import check_heap

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

Columns = dict[str, Any]


def table(trace: Trace, name: str) -> Any:
    """Return one table of a trace.

    Parameters
    ----------
    trace : Trace
    name : str
        One of ``TABLES``.

    Returns
    -------
    table : pyarrow.Table
        Names of outcomes, reasons, operations and rules are dictionaries of text.

    Raises
    ------
    ValueError
        If there is no such table.
    TraceError
        If the trace does not hold it.
    """
    return pa.Table.from_batches(list(batches(trace, name)))


def batches(trace: Trace, name: str) -> Iterator[Any]:
    """Return one table of a trace part by part, at least one part."""
    if name not in TABLES:
        raise ValueError(f"table={name!r}: must be one of {', '.join(TABLES)}")
    for columns in TABLES[name](trace):
        yield pa.record_batch(list(map(_array, columns.values())), names=list(columns))


def _array(column: Any) -> Any:
    return column if isinstance(column, pa.Array) else pa.array(np.ascontiguousarray(column))


def named(codes: NDArray[Any], names: Sequence[str]) -> Any:
    """Return codes as a dictionary of text; what cannot be encoded is escaped."""
    texts = [name.encode("utf-8", "backslashreplace").decode() for name in names]
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(texts, pa.string()))


def _passes(trace: Trace) -> Iterator[Columns]:
    rows, outcomes = trace.rows, trace.outcomes
    columns: Columns = {"pass": np.arange(trace.n_passes, dtype=np.uint32), "frontier": rows["frontier"]}
    columns["interactions"] = rows["interactions"]
    for name in ("longest", "parked"):
        columns[name] = rows[name]
    for name in ("deferred", "contended"):
        columns[name] = outcomes[:, OUTCOMES.index(name)]
    columns["device"] = named(rows["device"], trace.devices)
    yield {**columns, "device_ns": rows["device_ns"], "host_ns": rows["host_ns"]}


def _events(trace: Trace) -> Iterator[Columns]:
    trace.need_events("events")
    size = np.uint32(trace.region_size)
    for first, last in _stretches(trace, "events"):
        events = trace.events(first, last)
        yield {
            "pass": trace.passes(first, last).astype(np.uint32),
            "thread": events["thread"],
            "block": events["thread"] // np.uint32(trace.header.threads_per_block),
            "loc": events["loc"],
            "region": events["loc"] // size,
            "outcome": named(events["outcome"], OUTCOMES),
            "reason": named(events["reason"], REASONS),
            "slot": events["slot"],
            "side": events["side"],
            "origin": named(events["origin"], ORIGINS),
            "interactions": events["interactions"],
            "cells": events["cells"],
        }


def _deferrals(trace: Trace) -> Iterator[Columns]:
    found = trace.deferrals()
    columns = {name: found[name] for name in found.dtype.names or ()}
    columns["reason"], columns["outcome"] = named(found["reason"], REASONS), named(found["outcome"], OUTCOMES)
    yield columns


def _records(ask: Callable[[Trace], NDArray[np.void]]) -> Callable[[Trace], Iterator[Columns]]:
    def columns(trace: Trace) -> Iterator[Columns]:
        found = ask(trace)
        yield {name: found[name] for name in found.dtype.names or ()}

    return columns


def _sparse(what: str, key: str, count: str) -> Callable[[Trace], Iterator[Columns]]:
    def columns(trace: Trace) -> Iterator[Columns]:
        found = getattr(trace, what)
        keys = named(found.keys, trace.header.rules) if key == "rule" else found.keys
        yield {"pass": found.passes.astype(np.uint32), key: keys, count: found.counts}

    return columns


def _outcomes(trace: Trace) -> Iterator[Columns]:
    passes, codes = trace.outcomes.nonzero()
    yield {"pass": passes.astype(np.uint32), "outcome": named(codes, OUTCOMES), "count": trace.outcomes[passes, codes]}


def _cells(trace: Trace) -> Iterator[Columns]:
    found = trace.cells
    yield {"pass": found.passes.astype(np.uint32), "region": found.keys, "cells": found.states}


def _operations(trace: Trace) -> Iterator[Columns]:
    check_heap(trace, 0, what="operations on slots")
    for first, last in _stretches(trace, "ops"):
        found = trace.ops(first, last)
        columns: Columns = {name: found[name] for name in found.dtype.names or ()}
        yield columns | {"op": named(found["op"], OPERATIONS)}


def _deltas(trace: Trace) -> Iterator[Columns]:
    check_heap(trace, 0, what="changed cells")
    for first, last in _stretches(trace, "deltas"):
        found = trace.long_table("deltas", first, last)
        sizes = [np.diff(offsets) for _, offsets, _ in trace.parts(first, last, table="deltas")]
        lengths = np.concatenate([np.zeros(0, np.int64), *sizes])
        passes = np.repeat(np.arange(first, last, dtype=np.uint32), lengths)
        yield {"pass": passes, **{name: found[name] for name in ("cell", "before", "after")}}


def _stretches(trace: Trace, name: str) -> list[tuple[int, int]]:
    """Return the passes of each part of a long table; one empty stretch if there is none."""
    return [(first, first + o.size - 1) for first, o, _ in trace.parts(table=name)] or [(0, 0)]


TABLES: Final[dict[str, Callable[[Trace], Iterator[Columns]]]] = {
    "passes": _passes,
    "events": _events,
    "deferrals": _deferrals,
    "pairs": _records(lambda trace: trace.deferral_pairs()),
    "outcomes": _outcomes,
    "rules": _sparse("rules", "rule", "count"),
    "cells": _cells,
    "remote": _sparse("remote", "region", "cells"),
    "given": _records(lambda trace: trace.given),
    "ops": _operations,
    "deltas": _deltas,
}
"""Every table: what each pass has one of; what each entry did; deferrals; counts by pass; at ``full`` operations on
slots and changed cells."""
