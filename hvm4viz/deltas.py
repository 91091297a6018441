"""What a pass changed in the heap: the words now against a copy kept from the pass before."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, Kernel, view
from hvm4viz.device.cpu import CpuBuffer, keep, reserve
from hvm4viz.events import DELTA
from hvm4viz.watch import Log

ROOM: Final = 1 << 12
"""Changed cells up to which room is kept ready; of more, each pass gets its own."""


class Mirror:
    """A copy of the heap as it was when the last pass ended.

    Parameters
    ----------
    device : Device
    kernel : Kernel
        The compiled kernel text.
    log : Log
        Knows which cells were written.
    heap : Buffer
        All cells of the heap.
    cells : int
        Cells in use now; all behind them are zero.
    """

    def __init__(self, device: Device, kernel: Kernel, log: Log, heap: Buffer, cells: int) -> None:
        self._device, self._log, self._heap = device, log, heap
        self._before = reserve(len(heap))  # takes no memory where it is never written
        words = view(heap, np.uint64)
        at = np.flatnonzero(words[:cells])  # most may be zero: they take no memory then
        view(self._before, np.uint64)[at] = words[at]
        self._function = kernel.on_host("collect_deltas")
        self._deltas, self._io = CpuBuffer(ROOM * DELTA.itemsize), CpuBuffer(24)
        self._io_view = view(self._io, np.uint32).data

    def retire(self, cells: int) -> None:
        """Let others use the copy; so many cells are in use."""
        keep(self._before, 8 * cells)

    def changes(self, cells: int, *, everywhere: bool = False) -> NDArray[np.void]:
        """Return what changed since the last call, and keep the heap as it is now.

        Parameters
        ----------
        cells : int
            Cells in use now.
        everywhere : bool
            Whether the host may have written, too: all cells are compared, not only those that the kernel marked.

        Returns
        -------
        deltas : ndarray of DELTA, shape (n_changed,)
            Ascending by cell, only cells that differ; in memory of its own.
        """
        self._device.pull(self._heap)
        self._device.pull(self._log.marks)
        io = self._io_view
        io[0], io[1], io[3] = cells, self._log.pages, everywhere
        deltas, io[2] = self._deltas, ROOM
        self._function(1, self._io, self._heap, self._before, self._log.marks, deltas).wait()
        if io[4] > ROOM:
            deltas, io[2] = CpuBuffer(io[4] * DELTA.itemsize), io[4]
            self._function(1, self._io, self._heap, self._before, self._log.marks, deltas).wait()
        self._device.push(self._log.marks)
        found = np.frombuffer(deltas, DELTA, io[5])  # type: ignore[call-overload]
        return found.copy() if deltas is self._deltas else found
