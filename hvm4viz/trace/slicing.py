"""Some of the passes of a trace, as a trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.columns import TABLES, Chunk, Ragged, records
from hvm4viz.trace.heaps import owners_at

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


def slice_chunks(trace: Trace, p0: int, p1: int) -> tuple[Chunk, ...]:
    """Return passes p0 to p1 (without p1), numbered from 0."""
    found: list[Chunk] = []
    for chunk in trace.chunks:
        lo, hi = max(p0 - chunk.first, 0), min(p1 - chunk.first, chunk.n_passes)
        if lo < hi:
            is_whole = (lo, hi) == (0, chunk.n_passes)
            tables = chunk.tables if is_whole else {name: _rows(t, lo, hi) for name, t in chunk.tables.items()}
            found.append(Chunk(chunk.first + lo - p0, chunk.kept, chunk.rows[lo:hi], tables))
    if found and p0:
        found[0] = _begun(trace, p0, found[0])
    return tuple(found)


def _rows(table: Ragged, lo: int, hi: int) -> Ragged:
    offsets = table.offsets[lo : hi + 1]
    start, stop = int(offsets[0]), int(offsets[-1])
    values = table.values
    cut: NDArray[np.void] | dict[str, NDArray[np.generic]]
    cut = {n: c[start:stop] for n, c in values.items()} if isinstance(values, dict) else values[start:stop]
    return Ragged(offsets - start, cut)


def _begun(trace: Trace, p0: int, chunk: Chunk) -> Chunk:
    """Let the first pass say how many cells each region has, not only what it changed."""
    table = chunk.tables["cells"]
    before = trace.cells.at(p0 - 1)
    first = int(table.offsets[1])
    state = before.copy()
    state[table.column("region", 0, first)] = table.column("cells", 0, first)
    at = np.flatnonzero(state)
    values = records(TABLES["cells"], region=at, cells=state[at])
    rest = table.records(TABLES["cells"], first, table.n_values)
    offsets = np.concatenate([[0], table.offsets[1:] - first + at.size])
    return replace(chunk, tables={**chunk.tables, "cells": Ragged(offsets, np.concatenate([values, rest]))})


def slice_trace(trace: Trace, p0: int | None, p1: int | None) -> Trace:
    """Return passes p0 to p1 (without p1); see ``Trace.slice``."""
    start, stop, _ = slice(p0, p1).indices(trace.n_passes)
    stop = max(start, stop)
    if (start, stop) == (0, trace.n_passes):
        return trace
    header = replace(trace.header, regions=owners_at(trace, start), skipped=trace.header.skipped + start)
    if trace.level == "full" and start <= trace.events_until:
        header = replace(header, heap=trace.at(start).words, stamps=trace.header.stamps + start)
    ends = stop == trace.n_passes
    return type(trace)(
        header,
        trace.end if ends else None,
        slice_chunks(trace, start, stop),
        level=trace.level,
        devices=trace.devices,
        state=trace.state if ends else "interrupted",
        note=f"passes {start} to {stop} of a trace of {trace.n_passes:,}, numbered from 0",
        final_state=trace.final_state if ends else b"",
    )
