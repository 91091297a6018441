"""The CPU evaluator: the same kernel with one thread that owns the whole heap, and the primitives between passes.

It takes the cell that arose last first, left child before right, so that log lines come in HVM4's order. ``%gnf``
hands a term to the frontier machine and goes on with the heap that it leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, view
from hvm4viz.errors import KernelFault
from hvm4viz.events import EVENT, OUTCOMES, PassRecord
from hvm4viz.far import Cells
from hvm4viz.frontier import Frontier
from hvm4viz.fuel import auto_fuel
from hvm4viz.heap import Heap
from hvm4viz.kernel_text import abi
from hvm4viz.nodes import HeapFull, Nodes
from hvm4viz.primitives import Gnf, Normal, PrimitiveError, Steps, Weak, Wish, replayed, steps_of
from hvm4viz.settling import settle
from hvm4viz.stops import Fault, Stop, fault_of, stalled, task_of
from hvm4viz.store import Store
from hvm4viz.term import SUB_BIT, Tag, ext_of, pack, tag_of, val_of

EVENTS_MAX: Final = 1 << 14
"""Cells that one pass of the evaluator visits at most."""

_FRESH: Final = 4 << 60  # ITEM_FRESH
_CONTENDED, _STARVED = OUTCOMES.index("contended"), OUTCOMES.index("starved")
_ABORTED, _ERROR = OUTCOMES.index("aborted"), OUTCOMES.index("error")


@dataclass(slots=True)
class _Activation:
    """A reduction under way: its task's record, where its cells begin on the stack, what it wants."""

    record: Buffer
    base: int
    flags: int
    is_live: bool = False
    frontier: Frontier | None = None


@dataclass(slots=True)
class _Call:
    """A primitive at work: its name and id, its argument cells, its steps and how many of them it has taken."""

    name: str
    number: int
    cells: list[int]
    steps: Steps
    taken: int = 0


class Evaluator(Nodes):
    """Runs a program that uses primitives.

    Parameters
    ----------
    store : Store
    book : Book
        Names, for the terms that primitives get.
    root : int
        Root cell of the term.
    lift : bool
        Whether the root's task lifts, for collapsing.
    on_log : callable
        Gets each line of ``%log`` as it comes.

    Attributes
    ----------
    has_called : bool
        Whether the last pass ended in a call of a Python function.
    todo : str
        What a run that goes on has to do first: ``feed`` a starved thread, ``begin`` a primitive, ``resume`` one, lay
        out the ``value`` that a Python function gave back; or nothing.
    """

    def __init__(self, store: Store, book: Any, *, root: int, lift: bool, on_log: Callable[[str], None]) -> None:
        self._params = store.params(threads=1, tpb=1, flags=0)
        super().__init__(store, book, view(self._params, abi.PARAMS))
        self.root = root
        self.on_log = on_log
        self.log: list[str] = []
        self.feed: Callable[[NDArray[np.void]], None] | None = None
        self.cause: BaseException | None = None
        self.is_serial = True
        device = store.device
        self._step = store.serial("step_depth_first")
        self._place = f"{store.place('step_depth_first')}, evaluator"
        self._settle = store.serial("settle_frontier")
        self._param = view(self._params, np.uint32).data
        self._stack_size = 1 << 12
        self._stack: Buffer = device.buffer(8 * self._stack_size)
        self._stack_view: NDArray[np.uint64] = view(self._stack, np.uint64)
        self._depth = 0
        self._events = device.buffer(EVENT.itemsize * EVENTS_MAX)
        self._event_view = view(self._events, EVENT)
        self._rules = device.buffer(4 * len(store.kernel.rules))
        self._rule_view: NDArray[np.uint32] = view(self._rules, np.uint32)
        self._io = device.buffer(32)
        self._io_view = view(self._io, np.uint32).data
        self._reassigned = store.regions.assign(1, is_fresh=True)
        self._flags = self._param[9] | abi.PARAM_ALONE
        self._main = _Activation(device.buffer(abi.RECORD.itemsize), 0, abi.PARAM_LIFT if lift else 0)
        self._acts = [self._main]
        self._calls: list[_Call] = []
        self._ready: tuple[Stop | None, BaseException | None] | None = None
        self._has_written = False
        self.has_called = False
        self.todo = ""
        self._extra = 0
        self._opens = self._fills = self._woken = 0
        self._is_waking = False
        self._state_view["next"], self._state_view["end"] = max(store.laid, 1), self.machine.region_size
        self.inject([root])
        self._last = time.perf_counter_ns()

    # ---- what primitives use

    def count_log(self, interactions: int) -> None:
        """Count the applications by which HVM4 keeps the text of a log line."""
        self._extra += interactions

    def write_line(self, line: str) -> None:
        """Take a line of ``%log``."""
        self.log.append(line)
        self.on_log(line)

    # ---- the engine of a loop

    @property
    def passes(self) -> int:
        """Passes so far."""
        return self.store.passes

    @property
    def cells(self) -> Cells:
        """All cells of the heap as they lie, for reading."""
        return self.store.cells

    def inject(self, cells: Sequence[int] | NDArray[np.uint32]) -> None:
        """Have cells reduced, the first one first."""
        for cell in reversed([int(c) for c in cells]):
            self._push_range(cell)

    def _push_range(self, cell: int) -> None:
        self._room(1)
        self._stack_view[self._depth] = _FRESH | (1 << 32) | cell
        self._depth += 1

    def _room(self, ranges: int) -> None:
        if self._depth + ranges + 8 > self._stack_size:
            self._stack_size = 2 * (self._depth + ranges + 8)
            self._stack = self.store.device.grown(self._stack, 8 * self._stack_size)
            self._stack_view = view(self._stack, np.uint64)

    def idle(self) -> Stop | None:
        """Make the next pass ready, unless the last step has done so already."""
        if self._ready is None:
            self._make_ready()
        assert self._ready is not None
        stop, error = self._ready
        self._ready = None
        if error is not None:
            raise error
        return stop

    def _make_ready(self) -> None:
        try:
            self._ready = self._next_pass(), None
        except BaseException as error:  # noqa: BLE001  (told of behind the record of the pass, by idle)
            self._ready = None, error

    def _next_pass(self) -> Stop | None:
        """Finish frontier runs, wake tasks whose variable was filled late; return why there is no next pass, if so."""
        while True:
            act = self._acts[-1]
            if act.frontier is not None:
                stop = act.frontier.idle()
                if stop is None:
                    return None
                if stop.status != "done":
                    return stop
                self._end_frontier()
                stop = self._resume()
                if stop is not None:
                    return stop
                continue
            if act.is_live or self._depth > act.base or self._wake_late():
                return None
            return Stop("done")

    def step(self) -> tuple[PassRecord, Stop | None]:
        """Run one pass; what the host itself does before the next one belongs to it."""
        self._has_written = self.has_called = False
        frontier = self._acts[-1].frontier
        record, stop = self._run_pass() if frontier is None else frontier.run_pass()
        if stop is None:
            if frontier is not None and not frontier.width:
                record = replace(record, rules=record.rules.copy())  # the join of what wakes counts anew
                self._has_written = True
            if self._ready is None:
                self._make_ready()
        if self._reassigned:
            given, self._reassigned = self._reassigned, []
            in_use = self.store.regions.in_use
            record = replace(record, given=(*record.given, *given), cells=self.store.used_view[:in_use])
        if self.store.mirror is not None:
            record = replace(record, deltas=self.store.changes(everywhere=self._has_written))
        return record, stop

    def _run_pass(self) -> tuple[PassRecord, Stop | None]:
        act, param, io = self._acts[-1], self._param, self._io_view
        param[4] = self.store.now
        param[5] = auto_fuel(1, 1)
        param[9] = self._flags | act.flags
        param[13] = self.store.regions.in_use
        self._room(EVENTS_MAX)
        io[0], io[1], io[2], io[3], io[4] = self._depth, act.base, self._stack_size, EVENTS_MAX, act.is_live
        io[5] = abi.SUM_POISON
        store = self.store
        begun = time.perf_counter_ns()
        self._step(
            1, self._params, store.heap, store.code, store.roots, store.owner, store.chain, store.used,
            store.remote, self._state, act.record, self._stack, self._events, self._rules, self._io, store.visited,
            *store.watch_buffers,
        ).wait()  # fmt: skip
        ended = time.perf_counter_ns()
        if io[5] > EVENTS_MAX:
            raise KernelFault(f"pass {store.passes} left the number of events {io[5]:#x}: the evaluator did not run")
        self._depth, act.is_live = io[0], bool(io[4])
        events, stopped = self._event_view[: io[5]], io[6]
        state = self._state_view[0]
        self._opens += int(state["opens"])
        self._fills += int(state["fills"])
        counted = int(state["counted_lo"])
        self._woken += counted if self._is_waking else 0
        try:
            stop = self._after(act, stopped, events)
        except BaseException as error:  # noqa: BLE001  (told of behind the record of the pass, by idle)
            stop, self._ready = None, (None, error)
        return self._record(events, counted, begun, ended), stop

    def _record(self, events: NDArray[np.void], counted: int, begun: int, ended: int) -> PassRecord:
        store, extra = self.store, self._extra
        self._extra = 0
        rules = self._rule_view.astype(np.uint64)
        self._rule_view[:] = 0
        if extra and store.count:
            rules[store.kernel.names.index("APP-LAM")] += extra
        given, self._reassigned = tuple(self._reassigned), []
        now = time.perf_counter_ns()
        record = PassRecord(
            index=store.passes,
            ops=store.operations(self._events),
            frontier=len(events),
            events=events,
            interactions=counted + extra,
            rules=rules,
            cells=store.used_view[: store.regions.in_use],
            given=given,
            parked=0,
            remote=store.remote_view[: store.regions.in_use],
            longest=counted + extra,  # one thread does one thing at a time: nothing of it is parallel
            device=self._place,
            device_ns=ended - begun,
            host_ns=now - self._last - (ended - begun),
        )
        store.passes += 1
        self._last = now
        return record

    def _after(self, act: _Activation, stopped: int, events: NDArray[np.void]) -> Stop | None:
        try:
            if stopped == _STARVED:
                return self._feed()
            if stopped == _ERROR:
                return Stop("error", record=0)
            if stopped == _CONTENDED:
                return self._again(act)
            if stopped == _ABORTED:
                self._begin_primitive(act)
                return self._resume()
            if act.is_live or self._depth > act.base:
                return None
            if act is self._main:
                if self.feed is not None:
                    self.feed(events[-1:])
                return None
            self._acts.pop()
            if not act.flags & abi.PARAM_WEAK:
                self.store.forget_visits()
            return self._resume()
        except HeapFull as full:
            self.todo = "begin"
            return Stop("heap_full", str(full), record=0)

    def _feed(self) -> Stop | None:
        given, full = self.store.regions.feed(self._state_view)
        self._reassigned += given
        self.todo = "feed" if full else ""
        return Stop("heap_full", full, record=0) if full else None

    def go_on(self, *, is_full: bool) -> Stop | None:
        """Do once more what the heap had no room for, or what was interrupted; return why the run ends again, if so."""
        act, todo = self._acts[-1], self.todo
        self.todo = ""
        if act.frontier is not None:
            return act.frontier.go_on(is_full=is_full)
        if todo == "feed":
            return self._feed()
        try:
            if todo == "begin":
                self._begin_primitive(act)
            return self._resume() if todo in ("begin", "resume") else None
        except HeapFull as full:
            self.todo = "begin"
            return Stop("heap_full", str(full), record=0)

    def _again(self, act: _Activation) -> Stop | None:
        record = view(act.record, abi.RECORD)[0]
        slot = val_of(int(record["hand"]))
        if slot in self.store.closed or not int(self.store.words[slot + 1]) >> 40:
            return Stop("stalled", stalled(1))
        record["flags"] |= abi.RECORD_REENTER
        return None

    def _begin_primitive(self, act: _Activation) -> None:
        hand = int(view(act.record, abi.RECORD)["hand"][0]) & ~SUB_BIT
        if tag_of(hand) == Tag.ALO:
            static, env = int(self.book.code[ext_of(hand)]), val_of(hand)
            number = ext_of(static)
            name, arity = self.book.prims[number]
            words = [pack(Tag.ALO, val_of(static) + i, env) for i in range(arity)]
        else:
            number = ext_of(hand)
            name, arity = self.book.prims[number]
            words = [int(self.store.words[val_of(hand) + i]) for i in range(arity)]
        start = self.node(words)
        cells = [start + i for i in range(arity)]
        self._calls.append(_Call(name, number, cells, steps_of(self, name, number, cells)))

    def _resume(self) -> Stop | None:
        """Go on with the innermost primitive: it wants something reduced, or it has returned to its caller."""
        call, mark = self._calls[-1], self.mark()
        called_before, self.has_called = self.has_called, False
        self._has_written = True
        try:
            wish = next(call.steps)
            call.taken += 1
            self._begin(wish)
        except StopIteration as end:
            self._calls.pop()
            record = view(self._acts[-1].record, abi.RECORD)
            record["hand"], record["flags"] = end.value, 0
        except PrimitiveError as error:
            self.cause = error.__cause__
            return Stop("error", str(error), record=0)
        except BaseException as error:
            self.undo(mark)
            call.steps = replayed(self, call.name, call.number, call.cells, call.taken)
            self.todo = "value" if self.has_called and isinstance(error, HeapFull) else "resume"
            if isinstance(error, HeapFull):
                return Stop("heap_full", str(error), record=0)
            raise
        finally:
            self.has_called |= called_before
        return None

    def _begin(self, wish: Wish) -> None:
        if isinstance(wish, Gnf):
            frontier = Frontier(self.store, root=wish.cell, is_fresh=False)
            self._reassigned += frontier.take_given()
            self._acts.append(_Activation(self._main.record, self._depth, 0, frontier=frontier))
            return
        flags = abi.PARAM_WEAK if isinstance(wish, Weak) else 0
        assert isinstance(wish, Weak | Normal)
        self._acts.append(_Activation(self.store.device.buffer(abi.RECORD.itemsize), self._depth, flags))
        self._push_range(wish.cell)

    def _end_frontier(self) -> None:
        frontier = self._acts.pop().frontier
        assert frontier is not None
        frontier.home()  # from here on the host works on all of it
        self.store.forget_visits()
        self._reassigned += self.store.regions.assign(1, is_fresh=False)
        region, _ = self.store.regions.start(0)
        state = self._state_view[0]
        state["region"] = region
        state["next"] = state["end"] = (region + 1) * self.machine.region_size

    def _wake_late(self) -> bool:
        if self._main.flags & abi.PARAM_LIFT or not self._opens or not (self._fills or self._woken):
            return False
        self._opens = self._fills = self._woken = 0
        cells = self.late(self.root)
        self._has_written = True
        self.store.forget_visits()
        self.inject(cells)
        self._is_waking = len(cells) > 0
        return self._is_waking

    def may_be_late(self) -> bool:
        """Tell whether any task has ended at an open variable so far."""
        return self._opens > 0

    def late(self, root: int) -> NDArray[np.uint32]:
        """Return the cells below ``root`` whose term can go on; see ``Frontier.late``."""
        return settle(self.store, self._settle, self._params, root)

    # ---- reading back

    def fault(self, record: int) -> Fault:
        """Return where the task that is at work stopped."""
        act = self._acts[-1]
        if act.frontier is not None:
            return act.frontier.fault(record)
        return fault_of(view(act.record, abi.RECORD)[0])

    @property
    def is_in_frontier(self) -> bool:
        """Whether a frontier run is under way."""
        return self._acts[-1].frontier is not None

    def image(self) -> Heap:
        """Return the heap as it lies, with the live tasks."""
        in_use = self.store.regions.in_use
        tasks = [task_of(view(act.record, abi.RECORD)[0]) for act in self._acts if act.is_live]
        frontier = self._acts[-1].frontier
        if frontier is not None:
            tasks += frontier.image().tasks
        return self.store.image(
            in_use * self.machine.region_size,
            root=self.root,
            region_size=self.machine.region_size,
            threads_per_block=self.machine.threads_per_block,
            owners=self.store.owners(),
            tasks=tuple(tasks),
            stamps=self.store.now,
        )
