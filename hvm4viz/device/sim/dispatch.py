"""One pass under a schedule."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import view
from hvm4viz.device.cpu import CpuBuffer
from hvm4viz.device.sim import call as calls
from hvm4viz.device.sim.call import Call, Room
from hvm4viz.device.sim.found import Choices, End, Explored
from hvm4viz.device.sim.text import Arguments
from hvm4viz.errors import DeviceFailed, KernelFault
from hvm4viz.events import OPERATIONS
from hvm4viz.kernel_text import abi


class Dispatch:
    """A pass that is to be run.

    Parameters
    ----------
    library : ctypes.CDLL
    arguments : Arguments
    buffers : sequence of CpuBuffer
        Of ``step_frontier``.
    busy : ndarray of int
        Threads that have entries.
    room : Room

    Attributes
    ----------
    now : int
        Stamp of the pass: its number, plus one.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        arguments: Arguments,
        buffers: Sequence[CpuBuffer],
        busy: NDArray[np.int64],
        room: Room,
    ) -> None:
        self._library = library
        self._arguments = arguments
        self._buffers = dict(zip(arguments.names, buffers, strict=True))
        self._pointers = (ctypes.c_void_p * len(buffers))(*(b.address for b in buffers))
        self._room = room
        self.busy = busy
        params = view(self._buffers["params"], abi.PARAMS)[0]
        self.now = int(params["now"])
        self._regions = int(params["regions"])
        self._cells = self._regions << int(params["region_shift"])
        self._heap_cells = len(self._buffers["heap"]) // 8
        self._all_cells = 2 * self._heap_cells  # with one more for each cell's visited bit
        n = len(busy)
        self._call = Call(
            buffers=ctypes.addressof(self._pointers),
            heap_cells=self._heap_cells,
            busy=n,
            stack_bytes=calls.STACK_BYTES,
            events_max=calls.EVENTS_MAX,
            knowledge_max=calls.KNOWLEDGE_MAX,
        )
        view(self._lend("fibers", calls.FIBER.itemsize * n), calls.FIBER)["thread"][:n] = busy
        self._lend("stacks", calls.STACK_BYTES * n)
        self._lend("order", 4 * (n + 8))
        self._lend("heads", 4 * self._all_cells)
        self._lend("events", calls.EVENT_BYTES * calls.EVENTS_MAX)
        self._lend("knowledge", 4 * calls.KNOWLEDGE_MAX)

    def random(self, seed: int) -> None:
        """Run the pass once, under the schedule of a seed.

        Raises
        ------
        KernelFault
            If a task did to a slot what the protocol forbids.
        """
        self._call.seed = seed
        if self._run("sim_random") == calls.FAULT:
            raise KernelFault(f"{self._fault()}; seed {seed} shows it again")

    def replay(self, choices: Choices) -> None:
        """Run the pass once, under a schedule that was found before.

        Raises
        ------
        ValueError
            If this pass has no such schedule.
        KernelFault
            If a task did to a slot what the protocol forbids.
        """
        touches = self._clear_touches()
        words = np.array(choices.words, np.int64)
        steps = np.array([(thread << 16) | value for thread, value in choices.steps], np.uint32)
        if len(words) and words.max() >= len(touches):
            raise ValueError(f"the choices {choices} are no schedule of pass {self.now - 1}: its heap ends before them")
        touches[words] = ~np.uint64(0)
        view(self._lend("choices", 4 * max(calls.CHOICES_MAX, len(steps))), np.uint32)[: len(steps)] = steps
        self._call.choices_count = len(steps)
        self._lend("frames", calls.FRAME_BYTES * calls.FRAMES_MAX)
        status = self._run("sim_replay")
        if status == calls.MISFIT:
            raise ValueError(f"the choices {choices} are no schedule of pass {self.now - 1}")
        if status == calls.FAULT:
            raise KernelFault(f"{self._fault()}; these choices in that pass show it again: {choices}")

    def explore(self, *, states_max: int, executions_max: int, is_reduced: bool) -> Explored:
        """Run every schedule of the pass; the buffers are as before then.

        Parameters
        ----------
        states_max : int
            Most states to remember, a power of two.
        executions_max : int
            Most times to run the pass.
        is_reduced : bool
            Whether to leave out orders that cannot matter; then schedules are fewer than there are.

        Raises
        ------
        DeviceFailed
            If more threads are busy than can be explored.
        """
        n, told = len(self.busy), self._call
        if n > calls.FIBERS_MAX:
            raise DeviceFailed(f"pass {self.now - 1} has {n} busy threads; of {calls.FIBERS_MAX} at most all is run")
        touches, parts = self._clear_touches(), self._parts()
        view(self._lend("parts", parts.nbytes), calls.PART)[: len(parts)] = parts
        self._lend("frames", calls.FRAME_BYTES * calls.FRAMES_MAX)
        self._lend("states", calls.STATE_BYTES * states_max)
        ends = view(self._lend("ends", calls.END.itemsize * calls.ENDS_MAX), calls.END)
        steps = view(self._lend("choices", 4 * calls.CHOICES_MAX), np.uint32)
        told.parts_count, told.frames_max, told.states_max = len(parts), calls.FRAMES_MAX, states_max
        told.executions_max, told.is_reduced = executions_max, is_reduced
        told.ends_max, told.choices_max = calls.ENDS_MAX, calls.CHOICES_MAX
        told.epoch = self._room.next_epoch()
        status = self._run("sim_explore")
        words = tuple(np.flatnonzero(_is_shared(touches)).tolist())

        def taken(first: int, count: int) -> Choices:
            part: list[int] = steps[first : first + count].tolist()
            return Choices(words, tuple((step >> 16, step & 0xFFFF) for step in part))

        is_fault = status == calls.FAULT
        found = ends[: 0 if is_fault else told.ends_count]
        return Explored(
            now=self.now,
            threads=tuple(self.busy.tolist()),
            words=words,
            schedules=told.schedules,
            states=told.states_count,
            executions=told.executions,
            longest=told.longest,
            ends=tuple(End(int(end["image"]), taken(int(end["first"]), int(end["count"]))) for end in found),
            fault=self._fault() if is_fault else "",
            shown_by=taken(0, told.choices_count) if is_fault else Choices(),
            is_complete=status == calls.OK,
        )

    def difference(self, one: Choices, other: Choices) -> str:
        """Run the pass under two schedules and name the first word in which they differ; the last one's state stays."""
        live = self._live()
        before = {name: words.copy() for name, words in live.items()}
        self.replay(one)
        after = {name: words.copy() for name, words in live.items()}
        for name, words in live.items():
            words[:] = before[name]
        self.replay(other)
        for name, words in live.items():
            differs = np.flatnonzero(words != after[name])
            if len(differs) and name not in ("shadow", "rules"):
                at = int(differs[0])
                return f"{name}, 32-bit word {at}: {int(after[name][at]):#x} or {int(words[at]):#x}"
        return "what was counted"

    def _run(self, name: str) -> int:
        entry: Any = getattr(self._library, name)
        entry.argtypes, entry.restype = (ctypes.c_void_p,), None
        entry(ctypes.addressof(self._call))
        if self._call.status == calls.OVERFLOW:
            raise DeviceFailed(f"pass {self.now - 1}: a thread needs more than {calls.STACK_BYTES} bytes of stack")
        return int(self._call.status)

    def _lend(self, field: str, nbytes: int) -> CpuBuffer:
        """Give the scheduler memory; it holds what it held."""
        buffer = self._room.get(field, nbytes)
        setattr(self._call, field, buffer.address)
        return buffer

    def _fault(self) -> str:
        told = self._call
        if told.fault == 0:
            return f"pass {self.now - 1}: two threads meet where the protocol forbids it"
        operation, thread = OPERATIONS[int(told.fault_op)], int(self.busy[told.fault_fiber])
        return (
            f"pass {self.now - 1}, slot {told.fault_slot}: {operation} by thread {thread}, {calls.FAULTS[told.fault]}"
        )

    def _clear_touches(self) -> NDArray[np.uint64]:
        """Return the table of who reads and who writes each half cell, with nobody in it."""
        touches = view(self._lend("touches", 2 * calls.TOUCH_BYTES * self._all_cells), np.uint64)
        rows = touches[: 4 * self._all_cells].reshape(-1, 2)
        rows[: 2 * self._cells] = 0
        rows[2 * self._heap_cells :][: 2 * self._cells] = 0
        return rows

    def _live(self) -> dict[str, NDArray[np.uint32]]:
        """Return the buffers that a pass may change, as far as they are in use."""
        cells, regions = self._cells, self._regions
        live = {"heap": 8 * cells, "visited": cells // 8 + 4, "used": 4 * regions, "remote": 4 * regions}
        if "shadow" in self._arguments.watchers:
            live["shadow"] = 4 * (8 + 8 * cells)
        if "log" in self._arguments.watchers:
            live["log"] = calls.LOG_BYTES
        out: dict[str, NDArray[np.uint32]] = {}
        for name, buffer in self._buffers.items():
            if name in self._arguments.changed:
                nbytes = min(live.get(name, len(buffer)), len(buffer))
                out[name] = np.frombuffer(buffer, np.uint32, nbytes // 4)  # type: ignore[call-overload]
        return out

    def _parts(self) -> NDArray[np.void]:
        """Return what a pass may change, and where to keep it meanwhile."""
        watchers = self._arguments.watchers
        kinds = {"states": calls.PER_THREAD, "rules": calls.RULES}
        kinds |= {name: kind for name, kind in (("log", calls.LOG), ("shadow", calls.SHADOW)) if name in watchers}
        rows: list[tuple[int, int, int, int]] = []
        for name, words in self._live().items():
            saved = self._room.get(f"saved {name}", words.nbytes)
            rows.append((self._buffers[name].address, len(words), kinds.get(name, calls.PLAIN), saved.address))
        return np.array(rows, calls.PART)


def _is_shared(touches: NDArray[np.uint64]) -> NDArray[np.bool_]:
    everybody = touches[:, 0] | touches[:, 1]
    return (touches[:, 1] != 0) & ((everybody & (everybody - np.uint64(1))) != 0)
