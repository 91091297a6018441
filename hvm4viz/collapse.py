"""Collapsing: enumerate the branches of a superposition, in HVM4's order, out of one wide frontier.

The order is that of a queue of tasks in 64 buckets (first in first out; a branch's key counts the superpositions above
it, less the marks). Which branches *are reduced* runs ahead of it: as many as the machine has threads, always those
that come first in the order as far as it is known. With one thread a branch is begun only when its turn has come, as
the reference does it. Both depend on the trace alone, never on timing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from numpy.typing import NDArray

from hvm4viz.book import Book
from hvm4viz.evaluate import Evaluator
from hvm4viz.events import OUTCOMES, PassRecord
from hvm4viz.far import gather
from hvm4viz.frontier import Frontier
from hvm4viz.heap import Heap
from hvm4viz.readback import Term
from hvm4viz.stops import Fault, Stop, stalled
from hvm4viz.term import Tag, tag_of, val_of
from hvm4viz.turns import KEYS, Turns

_DONE = OUTCOMES.index("done")


@dataclass
class Enumeration:
    """The queue of branches, and which of them are being reduced.

    Parameters
    ----------
    frontier : Frontier or Evaluator
        One whose tasks lift (``lift=True``); its root is the first branch.
    limit : int or None
        Most results; None for all.
    book : Book
        Names for the results.

    Attributes
    ----------
    found : list of Term
        Results, in order, not yet taken; printed as they were when their turn came.
    count : int
        Results so far.
    is_over : bool
        Whether the enumeration is finished or has reached its limit.
    """

    frontier: Frontier | Evaluator
    limit: int | None
    book: Book
    found: list[Term] = field(default_factory=list[Term])
    count: int = 0
    is_over: bool = False
    _keys: dict[int, int] = field(default_factory=dict[int, int])
    _lifted: set[int] = field(default_factory=set[int])
    _waiting: set[int] = field(default_factory=set[int])
    _ahead: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    _number: int = 0
    _running: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        """Make the root the first branch."""
        root = self.frontier.root
        self.turns = Turns()
        self.turns.push([root], 0)
        self._keys[root] = 0
        self._running.add(root)
        self._window = 1 if self.frontier.is_serial else self.frontier.machine.threads
        self.is_over = self.limit == 0
        self.frontier.feed = self._feed

    def _feed(self, events: NDArray[Any]) -> None:
        """After a pass: note what is lifted, go on in the order, begin the next branches."""
        done = events["loc"][events["outcome"] == _DONE].tolist()
        lifted = [loc for loc in dict.fromkeys(done) if loc in self._running]  # others are forked operands
        self._running.difference_update(lifted)
        self._lifted.update(lifted)
        if self._window > 1:
            for loc, word in zip(lifted, gather(self.frontier.cells, lifted), strict=True):
                self._look_ahead(loc, word)
        self._go_on()
        if not self.is_over:
            self.frontier.inject(self._next_branches())

    def _look_ahead(self, loc: int, word: int) -> None:
        """Branches behind a lifted cell may be begun before their turn."""
        tag, key = tag_of(word), self._keys[loc]
        if tag == Tag.SUP:
            for cell in (val_of(word), val_of(word) + 1):
                self._remember(cell, min(KEYS - 1, key + 1))
        elif tag == Tag.INC:
            self._remember(val_of(word), max(0, key - 1))

    def _remember(self, cell: int, key: int) -> None:
        self._keys[cell] = key
        self._waiting.add(cell)
        self._number += 1
        heappush(self._ahead, (key, self._number, cell))

    def _next_branches(self) -> list[int]:
        chosen: list[int] = []
        awaited = self.turns.cell if self.turns.is_on else None
        if awaited is not None and (awaited in self._waiting or (self._window == 1 and not self._running)):
            chosen.append(awaited)
            self._waiting.discard(awaited)
        while self._ahead and len(self._running) + len(chosen) < self._window:
            cell = heappop(self._ahead)[2]
            if cell in self._waiting:
                chosen.append(cell)
                self._waiting.discard(cell)
        self._running.update(chosen)
        return chosen

    def _go_on(self) -> None:
        """Follow the order as far as branches are lifted."""
        turns = self.turns
        while True:
            if not turns.is_on and not turns.begin_next():
                self.is_over = True
                return
            cell = turns.cell
            if cell not in self._lifted:
                return
            self._lifted.discard(cell)
            key = self._keys.pop(cell, 0)
            word = int(self.frontier.cells[cell])
            tag, loc = tag_of(word), val_of(word)
            if tag == Tag.INC:
                turns.replace(loc)
                continue
            if tag == Tag.SUP:
                turns.push([loc, loc + 1], min(KEYS - 1, turns.key + 1))
            elif tag != Tag.ERA:
                if self.frontier.may_be_late() and len(self.frontier.late(cell)):
                    self._again(cell, key)  # a variable in it was filled only after it had been lifted
                    return
                self.found.append(Term(self.frontier.cells, cell, self.book, quoted=True).fixed())
                self.count += 1
                if self.count == self.limit:
                    self.is_over = True
                    return
            turns.drop()

    def let_go(self) -> None:
        """Take no part in further passes: while queue and frontier know each other, neither frees the heap."""
        self.frontier.feed = None
        if isinstance(self.frontier, Frontier):
            self.frontier.batch = None

    # ---- many passes at once (batch.py)

    @property
    def is_plain(self) -> bool:
        """Whether all that is under way is the cell whose turn it is, which has not been begun before its turn."""
        turns = self.turns
        return (
            self._window == 1
            and not self.is_over
            and turns.is_on
            and self._running == {turns.cell}
            and not self._waiting
            and not self._lifted
        )

    def catch_up(self) -> None:
        """Take over that the queue has moved on by itself."""
        self._running = {self.turns.cell}
        self._keys.clear()

    # ---- the engine of a loop

    @property
    def passes(self) -> int:
        """Passes so far."""
        return self.frontier.passes

    def idle(self) -> Stop | None:
        """Return why there is no next pass, if there is none."""
        if self.is_over:
            return Stop("done")
        if isinstance(self.frontier, Frontier) and self.frontier.width == 0:
            return None if self.frontier.break_cycle() else Stop("stalled", stalled(self.frontier.parked))
        return self.frontier.idle()

    def step(self) -> tuple[PassRecord, Stop | None]:
        """Run one pass."""
        return self.frontier.step()

    def fault(self, record: int) -> Fault:
        """Return where a task stopped."""
        return self.frontier.fault(record)

    def image(self) -> Heap:
        """Return the heap as it lies, with the live tasks."""
        return self.frontier.image()

    def _again(self, cell: int, key: int) -> None:
        self._keys[cell] = key
        self._waiting.add(cell)

    def take(self) -> Iterator[Term]:
        """Yield the results that have come up since the last call, in order."""
        found, self.found = self.found, []
        yield from found
