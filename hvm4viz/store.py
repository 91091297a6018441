"""What every run on a heap shares: the compiled kernel, the heap with its regions, the book, the pass counter."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hvm4viz.deltas import Mirror
from hvm4viz.device.base import Buffer, Device, Function, Way, view
from hvm4viz.device.spread import Layout
from hvm4viz.errors import DeviceFailed, KernelFault
from hvm4viz.events import NO_DELTAS, NO_OPS
from hvm4viz.far import Cells
from hvm4viz.far_heap import FarHeap
from hvm4viz.heap import Heap
from hvm4viz.kernel_text import abi
from hvm4viz.kernel_text.source import Kernel
from hvm4viz.regions import Regions
from hvm4viz.settings import CHOICES, Machine
from hvm4viz.shadow import Shadow
from hvm4viz.watch import Log

PASSES_MAX: Final = (1 << 27) - 2
"""Stamps hold 27 bits of pass number."""


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


class Store:
    """A heap on a device, and the kernel that works on it.

    Parameters
    ----------
    machine : Machine
    device : Device
    kernel : Kernel
    book : StaticCode
    words : ndarray of uint64
        The heap at the start, from cell 0.
    count : bool
        Whether to count rules and remote linear writes (record levels ``counts`` and up).
    stamps : int
        Stamps that the words may hold already lie below this.
    alone : bool
        Whether the device runs every pass, however narrow: it is to be proved.
    taken : ndarray of bool, optional
        Cells that the words use, zero ones too; by default those that are not zero.

    Attributes
    ----------
    passes : int
        Passes so far, of all runs on this heap.
    regions : Regions
    log : Log or None
        What the kernel writes down, if it does.
    shadow : Shadow or None
        Who touched what, if the kernel remembers.
    mirror : Mirror or None
        The heap as it was when the last pass ended, if changes are asked for.
    cells : Cells
        The heap for reading: of one that lies elsewhere, only what is asked for comes over.
    closed : frozenset of int
        Slots whose closure is never evaluated once more, in a run that goes on from a file.

    Raises
    ------
    ValueError
        If the heap is too small to start with.
    """

    def __init__(
        self,
        machine: Machine,
        device: Device,
        kernel: Kernel,
        book: StaticCode,
        words: NDArray[np.uint64],
        *,
        count: bool,
        stamps: int = 0,
        alone: bool = False,
        taken: NDArray[np.bool_] | None = None,
    ) -> None:
        device.check(machine)
        self.machine = machine
        self.device = device
        self.kernel = kernel
        self.count = count
        self.passes = 0
        self.mirror: Mirror | None = None
        self.closed: frozenset[int] = frozenset()
        self._stamps = stamps
        self._is_alone = alone
        self.laid = len(words) if taken is None else len(taken)
        self.taken = taken
        regions_max = machine.heap_cells // machine.region_size
        needed = max(machine.blocks, -(-len(words) // machine.region_size))
        if regions_max < needed:
            least = -(-needed * machine.region_size * 8 // 1024)
            raise ValueError(
                f"Machine(heap={machine.heap!r}) holds {regions_max} regions of {machine.region_size} cells; this run "
                f"starts with {needed}: use heap='{least} KiB' or more, or smaller regions with region_size="
            )
        self._opening = device.renew()
        self._compiled = device.kernel(kernel.alone if machine.threads == 1 and device.tailors else kernel.text)
        self._check_layout()
        cells = regions_max * machine.region_size
        try:
            self.heap: Buffer = device.buffer(cells * 8)
        except DeviceFailed as error:
            raise DeviceFailed(
                f"{error}; that is the heap: use a smaller one than Machine(heap={machine.heap!r})", text=error.text
            ) from None
        self.log = Log(device, self._compiled, machine.threads, cells) if "log" in kernel.watchers else None
        self.shadow = Shadow(device, cells) if "shadow" in kernel.watchers else None
        self._nobody = device.buffer(8)
        self.visited: Buffer = device.buffer(regions_max * machine.region_size // 8 + 4)
        self.owner, self.chain, self.used, self.remote = (device.buffer(4 * regions_max) for _ in range(4))
        self.code: Buffer = device.buffer(_filled(book.code, np.uint64))
        self.roots: Buffer = device.buffer(_filled(book.roots, np.uint32))
        self._look()
        self._words[: len(words)] = words
        self.regions = Regions(machine, self.owner_view, view(self.chain, np.uint32), needed)
        starts = np.arange(needed, dtype=np.int64) * machine.region_size
        self.used_view[:needed] = np.clip(len(words) - starts, 0, machine.region_size)

    def _look(self) -> None:
        self._words: NDArray[np.uint64] = view(self.heap, np.uint64)
        self.cells: Cells = self.device.cells(self.heap)
        self._visited_view: NDArray[np.uint8] = view(self.visited, np.uint8)
        self.owner_view: NDArray[np.uint32] = view(self.owner, np.uint32)
        self.used_view: NDArray[np.uint32] = view(self.used, np.uint32)
        self.remote_view: NDArray[np.uint32] = view(self.remote, np.uint32)
        machine = self.machine
        layout = Layout(self.owner_view, 8 * machine.region_size, machine.threads, machine.threads_per_block)
        self.device.lay_out(self.heap, layout)
        self.watch_buffers: tuple[Buffer, Buffer, Buffer] = (
            self.log.buffer if self.log else self._nobody,
            self.log.marks if self.log else self._nobody,
            self.shadow.buffer if self.shadow else self._nobody,
        )

    def renew(self) -> bool:
        """Let the device open itself again, if that pays; tell whether all buffers are fresh ones now.

        To be asked between passes: log and shadow are empty then.
        """
        opening = self.device.renew()
        if opening == self._opening:
            return False
        device, in_use = self.device, self.regions.in_use * self.machine.region_size
        try:
            self.heap = device.grown(self.heap, len(self.heap), kept=8 * in_use)
        except DeviceFailed:  # no room for two heaps
            device.stay()
            return False
        self._opening = opening
        for name in ("visited", "owner", "chain", "used", "remote", "code", "roots", "_nobody"):
            old: Buffer = getattr(self, name)
            setattr(self, name, device.grown(old, len(old)))
        self.log = Log(device, self._compiled, self.machine.threads, len(self._words)) if self.log else None
        self.shadow = Shadow(device, len(self._words)) if self.shadow else None
        self._look()
        self.regions.owner, self.regions.chain = self.owner_view, view(self.chain, np.uint32)
        if self.mirror is not None:
            self.watch_changes()
        return True

    def prepare(self) -> None:
        """Tell the device how much of the heap and its tables is in use; to be asked before a pass."""
        device, regions, cells = self.device, self.regions.in_use, self.cells_in_use
        # not a method: the heap must not lead back to whoever holds views of it, or none of it would ever be freed
        used_bytes = partial(_used_bytes, device, self.used, regions, 8 * self.machine.region_size)
        device.extent(self.heap, 8 * cells, used_bytes)
        device.extent(self.visited, cells // 8 + 4)
        for table in (self.owner, self.chain, self.used, self.remote):
            device.extent(table, 4 * regions)
        if self.log is not None:
            self.log.prepare(cells)
        if self.shadow is not None:
            self.shadow.prepare(cells)

    def retire(self) -> None:
        """Let another run use the memory, once nobody reads it any more."""
        self.device.pull(self.used)
        filled = np.flatnonzero(self.used_view[: self.regions.in_use])  # regions are given ahead of need
        cells = self.machine.region_size * (int(filled[-1]) + 1 if len(filled) else 0)
        self.device.keep(self.heap, 8 * cells)
        if self.log is not None:
            self.log.retire(cells)
        if self.mirror is not None:
            self.mirror.retire(cells)

    def fetch(self) -> None:
        """Bring the heap and its tables home, for the host to read and write."""
        self.device.fetch(self.heap, self.visited, self.owner, self.chain, self.used, self.remote)

    def _check_layout(self) -> None:
        poison = (abi.SUM_POISON,) * len(abi.SIZES)
        sizes = self.device.buffer(np.array(poison, np.uint32))
        self.function("layout_sizes")(1, sizes).wait()
        self.device.fetch(sizes)
        got = tuple(int(n) for n in view(sizes, np.uint32)[: len(abi.SIZES)])
        if got == poison:
            raise DeviceFailed(f"the device {self.device.name} took a dispatch and did not run it")
        if got != abi.SIZES:
            raise KernelFault(f"the compiled kernel lays out its structs as {got} bytes, the host as {abi.SIZES}")

    def operations(self, events: Buffer) -> NDArray[np.void]:
        """Take the operations on slots of a pass; see ``Log.operations``. Without a log: none."""
        return NO_OPS if self.log is None else self.log.operations(events)

    def watch_changes(self) -> None:
        """From now on, keep a copy of the heap to tell what each pass changed; the kernel must be one with a log."""
        if self.log is None:
            raise KernelFault("changes are asked of a kernel that does not mark what it writes")
        self.mirror = Mirror(self.device, self._compiled, self.log, self.heap, self.cells_in_use)

    def changes(self, *, everywhere: bool = False) -> NDArray[np.void]:
        """Return the cells that differ from what they were at the last call; see ``Mirror.changes``."""
        return NO_DELTAS if self.mirror is None else self.mirror.changes(self.cells_in_use, everywhere=everywhere)

    @property
    def words(self) -> NDArray[np.uint64]:
        """All cells of the heap as they lie; of one that lies elsewhere all come over, and they are for reading."""
        cells = self.cells
        return cells if isinstance(cells, np.ndarray) else cells.whole()

    def image(self, cells: int, **facts: Any) -> Heap:
        """Return an image of the first cells of the heap; see ``Heap`` for what else it tells."""
        if isinstance(self.cells, np.ndarray):
            return Heap(words=self.cells[:cells], **facts)
        return FarHeap(words=(self.cells, cells), **facts)  # pyright: ignore[reportArgumentType]

    @property
    def cells_in_use(self) -> int:
        """Cells of all regions in use."""
        return self.regions.in_use * self.machine.region_size

    def function(self, name: str) -> Function:
        """Return an entry point whose grid the device runs in parallel."""
        return self._compiled.function(name)

    def serial(self, name: str) -> Function:
        """Return an entry point for dispatches of one thread."""
        return self._compiled.serial(name)

    def batch(self, name: str) -> Function | None:
        """Return an entry point that runs many passes in one call, where the device has one and nobody watches."""
        return None if self.kernel.watchers or self._is_alone else self._compiled.batch(name)

    @property
    def joins_on_grid(self) -> bool:
        """Whether the device would rather join in many small dispatches over the grid than in one of one thread."""
        return self.device.joins_on_grid

    def place(self, name: str) -> str:
        """Return what the trace calls the place where dispatches of one thread run."""
        return self._compiled.ways(name)[0].device or self.device.name

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return where an entry point can run, the narrowest first; the device alone, if that was asked for."""
        ways = self._compiled.ways(name)
        own = tuple(way for way in ways if way.device in ("", self.device.name))
        return own if self._is_alone else ways

    def params(self, *, threads: int, tpb: int, flags: int) -> Buffer:
        """Return a parameter block for a grid of that shape; pass, fuel and regions are set pass by pass."""
        block = self.device.buffer(abi.PARAMS.itemsize)
        self.set_params(block, threads=threads, tpb=tpb, flags=flags)
        return block

    def set_params(self, block: Buffer, *, threads: int, tpb: int, flags: int) -> None:
        """Fill a parameter block; see ``params``."""
        machine = self.machine
        params = view(block, abi.PARAMS)[0]
        single = threads == 1
        params["threads"] = threads
        params["tpb_shift"] = tpb.bit_length() - 1
        params["region_shift"] = machine.region_size.bit_length() - 1
        params["slice_shift"] = (machine.region_size // tpb).bit_length() - 1
        params["slot_cells"], params["lam_cells"] = (2, 2) if machine.threads == 1 else (4, 3)
        params["rules"] = len(self.kernel.rules)
        params["flags"] = (abi.PARAM_SINGLE if single else 0) | (abi.PARAM_COUNT if self.count else 0) | flags
        params["shard"] = CHOICES["shard"].index(machine.shard)

    @property
    def now(self) -> int:
        """Stamp of the next pass."""
        return self._stamps + self.passes + 1

    def forget_visits(self) -> None:
        """Let every cell be visited again: terms have changed, or are going to."""
        self.device.clear(self.visited, self.regions.in_use * self.machine.region_size // 8)

    def cells_used(self) -> int:
        """Return the cells in use in all regions."""
        self.device.pull(self.used)
        return int(self.used_view[: self.regions.in_use].sum(dtype=np.int64))

    def owners(self) -> NDArray[np.uint32]:
        """Return the owner block of each region in use, as a copy."""
        return self.owner_view[: self.regions.in_use].copy()


def protocol(machine: Machine) -> int:
    """Return the ``PARAM_*`` flags that tell the kernel how tasks of this machine share slots."""
    flags = abi.PARAM_LIVE if machine.visibility == "live" else 0
    flags |= abi.PARAM_FORK if machine.fork == "auto" and machine.threads > 1 else 0
    if machine.dup == "claim":
        return flags | abi.PARAM_CLAIM
    if machine.dup == "atomic":
        return flags | abi.PARAM_ATOMIC
    flags |= abi.PARAM_RETURN if machine.defer == "return" else 0
    return flags | (abi.PARAM_BLOCK if machine.owner_unit == "block" else 0)


def _used_bytes(device: Device, used: Buffer, regions: int, region_bytes: int) -> list[tuple[int, int]]:
    """Return the ranges of bytes of the regions that hold anything: neighbours in one."""
    device.pull(used)
    edges = np.flatnonzero(np.diff(view(used, np.uint32)[:regions] > 0, prepend=False, append=False))
    return [(start * region_bytes, stop * region_bytes) for start, stop in edges.reshape(-1, 2).tolist()]


def _filled(words: NDArray[Any], dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(words, dtype=dtype) if len(words) else np.zeros(1, dtype)
