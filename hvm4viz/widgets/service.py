"""What a view asks for, answered from the trace: the one place where columns become frames.

The live widget passes questions on from the browser; the offline page holds the answers to all of them. A question is
a JSON object with a ``kind``; the same question always has the same answer.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from threading import Thread
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import EVENT
from hvm4viz.trace.deferrals import DEFERRAL
from hvm4viz.trace.trace import Trace
from hvm4viz.widgets import cells
from hvm4viz.widgets.frames import Frame, pack
from hvm4viz.widgets.maps import MEASURES, Maps
from hvm4viz.widgets.origin import Origin
from hvm4viz.widgets.search import Searches

WHOLE_BYTES: Final = 32 << 20
"""A trace up to this size goes to the browser whole, so that nothing has to be asked for later."""

AT_ONCE_EVENTS: Final = 1_000_000
"""Events up to which digest and deferrals are worked out when a view begins; of more, while it is looked at."""

KEPT_FRAMES: Final = 8
"""Frames that are kept to be asked for part by part."""

_EVENT_COLUMNS: Final = tuple(EVENT.names or ())


class TraceService:
    """Answers a view's questions about one trace.

    Parameters
    ----------
    trace : Trace
    origin : Origin, optional
        Where the program's cells come from; read from the trace's own source texts if left out.
    """

    def __init__(self, trace: Trace, origin: Origin | None = None) -> None:
        self.trace = trace
        self._origin = origin
        self._kept: OrderedDict[str, Frame] = OrderedDict()
        self._waiting: Thread | None = None
        self._answers: dict[str, Callable[[Mapping[str, Any]], Frame]] = {
            "counters": self._counters,
            "window": lambda asked: self.window(*self._range(asked)),
            "regions": lambda _: self.regions(),
            "seen": lambda asked: cells.seen_frame(self.history, *self._cell_range(asked)),
            "states": self._states,
            "difference": self._difference,
            "words": lambda asked: cells.words_frame(trace, self._pass(asked), *self._cell_range(asked)),
            "map": self._map,
            "triples": lambda asked: self.maps.triples_frame(_text(asked, "what")),
            "source": lambda _: self.origin.frame(),
            "digest": lambda _: pack("digest", {}, digest=trace.digest_or_none() or ""),
            "search": self._search,  # not kept: it goes on each time
        }

    # What is worked out once.

    @cached_property
    def maps(self) -> Maps:
        """Counts by region and pass."""
        return Maps(self.trace)

    @cached_property
    def history(self) -> cells.CellTimes:
        """When each cell was first seen, and first done."""
        return cells.cell_times(self.trace)

    @cached_property
    def wait_times(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """When each deferral was opened and closed (``NEVER`` if it stays open), side by side to be searched fast."""
        waits = self.trace.deferrals()
        return waits["opened"].astype(np.uint32), waits["closed"].astype(np.uint32)

    @cached_property
    def searches(self) -> Searches:
        """Searches that are under way."""
        return Searches(self.trace)

    @cached_property
    def origin(self) -> Origin:
        """Where the program's cells come from."""
        return self._origin or Origin.of_trace(self.trace)

    @cached_property
    def whole_bytes(self) -> int:
        """Bytes that the whole trace takes in the browser, roughly."""
        per_pass = 48 * self.trace.n_passes
        per_event = 24 * self.trace.n_events
        return per_pass + per_event + cells.content_bytes(self.trace)

    @property
    def is_small(self) -> bool:
        """Whether the trace goes to the browser whole."""
        return self.whole_bytes <= WHOLE_BYTES

    # Questions.

    def answer(self, asked: Mapping[str, Any]) -> Frame:
        """Answer one question.

        Raises
        ------
        ValueError
            If it is none, or speaks of what is not there.
        TraceError
            If the trace does not hold it.
        """
        kind = _text(asked, "kind")
        if kind not in self._answers:
            raise ValueError(f"no question {kind[:40]!r}; there are: {', '.join(self._answers)}")
        key = json.dumps({name: asked[name] for name in sorted(asked) if name not in ("id", "part", "t")})
        if key not in self._kept or kind == "search":
            self._kept[key] = self._answers[kind](asked)
            while len(self._kept) > KEPT_FRAMES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        frame = self._kept[key]
        if frame.head.get("later"):
            del self._kept[key]
        return frame

    def whole(self, p0: int = 0, p1: int | None = None) -> Iterator[Frame]:
        """Answer every question that a view of passes p0 to p1 can ask."""
        p1 = self.trace.n_passes if p1 is None else p1
        if self.trace.n_events:
            self.trace.deferrals()
        yield self._counters({})
        yield self.regions()
        yield self.origin.frame()
        if self.trace.n_events:
            yield cells.seen_frame(self.history, 0, self.n_cells)
        for what in MEASURES:
            if self.maps.has(what):
                yield self.maps.triples_frame(what)
        if cells.has_words(self.trace):
            yield cells.words_frame(self.trace, p0, 0, self.n_cells)
        for lo, hi in self.windows(p0, p1):
            yield self.window(lo, hi)

    def windows(self, p0: int, p1: int, bytes_max: int = 1 << 20) -> Iterator[tuple[int, int]]:
        """Cut passes into windows of at most so many bytes, or one pass."""
        sizes = 24 * np.diff(self.trace.event_offsets) + cells.content_sizes(self.trace) + 16
        ends = np.cumsum(sizes)
        lo = p0
        while lo < p1:
            before = int(ends[lo - 1]) if lo else 0
            hi = min(max(int(np.searchsorted(ends, before + bytes_max, side="right")), lo + 1), p1)
            yield lo, hi
            lo = hi

    def window(self, p0: int, p1: int) -> Frame:
        """Return all that passes p0 to p1 (without p1) did: events, deferrals open then, use of regions, deltas."""
        trace = self.trace
        columns: dict[str, NDArray[Any]] = {}
        offsets = trace.event_offsets[p0 : p1 + 1]
        columns["event_offsets"] = (offsets - offsets[0]).astype(np.uint32)
        later = bool(trace.n_events) and not self._knows_waits()
        if trace.n_events:
            for name in _EVENT_COLUMNS:
                columns[name] = trace.column(name, p0, p1)
            columns |= self._waits(p0, p1, known=not later)
        columns |= self._steps(p0, p1)
        columns |= cells.deltas(trace, p0, p1)
        return pack("window", columns, p0=p0, p1=p1, first=int(offsets[0]), later=later)

    def _knows_waits(self) -> bool:
        """Tell whether deferrals are known; if they are many, they are put together meanwhile."""
        if self.trace.n_events <= AT_ONCE_EVENTS or "_deferrals" in vars(self.trace):
            return True
        if self._waiting is None:
            self._waiting = Thread(target=self.trace.deferrals, daemon=True)
            self._waiting.start()
        return not self._waiting.is_alive()

    def regions(self) -> Frame:
        """Return the owner block of each region, and the pass after which it was given (0: from the start)."""
        trace = self.trace
        first = trace.header.regions
        blocks = np.full(trace.n_regions, 0xFFFFFFFF, np.uint32)
        since = np.zeros(trace.n_regions, np.uint32)
        blocks[: first.size] = first
        given = trace.given
        blocks[given["region"]] = given["block"]
        since[given["region"]] = given["pass"] + 1
        return pack("regions", {"block": blocks, "since": since})

    # Parts of answers.

    def _counters(self, _: Mapping[str, Any]) -> Frame:
        trace = self.trace
        rows = trace.rows
        columns: dict[str, NDArray[Any]] = {
            "frontier": rows["frontier"],
            "interactions": rows["interactions"].astype(np.float64),
            "longest": rows["longest"],
            "parked": rows["parked"],
            "deferred": trace.deferral_sizes.astype(np.uint32),
            "contended": trace.contention_sizes.astype(np.uint32),
            "events": np.diff(trace.event_offsets).astype(np.uint32),
            "again": self._same_frontier(),
            "used": self._used(),
        }
        return pack("counters", columns | cells.counters(trace))

    def _used(self) -> NDArray[np.uint32]:
        """Cells in use at the end of each pass, all regions together."""
        table = self.trace.cells
        order = np.argsort(table.keys, kind="stable")
        keys, states = table.keys[order], table.states[order].astype(np.int64)
        change = np.diff(states, prepend=0)
        starts = np.flatnonzero(np.diff(keys.astype(np.int64), prepend=-1))
        change[starts] = states[starts]
        total = np.bincount(table.passes[order], change, self.trace.n_passes)
        return np.cumsum(total).astype(np.uint32)

    def _same_frontier(self) -> NDArray[np.uint8]:
        """Tell of each pass whether it ran the frontier of the pass before once more, without any interaction."""
        trace = self.trace
        again = np.zeros(trace.n_passes, np.uint8)
        sizes = np.diff(trace.event_offsets)
        idle = trace.interactions == 0
        maybe = np.flatnonzero((sizes[1:] == sizes[:-1]) & (sizes[1:] > 0) & idle[1:] & idle[:-1]) + 1
        for p in maybe.tolist():
            again[p] = np.array_equal(trace.frontier(p), trace.frontier(p - 1))
        return again

    def _waits(self, p0: int, p1: int, *, known: bool) -> dict[str, NDArray[Any]]:
        """Return the deferrals that were open in some pass of the window; none while they are not known."""
        waits = self.trace.deferrals() if known else np.empty(0, DEFERRAL)
        opened, closed = self.wait_times if known else (waits["opened"], waits["closed"])
        waits = waits[np.flatnonzero(closed[: int(np.searchsorted(opened, np.uint32(p1)))] >= p0)]
        columns = {f"wait_{name}": waits[name] for name in ("opened", "thread", "loc", "slot")}
        columns["wait_closed"] = waits["closed"].astype(np.int32)
        return columns | {f"wait_{name}": waits[name] for name in ("side", "reason", "outcome", "busy")}

    def _steps(self, p0: int, p1: int) -> dict[str, NDArray[Any]]:
        """Return the use of regions when the window begins, and how it changes."""
        table = self.trace.cells
        lo, hi = int(table.offsets[p0]), int(table.offsets[p1])
        base = table.at(p0 - 1) if p0 else np.zeros(0, np.int64)
        used = np.flatnonzero(base)
        return {
            "base_region": used.astype(np.uint32),
            "base_cells": base[used].astype(np.uint32),
            "step_offsets": (table.offsets[p0 : p1 + 1] - lo).astype(np.uint32),
            "step_region": table.keys[lo:hi],
            "step_cells": table.states[lo:hi],
        }

    def _map(self, asked: Mapping[str, Any]) -> Frame:
        p0, p1 = self._range(asked)
        r0, r1 = _number(asked, "r0"), _number(asked, "r1")
        n_regions = self.trace.n_regions
        if not 0 <= r0 < r1 <= n_regions:
            raise ValueError(f"regions {r0} to {r1}: the trace has regions 0 to {n_regions - 1}")
        shape = (min(_number(asked, "rows"), 512), min(_number(asked, "columns"), 2048))
        return self.maps.frame(_text(asked, "what"), p0, p1, r0, r1, shape)

    def _states(self, asked: Mapping[str, Any]) -> Frame:
        return cells.states_frame(self.trace, self.history, self._pass(asked), *self._cell_range(asked))

    def _difference(self, asked: Mapping[str, Any]) -> Frame:
        a, b = self._pass(asked, "a"), self._pass(asked, "b")
        return cells.difference_frame(self.trace, self.history, a, b, *self._cell_range(asked))

    def _search(self, asked: Mapping[str, Any]) -> Frame:
        return self.searches.frame(_text(asked, "query"), _number(asked, "first"))

    # Bounds.

    @property
    def n_cells(self) -> int:
        """Cells of all regions in use."""
        return self.trace.n_regions * self.trace.region_size

    def _pass(self, asked: Mapping[str, Any], name: str = "p") -> int:
        p = _number(asked, name)
        if not 0 <= p <= self.trace.n_passes:
            raise ValueError(f"pass {p}: the trace has passes 0 to {self.trace.n_passes}")
        return p

    def _range(self, asked: Mapping[str, Any]) -> tuple[int, int]:
        p0, p1 = _number(asked, "p0"), _number(asked, "p1")
        if not 0 <= p0 < p1 <= self.trace.n_passes:
            raise ValueError(f"passes {p0} to {p1}: the trace has passes 0 to {self.trace.n_passes}")
        return p0, p1

    def _cell_range(self, asked: Mapping[str, Any]) -> tuple[int, int]:
        c0, c1 = _number(asked, "c0"), min(_number(asked, "c1"), self.n_cells)
        if not 0 <= c0 < c1:
            raise ValueError(f"cells {c0} to {c1}: the trace has cells 0 to {self.n_cells - 1}")
        return c0, c1


def failure(error: Exception) -> str:
    """Return what to tell the view when a question cannot be answered."""
    return str(error) if isinstance(error, TraceError | ValueError) else f"{type(error).__name__}: {error}"


def _number(asked: Mapping[str, Any], name: str) -> int:
    value = asked.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError(f"{name}={value!r}: must be a whole number")
    return int(value)


def _text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r}: must be text")
    return value
