"""What the scheduler is given and tells (``fibers.h``), and the memory it works in."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from hvm4viz.device.cpu import CpuBuffer

STACK_BYTES: Final = 1 << 15
"""Stack of a thread; the kernel needs less than an eighth."""

EVENTS_MAX: Final = 1 << 21
"""Writes of one pass that are remembered; from then on everybody reads the newest value."""

KNOWLEDGE_MAX: Final = 1 << 22
"""Words of what threads know of each other in one pass (visibility="live"); likewise."""

FIBERS_MAX: Final = 64
"""Most busy threads of a pass whose schedules are all run."""

FRAMES_MAX: Final = 1 << 12
"""Most accesses to shared words of such a pass."""

CHOICES_MAX: Final = 1 << 20
"""Steps of all schedules that are kept."""

ENDS_MAX: Final = 1 << 12
"""Different states at the end that are kept."""

EVENT_BYTES: Final = 40
FRAME_BYTES: Final = 24 + 2 * FIBERS_MAX
STATE_BYTES: Final = 24
TOUCH_BYTES: Final = 16
LOG_BYTES: Final = 64  # in front of the log: how much of it is used
END: Final = np.dtype([("image", "<u8"), ("first", "<u8"), ("count", "<u8")])
PART: Final = np.dtype([("words", "<u8"), ("count", "<u8"), ("kind", "<u8"), ("saved", "<u8")])
FIBER: Final = np.dtype(
    [(name, "<u8") for name in ("stack", "known", "past")]
    + [(name, "<u4") for name in ("thread", "clock", "cell", "mask", "is_read", "choice", "is_done", "spare")]
)
PLAIN, PER_THREAD, RULES, LOG, SHADOW = range(5)
"""Kinds of buffers that a pass changes."""

OK, FAULT, LIMIT, MISFIT, OVERFLOW = range(5)
"""How a call ended."""

FAULTS: Final = (
    "",
    "which another task holds",
    "which is published already",
    "which nobody holds",
    "which is not published",
    "which is not its to touch",
)
"""What is wrong with an operation on a slot."""

_FIELDS: Final = """
    buffers heap_cells busy fibers stacks stack_bytes order heads events events_max knowledge
    knowledge_max seed touches parts parts_count frames frames_max states states_max executions_max ends ends_max
    choices choices_max epoch is_reduced choices_count status accesses fault fault_op fault_slot fault_fiber ends_count
    schedules states_count executions longest
"""


class Call(ctypes.Structure):
    """Mirror of ``SimCall``."""

    _fields_ = [(name, ctypes.c_uint64) for name in _FIELDS.split()]


class Room:
    """Memory of the scheduler, kept from pass to pass."""

    def __init__(self) -> None:
        self._held: dict[str, CpuBuffer] = {}
        self._epoch = 0

    def get(self, name: str, nbytes: int) -> CpuBuffer:
        """Return a buffer of at least that many bytes, with whatever it holds."""
        held = self._held.get(name)
        if held is None or len(held) < nbytes:
            held = self._held[name] = CpuBuffer(max(nbytes, 2 * len(held) if held else 0))
        return held

    def next_epoch(self) -> int:
        """Return a number by which what is in the table of states can be told from what earlier passes left there."""
        self._epoch += 1
        return self._epoch << 20
