"""How memory moves between host and GPU: what is copied, when, and what becomes of it when there is no room.

Each buffer has one true side (``CudaBuffer.is_away``). ``README.md`` tells who moves what.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, view
from hvm4viz.device.cpu import CpuBuffer, keep, reserve
from hvm4viz.device.cuda_buffer import CudaBuffer, mapped_buffer, part_buffers, placed
from hvm4viz.device.cuda_copies import Copies
from hvm4viz.device.cuda_heap import HeapAway
from hvm4viz.device.driver_memory import DriverMemory
from hvm4viz.device.spread import Layout, Spread
from hvm4viz.device.telling import told
from hvm4viz.errors import DeviceFailed
from hvm4viz.far import FarCells

WHOLE_BYTES: Final = 64 << 20
"""Twins of up to so many bytes are as large as their buffers from the start."""

PAGE: Final = 2 << 20
"""Bytes to whose multiples larger ones grow."""

TRIMMED_BYTES: Final = 1 << 30
"""Heaps up to so much in use move to memory of their size when their run is over: in a millisecond at most."""

_resting: weakref.WeakSet[CudaBuffer] = weakref.WeakSet()
"""Heaps of runs that are over, of all devices of this process: they lie on the GPU until somebody needs the room."""


class CudaMemory(Copies):
    """Buffers and their twins on one GPU, or on several that work as one.

    Parameters
    ----------
    cupy : module
    numbers : tuple of int
        Numbers of the GPUs, the first first.
    streams : list
        CuPy's stream of each.

    Attributes
    ----------
    moves : int
        Changes whenever a twin is made, moved or dropped: addresses that were taken before are old.
    spread : callable
        Returns the memory over several GPUs that was made last, or None.
    """

    memory = staticmethod(DriverMemory)

    def __init__(self, cupy: Any, numbers: tuple[int, ...], streams: list[Any]) -> None:
        super().__init__(cupy, numbers, streams)
        self.is_private = True
        self.moves = 0
        self.spread: Callable[[], Spread | None] = lambda: None

    def share(self, threads: int) -> int:
        """Return how many threads of a grid each GPU runs."""
        raise NotImplementedError

    def clear_home(self, buffer: CpuBuffer, nbytes: int) -> None:
        """Set the first bytes on the host to zero."""
        raise NotImplementedError

    # ---- making buffers

    def buffer(self, source: int | NDArray[Any]) -> Buffer:
        """Return a zero-filled buffer of that many bytes, or one holding a copy of an array."""
        nbytes = source if isinstance(source, int) else source.nbytes
        made = self._reserve(lambda: self._on_host(nbytes), nbytes)
        if not isinstance(source, int):
            np.frombuffer(made, dtype=np.uint8)[: source.nbytes] = source.reshape(-1).view(np.uint8)
        return made

    def _on_host(self, nbytes: int) -> Any:
        if self.is_private:
            return reserve(nbytes, kind=CudaBuffer, clear=self.clear_home)
        return mapped_buffer(self.cupy.cuda.alloc_pinned_memory(max(nbytes, 1)), nbytes)

    def buffers(self, sizes: Sequence[int]) -> list[Buffer]:
        """Return zero-filled buffers of that many bytes, of which neighbours are copied at once."""
        return part_buffers(list(sizes)) if self.is_private else [self.buffer(size) for size in sizes]

    def keep(self, buffer: Buffer, nbytes: int) -> None:
        """Let a heap lie where it is while somebody may read it; let others use its memory when nobody does."""
        if not isinstance(buffer, CudaBuffer):
            return
        if buffer.is_away and buffer.layout is not None:
            self._trim(buffer)
            _resting.add(buffer)
            return
        if buffer.is_away:
            self._drop(buffer)  # what is no heap is read no more
        keep(buffer, nbytes)

    def _trim(self, buffer: CudaBuffer) -> None:
        """Give back the memory of a twin that has not come into use, if most has not, and what has is soon copied."""
        size = _rounded(buffer.extent)
        if size <= TRIMMED_BYTES and 2 * size < buffer.room and not isinstance(buffer.twin, Spread):
            try:
                self._put(buffer, self._zeros(size), size)
            except DeviceFailed:
                return  # no room to move: it stays as it is

    @told
    def _reserve(self, make: Callable[[], Any], nbytes: int) -> Any:
        full = self.cupy.cuda.memory.OutOfMemoryError
        try:
            try:
                return make()
            except (full, DeviceFailed):
                self._make_room()
                return make()
        except (OSError, OverflowError, MemoryError, ValueError, full) as error:
            raise DeviceFailed(f"{self.name} cannot reserve {nbytes:,} bytes: {error}", text=str(error)) from None

    def _make_room(self) -> None:
        """Give the GPU back what ended runs have there, and what CuPy keeps for later."""
        gc.collect()
        for buffer in list(_resting):
            if buffer.keeper is not None:
                buffer.keeper.fetch(buffer)
        _resting.clear()
        self.cupy.get_default_memory_pool().free_all_blocks()

    # ---- twins

    def address(self, buffer: Any) -> int:
        """Return what a dispatch takes for a buffer, with what the host wrote brought along."""
        whole, start = placed(buffer)
        if whole is None:
            return int(buffer.address)
        if not whole.is_away:
            if whole.twin is None:
                self._make_twin(whole)
            for first, stop in whole.ranges(None):
                self._up(whole, first, stop)
            whole.is_away = True
            self.moves += 1
            _resting.discard(whole)
        twin: Any = whole.twin
        return int(twin.data.ptr) + start

    @told
    def _make_twin(self, buffer: CudaBuffer) -> None:
        """Make zero-filled device memory for a buffer; that of regions lies where they belong."""
        nbytes, layout = -(-len(buffer) // 8) * 8, buffer.layout
        buffer.keeper = self
        if layout is not None and len(self.gpus) > 1:
            with self.gpus[0], self.stream:
                each = self.share(int(layout.threads))
                made = Spread(
                    self._reserve(lambda: self.memory(self.cupy, nbytes, self.numbers), nbytes),
                    lambda at: layout.thread(at) // each,
                )
            buffer.twin, buffer.room, buffer.clean = made, nbytes, nbytes
            self._cover(buffer)
            self.spread = weakref.ref(made)
            return
        wanted = least = nbytes
        if layout is not None:  # of others nobody says beforehand where they are written
            wanted, least = self._wanted(nbytes, buffer.extent), min(nbytes, -(-buffer.extent // 8) * 8)
        make = self._zeros if layout is None else self._empty
        try:
            buffer.twin = make(wanted)
        except DeviceFailed:
            if least == wanted:
                raise
            wanted, buffer.twin = least, make(least)
        buffer.room, buffer.clean = wanted, wanted if layout is None else 0
        self._cleanse(buffer)

    @told
    def _wanted(self, nbytes: int, used: int) -> int:
        """Return how much memory to take for a buffer of which so much is in use: for all of it, if most stays free."""
        if nbytes <= WHOLE_BYTES:
            return nbytes
        with self.gpus[0]:
            free = int(self.cupy.cuda.runtime.memGetInfo()[0]) + int(self.cupy.get_default_memory_pool().free_bytes())
        if nbytes <= free // 4 * 3:
            return nbytes
        return min(nbytes, max(_rounded(2 * used), free // 2 // PAGE * PAGE))

    @told
    def _zeros(self, nbytes: int) -> Any:
        with self.gpus[0], self.stream:
            return self._reserve(lambda: self.cupy.zeros(nbytes, np.uint8), nbytes)

    @told
    def _empty(self, nbytes: int) -> Any:
        with self.gpus[0], self.stream:
            return self._reserve(lambda: self.cupy.empty(nbytes, np.uint8), nbytes)

    @told
    def _cleanse(self, buffer: CudaBuffer) -> None:
        """Zero what comes into use of a twin, and as much again."""
        if buffer.extent > buffer.clean:
            stop = min(max(_rounded(buffer.extent), 2 * buffer.clean), buffer.room)
            with self.gpus[0]:
                (buffer.twin.data + buffer.clean).memset_async(0, stop - buffer.clean, self.stream)
            buffer.clean = stop

    def _cover(self, buffer: CudaBuffer) -> None:
        """Let the twin hold what is in use."""
        twin, extent = buffer.twin, buffer.extent
        if isinstance(twin, Spread):
            self._reserve(lambda: twin.cover(extent), extent)
        elif extent > buffer.room:
            self._enlarge(buffer, extent)
        else:
            self._cleanse(buffer)

    def _enlarge(self, buffer: CudaBuffer, nbytes: int) -> None:
        """Move a twin into larger memory, from the GPU to the GPU; through the host if there is no room for both."""
        size = min(-(-len(buffer) // 8) * 8, max(_rounded(nbytes), 2 * buffer.room))
        try:
            larger = self._zeros(size)
        except DeviceFailed:
            if buffer.is_away:
                self.pull(buffer)
            self._drop(buffer)
            return
        self._put(buffer, larger, size)

    def _put(self, buffer: CudaBuffer, twin: Any, room: int) -> None:
        """Move what a buffer has on the GPU into other memory there."""
        self._across(twin, buffer.twin, min(room, buffer.clean))
        buffer.twin, buffer.room, buffer.clean = twin, room, room
        self.moves += 1

    def grown(self, buffer: Any, nbytes: int, kept: int | None = None) -> Any:
        """Return a larger buffer that starts with what a buffer holds, or with its first bytes; where that is."""
        made: Any = self.buffer(nbytes)
        kept = min(len(buffer), nbytes) if kept is None else kept
        if isinstance(buffer, CudaBuffer) and buffer.is_away:
            made.twin = self._zeros(-(-nbytes // 8) * 8)
            made.room = made.clean = -(-nbytes // 8) * 8
            made.keeper, made.is_away = self, True
            self._across(made.twin, buffer.twin, min(kept, buffer.clean))
            self._drop(buffer)
        else:
            view(made, np.uint8)[:kept] = view(buffer, np.uint8)[:kept]
        return made

    def _drop(self, buffer: CudaBuffer) -> None:
        if isinstance(buffer.twin, Spread):
            buffer.twin.close()
        buffer.twin, buffer.room, buffer.clean, buffer.is_away = None, 0, 0, False
        self.moves += 1

    # ---- what is in use, and where it belongs

    def lay_out(self, buffer: Any, layout: Layout) -> None:
        """Take note of where each region of a buffer belongs."""
        if isinstance(buffer, CudaBuffer):
            buffer.layout = layout

    def extent(self, buffer: Any, nbytes: int, parts: Callable[[], list[tuple[int, int]]] | None = None) -> None:
        """Take note that no more than the first bytes of a buffer are in use, or than some parts of it."""
        if isinstance(buffer, CudaBuffer):
            buffer.extent, buffer.parts = nbytes, parts
            if buffer.twin is not None:
                self._cover(buffer)

    def cells(self, buffer: Any) -> Any:
        """Return the words of a heap for reading, wherever it lies."""
        return FarCells(HeapAway(self, buffer)) if isinstance(buffer, CudaBuffer) else view(buffer, np.uint64)

    def fetch(self, *buffers: Any) -> None:
        """Bring buffers home: the host's side is the true one now."""
        for buffer in buffers:
            whole, _ = placed(buffer)
            if whole is not None and whole.is_away:
                self.pull(whole)
                self._drop(whole)  # device memory is for what is at work


def _rounded(nbytes: int) -> int:
    return -(-nbytes // PAGE) * PAGE
