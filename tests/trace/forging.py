"""Traces that were tampered with: take one apart, change what it says, put it together again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import RunEnd
from hvm4viz.kernel_text import abi
from hvm4viz.trace import Trace
from hvm4viz.trace.columns import ALL_TABLES, Chunk, count_outcomes, from_parts, join


class Forgery:
    """A trace in pieces: rows, and one array a pass for each table.

    Attributes
    ----------
    rows : ndarray of ROW
    tables : dict of list of ndarray
        By name of the table, then by pass.
    end : RunEnd or None
    """

    def __init__(self, trace: Trace) -> None:
        self.original = trace
        self.rows = np.concatenate([chunk.rows for chunk in trace.chunks])
        self.end: RunEnd | None = trace.end
        self.tables: dict[str, list[NDArray[Any]]] = {}
        self.has_outcomes = False
        for name in trace.chunks[0].tables:
            joined = join((chunk.tables[name] for chunk in trace.chunks), ALL_TABLES[name])
            values = joined.records(ALL_TABLES[name]).copy()
            self.tables[name] = np.split(values, joined.offsets[1:-1])

    @property
    def events(self) -> list[NDArray[Any]]:
        """The events, by pass."""
        return self.tables["events"]

    def find(self, **wanted: Any) -> list[tuple[int, int]]:
        """Pass and place of every event whose fields are as wanted: a value, or one of several."""
        found: list[tuple[int, int]] = []
        for p, events in enumerate(self.events):
            fits = np.ones(events.size, bool)
            for name, value in wanted.items():
                fits &= np.isin(events[name], value)
            found += [(p, int(at)) for at in np.flatnonzero(fits)]
        return found

    def where(self, p: int, at: int) -> tuple[int, int, int]:
        """Pass, root cell and thread of an event: what an offence names."""
        event = self.events[p][at]
        return p, int(event["loc"]), int(event["thread"])

    def later(self, p: int, loc: int) -> list[tuple[int, int]]:
        """The events of a cell after a pass."""
        return [(q, at) for q, at in self.find(loc=loc) if q > p]

    def swap(self, p: int, at: int) -> None:
        """Let an entry and the one before it change places."""
        self._rearrange(p, [*range(at - 1), at, at - 1, *range(at + 1, self.events[p].size)])

    def drop(self, p: int, at: int) -> None:
        """Leave out an entry."""
        self._rearrange(p, [i for i in range(self.events[p].size) if i != at])
        self.rows["frontier"][p] -= 1

    def _rearrange(self, p: int, order: list[int]) -> None:
        self.events[p] = self.events[p][order]
        if "ops" in self.tables:
            ops = self.tables["ops"][p]
            ops = ops[np.isin(ops["event"], order)]
            ops["event"] = [order.index(int(event)) for event in ops["event"]]
            self.tables["ops"][p] = ops[np.argsort(ops["event"], kind="stable")]

    def hold(self, slot: int) -> None:
        """Let the cell of a slot say that it is held, in place of what it says in the end."""
        p = max(p for p, deltas in enumerate(self.tables["deltas"]) if slot in deltas["cell"])
        deltas = self.tables["deltas"][p]
        (at,) = np.flatnonzero(deltas["cell"] == slot)
        if int(deltas["before"][at]) >> 56 & 0x7F >= abi.F_ROOT:  # taken in an earlier pass
            self.tables["deltas"][p] = np.delete(deltas, at)
        else:
            deltas["after"][at] = np.uint64(abi.F_ROOT << 56)

    def trace(self) -> Trace:
        """Put it together again; outcomes are those of the events, unless they were changed."""
        tables = {
            name: from_parts([part.tobytes() for part in parts], ALL_TABLES[name])
            for name, parts in self.tables.items()
        }
        if not self.has_outcomes and self.original.level in ("events", "full"):
            tables["outcomes"] = count_outcomes(tables["events"])
        chunk = Chunk(0, kept=True, rows=self.rows, tables=tables)
        original = self.original
        return Trace(original.header, self.end, (chunk,), level=original.level, devices=original.devices)

    def status(self, status: str) -> None:
        """Say that the run ended in another way."""
        assert self.end is not None
        self.end = replace(self.end, status=status)
