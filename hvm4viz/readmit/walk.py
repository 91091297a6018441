"""A walk through a heap that tasks are working on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.admit import SLOT, STAMPS, TERM, VARIABLE, WAITERS, BadImage, Walk, has_waiters
from hvm4viz.book import Book
from hvm4viz.readmit.tasks import CLAIM_STUCK, CLAIM_VISITED, STUCK, Task
from hvm4viz.settings import Machine
from hvm4viz.term import SUB_BIT, TAG_MASK, Tag


class Running(Walk):
    """A walk through a heap that tasks are working on.

    Cells are of two kinds: those below finished terms, where each may have a task or get one, and those of terms that
    a task will take apart, where none may.
    """

    def __init__(self, words: NDArray[np.uint64], book: Book, machine: Machine, *, serial: bool) -> None:
        super().__init__(
            words,
            book,
            cells_max=len(words),
            is_alone=machine.threads == 1,
            has_waiters=has_waiters(machine) and not serial and machine.threads > 1,
        )
        self.machine = machine
        self.lifts = False
        """Whether only superpositions and marks lead from a finished term to tasks."""
        self.serial = serial
        """Whether one thread alone is at work: stamps say nothing then."""
        self.inner: set[int] | None = None
        """Slots that the run which ``%gnf`` began can reach; the evaluator's own have no stamps."""
        self.by_claim = machine.dup == "claim" and not serial
        self.is_shared = (machine.dup == "atomic" or machine.owner_unit == "block") and not self.by_claim and not serial
        self.marks_stuck = serial or not (self.by_claim or self.is_shared)
        self.finished: list[int] = []
        self.private: list[int] = []
        self.held: dict[int, int] = {}
        """Slots that tasks hold, and by which end."""
        self.joins: dict[int, int] = {}
        """Forked operands, and the node that waits for each."""
        self.pending: dict[int, str] = {}
        """Cells that have a task, or are to get one: ``task``, ``slot`` (its children only), ``fork``."""
        self.found: set[int] = set()
        self.new: set[int] = set()
        """Cells with a task that has not begun: the word is still there."""
        self.split: set[Task] = set()
        """Tasks whose term in hand is a copy of a lifted field."""
        self.awaited: dict[int, str] = {}
        """Tasks that somebody names as waiting, and where."""

    # ---- the walk

    def open(self, cell: int) -> None:
        """Begin at a cell where finished terms begin."""
        if self.cells_max <= cell or self.uses[cell] != TERM:
            self.claim(cell, cell, TERM)
            self.finished.append(cell)

    def follow(self, *, finished_only: bool = False) -> None:
        """Walk until everything that can be reached was seen, or all finished terms were."""
        while self.finished or (self.private and not finished_only):
            is_finished = bool(self.finished)
            cell = (self.finished or self.private).pop()
            kind = self.pending.get(cell)
            if kind is not None and not (kind == "fork" and cell in self.joins):
                self._meet(cell, kind, is_finished=is_finished)
                is_finished = False
                if cell not in self.new:
                    continue
            word = self.word(cell)
            is_field = self.uses[cell] == TERM
            if word & SUB_BIT and is_field:
                raise BadImage(f"cell {cell} is a field and holds a substitution; those are for binders and slots")
            self.todo = self.finished if is_finished and self._goes_on(word) else self.private
            self.term(cell, word & ~SUB_BIT)

    def _meet(self, cell: int, kind: str, *, is_finished: bool) -> None:
        if not is_finished:
            raise BadImage(f"a task is at work at cell {cell}, inside a term that another one takes apart")
        if (kind == "slot") != (self.uses[cell] == SLOT) or kind == "fork":
            raise BadImage(f"the task at cell {cell} is of another kind than the cell, which is no place for it")
        self.found.add(cell)

    def _goes_on(self, word: int) -> bool:
        """Tell whether cells below a finished term may have tasks."""
        return not self.lifts or (word >> 56 & TAG_MASK) in (Tag.SUP, Tag.INC)

    def binder(self, by: int, loc: int, role: int) -> None:
        """Claim a binder; what fills it is taken by its variable."""
        todo = self.todo
        if role == VARIABLE:
            self.todo = self.private
        super().binder(by, loc, role)
        self.todo = todo

    def end(self, by: int, slot: int, tag: int) -> None:
        """Claim one end of a slot, and look into the slot unless a task holds it."""
        end = 1 if tag == Tag.DP0 else 2
        known = self.ends.get(slot, 0)
        if known & end:
            raise BadImage(f"cell {by} is a second end {end - 1} of the slot at {slot}")
        self.ends[slot] = known | end
        if not known:
            self._claim_slot(by, slot)
            (self.finished if self.is_visited(slot) else self.private).append(slot)

    def _claim_slot(self, by: int, slot: int) -> None:
        self.entry(by, slot, SLOT)
        if self.slot_cells == 4:
            self.claim(slot + 2, by, STAMPS)
            self.claim(slot + 3, by, WAITERS)

    def is_stuck(self, slot: int) -> bool:
        """Tell whether a slot says that no rule fits its term."""
        if self.marks_stuck:
            return bool(self.word(slot + 1) >> 32 & CLAIM_STUCK)
        stamps = self.word(slot + 2)
        return bool((stamps | stamps >> 32) & STUCK)

    def is_visited(self, slot: int) -> bool:
        """Tell whether tasks may be at work below the term of a slot."""
        if self.lifts or not self.is_stuck(slot):
            return False
        return not self.marks_stuck or bool(self.word(slot + 1) >> 32 & CLAIM_VISITED)

    def own(self, cell: int, by: int, use: int) -> None:
        """Claim a cell that nobody else can have claimed."""
        if cell < self.cells_max and self.uses[cell] == use:
            raise BadImage(f"cell {cell} is part of two frames")
        self.claim(cell, by, use)
