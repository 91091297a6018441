"""The host's side of who watches the heap: the log of writes and slot operations, the shadow of who touched what."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, view
from hvm4viz.errors import KernelFault
from hvm4viz.events import NO_OPS, OP

LOG_HEAD: Final = 8
LOG_CHUNK: Final = 64
LOG_ROOM: Final = LOG_CHUNK - 2
LOG_ITEMS: Final = 1 << 24
"""Words of the log, at least: 128 MiB that take no room until they are used."""

LOG_CHUNKS_MIN: Final = 4
"""Chunks a thread, at least."""

SHADOW_HEAD: Final = 8
SHADOW_PASSES: Final = 4095
SHADOW_MANY: Final = 0xFFFFF
_KINDS: Final = ("plain write", "plain read", "atomic write", "atomic read")
_WRITE, _OP, _EVENT = 1, 2, 3
_CUT, _LOST = 1, 2


class Log:
    """What each thread wrote, and did to slots, in one pass (``kernels/watch.h``).

    Threads take chunks of it as they need them. Half of them are for operations alone: writes that find no room are
    found by comparing the heap, but nothing else tells of an operation.

    Parameters
    ----------
    device : Device
    threads : int
        Logical threads.
    """

    def __init__(self, device: Device, threads: int) -> None:
        self._device = device
        self.chunks = max(LOG_ITEMS // LOG_CHUNK, LOG_CHUNKS_MIN * (threads + 1))
        self.buffer: Buffer = device.buffer(8 * (LOG_HEAD + self.chunks * LOG_CHUNK))
        self._words: NDArray[np.uint64] = view(self.buffer, np.uint64)
        self._words[0] = self.chunks

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
            Cells that were written, in any order, some twice; None if some were left out.

        Raises
        ------
        KernelFault
            If there were more operations than the log holds.
        """
        self._device.pull(self.buffer, 8 * LOG_HEAD)
        taken, lost = (int(n) & 0xFFFFFFFF for n in self._words[1:3])
        self._words[1:3] = 0
        self._device.push(self.buffer, 8 * LOG_HEAD)
        if lost == _LOST:
            raise KernelFault(
                f"a pass did more on slots than record='full' has room for, {self.chunks * LOG_ROOM:,} operations; use "
                "Machine(fuel=...) with less fuel, or record='events'"
            )
        if not taken:
            return NO_OPS, np.empty(0, np.int64)
        self._device.pull(self.buffer, 8 * (LOG_HEAD + taken * LOG_CHUNK))
        chunks = self._words[LOG_HEAD:][: taken * LOG_CHUNK].reshape(taken, LOG_CHUNK)
        chunks = chunks[np.argsort(chunks[:, 0], kind="stable")].astype(np.int64)
        is_used = np.arange(LOG_ROOM) < chunks[:, 1:2]
        items = chunks[:, 2:][is_used]
        thread = np.repeat(chunks[:, 0] >> 32, chunks[:, 1])
        kind, high, low = items >> 60, (items >> 32) & 0x0FFFFFFF, items & 0xFFFFFFFF
        written = None if lost == _CUT else _cells(kind, high, low)
        return _operations(kind, high, low, thread, first, ran), written


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
