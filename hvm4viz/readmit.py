"""Which recorded states a run may go on from: checked before the kernel, which believes every word, sees one.

A heap in the middle of a run is linear as an image at the start is (``admit.py``), once it is read as the machine reads
it: a cell that is being reduced holds nothing, what it will hold hangs on the frames and the term in hand of its task.
Tasks stand where the machine puts them: below terms that nobody takes apart any more, each cell with one task at most.
Whoever waits is named once, threads take fresh cells from places that nothing lies in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.admit import (
    ARRIVED,
    ATOMS,
    BY_OWNER,
    FRAME,
    JOIN,
    PUBLISHED,
    SLOT,
    STAMPS,
    TERM,
    VARIABLE,
    WAITERS,
    BadImage,
    Walk,
    has_waiters,
)
from hvm4viz.book import Book
from hvm4viz.collapse import KEYS
from hvm4viz.events import ORIGINS
from hvm4viz.kernel_text import abi
from hvm4viz.settings import Machine
from hvm4viz.state import Misfit, State
from hvm4viz.store import PASSES_MAX
from hvm4viz.term import EXT_MASK, SUB_BIT, TAG_MASK, VAL_MASK, Tag, arity_of
from hvm4viz.workspace import SLACK

_GIVEN_BACK, _STUCK, _PASS = 0x20000000, 0x08000000, 0x07FFFFFF  # ST_X, ST_S and ST_PASS of kernels/slot.h
_LOCK_TAKEN: Final = 0xFFFFFFFF
_CLAIM_STUCK, _CLAIM_VISITED = 1, 2  # of kernels/slot.h
_JOIN_DONE: Final = 1  # of kernels/fork.h
_LIFTED, _DEAD, _AWAY, _FORK = 4, 16, 32, 64  # RECORD_* of kernels/layout.h
_NAMED_SHIFT: Final = 24
_RANGE_FRESH, _RANGE_SLOT = 4, 0x100  # ITEM_FRESH and ITEM_SLOT
_VISITORS: Final = frozenset({ORIGINS.index("poll"), ORIGINS.index("wake")})
_TODO: Final = ("", "feed", "begin", "resume", "value")

_FIELDS: Final = {
    abi.F_APP: 2, abi.F_MAT: 2, abi.F_USE: 2, abi.F_OPL: 2, abi.F_OPR: 2, abi.F_EQL: 2, abi.F_EQR: 2, abi.F_AND: 2,
    abi.F_OR: 2, abi.F_DSU: 3, abi.F_DDU: 3, abi.F_RMA: 2, abi.F_RUS: 2,
}  # fmt: skip
"""Cells of the node of a frame whose parent lies in the first."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A record: its number, words and flags; of the evaluator's reductions the number is negative."""

    number: int
    top: int
    hand: int
    root: int
    flags: int
    lifts: bool

    @property
    def is_new(self) -> bool:
        return bool(self.flags & abi.RECORD_NEW)

    def is_split(self, at: int) -> bool:
        """Tell whether all fields of the node of a frame are lifted: then the last one is in its place, and in hand."""
        is_lifted = self.flags & _LIFTED and self.hand & SUB_BIT
        return bool(is_lifted) and self.top == abi.F_LNODE << 56 | at


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
        _need(int(state.facts["store"]["passes"]) == passes, f"it is not the state at pass {passes}")
        return _Check(words, state, root=root, mode=mode, stamps=stamps, book=book, machine=machine).run()
    except Misfit:
        raise
    except BadImage as error:
        raise Misfit(str(error)) from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise Misfit(f"the state cannot be followed: {error!r}") from None


def _need(holds: object, what: str) -> None:
    if not holds:
        raise Misfit(what)


class _Running(Walk):
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
        self.split: set[_Task] = set()
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
            return bool(self.word(slot + 1) >> 32 & _CLAIM_STUCK)
        stamps = self.word(slot + 2)
        return bool((stamps | stamps >> 32) & _STUCK)

    def is_visited(self, slot: int) -> bool:
        """Tell whether tasks may be at work below the term of a slot."""
        if self.lifts or not self.is_stuck(slot):
            return False
        return not self.marks_stuck or bool(self.word(slot + 1) >> 32 & _CLAIM_VISITED)

    # ---- tasks

    def frames(self, task: _Task) -> None:
        """Claim the frames of a task, from the innermost out."""
        frame = task.top
        while True:
            if frame & SUB_BIT:
                raise BadImage(f"a frame of the task at cell {task.root} is a substitution")
            tag, node = frame >> 56 & TAG_MASK, frame & VAL_MASK
            if tag in (abi.F_ROOT, abi.F_LROOT):
                if node != task.root or (tag == abi.F_LROOT) != task.lifts:
                    raise BadImage(f"the frames of the task at cell {task.root} end at {node}, or as those of another")
                return
            frame = self._frame(task, tag, node)

    def _frame(self, task: _Task, tag: int, node: int) -> int:
        """Claim one frame; return its parent."""
        by = task.root
        if node == 0:
            raise BadImage(f"a frame of the task at cell {by} lies in cell 0, which no term points to")
        if tag in (abi.F_DP0, abi.F_DP1):
            return self._hold(by, node, tag - abi.F_DP0)
        if tag == abi.F_RED:
            self.own(node, by, TERM)
            self.private.append(node)
            self.own(node + 1, by, FRAME)
            parent = self.word(node + 1)
            if parent >> 56 != abi.F_APP:
                raise BadImage(f"above the guarded term at cell {node} stands no application")
            return parent
        self.own(node, by, FRAME)
        if tag in (abi.F_LNODE, abi.F_LLAM) and task.lifts:
            self._lifting(task, tag, node)
        elif tag in _FIELDS:
            for field in range(node + 1, node + _FIELDS[tag]):
                self.own(field, by, TERM)
            self._first_field(tag, node)
        else:
            raise BadImage(f"the task at cell {by} has a frame of tag {tag}, which is none")
        return self.word(node)

    def own(self, cell: int, by: int, use: int) -> None:
        """Claim a cell that nobody else can have claimed."""
        if cell < self.cells_max and self.uses[cell] == use:
            raise BadImage(f"cell {cell} is part of two frames")
        self.claim(cell, by, use)

    def _first_field(self, tag: int, node: int) -> None:
        """Look at field 1, of which the kernel knows the kind by the frame."""
        word = self.word(node + 1)
        kind = self._kind(word)
        wanted: dict[int, tuple[int, ...]] = {
            abi.F_MAT: (Tag.MAT, Tag.SWI),
            abi.F_USE: (Tag.USE,),
            abi.F_OPR: (Tag.NUM,),
            abi.F_RMA: (Tag.RED,),
            abi.F_RUS: (Tag.RED,),
        }
        if tag in wanted and (kind not in wanted[tag] or (tag >= abi.F_RMA and word >> 56 != Tag.RED)):
            raise BadImage(f"cell {node + 1} holds {word:#x}, which is none that its frame can have")
        if tag in (abi.F_RMA, abi.F_RUS):
            guarded = self._kind(self.word((word & VAL_MASK) + 1))
            if guarded not in ((Tag.MAT, Tag.SWI) if tag == abi.F_RMA else (Tag.USE,)):
                raise BadImage(f"cell {node + 1} holds a guarded term whose body its frame cannot have")
        if word >> 56 == abi.FORKED:
            self._fork(tag, node, word & VAL_MASK)
        else:
            self.private.append(node + 1)
        if _FIELDS[tag] == 3:
            self.private.append(node + 2)

    def _kind(self, word: int) -> int:
        """Tag of a term, seen through a closure."""
        tag = word >> 56 & (TAG_MASK | 0x80)
        cell = word >> 32 & EXT_MASK
        if tag == Tag.ALO and cell < len(self.code):
            return int(self.code[cell]) >> 56 & TAG_MASK
        return tag

    def _fork(self, tag: int, node: int, join: int) -> None:
        if tag != abi.F_OPL or self.serial or self.machine.fork != "auto" or self.machine.threads == 1 or join == 0:
            raise BadImage(f"cell {node + 1} says that it is forked, where nothing is")
        self.joins[join] = node
        self.own(join, node, TERM)
        self.own(join + 1, node, JOIN)
        is_done = self.word(join + 1) >> 32 & _JOIN_DONE
        if self.pending.get(join) == "fork" and not is_done:
            self.found.add(join)
            if join in self.new:
                self.private.append(join)
        elif join in self.pending:
            raise BadImage(f"a task is at work at the forked operand in cell {join}, which is done or another's")
        else:
            self.private.append(join)

    def _lifting(self, task: _Task, tag: int, at: int) -> None:
        self.own(at + 1, at, FRAME)
        self.own(at + 2, at, FRAME)
        if tag == abi.F_LLAM:
            return
        node, place = self.word(at + 1), self.word(at + 2) & VAL_MASK & 0xFF
        kind, first = node >> 56, node & VAL_MASK
        count = 0 if kind == Tag.PRI else arity_of(node, 0)
        is_over = place == count and task.is_split(at)
        if kind > Tag.PRI or kind in (Tag.LAM, Tag.ALO, Tag.DUP) or not (place < count or is_over) or first == 0:
            raise BadImage(f"the frame at cell {at} lifts field {place} of {node:#x}, which has none")
        if is_over:
            self.split.add(task)
        for field in range(first, first + count):
            self.own(field, at, TERM)
            if field != first + place:  # that one is in hand
                self.private.append(field)

    def _hold(self, by: int, slot: int, side: int) -> int:
        known = self.ends.get(slot, 0)
        if known:
            raise BadImage(f"the slot at {slot} is held twice")
        self.ends[slot] = 1 << side
        self.held[slot] = side
        self._claim_slot(by, slot)
        return self.word(slot)

    def hand(self, task: _Task) -> None:
        """Walk from the term in hand."""
        word = task.hand & ~SUB_BIT
        tag, slot = word >> 56 & TAG_MASK, word & VAL_MASK
        self.todo = self.private
        self.term(task.root, word)
        if task.hand & SUB_BIT and tag in (Tag.DP0, Tag.DP1) and not self.is_stuck(slot):
            raise BadImage(f"the task at cell {task.root} takes the slot at {slot} for stuck, and it is not")

    # ---- what slots say

    def wait(self, record: int, where: str, waiting: dict[int, _Task]) -> _Task:
        """Note that a record is named as waiting."""
        task = waiting.get(record)
        if task is None or record in self.awaited:
            raise BadImage(f"task {record} is named as waiting {where}; it does not wait, or is named twice")
        self.awaited[record] = where
        return task

    def slots(self, now: int, waiting: dict[int, _Task]) -> None:
        """Check what all slots say of themselves."""
        for slot, ends in self.ends.items():
            has_stamps = self.slot_cells == 4 and not self.serial and (self.inner is None or slot in self.inner)
            if slot not in self.held:
                self._free_slot(slot, ends, now, has_stamps=has_stamps)
            elif has_stamps:
                self._held_slot(slot, now)
            if has_stamps and self.has_waiters:
                self._waiters(slot, now, waiting)

    def _stamps(self, slot: int) -> tuple[int, int]:
        word = self.word(slot + 2)
        return word & VAL_MASK, word >> 32

    def _held_slot(self, slot: int, now: int) -> None:
        side, stamps = self.held[slot], self._stamps(slot)
        if any(stamp & (PUBLISHED | (0 if self.marks_stuck else _STUCK)) for stamp in stamps):
            raise BadImage(f"the slot at {slot} is held, and says that it is done")
        if self.is_shared and self.word(slot + 3) & VAL_MASK != _LOCK_TAKEN:
            raise BadImage(f"the slot at {slot} is held, and its lock says that it is free")
        if self.by_claim:
            mine, other = stamps[side], stamps[1 - side]
            is_mine = mine & ARRIVED and not mine & _GIVEN_BACK and mine & _PASS < now
            later = mine & _PASS > other & _PASS or (
                mine & _PASS == other & _PASS and not mine & BY_OWNER and side == 1
            )
            if not is_mine or (other & ARRIVED and not other & BY_OWNER and self._waiter(slot, 1 - side) and later):
                raise BadImage(f"the slot at {slot} is held by end {side}, and its stamps say that it is not")

    def _free_slot(self, slot: int, ends: int, now: int, *, has_stamps: bool) -> None:
        word = self.word(slot)
        is_atom = (word >> 56 & TAG_MASK) in ATOMS
        is_filled = bool(word & SUB_BIT)
        if is_filled and ends == 3 and not is_atom:
            raise BadImage(f"the slot at {slot} is published and has both its ends: one of them took its value")
        if not has_stamps:
            return
        stamps = self._stamps(slot)
        published = [side for side in (0, 1) if stamps[side] & PUBLISHED]
        unstamped = self.inner is not None and not self.by_claim and not self.is_shared and not published
        if bool(published) != is_filled and not unstamped:
            raise BadImage(f"the slot at {slot} has the stamps {self.word(slot + 2):#x}, and another value")
        if any(stamps[side] & _PASS >= now for side in published):
            raise BadImage(f"the slot at {slot} was published in a pass that is still to come")
        if not is_atom and any(ends >> side & 1 for side in published):
            raise BadImage(f"an end of the slot at {slot} is there, and has published")

    def _waiter(self, slot: int, side: int) -> int:
        return self.word(slot + 3) >> 32 * side & VAL_MASK

    def _waiters(self, slot: int, now: int, waiting: dict[int, _Task]) -> None:
        for side, stamp in enumerate(self._stamps(slot)):
            waiter = self._waiter(slot, side)
            arrived = bool(stamp & ARRIVED) and not stamp & BY_OWNER
            if waiter == 0 or not (arrived or self.by_claim):
                continue
            if self.by_claim and (stamp & ~_PASS != ARRIVED or stamp & _PASS >= now):
                raise BadImage(f"task {waiter - 1} waits at the slot at {slot}, and its stamp does not say so")
            task = self.wait(waiter - 1, f"at the slot at {slot}", waiting)
            if task.is_new or task.hand & ~(EXT_MASK << 32) != (Tag.DP0 + side) << 56 | slot:
                raise BadImage(f"task {waiter - 1} waits at the slot at {slot}, and wants something else")

    def joined(self, waiting: dict[int, _Task]) -> None:
        """Check who waits for forked operands."""
        for join in self.joins:
            word = self.word(join + 1)
            waiter = word & VAL_MASK
            if waiter == 0 or (word >> 32 & _JOIN_DONE and self.joins[join]):  # once it is done nobody looks
                continue
            task = self.wait(waiter - 1, f"for the operand in cell {join}", waiting)
            tag, node = task.top >> 56, task.top & VAL_MASK
            if task.is_new or tag != abi.F_OPL or self.joins[join] != node:
                raise BadImage(f"task {waiter - 1} waits for the operand in cell {join}, and is elsewhere")


class _Check:
    """One check of a state."""

    def __init__(
        self,
        words: NDArray[np.uint64],
        state: State,
        *,
        root: int,
        mode: str,
        stamps: int,
        book: Book,
        machine: Machine,
    ) -> None:
        self.words, self.facts, self.arrays = words, state.facts, state.arrays
        self.machine, self.book, self.root = machine, book, root
        self.evaluator: dict[str, Any] | None = state.facts["evaluator"]
        self.frontier: dict[str, Any] | None = (
            state.facts["frontier"] if self.evaluator is None else self.evaluator["frontier"]
        )
        store = state.facts["store"]
        self.passes = int(store["passes"])
        self.now = stamps + self.passes + 1
        self.cells = len(words)
        self.lifts = mode == "collapse"
        self.tasks: list[_Task] = []
        self.waiting: dict[int, _Task] = {}
        """Tasks that stand on no frontier, by record."""
        self.lifted: list[int] = []
        self.entries: list[tuple[int, int, int]] = []
        """Origin, thread and record of each entry of the frontier."""

    def run(self) -> frozenset[int]:
        """Check everything; return the slots that are held."""
        _need(self.cells <= 1 << 32, f"its heap has {self.cells:,} cells, a word can point to {1 << 32:,}")
        _need(0 <= self.passes <= PASSES_MAX and 0 <= self.now <= PASSES_MAX, "its passes are more than stamps hold")
        self._regions()
        walk = _Running(self.words, self.book, self.machine, serial=self.frontier is None)
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

    # ---- regions

    def _regions(self) -> None:
        owner, chain, used = (self.arrays[name] for name in ("owner", "chain", "used"))
        size, in_use = self.machine.region_size, owner.size
        blocks = int(self.facts["store"]["blocks"])
        _need(in_use * size == self.cells, f"it has {in_use:,} regions, its heap {self.cells // size:,}")
        _need(blocks == (self.machine.blocks if self.frontier is not None else 1), f"it has {blocks} blocks")
        _need(chain.size == used.size == in_use, "its tables of regions differ in length")
        _need(not in_use or int(owner.max()) < blocks, "regions are of blocks that there are not")
        linked = chain != abi.NO_REGION
        _need((chain[linked] < in_use).all(), "regions lie behind the last")
        _need((owner[chain[linked]] == owner[linked]).all(), "the regions of one block lead to another's")
        tail = [int(region) for region in self.facts["store"]["tail"]]
        _need(len(tail) == blocks, "its blocks are not as many as it says")
        for block, region in enumerate(tail):
            fits = region == abi.NO_REGION or (region < in_use and int(owner[region]) == block)
            _need(fits, f"the last region of block {block} is another's")
        filled = self.words.reshape(in_use, size).any(axis=1)
        _need((used[filled] > 0).all(), "regions that hold something count as empty")

    def _allocation(self, walk: _Running) -> None:
        """Check that threads take fresh cells where nothing lies."""
        if self.frontier is not None:
            states, tpb = self.arrays["states"], self.machine.threads_per_block
        else:
            states, tpb = self.arrays["thread"], 1
        size, owner, chain = self.machine.region_size, self.arrays["owner"], self.arrays["chain"]
        lane_cells = size // tpb
        before = np.concatenate([[0], (np.frombuffer(walk.uses, np.uint8) != 0).cumsum(dtype=np.int64)])
        lanes = before[::lane_cells][1:] - before[::lane_cells][:-1]
        taken = (lanes > 0).reshape(-1, tpb)
        following: dict[int, NDArray[np.bool_]] = {}
        thread = np.arange(states.size)
        first, last, region = (states[name].astype(np.int64) for name in ("next", "end", "region"))
        _need((region < owner.size).all(), "threads are in regions that there are not")
        start = region * size + thread % tpb * lane_cells
        fits = (owner[region] == thread // tpb) & (start <= first) & (first <= last) & (last <= start + lane_cells)
        _need(fits.all(), "threads take cells from places that are not theirs")
        _need((before[last] == before[first]).all(), "threads take cells that are in use")
        for at in np.unique(region).tolist():
            following[at] = _behind(at, chain, taken)
        for number, at in enumerate(region.tolist()):
            _need(not following[at][number % tpb], f"thread {number} comes to a region where something lies")

    # ---- the frontier

    def _frontier(self, walk: _Running) -> None:
        facts, arrays = self.frontier, self.arrays
        assert facts is not None
        summary, states, entries, live, free = (
            arrays[name] for name in ("summary", "states", "entries", "records", "free")
        )
        n_records, width = int(summary[14]), entries.size
        _need(n_records == live.size + free.size, "its records are not as many as it says")
        _need(not free.size or int(free.max()) < n_records, "free records lie behind the last")
        is_live = np.ones(n_records, bool)
        is_live[free] = False
        _need(int(is_live.sum()) == live.size, "a record is free twice")
        numbers = np.flatnonzero(is_live).tolist()
        self.tasks = [
            _Task(number, *row, lifts=self.lifts and self.evaluator is None and not row[3] & _FORK)
            for number, row in zip(numbers, zip(*(live[n].tolist() for n in _COLUMNS), strict=True), strict=True)
        ]
        threads = self.machine.threads
        _need((live["home"] < threads).all(), "records are of threads that there are not")
        _need((live["place"] < max(len(self.book.code), 1)).all(), "records name places outside the program")
        self._segments(states, entries, width)
        self.entries = [
            (int(entry) >> 60, int(entry) >> 32 & 0x0FFFFFFF, int(entry) & VAL_MASK) for entry in entries.tolist()
        ]
        self._names(walk, {task.number: task for task in self.tasks}, int(summary[2]))
        if self.evaluator is None:
            _need(int(facts["root"]) == self.root, "its root is another one")
        else:
            _need(0 < int(facts["root"]) < self.cells, "its root lies outside")

    def _segments(self, states: NDArray[np.void], entries: NDArray[np.uint64], width: int) -> None:
        _need(states.size == self.machine.threads, f"it has {states.size} threads")
        count = states["count"].astype(np.int64)
        first, out, out_max = (states[name].astype(np.int64) for name in ("first", "out", "out_max"))
        _need(int(count.sum()) == width, "its entries are not as many as it says")
        runs = count > 0
        _need((first[runs] == (count.cumsum() - count)[runs]).all(), "segments of the frontier overlap")
        lists = np.where(runs, count + SLACK, 0)
        _need((out_max[runs] == lists[runs]).all(), "lists are not as long as they say")
        _need((out[runs] == (lists.cumsum() - lists)[runs]).all(), "lists overlap")
        thread = (entries >> np.uint64(32)) & np.uint64(0x0FFFFFFF)
        _need((thread == np.repeat(np.arange(states.size), count)).all(), "entries stand with other threads")

    def _names(self, walk: _Running, tasks: dict[int, _Task], parked: int) -> None:
        """Check which entries name which records."""
        runs: Counter[int] = Counter()
        visits: Counter[int] = Counter()
        for origin, _, record in self.entries:
            _need(record in tasks, f"an entry names record {record}, which is free")
            _need(origin < len(ORIGINS), "origins are out of their bounds")
            (visits if walk.by_claim and origin in _VISITORS else runs)[record] += 1
        twice = [record for record, count in runs.items() if count > 1]
        _need(not twice, f"record {twice[:1]} stands on the frontier twice")
        for number, task in tasks.items():
            is_dead = bool(task.flags & _DEAD)
            if walk.by_claim:
                _need(task.flags >> _NAMED_SHIFT == visits[number], f"record {number} is named another number of times")
                self._polled(task, visits[number])
            _need(not is_dead or (walk.by_claim and not runs[number]), f"record {number} is done, and goes on")
        alive = {number: task for number, task in tasks.items() if not task.flags & _DEAD}
        self.waiting = {number: task for number, task in alive.items() if not runs[number]}
        self.tasks = list(alive.values())
        _need(parked == len(self.waiting), f"{len(self.waiting)} tasks wait, it says {parked}")

    def _polled(self, task: _Task, visits: int) -> None:
        slot = task.hand & VAL_MASK
        _need(not visits or slot + 3 < self.cells, f"record {task.number} waits at a slot outside")

    # ---- the evaluator

    def _evaluator(self, walk: _Running) -> None:
        facts, arrays = self.evaluator, self.arrays
        assert facts is not None
        acts, calls, todo = facts["acts"], facts["calls"], facts["todo"]
        _need(len(acts) == arrays["acts"].size > 0, "its reductions are not as many as it says")
        _need(todo in _TODO, "what it has to do first is nothing it can do")
        inner = self.frontier is not None
        extra = todo in ("resume", "value")
        _need(len(calls) == len(acts) - 1 or (extra and len(calls) == len(acts)), "its calls do not fit its reductions")
        _need(not extra or calls, "its calls do not fit its reductions")
        stack = arrays["stack"].tolist()
        bases = [int(base) for base, _, _ in acts]
        _need(all(a <= b for a, b in pairwise([0, *bases, len(stack)])), "its reductions overlap")
        for index, (_, flags, is_live) in enumerate(acts):
            is_last = index == len(acts) - 1
            allowed = (abi.PARAM_LIFT if self.lifts else 0,) if index == 0 else (0, abi.PARAM_WEAK)
            _need(int(flags) in allowed, "its reductions have other flags")
            _need(index == 0 or not (inner and is_last and is_live), "its reductions have other flags")
            if is_live:
                row = arrays["acts"][index]
                self._act(index, row, is_calling=index < len(calls), begins=todo == "begin" and is_last)
            _need(is_live or not (todo == "begin" and is_last), "it begins a primitive without a task")
        for name, number, cells, taken in facts["calls"]:
            known = 0 <= int(number) < len(self.book.prims) and self.book.prims[int(number)][0] == name
            _need(known and int(taken) >= 0, "its calls are of other primitives")
            _need(len(cells) == self.book.prims[int(number)][1], "its calls have another number of arguments")
        for entry in stack:
            kind, high, cell = entry >> 60, entry >> 32 & 0x0FFFFFFF, entry & VAL_MASK
            count, is_slot = high & 0xFF, bool(high & _RANGE_SLOT)
            _need(kind == _RANGE_FRESH and count > 0 and (count == 1 or not is_slot), "its stack holds no cells")
            _need(cell + count <= self.cells, "cells to visit lie outside")
            for at in range(cell, cell + count):
                self._pend(walk, at, "slot" if is_slot else "task", is_new=True)

    def _act(self, index: int, row: np.void, *, is_calling: bool, begins: bool) -> None:
        flags = int(row["flags"])
        _need(not flags & (abi.RECORD_NEW | abi.RECORD_SLOT | _DEAD | _AWAY | _FORK), "a reduction has other flags")
        _need(int(row["place"]) < max(len(self.book.code), 1), "reductions name places outside the program")
        hand = int(row["hand"])
        if begins:
            word = hand & ~SUB_BIT
            if word >> 56 == Tag.ALO:
                cell = word >> 32 & EXT_MASK
                word = int(self.book.code[cell]) if cell < len(self.book.code) else 0
            fits = word >> 56 == Tag.PRI and (word >> 32 & EXT_MASK) < len(self.book.prims)
            _need(fits, "it begins a primitive that is none")
        # while a primitive is at work, its arguments lie in cells of the call's, and the term in hand says nothing
        lifts = self.lifts and index == 0
        self.tasks.append(_Task(-1 - index, int(row["top"]), 0 if is_calling else hand, int(row["root"]), flags, lifts))

    # ---- the queue of a collapse

    def _queue(self, walk: _Running) -> None:
        facts = self.facts["queue"]
        _need((facts is not None) == self.lifts, "it is of another mode")
        if facts is None:
            return
        turns = [*(turn for bucket in facts["buckets"] for turn in bucket), *([facts["now"]] if facts["now"] else [])]
        _need(len(facts["buckets"]) == KEYS, "it has another number of buckets")
        lifted, waiting = set(map(int, facts["lifted"])), set(map(int, facts["waiting"]))
        running, keys = set(map(int, facts["running"])), {int(cell) for cell, _ in facts["keys"]}
        is_alone = self.evaluator is not None or self.machine.threads == 1
        _need(is_alone or (running <= keys and waiting <= keys), "branches have no key")
        _need(not (lifted & waiting or lifted & running or waiting & running), "a branch is at two stages at once")
        ordered = {int(cell) for cells, _ in turns for cell in cells}
        for cell in (waiting | ordered) - lifted - running:
            self._pend(walk, cell, "task", is_new=True)
        self.lifted = sorted(lifted)

    # ---- all together

    def _pend(self, walk: _Running, cell: int, kind: str, *, is_new: bool) -> None:
        _need(0 <= cell < self.cells, f"a task is at work at cell {cell:,}; the heap has {self.cells:,}")
        _need(cell not in walk.pending, f"two tasks are at work at cell {cell}")
        walk.pending[cell] = kind
        if is_new:
            walk.new.add(cell)

    def _walk(self, walk: _Running) -> None:
        for task in self.tasks:
            is_fork, is_slot = bool(task.flags & _FORK), bool(task.flags & abi.RECORD_SLOT)
            _need(not is_slot or (task.is_new and not is_fork and not task.lifts), "a task visits a slot, and more")
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
        _need(not lost, f"a task is at work at cell {lost[:1]}, which is no part of the term")
        for cell in self.lifted:
            _need(walk.uses[cell] == TERM, f"cell {cell} is no branch")
        walk.slots(self.now, self.waiting)
        walk.joined(self.waiting)
        reentering = [task for task in self.tasks if task.flags & abi.RECORD_REENTER]
        _need(
            not any(task.hand & VAL_MASK in walk.held for task in reentering),
            "a task is about to evaluate a term once more that it waits for; resume from an earlier pass",
        )

    def _tasks(self, walk: _Running, tasks: list[_Task], root: int) -> None:
        """Walk from the root of a run, and from its tasks."""
        for task in tasks:
            if not task.is_new:
                walk.frames(task)
        for task in tasks:
            if task.flags & _FORK and task.root not in walk.joins:  # nobody needs it any more, but it goes on
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


_COLUMNS: Final = ("top", "hand", "root", "flags")


def _behind(region: int, chain: NDArray[np.uint32], taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell for each lane whether anything lies in it, in the regions that follow one."""
    found = np.zeros(taken.shape[1], bool)
    at = int(chain[region])
    for _ in range(chain.size):
        if at == abi.NO_REGION:
            return found
        found |= taken[at]
        at = int(chain[at])
    raise Misfit("the regions of a block follow each other in a circle")
