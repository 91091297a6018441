"""Which recorded states a run may go on from: checked before the kernel, which believes every word, sees one.

A heap in the middle of a run is linear as an image at the start is (``admit.py``), once it is read as the machine reads
it: a cell that is being reduced holds nothing, what it will hold hangs on the frames and the term in hand of its task.
Tasks stand where the machine puts them: below terms that nobody takes apart any more, each cell with one task at most.
Whoever waits is named once, threads take fresh cells from places that nothing lies in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.admit import JOIN, TERM, BadImage
from hvm4viz.book import Book
from hvm4viz.kernel_text import abi
from hvm4viz.readmit.calls import Calls
from hvm4viz.readmit.slots import Stamped
from hvm4viz.readmit.tasks import FORK, Task, need
from hvm4viz.settings import Machine
from hvm4viz.state import Misfit, State
from hvm4viz.store import PASSES_MAX
from hvm4viz.term import VAL_MASK

__all__ = ["readmit"]


def readmit(
    words: NDArray[np.uint64],
    state: State,
    *,
    passes: int,
    root: int,
    mode: str,
    stamps: int,
    book: Book,
    machine: Machine,
) -> frozenset[int]:
    """Check a recorded state with its heap.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_cells,)
        All cells of the regions in use.
    state : State
        What was recorded besides.
    passes : int
        Passes until then.
    root : int
        Cell that holds the whole term.
    mode : {"snf", "collapse"}
    stamps : int
        Latest stamp that the heap may hold from before the run.
    book : Book
    machine : Machine

    Returns
    -------
    held : frozenset of int
        Slots that tasks hold. What they say of the closure that they held cannot be checked: it must not be evaluated
        once more.

    Raises
    ------
    Misfit
        If going on from there could lead the machine outside its heap.
    """
    try:
        need(int(state.facts["store"]["passes"]) == passes, f"it is not the state at pass {passes}")
        return _Check(words, state, root=root, mode=mode, stamps=stamps, book=book, machine=machine).run()
    except Misfit:
        raise
    except BadImage as error:
        raise Misfit(str(error)) from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise Misfit(f"the state cannot be followed: {error!r}") from None


class _Check(Calls):
    """One check of a state."""

    def run(self) -> frozenset[int]:
        """Check everything; return the slots that are held."""
        need(self.cells <= 1 << 32, f"its heap has {self.cells:,} cells, a word can point to {1 << 32:,}")
        need(0 <= self.passes <= PASSES_MAX and 0 <= self.now <= PASSES_MAX, "its passes are more than stamps hold")
        self._regions()
        walk = Stamped(self.words, self.book, self.machine, serial=self.frontier is None)
        if self.frontier is not None:
            self._frontier(walk)
        if self.evaluator is not None:
            self._evaluator(walk)
        self._queue(walk)
        self._walk(walk)
        self._allocation(walk)
        return frozenset(slot for slot in walk.held if self._word(slot + 1) >> 40)

    def _word(self, cell: int) -> int:
        return int(self.words[cell])

    def _walk(self, walk: Stamped) -> None:
        for task in self.tasks:
            is_fork, is_slot = bool(task.flags & FORK), bool(task.flags & abi.RECORD_SLOT)
            need(not is_slot or (task.is_new and not is_fork and not task.lifts), "a task visits a slot, and more")
            kind = "fork" if is_fork else "slot" if is_slot else "task"
            self._pend(walk, task.root, kind, is_new=task.is_new)
        if self.frontier is not None and self.evaluator is not None:
            self._tasks(walk, [task for task in self.tasks if task.number >= 0], int(self.frontier["root"]))
            walk.inner = set(walk.ends)
            walk.marks_stuck = True  # what is outside is the evaluator's
            self._tasks(walk, [task for task in self.tasks if task.number < 0], self.root)
        else:
            self._tasks(walk, self.tasks, self.root)
        lost = sorted(set(walk.pending) - walk.found)
        need(not lost, f"a task is at work at cell {lost[:1]}, which is no part of the term")
        for cell in self.lifted:
            need(walk.uses[cell] == TERM, f"cell {cell} is no branch")
        walk.slots(self.now, self.waiting)
        walk.joined(self.waiting)
        reentering = [task for task in self.tasks if task.flags & abi.RECORD_REENTER]
        need(
            not any(task.hand & VAL_MASK in walk.held for task in reentering),
            "a task is about to evaluate a term once more that it waits for; resume from an earlier pass",
        )

    def _tasks(self, walk: Stamped, tasks: list[Task], root: int) -> None:
        """Walk from the root of a run, and from its tasks."""
        for task in tasks:
            if not task.is_new:
                walk.frames(task)
        for task in tasks:
            if task.flags & FORK and task.root not in walk.joins:  # nobody needs it any more, but it goes on
                walk.joins[task.root] = 0
                walk.own(task.root, task.root, TERM)
                walk.own(task.root + 1, task.root, JOIN)
                walk.found.add(task.root)
                if task.is_new:
                    walk.private.append(task.root)
        walk.lifts = self.lifts and root == self.root
        walk.open(root)
        walk.follow(finished_only=True)
        walk.lifts = self.lifts and self.evaluator is None
        if self.evaluator is not None and root == self.root:
            for _, _, cells, _ in self.evaluator["calls"]:
                for cell in cells:
                    walk.open(int(cell))
        for task in tasks:
            if not task.is_new and task.hand and task not in walk.split:
                walk.hand(task)
        walk.follow()
