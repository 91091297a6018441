"""Records of what a pass did: all that the machine tells its observers.

Codes of outcomes, reasons and origins are fixed by the tables here and mirrored in ``kernels/layout.h``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

OUTCOMES: Final = (
    "unrun",
    "done",
    "deferred",
    "contended",
    "forked",
    "fuel",
    "starved",
    "parked",
    "stale",
    "aborted",
    "error",
    "returned",
)
"""How a task ends a pass; the code is the index. ``unrun`` is never recorded (the entry waits, untouched)."""

REASONS: Final = ("", "take", "publish", "release", "busy", "claim")
"""Why a deferral or contention happened; the code is the index, 0 is none."""

ORIGINS: Final = ("fresh", "resume", "hop", "wake", "poll", "join")
"""How the entry came onto this frontier; the code is the index."""

EVENT: Final = np.dtype(
    [
        ("thread", "<u4"),
        ("loc", "<u4"),
        ("slot", "<u4"),
        ("interactions", "<u4"),
        ("cells", "<u4"),
        ("outcome", "u1"),
        ("reason", "u1"),
        ("side", "u1"),
        ("origin", "u1"),
    ]
)
"""One task's record in one pass (24 bytes): acting thread, root cell of the task, slot that stopped it (0: none),
interactions charged to it, cells it allocated, outcome, reason, side of the slot, origin of the entry."""

OPERATIONS: Final = ("", "read", "take", "publish", "release", "stuck", "wake")
"""What a task does to a slot; the code is the index. ``release``: it gives the slot back with the work so far;
``stuck``: it gives it back because no rule fits; ``wake``: it wakes the task that waits on the other side."""

OP: Final = np.dtype([("event", "<u4"), ("slot", "<u4"), ("op", "u1"), ("side", "u1")])
"""One operation on a slot (10 bytes): index of the event of its pass, slot, operation, side."""

DELTA: Final = np.dtype([("cell", "<u4"), ("before", "<u8"), ("after", "<u8")])
"""One cell that a pass changed: its word at the start and at the end of the pass. Cells ascend, each comes once."""

RESUMABLE: Final = ("pass_limit", "timeout", "interrupted", "heap_full")
"""Statuses of runs that can go on: a limit or a person stopped them between two passes."""

NO_OPS: Final = np.empty(0, OP)
NO_DELTAS: Final = np.empty(0, DELTA)


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What an observer learns before the first pass.

    Attributes
    ----------
    source : tuple of (str, str)
        (name, text) of the program and its includes, in order of reading.
    entry, mode : str
    limit : int or None
    machine : dict
        Every setting of ``Machine`` by name, in the order of its fields.
    rules : tuple of str
        Name of each rule id, for the rule counts.
    blocks, threads_per_block, region_size : int
        Geometry: owner block of region r is told by ``PassRecord.given``.
    regions : ndarray of uint32, shape (n_regions,)
        Owner block of each region in use when the run starts.
    device : str
    kernel : str
        SHA-256 of the kernel text.
    heap : ndarray of uint64
        The heap when the run starts, from cell 0; what is behind it is zero. Kept at level ``full``.
    root : int
        Cell that holds the whole term.
    stamps : int
        Stamps that the heap may hold already lie below this.
    units : tuple of int
        Which of ``source`` were given to be parsed, one after the other; the rest is what they include.
    skipped : int
        Passes before the first one that are not in the recording, of a part of a longer one.
    """

    source: tuple[tuple[str, str], ...]
    entry: str
    mode: str
    limit: int | None
    machine: dict[str, object]
    rules: tuple[str, ...]
    blocks: int
    threads_per_block: int
    region_size: int
    regions: NDArray[np.uint32]
    device: str
    kernel: str
    heap: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    root: int = 0
    stamps: int = 0
    units: tuple[int, ...] = (0,)
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did. Arrays are views that live until the next pass: copy what you keep.

    Attributes
    ----------
    index : int
        Pass number, from 0.
    frontier : int
        Number of entries that the pass was given.
    events : ndarray of EVENT, shape (n_run,)
        One record per entry that ran, in the frontier's order.
    interactions : int
        Interactions counted in this pass (a shared atom is charged to each reader, counted once).
    rules : ndarray of uint64, shape (n_rules,)
        Interactions by rule id.
    cells : ndarray of uint32, shape (n_regions,)
        Cells in use in each region at the end of the pass.
    given : tuple of (int, int)
        (region, block) of each region given after the pass.
    parked : int
        Tasks parked at the end of the pass.
    remote : ndarray of uint32, shape (n_regions,)
        Linear cells of each region written by threads of other blocks in this pass.
    longest : int
        Most interactions that one entry was charged in this pass (for the ideal parallelism).
    device : str
        Name of the device that ran the pass.
    device_ns, host_ns : int
        Time in the dispatch, and in the host between the last pass and the end of this one.
    deferred : int
        Entries whose task ended the pass deferred.
    ops : ndarray of OP, shape (n_ops,)
        Operations on slots, at level ``full``: in the frontier's order, within an event in the order they happened.
    deltas : ndarray of DELTA, shape (n_changed,)
        Cells that differ from the start of the pass, at level ``full``; this one may be kept as it is.
    passes : int
        Passes that this one stands for, itself the last of them: more than 1 only where nobody looks at each. Each had
        ``frontier`` entries; interactions, longest and times are sums, the rest is of the last.
    """

    index: int
    frontier: int
    events: NDArray[np.void]
    interactions: int
    rules: NDArray[np.uint64]
    cells: NDArray[np.uint32]
    given: tuple[tuple[int, int], ...]
    parked: int
    remote: NDArray[np.uint32]
    longest: int
    device: str
    device_ns: int
    host_ns: int
    deferred: int = 0
    ops: NDArray[np.void] = field(default_factory=lambda: NO_OPS)
    deltas: NDArray[np.void] = field(default_factory=lambda: NO_DELTAS)
    passes: int = 1


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What an observer learns after the last pass: status by name, message, result lines, log lines."""

    status: str
    message: str
    lines: tuple[str, ...]
    log: tuple[str, ...]


class Observer(Protocol):
    """Anything that wants to know what a run does: the recorder is one."""

    def begin(self, header: RunHeader) -> None:
        """Take the header, before pass 0."""
        ...

    def on_pass(self, record: PassRecord) -> None:
        """Take the record of one pass, after it is acknowledged."""
        ...

    def end(self, end: RunEnd) -> None:
        """Take the end of the run, whatever ended it."""
        ...
