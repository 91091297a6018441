"""One frontier run on a heap: the entries of a pass, one dispatch, the join of what they leave."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hvm4viz.batch import Batch
from hvm4viz.device.way import Pace
from hvm4viz.errors import DeviceFailed, KernelFault
from hvm4viz.events import EVENT, NO_DELTAS, ORIGINS, OUTCOMES, PassRecord
from hvm4viz.far import Cells
from hvm4viz.fuel import auto_fuel
from hvm4viz.heap import Heap, Task
from hvm4viz.joining import GridJoin, Join, SerialJoin
from hvm4viz.kernel_text import abi
from hvm4viz.settling import settle
from hvm4viz.stops import Fault, Stop, fault_of, stalled, task_of
from hvm4viz.store import Store, protocol
from hvm4viz.term import SUB_BIT, Tag, tag_of, val_of
from hvm4viz.workspace import SLACK, Workspace

_CONTENDED, _PARKED = OUTCOMES.index("contended"), OUTCOMES.index("parked")


class Frontier:
    """The entries of the next pass, and how to run it.

    Parameters
    ----------
    store : Store
    root : int
        Root cell of the term to reduce.
    lift : bool
        Whether tasks bring the first superposition of their cell to the top, as collapsing needs it.
    is_fresh : bool
        Whether nobody has worked on the heap yet: then free cells of its regions are used.

    Attributes
    ----------
    feed : callable, optional
        Called between dispatch and join with the events of the pass; may ``inject`` cells.
    batch : Batch, optional
        Runs many passes at once, where it can.
    """

    def __init__(self, store: Store, *, root: int, lift: bool = False, is_fresh: bool = True) -> None:
        machine, device = store.machine, store.device
        self.store = store
        self.machine = machine
        self.device = device
        self.root = root
        self.feed: Callable[[NDArray[np.void]], None] | None = None
        self.batch: Batch | None = None
        self.is_single = self.is_serial = machine.threads == 1
        self._polls = self.is_single or machine.dup == "atomic" or machine.owner_unit == "block"
        store.renew()
        self._pace = Pace(store.ways("step_frontier"), machine.threads)
        self._settle = store.serial("settle_frontier")
        flags = protocol(machine) | (abi.PARAM_LIFT if lift else 0)
        self._is_away = False
        self._moves = self._pace.moves
        self._serial_join = SerialJoin(store)
        self._has_forks = bool(flags & abi.PARAM_FORK)
        self._joins_on_grid = store.joins_on_grid
        self._goes_on = self._joins_on_grid and device.is_ordered and store.shadow is None
        self._grid_join: GridJoin | None = None  # made for the first pass that needs it
        self._space = Workspace(store, flags=flags)
        self._look()
        self._counts_remote = store.count and not self.is_single
        self._turn = 0
        self._reassigned = store.regions.assign(machine.blocks, is_fresh=is_fresh)
        self._lay_slices()
        self.inject([root])
        self._join_frontiers()
        self._last = time.perf_counter_ns()
        self._opens = self._fills = self._woken = 0
        self._is_waking = False

    # ---- setting up

    def _lay_slices(self) -> None:
        """Point every thread at its slice of its block's region, behind cells that are laid out already."""
        machine, states = self.machine, self._state_view
        slice_cells, tpb = machine.slice_cells, machine.threads_per_block
        regions, is_full = self.store.regions.starts(), not self.store.regions.is_fresh
        starts = (regions[:, None] * machine.region_size + np.arange(tpb) * slice_cells).reshape(-1)
        states["region"] = np.repeat(regions, tpb)
        states["end"] = starts + slice_cells
        states["next"] = starts + slice_cells if is_full else np.maximum(starts, 1)  # cell 0 is null
        if not is_full:
            laid = np.flatnonzero(np.repeat(regions * machine.region_size, tpb) < self.store.laid)
            for thread, at in zip(laid.tolist(), starts[laid].tolist(), strict=True):
                states["next"][thread] = self._first_free(at, at + slice_cells)

    def _first_free(self, start: int, end: int) -> int:
        laid = self.store.laid
        stop, taken = max(start, min(end, laid)), self.store.taken
        filled = np.flatnonzero((self.store.words if taken is None else taken)[start:stop])
        if not len(filled):
            return max(start, 1)  # cell 0 is null
        cells = int(self._param[6]) if laid > 1 else 1  # an image may end in a slot whose other words are 0
        return min(start + int(filled[-1]) + cells, end)

    def _look(self) -> None:
        """Take the views anew: the buffers are others now."""
        space = self._space
        self._sum, self._param = space.summary, space.params
        self._state_view, self._event_view, self._record_view = space.states, space.events, space.records

    def inject(self, cells: Sequence[int] | NDArray[np.uint32]) -> None:
        """Have cells reduced: the next join puts fresh entries for them behind all others."""
        n = len(cells)
        self._space.make_room(n)
        self._look()
        self._space.inject[0] = n
        self._space.inject[1 : n + 1] = cells
        self._space.push("inject", 4 * (n + 1))

    def _join_on_grid(self) -> Join:
        if self._grid_join is None:
            self._grid_join = GridJoin(self.store, has_forks=self._has_forks)
        return self._grid_join

    def _join_frontiers(self, *, is_ordered: bool = False) -> None:
        """Build the next frontier; ``is_ordered``: the device has been told of it, along with the pass."""
        on_grid = self._joins_on_grid and (self._is_away or not self._moves)
        join = self._join_on_grid() if on_grid else self._serial_join
        while True:
            sums = self._sum
            sums[0] = abi.SUM_POISON
            if self._is_away and not is_ordered:
                self._space.push_order()
            join(self._space, self._turn)
            if self._is_away:
                self._space.pull_outcome()
            status = self._sum[0]
            if status == abi.SUM_JOINED:
                break
            if status == abi.SUM_LOST:
                raise self._lost(sums[7])
            if status != abi.SUM_GROW:
                raise KernelFault(f"pass {self.store.passes} left the status word {status:#x}: the join did not run")
            self._space.grow(sums[1], sums[11], sums[12])
            self._look()
            is_ordered = False
        self._turn = 1 - self._turn
        if self._space.inject[0]:
            self._space.inject[0] = 0
            self._space.push("inject", 4)

    def home(self) -> None:
        """Bring everything home, for the host to read and write."""
        if self._moves:
            self._space.fetch()
            self.store.fetch()
            self._is_away = False

    def _lost(self, threads: int) -> DeviceFailed:
        who = f"{threads:,} thread{'s' * (threads != 1)} that had entries left no word of having run"
        return DeviceFailed(
            f"the device {self.device.name} did not run pass {self.store.passes} to its end: {who}; nothing of it "
            "was taken over"
        )

    def _check_ran(self, count: NDArray[np.uint32], done: NDArray[np.uint32]) -> None:
        """Look for threads that did not run, as the join does, before anything of the pass is believed."""
        lost = int(np.count_nonzero((count > 0) & ((done == 0) | (done > count))))
        if lost:
            raise self._lost(lost)

    def take_given(self) -> list[tuple[int, int]]:
        """Return the regions that changed hands when this run began, so that they are told of once."""
        given, self._reassigned = self._reassigned, []
        return given

    # ---- one pass

    @property
    def passes(self) -> int:
        """Passes so far, of all runs on this heap."""
        return self.store.passes

    def idle(self) -> Stop | None:
        """Make the next pass ready: wake tasks whose variable was filled late, break a cycle of waits."""
        if self.width:
            return None
        if self.parked:
            return None if self.break_cycle() else Stop("stalled", stalled(self.parked))
        return None if self.wake_late() else Stop("done")

    def go_on(self, *, is_full: bool) -> Stop | None:
        """If the heap was full, give regions to the threads that found none left; return why not, if so."""
        if not is_full:
            return None
        given, full = self.store.regions.feed(self._state_view)
        self._reassigned += given
        return Stop("heap_full", full) if full else None

    @property
    def width(self) -> int:
        """Entries of the next pass."""
        return self._sum[1]

    @property
    def cells(self) -> Cells:
        """All cells of the heap as they lie, for reading."""
        return self.store.cells

    @property
    def parked(self) -> int:
        """Tasks that stand on no frontier."""
        return self._sum[2]

    def step(self) -> tuple[PassRecord, Stop | None]:
        """Run one pass; return what it did, and why the run must end, if it must."""
        record, stop = self.run_pass(collect=True)
        if self.store.mirror is not None and self._may_wake(stop):
            # What is done before the next pass belongs to this one; the join of what wakes counts anew.
            record = replace(record, rules=record.rules.copy())
            self.wake_late()
            record = replace(record, deltas=self.store.changes())
        return record, stop

    def _may_wake(self, stop: Stop | None) -> bool:
        return stop is None and self.feed is None and not self.width and not self.parked

    def run_pass(self, *, collect: bool = False) -> tuple[PassRecord, Stop | None]:
        """Run one pass; return what it did and why the run must end, if it must.

        With ``collect``, what it did holds the cells that it changed, unless more may be changed before the next pass.
        """
        if self.store.renew():
            self._space.move()
            self._look()
        width, turn, param, sums = self._sum[1], self._turn, self._param, self._sum
        fuel = self.machine.fuel
        if fuel == "auto":
            fuel = auto_fuel(width, self.machine.threads)
        way = self._pace.way(width, is_away=self._is_away, heap_bytes=self._bytes_to_move, fuel=fuel * width)
        if self._is_away and not way.is_away:
            self.home()
        leaves = way.is_away and not self._is_away
        if leaves:
            self._space.leave(turn, width)
        param[4] = self.store.now
        param[5] = fuel
        param[14] = width
        param[13] = in_use = self.store.regions.in_use
        if way.is_away or self.store.kernel.watchers:
            self.store.prepare()
        if way.is_away:
            sums[0] = abi.SUM_POISON
            self._space.push_order()
        if self._counts_remote:
            if self._is_away:
                self.device.clear(self.store.remote, 4 * in_use)
            else:
                self.store.remote_view[:in_use] = 0
        if self.store.shadow is not None:
            self.store.shadow.start(self.store.now, in_use * self.machine.region_size)
        batch = self.batch if self.batch is not None and width == 1 and not sums[2] and self.batch.is_ready else None
        goes_on = way.is_away and self._goes_on and self.feed is None
        begun = time.perf_counter_ns()
        if batch is None:
            handle = way.function(self.machine.threads, *self._space.step_args[turn])
            if not goes_on:
                handle.wait()
        else:
            batch.run(self._space, turn)
            turn = self._turn = turn ^ (batch.passes & 1)
            self._fills += batch.fills
        ended = time.perf_counter_ns()
        self._is_away = way.is_away
        if self.store.shadow is not None:
            self.store.shadow.check(self.store.passes, self.machine.region_size)
        stop: Stop | None = None
        if self.feed is not None:
            states = self._space.columns("count", "done", "opens")
            self._space.pull("events", EVENT.itemsize * width)
            self._check_ran(states["count"], states["done"])
            self._opens += int(states["opens"].sum())
            self.feed(self._run_events(width))
        self._join_frontiers(is_ordered=True)
        if leaves:
            self._space.arrive()
        if goes_on:  # nobody has waited between pass and join
            ended = time.perf_counter_ns()
        given = self.take_given()
        if sums[3]:
            regions = self.store.regions
            fresh, full = regions.feed(self._space.columns("need", "need_node"))
            if self._is_away or self.store.kernel.watchers:
                self.store.prepare()
            self.device.push_all((self.store.owner, 4 * regions.in_use), (self.store.chain, 4 * regions.in_use))
            given = given + fresh
            if full:
                stop = Stop("heap_full", full, self._starved(width, turn))
        ran = sums[7]
        if sums[8]:
            stop = self._fault_stop(sums[8] - 1, turn)
        if self.feed is None:
            self._opens += sums[9]
        self._fills += sums[10]
        if self._is_waking:  # what was woken may have stopped behind the next slot: look again, as long as it goes on
            self._woken += sums[4]
        if self._is_away and (self.store.count or (self._polls and not sums[4])):
            self._space.pull_pass(width)
        ops = self.store.operations(self._space.told)
        deltas = self.store.changes() if collect and not self._may_wake(stop) else NO_DELTAS
        now = time.perf_counter_ns()
        record = PassRecord(
            index=self.store.passes,
            ops=ops,
            deltas=deltas,
            frontier=width,
            events=self._event_view[:ran] if ran == width else self._run_events(width),
            interactions=sums[4] | (sums[5] << 32),
            rules=self._space.totals,
            cells=self.store.used_view[: self.store.regions.in_use],
            given=tuple(given),
            parked=sums[2],
            remote=self.store.remote_view[: self.store.regions.in_use],
            longest=sums[6],
            device=way.device or self.device.name,
            device_ns=ended - begun,
            host_ns=now - self._last - (ended - begun),
            deferred=sums[13],
        )
        if batch is not None:
            record = replace(
                record,
                passes=batch.passes + 1,
                interactions=record.interactions + batch.interactions,
                longest=record.longest + batch.longest,
            )
        self.store.passes += 1
        self._last = now
        self._pace.learn(way, width, ran + record.interactions, ended - begun)
        if stop is None and self.is_stuck(record) and not self.break_cycle():
            stop = Stop("stalled", stalled(len(record.events)))
        return record, stop

    def _bytes_to_move(self) -> int:
        """Return the bytes of heap that would have to move: of regions that hold anything, where the host can tell."""
        regions = self.store.regions.in_use
        if not self._is_away:
            regions = int(np.count_nonzero(self.store.used_view[:regions]))
        return 8 * self.machine.region_size * regions

    def _run_events(self, width: int) -> NDArray[np.void]:
        events = self._event_view[:width]
        return events[events["outcome"] != 0]

    def _fault_stop(self, index: int, turn: int) -> Stop:
        self._space.pull_one("events", EVENT.itemsize, index)
        outcome = OUTCOMES[int(self._event_view["outcome"][index])]
        return Stop("primitive" if outcome == "aborted" else "error", record=self._record_of(index, turn))

    def _starved(self, width: int, turn: int) -> int:
        """Return the record of the first task that found no cells in the last pass, or -1: for the message."""
        self._space.pull("events", EVENT.itemsize * width)
        starved = np.flatnonzero(self._event_view["outcome"][:width] == OUTCOMES.index("starved"))
        return self._record_of(int(starved[0]), turn) if starved.size else -1

    def _record_of(self, index: int, turn: int) -> int:
        """Return the record of an entry of the last pass."""
        self._space.pull_one(("this", "next")[turn], 8, index)
        return int(self._space.frontiers[turn][index]) & 0xFFFFFFFF

    def fault(self, record: int) -> Fault:
        """Return where the task of a record stopped."""
        self._space.pull_one("records", abi.RECORD.itemsize, record)
        return fault_of(self._record_view[record])

    def wake_late(self) -> bool:
        """Take up tasks that had stopped at a variable filled later; tell whether there are any."""
        if not self._opens or not (self._fills or self._woken):
            return False
        self.home()
        self._opens = self._fills = self._woken = 0
        cells = self.late(self.root)
        if not len(cells):
            return False
        self.store.forget_visits()
        self.inject(cells)
        self._state_view["count"] = 0
        self._join_frontiers()
        self._is_waking = True
        return True

    def may_be_late(self) -> bool:
        """Tell whether any task has ended at an open variable so far."""
        return self._opens > 0

    def late(self, root: int) -> NDArray[np.uint32]:
        """Return the cells below ``root`` whose term can go on, because a variable was filled after they stopped at it.

        Slots on the way that were stuck become free again.
        """
        return settle(self.store, self._settle, self._space.block, root)

    def is_stuck(self, record: PassRecord) -> bool:
        """Tell whether a pass found all its tasks waiting for slots, where those come back every pass."""
        if record.interactions or not self._polls:
            return False
        return bool(np.all(record.events["outcome"] == (_CONTENDED if self.is_single else _PARKED)))

    def break_cycle(self) -> bool:
        """Let one task that waits for a slot evaluate the slot's closure once more; tell whether there is one.

        Only a cyclic term comes to this. HVM4 evaluates such an expression again, and so does the waiting task with
        the least record.
        """
        self.home()
        width = self._sum[1]
        if width:  # one thread: those that wait stand on the frontier
            waiting = (self._space.frontiers[self._turn][:width] & np.uint64(0xFFFFFFFF)).tolist()
        else:
            free = set(self._space.stack[: self._sum[15]].tolist())
            waiting = [number for number in range(self._sum[14]) if number not in free]
        for number in waiting:
            record = self._record_view[number]
            slot = val_of(int(record["hand"]))
            if tag_of(int(record["hand"])) not in (Tag.DP0, Tag.DP1) or int(record["hand"]) & SUB_BIT:
                continue  # it waits for a fork
            if slot in self.store.closed or not int(self.store.words[slot + 1]) >> 40:
                continue
            record["flags"] |= abi.RECORD_REENTER | abi.RECORD_KEPT  # half of it cannot be given back: it is in itself
            if width:
                return True
            if self.machine.dup == "claim":
                record["flags"] += abi.RECORD_NAMED
                self._wake(number, int(record["home"]))
            else:
                self._wake(number, self.owner_thread(slot))
            return True
        return False

    def _wake(self, record: int, thread: int) -> None:
        """Put one parked task on the empty frontier."""
        states = self._state_view
        states["count"] = 0
        states["first"][thread] = states["out"][thread] = 0
        states["count"][thread], states["out_max"][thread] = 1, 1 + SLACK
        entry = (ORIGINS.index("wake") << 60) | (thread << 32) | record
        self._space.frontiers[self._turn][0] = entry
        self._sum[1] = 1
        if self.machine.dup != "claim":  # there the join counts who goes on
            self._sum[2] -= 1

    def owner_thread(self, loc: int) -> int:
        """Return the thread that owns a cell."""
        region, inside = divmod(loc, self.machine.region_size)
        block = int(self.store.owner_view[region])
        return block * self.machine.threads_per_block + inside // self.machine.slice_cells

    # ---- reading back

    def live_tasks(self) -> tuple[Task, ...]:
        """Return the tasks on the next frontier and those parked."""
        records, free_ones = self._sum[14], self._sum[15]
        if records == free_ones:
            return ()
        self._space.pull("stack", 4 * free_ones)
        self._space.pull("records", abi.RECORD.itemsize * records)
        free = set(self._space.stack[:free_ones].tolist())
        live = (number for number in range(records) if number not in free)
        return tuple(task_of(self._record_view[number]) for number in live)

    def image(self) -> Heap:
        """Return the heap as it lies, with the live tasks."""
        machine, in_use = self.machine, self.store.regions.in_use
        return self.store.image(
            in_use * machine.region_size,
            root=self.root,
            region_size=machine.region_size,
            threads_per_block=machine.threads_per_block,
            owners=self.store.owner_view[:in_use],
            tasks=self.live_tasks(),
            stamps=self.store.now,
        )
