"""What cells hold and when: contents at level ``full``, and at every level with events which cell a task was at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import DELTA, OP, OPERATIONS, OUTCOMES
from hvm4viz.term import Tag
from hvm4viz.term import pack as pack_term
from hvm4viz.trace.trace import Trace
from hvm4viz.widgets.frames import Frame, pack

NEVER: Final = 0xFFFFFFFF
"""Pass of what does not happen."""

ROLES: Final = ("", "link", "stamps")
"""Words of the protocol beside slots and binders (``trace/roles.py``)."""

DENSE: Final = 2 / 3
"""Share of cells in use from which on all words of a range are sent, without saying which."""

_DONE: Final = OUTCOMES.index("done")
_TAKE: Final = OPERATIONS.index("take")

Triples = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class CellTimes:
    """When things first happened to cells.

    Attributes
    ----------
    cells : ndarray of uint32
        Every cell that ever shows, ascending.
    seen : ndarray of uint32
        First pass at whose start it shows: it has content, or an entry or slot is there.
    done : ndarray of uint32
        First pass in which its task ended ``done``; ``NEVER`` if none did.
    role : ndarray of uint8
        What it is for, where that is not to hold a term: a code of ``ROLES``.
    roled : ndarray of uint32
        Where ``role`` is not 0.
    """

    cells: NDArray[np.uint32]
    seen: NDArray[np.uint32]
    done: NDArray[np.uint32]
    role: NDArray[np.uint8]
    roled: NDArray[np.uint32]


def has_words(trace: Trace) -> bool:
    """Tell whether the trace says what cells hold."""
    return trace.level == "full"


def cell_times(trace: Trace) -> CellTimes:
    """Find when each cell is first seen, and first done."""
    n_cells = trace.n_regions * trace.region_size
    seen = np.full(n_cells, NEVER, np.uint32)
    done = np.full(n_cells, NEVER, np.uint32)
    if has_words(trace):
        seen[np.flatnonzero(words_at(trace, 0))] = 0
        for first, offsets, table in _tables(trace, "deltas", 0, trace.n_passes):
            cell = table["cell"]
            _first(seen, cell, np.repeat(np.arange(offsets.size - 1), np.diff(offsets)) + first + 1)
    for first, offsets, table in trace.parts():
        lo, hi = int(offsets[0]), int(offsets[-1])
        loc, slot = table.column("loc", lo, hi), table.column("slot", lo, hi)
        passes = np.repeat(np.arange(offsets.size - 1), np.diff(offsets)) + first
        is_done = table.column("outcome", lo, hi) == _DONE
        _first(done, loc[is_done], passes[is_done])
        _least(seen, loc, passes)
        _least(seen, slot[slot > 0], passes[slot > 0])
    found = np.flatnonzero(seen != NEVER).astype(np.uint32)
    role = _roles(trace, found)
    return CellTimes(found, seen[found], done[found], role, np.flatnonzero(role).astype(np.uint32))


def _roles(trace: Trace, found: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return what each cell is for: 2 where no term ever lies, 1 where what looks like an application is a link."""
    role = np.zeros(found.size, np.uint8)
    if has_words(trace):
        for code, word in ((1, pack_term(Tag.APP)), (2, pack_term(Tag.NUM))):
            role[~trace.roles.is_term(found, np.full(found.size, word, np.uint64))] = code
    return role


def _first(times: NDArray[np.uint32], at: NDArray[np.uint32], passes: NDArray[np.int64]) -> None:
    """Note the first pass of cells that have none yet; passes ascend."""
    new = times[at] == NEVER
    times[at[new][::-1]] = passes[new][::-1]  # of several, the last one written stays: the earliest


def _least(times: NDArray[np.uint32], at: NDArray[np.uint32], passes: NDArray[np.int64]) -> None:
    """Note passes that are earlier than what is there."""
    new = passes < times[at]
    times[at[new][::-1]] = passes[new][::-1]


def seen_frame(times: CellTimes, c0: int, c1: int) -> Frame:
    """Pack the times of the cells of a range that ever show."""
    lo, hi = np.searchsorted(times.cells, [c0, c1]).tolist()
    columns = {name: getattr(times, name)[lo:hi] for name in ("seen", "done", "role")}
    columns = {"cell": times.cells[lo:hi], **columns}
    return pack("seen", columns, c0=c0, c1=c1)


def words_frame(trace: Trace, p: int, c0: int, c1: int) -> Frame:
    """Pack the cells of a range that hold something at the start of pass p."""
    if not has_words(trace):
        raise TraceError(
            f"cell contents: this trace was recorded at level {trace.level!r}; run it again with record='full'"
        )
    words = words_at(trace, p)[c0:c1]
    found = np.flatnonzero(words)
    if found.size > DENSE * words.size:
        return pack("words", {"word": words}, p=p, c0=c0, c1=c1)
    return pack("words", {"cell": (found + c0).astype(np.uint32), "word": words[found]}, p=p, c0=c0, c1=c1)


def words_at(trace: Trace, p: int) -> NDArray[np.uint64]:
    """Return all cells at the start of pass p; those of regions that are given later are 0."""
    words = trace.at(p).words
    n_cells = trace.n_regions * trace.region_size
    if words.size >= n_cells:
        return words[:n_cells]
    return np.concatenate([words, np.zeros(n_cells - words.size, np.uint64)])


def deltas(trace: Trace, p0: int, p1: int) -> dict[str, NDArray[Any]]:
    """Return the changes of cells and the operations on slots of passes p0 to p1, at level ``full``."""
    if not has_words(trace):
        return {}
    columns: dict[str, NDArray[Any]] = {}
    for name, short, dtype in (("deltas", "delta", DELTA), ("ops", "op", OP)):
        parts = list(_tables(trace, name, p0, p1))
        lengths = [np.diff(offsets) for _, offsets, _ in parts]
        columns[f"{short}_offsets"] = np.concatenate([[0], *lengths]).cumsum().astype(np.uint32)
        for field in dtype.names or ():
            columns[f"{short}_{field}"] = np.concatenate([np.empty(0, dtype[field]), *(t[field] for _, _, t in parts)])
    return columns


def counters(trace: Trace) -> dict[str, NDArray[np.uint32]]:
    """Return how many cells each pass changes, and how many operations on slots it makes, at level ``full``."""
    if not has_words(trace):
        return {}
    return {name: _lengths(trace, name).astype(np.uint32) for name in ("deltas", "ops")}


def content_sizes(trace: Trace) -> NDArray[np.int64]:
    """Return the bytes of each pass that level ``full`` adds to a window."""
    if not has_words(trace):
        return np.zeros(trace.n_passes, np.int64)
    return _lengths(trace, "deltas") * DELTA.itemsize + _lengths(trace, "ops") * OP.itemsize


def content_bytes(trace: Trace) -> int:
    """Return the bytes that level ``full`` adds to the whole."""
    return int(content_sizes(trace).sum())


def by_region(trace: Trace, what: str) -> Triples:
    """Count takes of slots, or changes of cells, by pass and region."""
    found: list[NDArray[np.int64]] = []
    n_regions = max(trace.n_regions, 1)
    for first, offsets, table in _tables(trace, "ops" if what == "takes" else "deltas", 0, trace.n_passes):
        passes = np.repeat(np.arange(offsets.size - 1), np.diff(offsets)) + first
        at = table["slot" if what == "takes" else "cell"] // np.uint32(trace.region_size)
        keys = passes * n_regions + at
        found.append(keys[table["op"] == _TAKE] if what == "takes" else keys)
    keys, counts = np.unique(np.concatenate([np.empty(0, np.int64), *found]), return_counts=True)
    return keys // n_regions, keys % n_regions, counts


def _lengths(trace: Trace, name: str) -> NDArray[np.int64]:
    parts = [np.diff(chunk.tables[name].offsets) for chunk in trace.chunks]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _tables(
    trace: Trace, name: str, p0: int, p1: int
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.void] | dict[str, NDArray[Any]]]]:
    """Go through a table of level ``full``: first pass, offsets from 0 on, and its fields by name."""
    for chunk in trace.chunks:
        lo, hi = max(p0 - chunk.first, 0), min(p1 - chunk.first, chunk.n_passes)
        if lo < hi:
            table = chunk.tables[name]
            offsets = table.offsets[lo : hi + 1]
            start, stop = int(offsets[0]), int(offsets[-1])
            values = table.values
            cut = {key: column[start:stop] for key, column in values.items()} if isinstance(values, dict) else (
                values[start:stop]
            )  # fmt: skip
            yield chunk.first + lo, offsets - start, cut


NONE, FREED, IDLE, REDUCED, SUB, FRONTIER, WAITING, ERROR = range(8)
"""Statuses of cells, the later ones over the earlier; ``trace_view.js`` has the same."""

_STOPS: Final = [OUTCOMES.index(name) for name in ("deferred", "contended")]
_ERRORS: Final = [OUTCOMES.index(name) for name in ("error", "aborted")]
_LINK, _STAMPS = ROLES.index("link"), ROLES.index("stamps")
_STATUS: Final = np.uint8(7)
_LINKS: Final = np.uint8(8)
"""Bits of a code: how a cell stands, and whether a link lies where one may lie."""


def statuses(trace: Trace, times: CellTimes, p: int) -> NDArray[np.uint8]:
    """Tell how each cell of ``times`` stands at the start of pass p.

    Returns
    -------
    codes : ndarray of uint8
        ``NONE`` to ``ERROR``. An entry that pass p defers, or whose task has been waiting, is ``WAITING``.
    """
    codes = _held(trace, times, p) & _STATUS
    if not trace.n_events:
        return codes

    def put(locs: NDArray[np.uint32], status: int) -> None:
        codes[np.searchsorted(times.cells, locs)] = status

    waits = trace.deferrals()
    is_open = (waits["opened"] < p) & ((waits["closed"] < 0) | (waits["closed"] >= p))
    put(waits["loc"][is_open], WAITING)
    if p < trace.n_passes:
        events = trace.events(p, p + 1)
        loc, outcome = events["loc"], events["outcome"]
        put(loc, FRONTIER)
        put(loc[np.isin(outcome, _STOPS)], WAITING)
        put(loc[np.isin(outcome, _ERRORS)], ERROR)
    return codes


def _held(trace: Trace, times: CellTimes, p: int) -> NDArray[np.uint8]:
    """Tell how cells stand by what they hold: ``NONE`` to ``SUB``, and beside it ``_LINKS`` where a link lies."""
    codes = (times.done < p).astype(np.uint8)
    codes += IDLE  # and REDUCED comes next
    if not has_words(trace):
        codes *= times.seen <= p
        return codes
    words = words_at(trace, min(p, trace.events_until))
    if times.cells.size != words.size:
        words = words[times.cells]
    np.putmask(codes, words.view(np.int64) < 0, SUB)
    np.putmask(codes, words == 0, FREED)
    roled, role = times.roled, times.role[times.roled]
    is_link = (words[roled] >> np.uint64(56) & np.uint64(0x7F)) == Tag.APP
    codes[roled[is_link | (role == _STAMPS)]] = IDLE
    codes *= times.seen <= p
    codes[roled[is_link & (role == _LINK)]] |= _LINKS
    return codes


def states_frame(trace: Trace, times: CellTimes, p: int, c0: int, c1: int) -> Frame:
    """Pack how the cells of a range stand at the start of pass p by what they hold, a byte for each that ever shows.

    Who is at work and who waits is not in it: the view puts that over it, from the window of the pass.
    """
    lo, hi = np.searchsorted(times.cells, [c0, c1]).tolist()
    return pack("states", {"code": _held(trace, times, p)[lo:hi]}, p=p, c0=c0, c1=c1)


ADDED, GIVEN_UP, CHANGED = 1, 2, 3
"""How a cell differs between two passes; ``trace_view.js`` has the same."""


def difference_frame(trace: Trace, times: CellTimes, a: int, b: int, c0: int, c1: int) -> Frame:
    """Pack how the cells of a range that ever show differ at the start of pass b from the start of pass a."""
    lo, hi = np.searchsorted(times.cells, [c0, c1]).tolist()
    was, now = (words_at(trace, min(p, trace.events_until))[times.cells[lo:hi]] for p in (a, b))
    codes = np.where(was == now, np.uint8(0), np.uint8(CHANGED))
    np.putmask(codes, (was == 0) & (now != 0), ADDED)
    np.putmask(codes, (was != 0) & (now == 0), GIVEN_UP)
    return pack("difference", {"code": codes}, a=a, b=b, c0=c0, c1=c1)
