"""The host's side of the log: what was written, and what was done to slots."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, Kernel, view
from hvm4viz.device.cpu import CpuBuffer
from hvm4viz.errors import KernelFault
from hvm4viz.events import NO_OPS, OP

LOG_HEAD: Final = 8
LOG_CHUNK: Final = 64
LOG_ROOM: Final = LOG_CHUNK - 2
LOG_ITEMS: Final = 1 << 24
"""Words of the log, at least: 128 MiB that take no room until they are used."""

LOG_CHUNKS_MIN: Final = 4
"""Chunks a thread, at least."""

PAGE_CELLS: Final = 1 << 12
"""Cells whose marks have one mark in common."""


class Log:
    """What the threads wrote, and did to slots, in one pass (``kernels/watch.h``).

    A mark for each cell tells which were written. Of operations, threads take chunks as they need them.

    Parameters
    ----------
    device : Device
    kernel : Kernel
        The compiled kernel text.
    threads : int
        Logical threads.
    cells : int
        Most cells of the heap.

    Attributes
    ----------
    buffer, marks : Buffer
        What the kernel is given.
    """

    def __init__(self, device: Device, kernel: Kernel, threads: int, cells: int) -> None:
        self._device = device
        self.chunks = max(LOG_ITEMS // LOG_CHUNK, LOG_CHUNKS_MIN * (threads + 1))
        self.buffer: Buffer = device.buffer(8 * (LOG_HEAD + self.chunks * LOG_CHUNK))
        self.pages = -(-cells // (8 * PAGE_CELLS)) * 8  # read eight at a time
        self.marks: Buffer = device.buffer(self.pages + self.pages * PAGE_CELLS)
        self._words: NDArray[np.uint64] = view(self.buffer, np.uint64)
        self._words[0], self._words[3] = self.chunks, self.pages
        self._taken_max = 0
        self._function = kernel.on_host("collect_ops")
        self._io, self._order, self._ops = CpuBuffer(8), CpuBuffer(4), CpuBuffer(LOG_ROOM * OP.itemsize)
        self._io_view = view(self._io, np.uint32).data

    def prepare(self, cells: int) -> None:
        """Tell the device how many cells are in use; what chunks hold is never read before it is written."""
        self._device.extent(self.buffer, 8 * LOG_HEAD)
        self._device.extent(self.marks, self.pages + -(-cells // PAGE_CELLS) * PAGE_CELLS)

    def retire(self, cells: int) -> None:
        """Let the device use the buffers again; so many cells are in use."""
        self._device.keep(self.buffer, 8 * (LOG_HEAD + self._taken_max * LOG_CHUNK))
        self._device.keep(self.marks, self.pages + -(-cells // PAGE_CELLS) * PAGE_CELLS)

    def operations(self, events: Buffer) -> NDArray[np.void]:
        """Take the operations of a pass from the log, and empty it.

        Parameters
        ----------
        events : Buffer
            Events of the pass, an entry each, as the host sees them.

        Returns
        -------
        ops : ndarray of OP
            In order; it is overwritten by the next call.

        Raises
        ------
        KernelFault
            If there were more operations than the log holds.
        """
        self._device.pull(self.buffer, 8 * LOG_HEAD)
        taken, is_lost = int(self._words[1]) & 0xFFFFFFFF, int(self._words[2])
        if not taken:
            return NO_OPS
        self._taken_max = max(self._taken_max, min(taken, self.chunks))
        self._words[1:3] = 0
        self._device.push(self.buffer, 8 * LOG_HEAD)
        if is_lost:
            raise KernelFault(
                f"a pass did more on slots than record='full' has room for, {self.chunks * LOG_ROOM:,} operations; use "
                "a smaller Machine(fuel=...), or record='events'"
            )
        self._device.pull(self.buffer, 8 * (LOG_HEAD + taken * LOG_CHUNK))
        if len(self._order) < 4 * taken:
            self._order, self._ops = CpuBuffer(8 * taken), CpuBuffer(2 * taken * LOG_ROOM * OP.itemsize)
        heads = self._words[LOG_HEAD::LOG_CHUNK][:taken]
        view(self._order, np.uint32)[:taken] = heads.argsort(kind="stable")
        self._io_view[0] = taken
        self._function(1, self._io, self.buffer, self._order, events, self._ops).wait()
        return np.frombuffer(self._ops, OP, self._io_view[1])  # type: ignore[call-overload]
