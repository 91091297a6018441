"""The pass loop: dispatch, check the status, join the frontiers, tell the observers.

It knows no files and no plots: observers get frozen records (``events.py``).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, Function, view
from hvm4viz.device.base import Kernel as CompiledKernel
from hvm4viz.device.cpu import CpuKernel
from hvm4viz.errors import KernelFault
from hvm4viz.events import EVENT, ORIGINS, OUTCOMES, Observer, PassRecord
from hvm4viz.heap import Heap, Task
from hvm4viz.kernel import abi
from hvm4viz.kernel.source import Kernel
from hvm4viz.regions import Regions
from hvm4viz.settings import Machine
from hvm4viz.term import SUB_BIT, val_of

PASS_INTERACTIONS: Final = 4_000_000
"""Interactions a pass does at most, roughly, with fuel="auto"."""

FUEL_MIN: Final = 64
"""Least automatic fuel, so that a very wide frontier still does more than it costs to dispatch."""

SMALL_PASS_NS: Final = 150_000
"""After a pass shorter than this the next one runs on the calling thread: waking host threads would cost more."""

PASSES_MAX: Final = (1 << 28) - 2
"""Stamps hold 28 bits of pass number."""

_SLACK = 16
_CONTENDED = OUTCOMES.index("contended")
_FOUND = 1 << 12


class StaticCode(Protocol):
    """What the machine needs of a book."""

    @property
    def code(self) -> NDArray[np.uint64]:
        """Static cells as the kernel reads them."""
        ...

    @property
    def roots(self) -> NDArray[np.uint32]:
        """Root cell of each definition, 0 for none."""
        ...


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended: status by name, and the message."""

    status: str
    message: str = ""
    thread_entry: int = -1


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a task met a runtime error or a primitive: kind, static cell and definition last entered, root cell."""

    kind: int
    place: int
    definition: int
    root: int
    hand: int


def auto_fuel(width: int) -> int:
    """Return the interactions an entry may spend in a pass over ``width`` entries."""
    return max(FUEL_MIN, PASS_INTERACTIONS // max(width, 1))


class Frontier:
    """One frontier run: buffers on a device, and one dispatch a pass.

    Parameters
    ----------
    machine : Machine
    device, host : Device
        Where passes run, and the cpu device that joins frontiers.
    kernel : Kernel
    book : StaticCode
    words : ndarray of uint64
        The heap at the start.
    root : int
        Root cell of the whole term.
    count : bool
        Whether to count rules and remote linear writes (record levels ``counts`` and up).
    lift : bool
        Whether tasks bring the first superposition of their cell to the top, as collapsing needs it.

    Attributes
    ----------
    feed : callable, optional
        Called between dispatch and join with the events of the pass; may ``inject`` cells.
    """

    def __init__(
        self,
        *,
        machine: Machine,
        device: Device,
        kernel: Kernel,
        book: StaticCode,
        words: NDArray[np.uint64],
        root: int,
        count: bool,
        lift: bool = False,
    ) -> None:
        self.machine = machine
        self.device = device
        self.kernel = kernel
        self.root = root
        self.passes = 0
        self.feed: Callable[[NDArray[np.void]], None] | None = None
        regions_max = max(machine.heap_cells // machine.region_size, 0)
        needed = max(machine.blocks, -(-len(words) // machine.region_size))
        if regions_max < needed:
            least = needed * machine.region_size * 8
            raise ValueError(
                f"Machine(heap={machine.heap!r}) holds {regions_max} regions of {machine.region_size} cells; this run "
                f"starts with {needed}: use heap={least!r} or more, or smaller regions"
            )
        self._compile()
        self._heap = device.buffer(regions_max * machine.region_size * 8)
        self._words = view(self._heap, np.uint64)
        self._words[: len(words)] = words
        tables = [device.buffer(4 * regions_max) for _ in range(4)]
        self._owner, self._chain, self._used, self._remote = tables
        self._used_view, self._remote_view = view(self._used, np.uint32), view(self._remote, np.uint32)
        self.regions = Regions(machine, view(self._owner, np.uint32), view(self._chain, np.uint32), needed)
        self._code = device.buffer(np.ascontiguousarray(book.code if len(book.code) else np.zeros(1, np.uint64)))
        self._roots = device.buffer(np.ascontiguousarray(book.roots if len(book.roots) else np.zeros(1, np.uint32)))
        rules = len(kernel.rules)
        threads = machine.threads
        self._params = device.buffer(abi.PARAMS.itemsize)
        self._states = device.buffer(threads * abi.THREAD_STATE.itemsize)
        self._state_view = view(self._states, abi.THREAD_STATE)
        self._rules = device.buffer(4 * rules * threads if count else 4)
        self._totals = device.buffer(8 * rules)
        self._totals_view = view(self._totals, np.uint64)
        self._cursor = device.buffer(4 * threads)
        self._summary = device.buffer(abi.SUMMARY.itemsize)
        self._sizes = device.buffer(12)
        self._sum = memoryview(self._summary).cast("I")  # type: ignore[arg-type]
        self._param = memoryview(self._params).cast("I")  # type: ignore[arg-type]
        self._size = memoryview(self._sizes).cast("I")  # type: ignore[arg-type]
        params = view(self._params, abi.PARAMS)[0]
        single = threads == 1
        params["threads"] = threads
        params["tpb_shift"] = machine.threads_per_block.bit_length() - 1
        params["region_shift"] = machine.region_size.bit_length() - 1
        params["slice_shift"] = machine.slice_cells.bit_length() - 1
        params["slot_cells"], params["lam_cells"] = (2, 2) if single else (4, 3)
        params["rules"] = rules
        params["flags"] = (abi.PARAM_SINGLE if single else 0) | (abi.PARAM_COUNT if count else 0) | (
            abi.PARAM_LIFT if lift else 0
        )
        params["shard_address"] = machine.shard == "address"
        params["slack"] = _SLACK
        self.is_single = single
        self._count = count and not single
        self._counted = count
        self._frontier_size = 0
        self._lists_size = 0
        self._records_size = 0
        self._frontiers: list[Buffer] = [device.buffer(8), device.buffer(8)]
        self._items = self._events = self._stack = device.buffer(8)
        self._records = device.buffer(abi.RECORD.itemsize)
        self._turn = 0
        self._inject_size = 64
        self._inject = device.buffer(4 * self._inject_size)
        self._inject_view = view(self._inject, np.uint32)
        self._grow(max(64, threads), max(64, threads) + _SLACK * threads, max(64, threads))
        self._lay_slices(len(words))
        self.inject([root])
        self._join_frontiers()
        self._last = time.perf_counter_ns()
        self._opens = self._fills = 0
        self._device_ns = 0

    # ---- setting up

    def _compile(self) -> None:
        compiled = self.device.kernel(self.kernel.text)
        self._step: Function = compiled.function("step_frontier")
        self._step_serial: Function = _serial(compiled, "step_frontier")
        self._join: Function = _serial(compiled, "join_frontier")
        self._settle: Function = _serial(compiled, "settle_frontier")
        sizes = self.device.buffer(4 * len(abi.SIZES))
        compiled.function("layout_sizes")(1, sizes).wait()
        got = tuple(int(n) for n in view(sizes, np.uint32)[: len(abi.SIZES)])
        if got != abi.SIZES:
            raise KernelFault(f"the compiled kernel lays out its structs as {got} bytes, the host as {abi.SIZES}")

    def _lay_slices(self, laid: int) -> None:
        """Point every thread at its slice of its block's first region, behind cells that are laid out already."""
        machine, states = self.machine, self._state_view
        slice_cells = machine.slice_cells
        for thread in range(machine.threads):
            block, lane = divmod(thread, machine.threads_per_block)
            start = self.regions.first[block] * machine.region_size + lane * slice_cells
            states["region"][thread] = self.regions.first[block]
            states["next"][thread] = self._first_free(start, start + slice_cells, laid)
            states["end"][thread] = start + slice_cells
        for region in range(self.regions.in_use):
            used = min(max(laid - region * machine.region_size, 0), machine.region_size)
            self._used_view[region] = used

    def _first_free(self, start: int, end: int, laid: int) -> int:
        filled = np.flatnonzero(self._words[start : max(start, min(end, laid))])
        return max(start + (int(filled[-1]) + 1 if len(filled) else 0), 1)  # cell 0 is null

    def _grow(self, frontier: int, lists: int, records: int) -> None:
        """Make the buffers large enough; frontier, records and stack keep what they hold."""
        device = self.device
        if frontier > self._frontier_size:
            size = max(frontier, 2 * self._frontier_size)
            for i, old in enumerate(self._frontiers):
                self._frontiers[i] = _copy(device, old, 8 * size)
            self._events = _copy(device, self._events, EVENT.itemsize * size)
            self._event_view = view(self._events, EVENT)
            self._frontier_size = size
        if lists > self._lists_size:
            size = max(lists, 2 * self._lists_size)
            self._items = _copy(device, self._items, 8 * size)
            self._lists_size = size
        if records > self._records_size:
            size = max(records, 2 * self._records_size)
            self._records = _copy(device, self._records, abi.RECORD.itemsize * size)
            self._stack = _copy(device, self._stack, 4 * size)
            self._record_view = view(self._records, abi.RECORD)
            self._records_size = size
        self._size[0], self._size[1], self._size[2] = self._frontier_size, self._lists_size, self._records_size
        self._bind()

    def _bind(self) -> None:
        a, b = self._frontiers
        self._step_args = tuple(
            (
                self._params, self._heap, self._heap, self._code, self._roots, self._owner, self._chain, self._used,
                self._remote, self._states, mine, self._records, self._items, self._events, self._rules,
            )
            for mine in (a, b)
        )  # fmt: skip
        self._join_args = tuple(
            (
                self._params, self._states, mine, other, self._records, self._items, self._events, self._stack,
                self._cursor, self._owner, self._summary, self._rules, self._totals, self._sizes, self._inject,
            )
            for mine, other in ((a, b), (b, a))
        )  # fmt: skip

    def inject(self, cells: Sequence[int] | NDArray[np.uint32]) -> None:
        """Have cells reduced: the next join puts fresh entries for them behind all others."""
        n = len(cells)
        if n + 1 > self._inject_size:
            self._inject_size = max(n + 1, 2 * self._inject_size)
            self._inject = self.device.buffer(4 * self._inject_size)
            self._inject_view = view(self._inject, np.uint32)
            self._bind()
        self._inject_view[0] = n
        self._inject_view[1 : n + 1] = cells

    def _join_frontiers(self) -> None:
        sums = self._sum
        sums[0] = abi.SUM_POISON
        while True:
            self._join(1, *self._join_args[self._turn]).wait()
            if sums[0] == abi.SUM_JOINED:
                break
            if sums[0] != abi.SUM_GROW:
                raise KernelFault(f"pass {self.passes} left the status word {sums[0]:#x}: the join did not run")
            self._grow(sums[1], sums[11], sums[12])
        self._turn = 1 - self._turn
        self._inject_view[0] = 0

    # ---- one pass

    @property
    def width(self) -> int:
        """Entries of the next pass."""
        return self._sum[1]

    @property
    def words(self) -> NDArray[np.uint64]:
        """All cells of the heap, as they lie."""
        return self._words

    @property
    def parked(self) -> int:
        """Tasks that stand on no frontier."""
        return self._sum[2]

    def step(self) -> tuple[PassRecord, Stop | None]:
        """Run one pass; return what it did, and why the run must end, if it must."""
        width, turn, param, sums = self._sum[1], self._turn, self._param, self._sum
        fuel = self.machine.fuel
        param[4] = self.passes + 1
        param[5] = auto_fuel(width) if fuel == "auto" else fuel
        param[13] = in_use = self.regions.in_use
        if self._count:
            self._remote_view[:in_use] = 0
        begun = time.perf_counter_ns()
        small = width < 2 or self._device_ns < SMALL_PASS_NS
        (self._step_serial if small else self._step)(self.machine.threads, *self._step_args[turn]).wait()
        ended = time.perf_counter_ns()
        self._device_ns = ended - begun
        stop: Stop | None = None
        if self.feed is not None:
            self.feed(self._run_events(width))
        self._join_frontiers()
        given: list[tuple[int, int]] = []
        if sums[3]:
            given, full = self.regions.feed(self._state_view)
            if full:
                stop = Stop("heap_full", full)
        ran = sums[7]
        if sums[8]:
            stop = self._fault_stop(sums[8] - 1, turn)
        self._opens += sums[9]
        self._fills += sums[10]
        now = time.perf_counter_ns()
        record = PassRecord(
            index=self.passes,
            frontier=width,
            events=self._event_view[:ran] if ran == width else self._run_events(width),
            interactions=sums[4] | (sums[5] << 32),
            rules=self._totals_view,
            cells=self._used_view[: self.regions.in_use],
            given=tuple(given),
            parked=sums[2],
            remote=self._remote_view[: self.regions.in_use],
            longest=sums[6],
            device=self.device.name,
            device_ns=ended - begun,
            host_ns=now - self._last - (ended - begun),
            deferred=sums[13],
        )
        self.passes += 1
        self._last = now
        return record, stop

    def _run_events(self, width: int) -> NDArray[np.void]:
        events = self._event_view[:width]
        return events[events["outcome"] != 0]

    def _fault_stop(self, index: int, turn: int) -> Stop:
        outcome = OUTCOMES[int(self._event_view["outcome"][index])]
        entry = int(view(self._frontiers[turn], np.uint64)[index])
        return Stop("primitive" if outcome == "aborted" else "error", thread_entry=entry & 0xFFFFFFFF)

    def fault(self, record: int) -> Fault:
        """Return where the task of a record stopped."""
        r = self._record_view[record]
        return Fault(
            kind=int(r["flags"]) >> abi.RECORD_ERROR_SHIFT,
            place=int(r["place"]),
            definition=int(r["def"]) - 1,
            root=int(r["root"]),
            hand=int(r["hand"]) & ~SUB_BIT,
        )

    def wake_late(self) -> bool:
        """Take up tasks that had stopped at a variable filled later; tell whether there are any."""
        if not (self._opens and self._fills):
            return False
        self._opens = self._fills = 0
        work, found = max(1 << 16, self.cells_used() // 4), _FOUND
        while True:
            work_buffer, found_buffer = self.device.buffer(4 * work), self.device.buffer(4 * found)
            io = self.device.buffer(np.array([self.root, work, found, 0, 0], np.uint32))
            self._settle(1, self._params, self._heap, self._heap, self._roots, work_buffer, found_buffer, io).wait()
            status, number = (int(n) for n in view(io, np.uint32)[3:5])
            if status == 0:
                break
            work, found = 4 * work, 4 * found
        if number == 0:
            return False
        self.inject(view(found_buffer, np.uint32)[:number])
        self._state_view["count"] = 0
        self._join_frontiers()
        return True

    def is_stuck(self, record: PassRecord) -> bool:
        """Tell whether a pass of one thread alone found all its tasks waiting for slots."""
        return self.is_single and record.interactions == 0 and bool(np.all(record.events["outcome"] == _CONTENDED))

    def break_cycle(self) -> bool:
        """Let one task that waits for a slot evaluate the slot's closure once more; tell whether there is one.

        Only a cyclic term comes to this. HVM4 evaluates such an expression again, and so does the waiting task with
        the least record.
        """
        width = self._sum[1]
        if width:  # one thread: those that wait stand on the frontier
            waiting = (view(self._frontiers[self._turn], np.uint64)[:width] & np.uint64(0xFFFFFFFF)).tolist()
        else:
            free = set(view(self._stack, np.uint32)[: self._sum[15]].tolist())
            waiting = [number for number in range(self._sum[14]) if number not in free]
        for number in waiting:
            record = self._record_view[number]
            slot = val_of(int(record["hand"]))
            if not int(self._words[slot + 1]) >> 40:
                continue
            record["flags"] |= abi.RECORD_REENTER
            if not width:
                self._wake(number, self.owner_thread(slot))
            return True
        return False

    def _wake(self, record: int, thread: int) -> None:
        """Put one parked task on the empty frontier."""
        states = self._state_view
        states["count"] = 0
        states["first"][thread] = states["out"][thread] = 0
        states["count"][thread], states["out_max"][thread] = 1, 1 + _SLACK
        entry = (ORIGINS.index("wake") << 60) | (thread << 32) | record
        view(self._frontiers[self._turn], np.uint64)[0] = entry
        self._sum[1] = 1
        self._sum[2] -= 1

    def owner_thread(self, loc: int) -> int:
        """Return the thread that owns a cell."""
        region, inside = divmod(loc, self.machine.region_size)
        block = int(view(self._owner, np.uint32)[region])
        return block * self.machine.threads_per_block + inside // self.machine.slice_cells

    # ---- reading back

    def cells_used(self) -> int:
        """Return the cells in use in all regions."""
        return int(self._used_view[: self.regions.in_use].sum(dtype=np.int64))

    def live_tasks(self) -> tuple[Task, ...]:
        """Return the tasks on the next frontier and those parked."""
        free = set(view(self._stack, np.uint32)[: self._sum[15]].tolist())
        tasks: list[Task] = []
        for number in range(self._sum[14]):
            if number in free:
                continue
            r = self._record_view[number]
            begun = not int(r["flags"]) & abi.RECORD_NEW
            hand = int(r["hand"])
            tasks.append(
                Task(
                    root=int(r["root"]),
                    top=int(r["top"]) if begun else 0,
                    hand=hand & ~SUB_BIT if begun else 0,
                    is_value=begun and bool(hand & SUB_BIT),
                )
            )
        return tuple(tasks)

    def image_owners(self) -> NDArray[np.uint32]:
        """Return the owner block of each region in use, as a copy."""
        return view(self._owner, np.uint32)[: self.regions.in_use].copy()

    def image(self) -> Heap:
        """Return the heap as it lies, with the live tasks."""
        machine, in_use = self.machine, self.regions.in_use
        return Heap(
            words=self._words[: in_use * machine.region_size],
            root=self.root,
            region_size=machine.region_size,
            threads_per_block=machine.threads_per_block,
            owners=view(self._owner, np.uint32)[:in_use],
            tasks=self.live_tasks(),
        )


def _serial(compiled: CompiledKernel, name: str) -> Function:
    return compiled.function(name, serial=True) if isinstance(compiled, CpuKernel) else compiled.function(name)


def _copy(device: Device, old: Buffer, nbytes: int) -> Buffer:
    new = device.buffer(nbytes)
    kept = min(len(old), nbytes)
    view(new, np.uint8)[:kept] = view(old, np.uint8)[:kept]
    return new


class _Interrupts:
    """Turns the first interrupt into a flag that is looked at between passes; a second one raises."""

    def __init__(self) -> None:
        self.seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT."""
        del number, frame
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


@contextmanager
def _catch_interrupts() -> Iterator[_Interrupts]:
    flag = _Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None or before == signal.SIG_IGN:
        yield flag
        return
    signal.signal(signal.SIGINT, flag)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)


def _stalled(tasks: int) -> str:
    what = "1 task waits for itself" if tasks == 1 else f"{tasks:,} tasks wait for each other"
    return f"{what}: the term is cyclic"


def run_passes(
    frontier: Frontier,
    observers: Sequence[Observer],
    *,
    max_passes: int,
    timeout: float | None,
    on_pass: Callable[[PassRecord], bool | None] | None = None,
) -> Stop:
    """Run passes until the frontier is empty or something ends the run.

    Parameters
    ----------
    frontier : Frontier
    observers : sequence of Observer
        Told of every pass, in order.
    max_passes : int
    timeout : float, optional
        Seconds; looked at between passes.
    on_pass : callable, optional
        Called after each pass; returning False ends the run as interrupted.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    limit = min(max_passes, PASSES_MAX)
    with _catch_interrupts() as interrupts:
        try:
            while True:
                if frontier.width == 0:
                    if frontier.parked:
                        if not frontier.break_cycle():
                            return Stop("stalled", _stalled(frontier.parked))
                    elif not frontier.wake_late():
                        return Stop("done")
                if frontier.passes >= limit:
                    return Stop("pass_limit", f"stopped after {limit:,} passes; raise max_passes to go on")
                if deadline is not None and time.monotonic() >= deadline:
                    return Stop("timeout", f"stopped after {timeout:g} s; raise timeout to go on")
                record, stop = frontier.step()
                for observer in observers:
                    observer.on_pass(record)
                if stop is not None:
                    return stop
                if frontier.is_stuck(record) and not frontier.break_cycle():
                    return Stop("stalled", _stalled(len(record.events)))
                if interrupts.seen or (on_pass is not None and on_pass(record) is False):
                    return Stop("interrupted", f"interrupted after {frontier.passes:,} passes")
        except KeyboardInterrupt:
            if interrupts.seen:
                raise
            return Stop("interrupted", f"interrupted after {frontier.passes:,} passes")
