"""The state of a machine between two passes, but for the heap: taken, packed into bytes, put back.

With the heap it is all that a run needs to go on as if it had never stopped. Only this file knows what the engines keep
to themselves.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hvm4viz.book import Book
from hvm4viz.collapse import Enumeration
from hvm4viz.device.base import Buffer, view
from hvm4viz.evaluate import Evaluator, _Activation, _Call
from hvm4viz.events import ORIGINS
from hvm4viz.frontier import Frontier
from hvm4viz.heap import Task
from hvm4viz.kernel_text import abi
from hvm4viz.primitives import PrimitiveError, replayed
from hvm4viz.readback import Term
from hvm4viz.store import Store
from hvm4viz.term import SUB_BIT
from hvm4viz.turns import KEYS, Turn
from hvm4viz.workspace import SLACK

VERSION: Final = 1

_DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "u1": np.dtype("u1"),
    "u4": np.dtype("<u4"),
    "u8": np.dtype("<u8"),
    "thread": abi.THREAD_STATE,
    "record": abi.RECORD,
}
_ENTRY_RECORD = np.uint64(0xFFFFFFFF)


class Misfit(ValueError):
    """The state does not fit the heap, the program or this version."""


@dataclass(frozen=True, slots=True)
class State:
    """Plain values and arrays, by name."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def to_bytes(self) -> bytes:
        """Pack it: length of the head in eight bytes, the head as JSON, the arrays behind each other."""
        kinds = {dtype: name for name, dtype in _DTYPES.items()}
        listed = [(name, kinds[array.dtype], array.size) for name, array in self.arrays.items()]
        head = json.dumps({"version": VERSION, "facts": self.facts, "arrays": listed}, separators=(",", ":"))
        encoded = head.encode("ascii")
        return len(encoded).to_bytes(8, "little") + encoded + b"".join(a.tobytes() for a in self.arrays.values())

    @classmethod
    def from_bytes(cls, packed: bytes) -> State:
        """Unpack it; nothing in it is believed before it is put back.

        Raises
        ------
        Misfit
            If the bytes are no state of this version.
        """
        try:
            size = int.from_bytes(packed[:8], "little")
            head = json.loads(packed[8 : 8 + size].decode("ascii"))
            _need(head["version"] == VERSION, f"it is of version {head['version']}, this one reads {VERSION}")
            arrays: dict[str, NDArray[Any]] = {}
            at = 8 + size
            for name, kind, count in head["arrays"]:
                arrays[str(name)] = np.frombuffer(packed, _DTYPES[kind], count, at)
                at += arrays[str(name)].nbytes
            _need(at == len(packed), "its length is not what it says")
            return cls(dict(head["facts"]), arrays)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise Misfit(f"the recorded state cannot be read: {error}") from None


def _need(holds: object, what: str) -> None:
    if not holds:
        raise Misfit(what)


def _below(values: NDArray[Any] | Sequence[int], bound: int, what: str) -> None:
    found = np.asarray(values)
    _need(not found.size or (int(found.min()) >= 0 and int(found.max()) < bound), f"{what} out of their bounds")


class _Saving:
    """Collects facts and arrays under a prefix."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def store(self, store: Store) -> dict[str, Any]:
        regions, in_use = store.regions, store.regions.in_use
        store.fetch()
        visited = store._visited_view[: -(-store.cells_in_use // 8)]
        at = np.flatnonzero(visited).astype(np.uint32)
        self.arrays |= {
            "owner": store.owner_view[:in_use].copy(),
            "chain": regions.chain[:in_use].copy(),
            "used": store.used_view[:in_use].copy(),
            "visited_at": at,
            "visited": visited[at],
        }
        return {
            "passes": store.passes,
            "laid": store.laid,
            "blocks": regions.blocks,
            "is_fresh": regions.is_fresh,
            "tail": regions._tail.tolist(),
            "grant": regions._grant.tolist(),
        }

    def frontier(self, frontier: Frontier) -> dict[str, Any]:
        frontier.home()
        space, sums = frontier._space, frontier._sum
        live = np.ones(sums[14], bool)
        free = space.stack[: sums[15]].copy()
        live[free] = False
        self.arrays |= {
            "summary": np.array(sums, np.uint32),
            "states": space.states.copy(),
            "entries": space.frontiers[frontier._turn][: sums[1]].copy(),
            "records": space.records[: sums[14]][live],
            "free": free,
        }
        return {"root": frontier.root, "reassigned": frontier._reassigned, **_wake_facts(frontier)}

    def evaluator(self, evaluator: Evaluator) -> dict[str, Any]:
        acts = evaluator._acts
        self.arrays |= {
            "thread": evaluator._state_view.copy(),
            "stack": evaluator._stack_view[: evaluator._depth].copy(),
            "acts": np.concatenate([view(act.record, abi.RECORD) for act in acts]),
        }
        inner = acts[-1].frontier
        return {
            "reassigned": evaluator._reassigned,
            "extra": evaluator._extra,
            "log": evaluator.log,
            "todo": evaluator.todo,
            "acts": [(act.base, act.flags, act.is_live) for act in acts],
            "calls": [(call.name, call.number, call.cells, call.taken) for call in evaluator._calls],
            "frontier": None if inner is None else self.frontier(inner),
            **_wake_facts(evaluator),
        }


def _wake_facts(engine: Frontier | Evaluator) -> dict[str, Any]:
    return {
        "opens": engine._opens,
        "fills": engine._fills,
        "woken": engine._woken,
        "is_waking": engine._is_waking,
    }


def _queue_facts(queue: Enumeration) -> dict[str, Any]:
    buckets, now, key = queue.turns.told()
    return {
        "count": queue.count,
        "buckets": buckets,
        "keys": [[int(cell), key] for cell, key in queue._keys.items()],
        "lifted": sorted(queue._lifted),
        "waiting": sorted(queue._waiting),
        "ahead": queue._ahead,
        "number": queue._number,
        "running": sorted(queue._running),
        "now": now,
        "key": key,
    }


def take(engine: Frontier | Evaluator, queue: Enumeration | None, results: Sequence[Term]) -> State:
    """Take the state of a machine between two passes.

    Parameters
    ----------
    engine : Frontier or Evaluator
    queue : Enumeration or None
        In collapse mode.
    results : sequence of Term
        Results so far that were taken from the queue.
    """
    saving = _Saving()
    found = [*results, *(queue.found if queue else ())]
    facts: dict[str, Any] = {
        "kernel": engine.store.kernel.digest,
        "store": saving.store(engine.store),
        "frontier": saving.frontier(engine) if isinstance(engine, Frontier) else None,
        "evaluator": saving.evaluator(engine) if isinstance(engine, Evaluator) else None,
        "queue": _queue_facts(queue) if queue else None,
        "results": [(term.cell, term.text) for term in found],
    }
    return State(facts, saving.arrays)


def tasks_of(state: State) -> tuple[Task, ...]:
    """Return the tasks that are at work in a state.

    Raises
    ------
    Misfit
        If the state has none of the tables that hold them.
    """
    try:
        evaluator = state.facts["evaluator"]
        records = [state.arrays["records"]] if state.facts["frontier"] or evaluator["frontier"] else []
        if evaluator:
            is_live = np.array([bool(live) for _, _, live in evaluator["acts"]])
            records.insert(0, state.arrays["acts"][is_live])
        return tuple(task for part in records for task in _tasks(part))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Misfit(f"the state does not tell its tasks: {error!r}") from None


def _tasks(records: NDArray[np.void]) -> list[Task]:
    """Turn many records into tasks at once; see ``stops.task_of``."""
    begun = (records["flags"] & (abi.RECORD_NEW | abi.RECORD_SLOT)) == 0
    sub = np.uint64(SUB_BIT)
    columns = (
        records["root"],
        np.where(begun, records["top"], np.uint64(0)),
        np.where(begun, records["hand"] & ~sub, np.uint64(0)),
        begun & ((records["hand"] & sub) != 0),
    )
    return [Task(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


# ---- putting back


def put_back(state: State, engine: Frontier | Evaluator, queue: Enumeration | None, book: Book) -> list[Term]:
    """Give a machine that was just made, on the same heap, a state that was taken from another one.

    Returns
    -------
    results : list of Term
        Results so far.

    Raises
    ------
    Misfit
        If the state does not fit: everything in it is checked that the machine would otherwise take as an address.
    """
    facts, store = state.facts, engine.store
    try:
        _need(
            facts["kernel"] == store.kernel.digest,
            "it is of another kernel: use the version of hvm4viz, and the kernel, that recorded it",
        )
        own: dict[str, Any] = facts["frontier" if isinstance(engine, Frontier) else "evaluator"] or {}
        _need(own, "it is of another kind of run")
        inner = Frontier(store, root=0, is_fresh=False) if "acts" in own and own["frontier"] else None
        _restore_store(facts["store"], state.arrays, store)
        if isinstance(engine, Frontier):
            _restore_frontier(own, state.arrays, engine)
        else:
            _restore_evaluator(own, state.arrays, engine, inner)
        _need((queue is None) == (facts["queue"] is None), "it is of another mode")
        if queue is not None:
            _restore_queue(facts["queue"], queue, store.cells_in_use)
        cells = [int(cell) for cell, _ in facts["results"]]
        _below(cells, store.cells_in_use, "results lie")
        texts = [str(text) for _, text in facts["results"]]
        return [Term.told(store.cells, cell, book, text) for cell, text in zip(cells, texts, strict=True)]
    except Misfit:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        OverflowError,
        StopIteration,
        PrimitiveError,
    ) as error:
        raise Misfit(f"the state does not fit this machine: {error!r}") from None


def _restore_store(facts: dict[str, Any], arrays: dict[str, NDArray[Any]], store: Store) -> None:
    regions, blocks = store.regions, int(facts["blocks"])
    owner, chain, used = (arrays[name] for name in ("owner", "chain", "used"))
    in_use = owner.size
    _need(blocks in (1, store.machine.blocks), f"it has {blocks} blocks")
    _need(0 < in_use <= regions.limit, f"it has {in_use:,} regions, this heap {regions.limit:,}: use a larger heap")
    _need(chain.size == used.size == in_use, "its tables of regions differ in length")
    _below(owner, blocks, "owners are")
    tail = [int(region) for region in facts["tail"]]
    _below(chain[chain != abi.NO_REGION], in_use, "regions lie")
    _below([region for region in tail if region != abi.NO_REGION], in_use, "regions lie")
    grant = [int(count) for count in facts["grant"]]
    _need(len(tail) == len(grant) == blocks and min(grant) > 0, "its blocks are not as many as it says")
    regions.in_use, regions.blocks, regions.is_fresh = in_use, blocks, bool(facts["is_fresh"])
    regions._tail, regions._grant = np.array(tail, np.int64), np.array(grant, np.int64)
    regions.owner[:in_use], regions.chain[:in_use], store.used_view[:in_use] = owner, chain, used
    regions.chain[in_use:] = abi.NO_REGION
    store.passes, store.laid = int(facts["passes"]), int(facts["laid"])
    _need(store.passes >= 0, "its passes are negative")
    at = arrays["visited_at"]
    _below(at, -(-store.cells_in_use // 8), "visited cells lie")
    store._visited_view[:] = 0
    store._visited_view[at] = arrays["visited"]


def _restore_wake(facts: dict[str, Any], engine: Frontier | Evaluator) -> None:
    engine._opens, engine._fills, engine._woken = (int(facts[name]) for name in ("opens", "fills", "woken"))
    engine._is_waking = bool(facts["is_waking"])
    engine._reassigned = [(int(region), int(block)) for region, block in facts["reassigned"]]
    _below([region for region, _ in engine._reassigned], engine.store.regions.in_use, "regions lie")


def _restore_frontier(facts: dict[str, Any], arrays: dict[str, NDArray[Any]], frontier: Frontier) -> None:
    store, threads, cells = frontier.store, frontier.machine.threads, frontier.store.cells_in_use
    summary, states, entries, live, free = (
        arrays[name] for name in ("summary", "states", "entries", "records", "free")
    )
    _need(summary.size == len(frontier._sum), "its summary has another length")
    n_records, width = int(summary[14]), entries.size
    _need(summary[1] == width and summary[15] == free.size, "its entries are not as many as it says")
    _need(live.size + free.size == n_records, "its records are not as many as it says")
    _below(free, n_records, "records lie")
    _need(np.unique(free).size == free.size, "a record is free twice")
    _need(states.size == threads, f"it has {states.size} threads, this machine {threads}")
    _check_threads(states, store)
    counted = states["count"] > 0
    _need((states["first"][counted].astype(np.int64) + states["count"][counted] <= width).all(), "segments end late")
    lists = int((states["out"].astype(np.int64) + states["out_max"]).max())
    _need(lists <= width + SLACK * threads, "lists are too long")
    _below(entries & _ENTRY_RECORD, n_records, "entries name records")
    _below((entries >> np.uint64(32)) & np.uint64(0x0FFFFFFF), threads, "entries name threads")
    _below(entries >> np.uint64(60), len(ORIGINS), "origins are")
    _check_records(live, cells)
    frontier.root = int(facts["root"])
    _below([frontier.root], cells, "the root lies")
    frontier._space.grow(max(width, 1), max(lists, 1), max(n_records, 1))
    frontier._look()
    space = frontier._space
    frontier._turn = 0
    space.states[:] = states
    space.frontiers[0][:width] = entries
    is_live = np.ones(n_records, bool)
    is_live[free] = False
    space.records[:n_records][is_live] = live
    space.stack[: free.size] = free
    for place, value in enumerate(summary.tolist()):
        frontier._sum[place] = value
    _restore_wake(facts, frontier)


def _check_threads(states: NDArray[np.void], store: Store) -> None:
    _need((states["next"] <= states["end"]).all(), "free cells end before they start")
    _below(states["end"].astype(np.int64), store.cells_in_use + 1, "free cells lie")
    _below(states["region"], store.regions.in_use, "regions lie")


def _check_records(records: NDArray[np.void], cells: int) -> None:
    """Check that frames, terms in hand and roots point into the heap, as far as single words tell."""
    _below(records["root"], cells, "roots lie")
    begun = (records["flags"] & (abi.RECORD_NEW | abi.RECORD_SLOT)) == 0
    _below(records["top"][begun] & _ENTRY_RECORD, cells, "frames lie")


def _restore_evaluator(
    facts: dict[str, Any], arrays: dict[str, NDArray[Any]], evaluator: Evaluator, inner: Frontier | None
) -> None:
    store, cells = evaluator.store, evaluator.store.cells_in_use
    thread, stack, acts = arrays["thread"], arrays["stack"], arrays["acts"]
    _need(thread.size == 1, "it has several threads")
    _check_threads(thread, store)
    counts = (stack >> np.uint64(32)) & np.uint64(0xFF)
    _below((stack & _ENTRY_RECORD) + counts, cells + 1, "cells to visit lie")
    _check_records(acts, cells)
    evaluator._state_view[:] = thread
    evaluator._depth = 0
    evaluator._room(stack.size)
    evaluator._stack_view[: stack.size] = stack
    evaluator._depth = stack.size
    evaluator._extra = int(facts["extra"])
    evaluator.log = [str(line) for line in facts["log"]]
    evaluator.todo = str(facts["todo"])
    _restore_acts(facts, acts, evaluator)
    if inner is not None:
        _restore_frontier(facts["frontier"], arrays, inner)
        evaluator._acts[-1].frontier = inner
    evaluator._calls = []
    for name, number, argument_cells, taken in facts["calls"]:
        places = [int(cell) for cell in argument_cells]
        _below(places, cells, "arguments lie")
        _need(0 <= int(number) < len(evaluator.book.prims), f"there is no primitive {number}")
        steps = replayed(evaluator, str(name), int(number), places, int(taken))
        evaluator._calls.append(_Call(str(name), int(number), places, steps, int(taken)))
    _restore_wake(facts, evaluator)


def _restore_acts(facts: dict[str, Any], records: NDArray[np.void], evaluator: Evaluator) -> None:
    """Put back the reductions under way; the first one is the program's own."""
    listed = facts["acts"]
    _need(len(listed) == records.size > 0, "its reductions are not as many as it says")
    bases = [int(base) for base, _, _ in listed]
    _need(all(a <= b for a, b in pairwise([0, *bases, evaluator._depth])), "its reductions overlap")
    main = evaluator._main
    for index, (base, flags, is_live) in enumerate(listed):
        if index == 0:
            act = main
        else:
            record: Buffer = evaluator.store.device.buffer(abi.RECORD.itemsize)
            act = _Activation(record, int(base), int(flags))
            evaluator._acts.append(act)
        view(act.record, abi.RECORD)[:] = records[index]
        act.base, act.flags, act.is_live = int(base), int(flags), bool(is_live)


def _restore_queue(facts: dict[str, Any], queue: Enumeration, cells: int) -> None:
    def turn(told: Any) -> Turn:
        places = [int(cell) for cell in told[0]]
        _need(0 < len(places) <= 2, "a turn has not one or two cells")
        _below(places, cells, "branches lie")
        _below([int(told[1])], KEYS, "keys are")
        return places, int(told[1])

    def places(name: str) -> list[int]:
        found = [int(cell) for cell in facts[name]]
        _below(found, cells, "branches lie")
        return found

    buckets = cast("list[Any]", facts["buckets"])
    _need(len(buckets) == KEYS, f"it has {len(buckets)} buckets")
    queue.count = int(facts["count"])
    turns = [[turn(each) for each in bucket] for bucket in buckets]
    queue._keys = {int(cell): int(key) for cell, key in facts["keys"]}
    _below(list(queue._keys), cells, "branches lie")
    _below(list(queue._keys.values()), KEYS, "keys are")
    queue._lifted, queue._waiting, queue._running = (set(places(name)) for name in ("lifted", "waiting", "running"))
    queue._ahead = [(int(key), int(number), int(cell)) for key, number, cell in facts["ahead"]]
    _below([cell for _, _, cell in queue._ahead], cells, "branches lie")
    queue._number = int(facts["number"])
    _below([int(facts["key"])], KEYS, "keys are")
    queue.turns.restore(turns, None if facts["now"] is None else turn(facts["now"]), int(facts["key"]))
    queue.found = []
    queue.is_over = False
