"""A heap image, its region geometry, and read-back: a plain term graph from a heap that tasks are working on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hvm4viz.kernel_text import abi
from hvm4viz.term import Tag, ext_of, pack, tag_of, val_of


@dataclass(frozen=True)
class Task:
    """A live task: two words, whatever its depth.

    Attributes
    ----------
    root : int
        Cell whose weak normal form it computes.
    top, hand : int
        Innermost frame and term in hand; both 0 for a task that has not begun.
    is_value : bool
        Whether the term in hand is in weak normal form.
    """

    root: int
    top: int
    hand: int
    is_value: bool


@dataclass(frozen=True)
class Heap:
    """Words of a heap with their geometry.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_cells,)
    root : int
        Cell that holds the whole term.
    region_size, threads_per_block : int
    owners : ndarray of uint32, shape (n_regions,)
        Owner block of each region in use.
    tasks : tuple of Task
        Tasks that are at work on the heap: their frames lie in it.
    stamps : int
        Latest pass number that a stamp in the heap may hold, plus one: a run that goes on counts from there.
    """

    words: NDArray[np.uint64]
    root: int = 0
    region_size: int = 4096
    threads_per_block: int = 1
    owners: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(1, np.uint32))
    tasks: tuple[Task, ...] = ()
    stamps: int = 0

    def tag(self, loc: int) -> int:
        """Return the tag of the word in a cell."""
        return tag_of(int(self.words[loc]))

    def region(self, loc: int) -> int:
        """Return the region of a cell."""
        return loc // self.region_size

    def owner(self, loc: int) -> int:
        """Return the thread that owns a cell.

        Raises
        ------
        IndexError
            If the cell lies in no region in use.
        """
        region, inside = divmod(loc, self.region_size)
        if not 0 <= region < len(self.owners):
            raise IndexError(f"cell {loc} lies in region {region}; regions 0 to {len(self.owners) - 1} are in use")
        slice_cells = self.region_size // self.threads_per_block
        return int(self.owners[region]) * self.threads_per_block + inside // slice_cells

    def digest(self) -> str:
        """Return SHA-256 over owner table and words of the regions in use, in address order, as they lie."""
        used = len(self.owners) * self.region_size
        hasher = hashlib.sha256(self.owners.astype("<u4").tobytes())
        words = self.words[:used].astype("<u8", copy=False)
        hasher.update(words.tobytes())
        hasher.update(b"\0" * (8 * (used - len(words))))
        return hasher.hexdigest()

    def settled(self) -> Heap:
        """Return a copy without frames: every task's reversed spine is folded back into a plain term.

        The fold is the one of HVM4's step limit: pop frames from the innermost out, writing the work so far into the
        nodes; the slots a task holds get their expression back.
        """
        if not self.tasks:
            return self
        words = self.words.copy()
        for task in self.tasks:
            _withdraw(words, task)
            _fold(words, task)
        forked = np.flatnonzero((words >> np.uint64(56)) & np.uint64(0x7F) == abi.FORKED)
        words[forked] = words[words[forked] & np.uint64(0xFFFFFFFF)]  # operands that other tasks were at
        return replace(self, words=words, tasks=())


_ARRIVED = 0x10000000  # ST_A of kernels/slot.h

_NODE_FRAMES = {
    abi.F_APP: (Tag.APP, 0),
    abi.F_OPL: (Tag.OP2, 0),
    abi.F_EQL: (Tag.EQL, 0),
    abi.F_AND: (Tag.AND, 0),
    abi.F_OR: (Tag.OR, 0),
    abi.F_DSU: (Tag.DSU, 0),
    abi.F_DDU: (Tag.DDU, 0),
    abi.F_MAT: (Tag.APP, 1),
    abi.F_USE: (Tag.APP, 1),
    abi.F_OPR: (Tag.OP2, 1),
    abi.F_EQR: (Tag.EQL, 1),
    abi.F_RMA: (Tag.APP, 1),
    abi.F_RUS: (Tag.APP, 1),
}
"""Frame -> tag of the node it stands for, and the field that the term in hand goes to."""


def _withdraw(words: NDArray[np.uint64], task: Task) -> None:
    """Take back the arrival stamp of a parked task: nobody is to be woken any more."""
    tag, slot = tag_of(task.hand), val_of(task.hand)
    if task.top == 0 or task.is_value or tag not in (Tag.DP0, Tag.DP1) or slot + 2 >= len(words):
        return
    shift = 0 if tag == Tag.DP0 else 32
    stamps = int(words[slot + 2])
    if stamps >> shift & _ARRIVED:
        words[slot + 2] = stamps & ~(0xFFFFFFFF << shift)
        words[slot + 3] = int(words[slot + 3]) & ~(0xFFFFFFFF << shift)


def _fold(words: NDArray[np.uint64], task: Task) -> None:
    if task.top == 0:
        return
    frame, hand = task.top, task.hand
    while True:
        tag, node = tag_of(frame), val_of(frame)
        if tag in (abi.F_ROOT, abi.F_LROOT):
            words[node] = hand
            return
        if tag in (abi.F_DP0, abi.F_DP1):
            parent = int(words[node])
            words[node] = hand
            hand = pack(Tag.DP0 if tag == abi.F_DP0 else Tag.DP1, ext_of(frame), node)
        elif tag == abi.F_RED:
            parent = int(words[node + 1])
            words[node + 1] = hand
            hand = pack(Tag.RED, 0, node)
        elif tag == abi.F_LNODE:
            parent, owner = int(words[node]), int(words[node + 1])
            words[val_of(owner) + (int(words[node + 2]) & 0xFF)] = hand
            hand = owner
        elif tag == abi.F_LLAM:  # the quoted lambda, with the unused cell of its frame as body cell
            parent = int(words[node])
            words[node + 1] = hand
            hand = pack(Tag.LAM, int(words[node + 2]) >> 32, node + 1)
        else:
            kind, place = _NODE_FRAMES[tag]
            parent = int(words[node])
            if place == 1:
                words[node] = words[node + 1]
            words[node + place] = hand
            hand = pack(kind, ext_of(frame) if kind == Tag.OP2 else 0, node)
        frame = parent


class HeapBuilder:
    """Lay out a heap by hand, cell by cell, as the worked examples need it.

    Slots take four cells and lambdas three (protocol words lie behind them); the rest lies as HVM4 has it.

    Parameters
    ----------
    cells : int
        Length of the image.
    """

    def __init__(self, cells: int) -> None:
        self.words = np.zeros(cells, np.uint64)

    def put(self, loc: int, tag: int, ext: int = 0, val: int = 0) -> HeapBuilder:
        """Write one word."""
        self.words[loc] = pack(tag, ext, val)
        return self

    def numbers(self, loc: int, values: Sequence[int]) -> HeapBuilder:
        """Write adjacent numbers."""
        for i, value in enumerate(values):
            self.put(loc + i, Tag.NUM, 0, value)
        return self

    def heap(self) -> Heap:
        """Return the image."""
        return Heap(self.words)
