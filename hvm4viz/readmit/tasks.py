"""What a recorded state says of tasks, and the words that tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hvm4viz.kernel_text import abi
from hvm4viz.state import Misfit
from hvm4viz.term import SUB_BIT

GIVEN_BACK, STUCK, PASS = 0x20000000, 0x08000000, 0x07FFFFFF  # ST_X, ST_S and ST_PASS of kernels/slot.h
LOCK_TAKEN: Final = 0xFFFFFFFF
CLAIM_STUCK, CLAIM_VISITED = 1, 2  # of kernels/slot.h
JOIN_DONE: Final = 1  # of kernels/fork.h
LIFTED, DEAD, AWAY, FORK = 4, 16, 32, 64  # RECORD_* of kernels/layout.h
NAMED_SHIFT: Final = 24
RANGE_FRESH, RANGE_SLOT = 4, 0x100  # ITEM_FRESH and ITEM_SLOT


@dataclass(frozen=True, slots=True)
class Task:
    """A record: its number, words and flags; of the evaluator's reductions the number is negative."""

    number: int
    top: int
    hand: int
    root: int
    flags: int
    lifts: bool

    @property
    def is_new(self) -> bool:
        """Tell whether it has not begun: its cell holds the word."""
        return bool(self.flags & abi.RECORD_NEW)

    def is_split(self, at: int) -> bool:
        """Tell whether all fields of the node of a frame are lifted: then the last one is in its place, and in hand."""
        is_lifted = self.flags & LIFTED and self.hand & SUB_BIT
        return bool(is_lifted) and self.top == abi.F_LNODE << 56 | at


def need(holds: object, what: str) -> None:
    """Refuse a state unless something holds."""
    if not holds:
        raise Misfit(what)
