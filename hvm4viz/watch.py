"""The host's side of who watches the heap: the log of writes and slot operations, the shadow of who touched what."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, view
from hvm4viz.errors import KernelFault
from hvm4viz.events import NO_OPS, OP

LOG_HEAD: Final = 8
LOG_ITEMS: Final = 1 << 18
"""Items that all threads together may log in a pass; what is more, the heap comparison finds."""

LOG_ITEMS_MIN: Final = 64
SHADOW_HEAD: Final = 8
SHADOW_PASSES: Final = 4095
SHADOW_MANY: Final = 0xFFFFF
_KINDS: Final = ("plain write", "plain read", "atomic write", "atomic read")
_WRITE, _OP, _EVENT = 1, 2, 3


class Log:
    """What each thread wrote, and did to slots, in one pass (``kernels/watch.h``).

    Parameters
    ----------
    device : Device
    threads : int
        Logical threads; one part more is the join's.
    """

    def __init__(self, device: Device, threads: int) -> None:
        self._device = device
        self.size = max(LOG_ITEMS_MIN, LOG_ITEMS // (threads + 1))
        self.buffer: Buffer = device.buffer(8 * (LOG_HEAD + (threads + 1) * self.size))
        self._words: NDArray[np.uint64] = view(self.buffer, np.uint64)
        self._words[0] = self.size
        self._counts = self._words[LOG_HEAD :: self.size][: threads + 1]

    def read(
        self, first: NDArray[np.uint32], ran: NDArray[np.bool_]
    ) -> tuple[NDArray[np.void], NDArray[np.int64] | None]:
        """Take the log of a pass and empty it.

        Parameters
        ----------
        first : ndarray of uint32, shape (n_threads,)
            Index of each thread's first entry in the frontier.
        ran : ndarray of bool, shape (n_frontier,)
            Which entries ran.

        Returns
        -------
        ops : ndarray of OP
        written : ndarray of int64 or None
            Cells that were written, in any order, some twice; None if a thread wrote more than its part holds.
        """
        self._device.pull(self.buffer)
        counts = self._counts.astype(np.int64)
        self._counts[:] = 0
        self._device.push(self.buffer)
        used = np.flatnonzero(counts)
        is_whole = bool((counts < self.size).all())
        counts = np.minimum(counts, self.size - 1)
        if not len(used):
            return NO_OPS, np.empty(0, np.int64)
        items = np.concatenate(
            [self._words[LOG_HEAD + t * self.size + 1 :][: counts[t]] for t in used.tolist()]
        ).astype(np.int64)
        thread = np.repeat(used, counts[used])
        kind, high, low = items >> 60, (items >> 32) & 0x0FFFFFFF, items & 0xFFFFFFFF
        return _operations(kind, high, low, thread, first, ran), _cells(kind, high, low) if is_whole else None


def _operations(
    kind: NDArray[np.int64],
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    thread: NDArray[np.int64],
    first: NDArray[np.uint32],
    ran: NDArray[np.bool_],
) -> NDArray[np.void]:
    at = np.flatnonzero(kind == _OP)
    if not len(at):
        return NO_OPS
    begins = np.flatnonzero(kind == _EVENT)
    begun = begins[np.searchsorted(begins, at, side="right") - 1]
    entry = first[thread[at]].astype(np.int64) + low[begun]
    out = np.empty(len(at), OP)
    out["event"] = (np.cumsum(ran) - 1)[entry]
    out["slot"] = low[at]
    out["op"] = high[at] & 0xFF
    out["side"] = high[at] >> 8
    return out


def _cells(kind: NDArray[np.int64], high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    at = kind == _WRITE
    starts, lengths = low[at], high[at]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)


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
