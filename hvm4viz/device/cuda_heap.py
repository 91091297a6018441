"""The heap of a run on a GPU, as ``FarCells`` reads it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import view
from hvm4viz.device.cuda_buffer import CudaBuffer
from hvm4viz.device.cuda_copies import Copies


class HeapAway:
    """The heap of a run, for ``FarCells``."""

    def __init__(self, memory: Copies, buffer: CudaBuffer) -> None:
        self._memory, self._buffer = memory, buffer
        self.words: NDArray[np.uint64] = view(buffer, np.uint64)

    @property
    def change(self) -> int | None:
        """Number of the last dispatch over it; None while it is at home."""
        return self._buffer.change if self._buffer.is_away else None

    def read(self, start: int, stop: int) -> None:
        """Fetch adjacent cells; behind those in use all are zero on the host, too."""
        end = min(8 * stop, self._buffer.extent)
        self._memory.pull_all((self._buffer, max(end - 8 * start, 0), 8 * start))

    def read_all(self) -> None:
        """Fetch all that is in use."""
        self._memory.pull(self._buffer)

    def gather(self, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Fetch single cells."""
        return self._memory.gather(self._buffer, cells)
