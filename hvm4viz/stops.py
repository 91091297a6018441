"""Why runs end, and where a task stands when they do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hvm4viz.heap import Task
from hvm4viz.kernel_text import abi
from hvm4viz.term import SUB_BIT, tag_of


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended: status by name, the message, and the record of the task that ended it (or -1)."""

    status: str
    message: str = ""
    record: int = -1


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a task stopped that met a runtime error or a primitive, or found no cells.

    Attributes
    ----------
    kind : int
        1 applied a number, 2 a constructor, 3 a fault of the kernel; 0 none.
    place : int
        Static cell last entered.
    root : int
        Root cell of the task.
    hand : int
        Term in hand.
    frame : int
        Tag of the innermost frame.
    is_value : bool
        Whether the term in hand is in weak normal form: then it was to meet that frame.
    """

    kind: int
    place: int
    root: int
    hand: int
    frame: int
    is_value: bool


def stalled(tasks: int) -> str:
    """Say that tasks wait for each other."""
    what = "1 task waits for itself" if tasks == 1 else f"{tasks:,} tasks wait for each other"
    return (
        f"{what}: the term is cyclic, it needs its own value; look for a copy or an unscoped variable that ends up "
        "inside what it stands for"
    )


def fault_of(record: np.void) -> Fault:
    """Return where the task of a record stopped."""
    return Fault(
        kind=int(record["flags"]) >> abi.RECORD_ERROR_SHIFT,
        place=int(record["place"]),
        root=int(record["root"]),
        hand=int(record["hand"]) & ~SUB_BIT,
        frame=tag_of(int(record["top"])),
        is_value=bool(int(record["hand"]) & SUB_BIT),
    )


def task_of(record: np.void) -> Task:
    """Return the live task that a record holds."""
    begun = not int(record["flags"]) & (abi.RECORD_NEW | abi.RECORD_SLOT)
    hand = int(record["hand"])
    return Task(
        root=int(record["root"]),
        top=int(record["top"]) if begun else 0,
        hand=hand & ~SUB_BIT if begun else 0,
        is_value=begun and bool(hand & SUB_BIT),
    )
