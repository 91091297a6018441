"""What a pass changed in the heap: the words now against a copy kept from the pass before."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, Kernel, view
from hvm4viz.device.cpu import CpuBuffer, keep, reserve
from hvm4viz.events import DELTA
from hvm4viz.watch import Log

ROOM: Final = 1 << 20
"""Changed cells that a piece of memory holds, at least; those of many passes lie in one, neighbours. Where nothing is
written it takes no memory."""


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
        self._pieces: list[CpuBuffer] = []  # filled ones
        self._make_room(ROOM)
        self._io = CpuBuffer(28)
        self._io_view = view(self._io, np.uint32).data

    def retire(self, cells: int) -> None:
        """Let others use the memory, each piece once nobody reads it any more; so many cells are in use."""
        keep(self._before, 8 * cells)
        for piece in (*self._pieces, self._piece):
            keep(piece, len(piece))

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
            Ascending by cell, only cells that differ; nobody writes them any more.
        """
        self._device.pull(self._heap)
        self._device.pull(self._log.marks)
        io = self._io_view
        io[0], io[1], io[3] = cells, self._log.pages, everywhere
        self._collect()
        if io[4] > io[2]:
            self._pieces.append(self._piece)
            self._make_room(max(ROOM, 1 << (io[4] - 1).bit_length()))  # few sizes: others will want the same
            self._collect()
        self._device.push(self._log.marks)
        start, n = self._filled, io[5]
        self._filled += n
        return self._cells[start : start + n]

    def _make_room(self, cells: int) -> None:
        self._piece, self._filled = reserve(cells * DELTA.itemsize, is_zero=False), 0
        self._cells: NDArray[np.void] = np.frombuffer(self._piece, DELTA, cells)  # type: ignore[call-overload]

    def _collect(self) -> None:
        self._io_view[2] = len(self._cells) - self._filled
        self._io_view[6] = self._filled
        self._function(1, self._io, self._heap, self._before, self._log.marks, self._piece).wait()
