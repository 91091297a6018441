"""Deferrals, put together from the events of their tasks (``protocol.md``: what is recorded)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES
from hvm4viz.trace.columns import CONTENDED, DEFERRED, count_pairs

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

DEFERRAL: Final = np.dtype(
    [
        ("opened", "<u4"),
        ("closed", "<i8"),
        ("age", "<i8"),
        ("thread", "<u4"),
        ("loc", "<u4"),
        ("slot", "<u4"),
        ("home", "<u4"),
        ("owner", "<u4"),
        ("side", "u1"),
        ("reason", "u1"),
        ("outcome", "u1"),
        ("busy", "?"),
        ("event", "<i8"),
    ]
)
"""One deferral: opening and closing pass (-1: still open when the recording ends) and their difference (-1: open),
thread that stopped, root cell of the task, slot, region of either, side of the slot, reason and outcome when it opened
(``contended``: the slot was being reduced), whether it met a busy slot later on, and index of the opening event."""

PAIR: Final = np.dtype([("pass", "<i8"), ("home", "<u4"), ("owner", "<u4"), ("count", "<u4")])
"""Deferrals of one pass between two regions."""

_PARKED, _STALE, _STARVED = (OUTCOMES.index(name) for name in ("parked", "stale", "starved"))


def match_deferrals(trace: Trace) -> NDArray[np.void]:
    """Find where each deferral opens and closes.

    A task is told by its root cell: at most one live task has it. What a task did at a slot is closed by its next
    event, unless that one still waits for the same slot: parked, stale, contended again, or starved there.
    """
    events = _events_of_stopped_tasks(trace)
    n_events = events["loc"].size
    if not n_events:
        return np.empty(0, DEFERRAL)
    loc, slot, side, outcome = (events[name] for name in ("loc", "slot", "side", "outcome"))
    order = np.argsort(loc, kind="stable")
    order = order[(outcome[order] != _PARKED) & (outcome[order] != _STALE)]
    loc, slot, side, outcome = loc[order], slot[order], side[order], outcome[order]
    stops = (outcome == DEFERRED) | (outcome == CONTENDED)
    waits = (outcome == CONTENDED) | ((outcome == _STARVED) & (slot != 0))
    still = np.zeros(loc.size, bool)
    still[1:] = waits[1:] & (loc[1:] == loc[:-1]) & (slot[1:] == slot[:-1]) & (side[1:] == side[:-1])
    still[1:] &= (stops | waits)[:-1]
    opens = np.flatnonzero(stops & ~still)
    # The event that closes it is the next one of the same cell that does not still wait.
    n_left = loc.size
    following = np.where(still, n_left, np.arange(n_left))
    following = np.append(np.minimum.accumulate(following[::-1])[::-1], n_left)[opens + 1]
    is_closed = following < n_left
    is_closed[is_closed] = loc[following[is_closed]] == loc[opens[is_closed]]
    # Those that met a busy slot while they waited.
    busy = np.zeros(n_left + 1, np.int64)
    np.cumsum(still & (outcome == CONTENDED), out=busy[1:])
    out = np.empty(opens.size, DEFERRAL)
    out["opened"] = events["pass"][order[opens]]
    out["closed"] = -1
    out["closed"][is_closed] = events["pass"][order[following[is_closed]]]
    out["age"] = np.where(is_closed, out["closed"] - out["opened"], -1)
    for name in ("thread", "loc", "slot", "side", "reason", "outcome"):
        out[name] = events[name][order[opens]]
    out["home"] = out["loc"] // trace.region_size
    out["owner"] = out["slot"] // trace.region_size
    out["busy"] = busy[np.minimum(following, n_left)] > busy[opens + 1]
    out["event"] = events["event"][order[opens]]
    return out[np.argsort(out["event"], kind="stable")]


def _events_of_stopped_tasks(trace: Trace) -> dict[str, NDArray[np.int64]]:
    """Return the columns of all events whose root cell was ever stopped at a slot."""
    stopped: list[NDArray[np.uint32]] = []
    for _, offsets, table in trace.parts():
        lo, hi = int(offsets[0]), int(offsets[-1])
        outcome = table.column("outcome", lo, hi)
        stopped.append(table.column("loc", lo, hi)[(outcome == DEFERRED) | (outcome == CONTENDED)])
    cells = np.unique(np.concatenate(stopped)) if stopped else np.empty(0, np.uint32)
    is_stopped = _membership(cells, trace.n_events)
    names = ("thread", "loc", "slot", "side", "reason", "outcome")
    found: dict[str, list[NDArray[np.int64]]] = {name: [] for name in (*names, "pass", "event")}
    start = 0
    for first, offsets, table in trace.parts():
        lo, hi = int(offsets[0]), int(offsets[-1])
        at = np.flatnonzero(is_stopped(table.column("loc", lo, hi)))
        for name in names:
            found[name].append(table.column(name, lo, hi)[at])
        found["pass"].append(first + np.searchsorted(offsets, at + lo, side="right") - 1)
        found["event"].append(start + at)
        start += hi - lo
    return {name: np.concatenate(parts) if parts else np.empty(0, np.int64) for name, parts in found.items()}


def _membership(cells: NDArray[np.uint32], n_events: int) -> Callable[[NDArray[np.uint32]], NDArray[np.bool_]]:
    """Return a test for being one of the cells: by a table of all cells where that is not larger than the events."""
    last = int(cells.max(initial=0))
    if last > 24 * n_events + 4096:
        return lambda locs: np.isin(locs, cells)
    table = np.zeros(last + 2, bool)
    table[cells] = True
    return lambda locs: table[np.minimum(locs, last + 1)]


def deferral_pairs(trace: Trace) -> NDArray[np.void]:
    """Count the deferrals of each pass by home and owner region."""
    parts: list[NDArray[np.void]] = []
    for chunk in trace.chunks:
        table = count_pairs(chunk.tables["events"], trace.region_size) if chunk.kept else chunk.tables["pairs"]
        part = np.empty(table.n_values, PAIR)
        part["pass"] = chunk.first + table.rows()
        for name in ("home", "owner", "count"):
            part[name] = table.column(name)
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty(0, PAIR)
