"""The host's side of the shadow: who touched what in this pass."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, view
from hvm4viz.errors import KernelFault

SHADOW_HEAD: Final = 8
SHADOW_PASSES: Final = 4095
SHADOW_MANY: Final = 0xFFFFF
_KINDS: Final = ("plain write", "plain read", "atomic write", "atomic read")


class Shadow:
    """Who touched each half of each cell in this pass; says so when two threads did what the protocol forbids.

    Parameters
    ----------
    device : Device
    cells : int
        Most cells of the heap.
    """

    def __init__(self, device: Device, cells: int) -> None:
        self._device = device
        self.buffer: Buffer = device.buffer(4 * (SHADOW_HEAD + 8 * cells))
        self._words: NDArray[np.uint32] = view(self.buffer, np.uint32)

    def prepare(self, cells: int) -> None:
        """Tell the device how many cells are in use."""
        self._device.extent(self.buffer, 4 * (SHADOW_HEAD + 8 * cells))

    def start(self, now: int, cells: int) -> None:
        """Make ready for the pass with stamp ``now``: epochs start anew now and then."""
        if now % SHADOW_PASSES == 0:
            self._words[: SHADOW_HEAD + 8 * cells] = 0
            self._device.push(self.buffer)

    def check(self, index: int, region_size: int) -> None:
        """Raise ``KernelFault`` if two threads met in pass ``index`` where the protocol forbids it."""
        self._device.pull(self.buffer, 4 * SHADOW_HEAD)
        if not self._words[0]:
            return
        half, me, other, mine, theirs = (int(n) for n in self._words[1:6])
        self._words[0] = 0
        whom = "several threads" if other == SHADOW_MANY else f"thread {other}"
        raise KernelFault(
            f"pass {index}, cell {half // 2} ({('low', 'high')[half % 2]} half, region {half // 2 // region_size}): "
            f"{_KINDS[mine]} of thread {me} meets {_KINDS[theirs]} of {whom}; the protocol forbids it"
        )
