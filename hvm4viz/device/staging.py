"""Large copies from the GPU to the host, through pinned memory.

The driver copies into memory that is not pinned by 1.7 GB/s, for most of that time waits for fresh pages. So several
threads take them while the next pieces are on their way over the bus.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

STAGED_BYTES: Final = 8 << 20
"""Copies from so many bytes on are staged."""

SLOT_BYTES: Final = 8 << 20
SLOTS: Final = 4


@dataclass(slots=True)
class _Slot:
    memory: Any
    event: Any
    landing: Future[None] | None = field(default=None)

    def land(self, to: int, nbytes: int) -> None:
        self.event.synchronize()
        ctypes.memmove(to, int(self.memory.ptr), nbytes)

    def is_free(self) -> None:
        """Return once what was in it has landed."""
        landing, self.landing = self.landing, None
        if landing is not None:
            landing.result()


class Staging:
    """Pinned memory of a GPU, and threads that empty it.

    Parameters
    ----------
    cupy : module

    Raises
    ------
    OutOfMemoryError
        CuPy's own, if no memory can be pinned.
    """

    def __init__(self, cupy: Any) -> None:
        self._slots = [_Slot(cupy.cuda.alloc_pinned_memory(SLOT_BYTES), cupy.cuda.Event()) for _ in range(SLOTS)]
        self._pool = ThreadPoolExecutor(SLOTS, "hvm4viz-staging")

    def down(self, given: Any, to: int, nbytes: int, stream: Any) -> None:
        """Copy so many bytes from where a pointer of CuPy points to an address of the host; return when they are there.

        Parameters
        ----------
        given : MemoryPointer
        to : int
        nbytes : int
        stream : Stream
        """
        slots = self._slots
        try:
            for number, at in enumerate(range(0, nbytes, SLOT_BYTES)):
                slot, size = slots[number % SLOTS], min(SLOT_BYTES, nbytes - at)
                slot.is_free()
                (given + at).copy_to_host_async(int(slot.memory.ptr), size, stream)
                slot.event.record(stream)
                slot.landing = self._pool.submit(slot.land, to + at, size)
        finally:
            for slot in slots:
                slot.is_free()
