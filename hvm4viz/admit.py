"""Which heap images a machine may start from: checked before the kernel, which believes every word, sees one.

An image is safe to reduce if what can be reached from its root is linear: every cell has one use, field of one node or
word of one binder or slot; a binder has at most one lambda and one variable, a slot at most one of either end. Then no
interaction ever finds a node that another one has taken apart, and no place is made from a word that was no place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.book import Book
from hvm4viz.settings import Machine
from hvm4viz.term import EXT_MASK, LAM_ERA, SUB_BIT, TAG_MASK, VAL_MASK, Tag, arity_of

FREE, TERM, BINDER, LINK, FILLER, SLOT, STAMPS, WAITERS, FRAME, JOIN = range(10)
_USES: Final = (
    "nothing", "a field", "a binder", "a link", "who filled a binder", "a slot", "stamps", "waiters", "a frame",
    "a join",
)  # fmt: skip

_ALWAYS: Final = 0x80000000  # STAMP_ALWAYS of kernels/heap.h
PUBLISHED, BY_OWNER, ARRIVED = 0x80000000, 0x40000000, 0x10000000  # ST_R, ST_O and ST_A of kernels/slot.h

ATOMS: Final = frozenset({Tag.NUM, Tag.ERA, Tag.NAM, Tag.ANY, Tag.C00, Tag.BJV})
_PLAIN: Final = frozenset({Tag.BJ0, Tag.BJ1, *ATOMS})

LAMBDA, VARIABLE = 1, 2


class BadImage(ValueError):
    """A word of a heap image is not one that the machine may meet."""


def admit(words: NDArray[np.uint64], root: int, book: Book, machine: Machine) -> NDArray[np.bool_]:
    """Check all that can be reached from a cell.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_cells,)
        The image; what lies behind it counts as zero.
    root : int
        Cell that holds the whole term.
    book : Book
        What closures and references point into.
    machine : Machine
        What it is for: with one thread, slots and binders take two cells, else four and three.

    Returns
    -------
    taken : ndarray of bool
        Cells that are in use, or not zero, of the regions that the image lies in: a new node must not lie there.

    Raises
    ------
    BadImage
        If a word points outside the image or to a cell that has another use, or is none that a heap may hold.
    """
    size = machine.region_size
    walk = Walk(
        words,
        book,
        cells_max=-(-len(words) // size) * size,
        is_alone=machine.threads == 1,
        has_waiters=has_waiters(machine),
    )
    walk.run(root)
    taken = np.frombuffer(walk.uses, np.uint8) != FREE
    taken[: len(words)] |= words != 0
    return taken


def has_waiters(machine: Machine) -> bool:
    """Tell whether slots name the tasks that wait at them."""
    return machine.dup == "claim" or (machine.dup == "owner" and machine.owner_unit == "thread")


class Walk:
    """One walk through an image; what is still to be looked at stands on a stack."""

    def __init__(
        self, words: NDArray[np.uint64], book: Book, *, cells_max: int, is_alone: bool, has_waiters: bool
    ) -> None:
        self.words = np.ascontiguousarray(words, np.uint64).data
        self.book = book
        self.code = book.code
        self.cells_max = cells_max
        self.slot_cells, self.binder_cells = (2, 2) if is_alone else (4, 3)
        self.has_waiters = has_waiters
        self.uses = bytearray(cells_max)
        self.ends: dict[int, int] = {}
        """Ends seen, by slot: 1 for DP0, 2 for DP1."""
        self.holders: dict[int, int] = {}
        """What was seen of a binder: its lambda, its variable."""
        self.todo: list[int] = []
        self.free = cache(partial(free_variables, book))

    def run(self, root: int) -> None:
        """Walk from a cell."""
        self.claim(root, root, TERM)
        self.todo.append(root)
        while self.todo:
            cell = self.todo.pop()
            word = self.word(cell)
            if word & SUB_BIT and self.uses[cell] == TERM:
                raise BadImage(f"cell {cell} is a field and holds a substitution; those are for binders and slots")
            self.term(cell, word & ~SUB_BIT)
        for slot, ends in self.ends.items():
            self.check_slot(slot, ends)

    def word(self, cell: int) -> int:
        """Return the word in a cell."""
        return self.words[cell] if cell < len(self.words) else 0

    def claim(self, cell: int, by: int, use: int) -> None:
        """Give a cell its use."""
        if not 0 <= cell < self.cells_max:
            raise BadImage(f"cell {by} points to cell {cell:,}; the image has cells 0 to {self.cells_max - 1:,}")
        known = self.uses[cell]
        if known == use and use != TERM:
            return
        if known != FREE:
            raise BadImage(
                f"cell {by} points to cell {cell} as {_USES[use]}, but that is {_USES[known]} already: "
                "every cell has one use, copies are made by duplications"
            )
        self.uses[cell] = use

    def term(self, cell: int, word: int) -> None:
        """Claim what a term points to."""
        tag, ext, val = word >> 56 & TAG_MASK, word >> 32 & EXT_MASK, word & VAL_MASK
        if tag in _PLAIN:
            return
        if tag == Tag.LAM:
            self.binder(cell, val, LAMBDA)
        elif tag == Tag.VAR:
            self.binder(cell, val, VARIABLE)
        elif tag in (Tag.DP0, Tag.DP1):
            self.end(cell, val, tag)
        elif tag == Tag.ALO:
            self._closure(cell, ext, val)
        elif tag == Tag.REF:
            if ext >= len(self.book.roots):
                raise BadImage(f"cell {cell} names definition {ext}; the program has {len(self.book.roots)}")
        elif tag > Tag.PRI or tag == Tag.DUP:
            raise BadImage(f"cell {cell} holds {word:#018x}: a heap has no term of tag {tag} before a run")
        elif tag == Tag.PRI and ext >= len(self.book.prims):
            raise BadImage(f"cell {cell} calls primitive {ext}; the program knows {len(self.book.prims)}")
        else:
            self.fields(cell, val, arity_of(word, self.book.prims[ext][1] if tag == Tag.PRI else 0))

    def fields(self, cell: int, first: int, count: int) -> None:
        """Claim the fields of a node."""
        for field in range(first, first + count):
            if field == 0:
                raise BadImage(f"cell {cell} points to cell 0, which no term points to")
            self.claim(field, cell, TERM)
            self.todo.append(field)

    # ---- binders and slots

    def entry(self, by: int, loc: int, use: int) -> None:
        """Claim the first two cells of a binder or slot."""
        if loc == 0:
            raise BadImage(f"cell {by} points to cell 0, which no term points to")
        self.claim(loc, by, use)
        self.claim(loc + 1, by, LINK)

    def binder(self, by: int, loc: int, role: int) -> None:
        """Claim a binder for its lambda, or for its variable."""
        known = self.holders.get(loc, 0)
        if known & role:
            raise BadImage(f"cell {by} is a second {'lambda' if role == LAMBDA else 'variable'} of the binder at {loc}")
        self.holders[loc] = known | role
        self.entry(by, loc, BINDER)
        stamp = self.word(loc + 1) >> 32
        if self.binder_cells == 3 and not stamp & _ALWAYS:
            self.claim(loc + 2, by, FILLER)
        if stamp and self.holders[loc] & LAMBDA:
            raise BadImage(f"the lambda at cell {loc} was applied already: its binder is filled")
        if role == LAMBDA and self.word(loc) & SUB_BIT:
            raise BadImage(f"the body of the lambda at cell {loc} is a substitution")
        if role == LAMBDA or (stamp and not known):
            self.todo.append(loc)

    def end(self, by: int, slot: int, tag: int) -> None:
        """Claim one end of a slot."""
        end = 1 if tag == Tag.DP0 else 2
        known = self.ends.get(slot, 0)
        if known & end:
            raise BadImage(f"cell {by} is a second end {end - 1} of the slot at {slot}")
        self.ends[slot] = known | end
        if known:
            return
        self.entry(by, slot, SLOT)
        if self.slot_cells == 4:
            self.claim(slot + 2, by, STAMPS)
            self.claim(slot + 3, by, WAITERS)
        self.todo.append(slot)

    def check_slot(self, slot: int, ends: int) -> None:
        """Check what a slot says of itself: whoever can still come must find what is left for it, and nobody waits."""
        word = self.word(slot)
        is_atom = (word >> 56 & TAG_MASK) in ATOMS
        if word & SUB_BIT and ends == 3 and not is_atom:
            raise BadImage(f"the slot at {slot} is published and has both its ends: one of them took its value")
        if self.slot_cells < 4:
            return
        stamps, waiters = self.word(slot + 2), self.word(slot + 3)
        halves = (stamps & VAL_MASK, stamps >> 32)
        is_published = any(stamp & PUBLISHED for stamp in halves)
        if is_published != bool(word & SUB_BIT):
            raise BadImage(
                f"the slot at {slot} has the stamps {stamps:#x}, and {'a' if word & SUB_BIT else 'no'} value"
            )
        for side, stamp in enumerate(halves):
            waiter = waiters >> (32 * side) & VAL_MASK
            if self.has_waiters and stamp & ARRIVED and not stamp & BY_OWNER and waiter:
                raise BadImage(f"task {waiter - 1} waits at the slot at {slot}; an image to start from has no tasks")
            if stamp & PUBLISHED and ends & (1 << side) and not is_atom:
                raise BadImage(f"end {side} of the slot at {slot} is there, and has published")

    # ---- closures

    def _closure(self, by: int, cell: int, env: int) -> None:
        if not 0 < cell < len(self.code):
            raise BadImage(f"cell {by} is a closure of static cell {cell:,}; the program has {len(self.code):,}")
        for index, tag in self.free(cell):
            entry = env
            for _ in range(index):
                if entry == 0:
                    break
                self.claim(entry + 1, by, LINK)
                entry = self.word(entry + 1) & VAL_MASK
            if entry == 0:
                raise BadImage(f"cell {by} is a closure with {index + 1} variables, its environment is shorter")
            if tag == Tag.BJV:
                self.binder(by, entry, VARIABLE)
            else:
                self.end(by, entry, Tag.DP0 if tag == Tag.BJ0 else Tag.DP1)


def free_variables(book: Book, cell: int) -> tuple[tuple[int, int], ...]:
    """Return the variables that a static term takes from its environment.

    Parameters
    ----------
    book : Book
    cell : int
        Cell of the term.

    Returns
    -------
    variables : tuple of (int, int)
        How many entries lie before the one that is meant, and ``BJV``, ``BJ0`` or ``BJ1``.
    """
    found: list[tuple[int, int]] = []
    todo = [(cell, 0)]
    while todo:
        at, inner = todo.pop()
        word = book.code.item(at)
        tag, val = word >> 56 & TAG_MASK, word & VAL_MASK
        if tag not in (Tag.BJV, Tag.BJ0, Tag.BJ1):
            todo += _inside(book, word, inner)
        elif val >= inner:
            found.append((val - inner, tag))
    return tuple(found)


def _inside(book: Book, word: int, inner: int) -> Iterator[tuple[int, int]]:
    """Fields of a static node, each with how many entries were made since."""
    tag, ext, val = word >> 56 & TAG_MASK, word >> 32 & EXT_MASK, word & VAL_MASK
    if tag == Tag.LAM:
        yield val, inner + (not ext & LAM_ERA)
    elif tag == Tag.DUP:
        yield val, inner
        yield val + 1, inner + 1
    else:
        for field in range(val, val + arity_of(word, book.prims[ext][1] if tag == Tag.PRI else 0)):
            yield field, inner
