"""What primitives lay out: new nodes on a heap that one thread owns."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, view
from hvm4viz.kernel_text import abi
from hvm4viz.primitives import PrimitiveError
from hvm4viz.readback import Term
from hvm4viz.store import Store
from hvm4viz.term import CHR, CON, NIL, SUB_BIT, Tag, pack

_NIL, _NUM = pack(Tag.C00, NIL, 0), pack(Tag.NUM)
_CON, _CHR = pack(Tag.C00 + 2, CON), pack(Tag.C00 + 1, CHR)


class HeapFull(Exception):
    """No region is left for what the host wants to lay out."""


class Nodes:
    """The free cells of one thread, and what is written there.

    Parameters
    ----------
    store : Store
    book : Book
        Names, for the terms that primitives get.
    params : ndarray of PARAMS, shape (1,)
        Of the dispatches that use the same cells: tells how large slots and binders are.
    """

    def __init__(self, store: Store, book: Any, params: NDArray[np.void]) -> None:
        self.store = store
        self.machine = store.machine
        self.book = book
        self._slot_cells, self._lam_cells = int(params["slot_cells"][0]), int(params["lam_cells"][0])
        self._state: Buffer = store.device.buffer(abi.THREAD_STATE.itemsize)
        self._state_view = view(self._state, abi.THREAD_STATE)
        self._cells = view(self._state, np.uint32).data
        self._chain: NDArray[np.uint32] = view(store.chain, np.uint32)
        self._reassigned: list[tuple[int, int]] = []

    def word(self, cell: int) -> int:
        """Return the word in a cell, without a SUB bit."""
        return int(self.store.words[cell]) & ~SUB_BIT

    def put(self, cell: int, word: int) -> None:
        """Write a cell that this evaluator has laid out."""
        self.store.words[cell] = word

    def term(self, cell: int, call: object) -> Term:
        """Return the term in a cell, for one call of a primitive."""
        return Term(self.store.cells, cell, self.book, call=call)

    def alloc(self, cells: int) -> int:
        """Return the first of so many adjacent free cells."""
        state, size = self._cells, self.machine.region_size
        if cells > size:
            raise HeapFull(
                f"a node of {cells} cells does not fit: its cells lie together, and a region has {size}; re-run with "
                f"region_size={1 << (cells - 1).bit_length()}"
            )
        while state[1] - state[0] < cells:
            region = int(self.store.regions.chain[state[2]])
            if region == abi.NO_REGION:
                region = self._give()
            state[2], state[0], state[1] = region, region * size, (region + 1) * size
        loc = state[0]
        state[0] = loc + cells
        self.store.used_view[state[2]] += cells
        return loc

    def mark(self) -> tuple[int, int, int, NDArray[np.uint32]]:
        """Return where the free cells are now, to be given to ``undo``."""
        in_use = self.store.regions.in_use
        return self._cells[0], self._cells[1], self._cells[2], self.store.used_view[:in_use].copy()

    def undo(self, mark: tuple[int, int, int, NDArray[np.uint32]]) -> None:
        """Take back what was laid out since a mark; regions that were given stay given."""
        start, end, region, used = mark
        words, size = self.store.words, self.machine.region_size
        words[start:end] = 0
        while region != self._cells[2]:
            region = int(self._chain[region])
            words[region * size : (region + 1) * size] = 0
        self._cells[0], self._cells[1], self._cells[2] = mark[:3]
        self.store.used_view[: used.size] = used
        self.store.used_view[used.size : self.store.regions.in_use] = 0

    def _give(self) -> int:
        regions = self.store.regions
        if regions.in_use >= regions.limit:
            raise HeapFull(regions.full_message("the CPU evaluator"))
        given = regions.give(0)
        self._reassigned.append(given)
        return given[0]

    def node(self, fields: Sequence[int]) -> int:
        """Lay out adjacent fields; return where."""
        if not fields:
            return 0
        loc = self.alloc(len(fields))
        for i, word in enumerate(fields):
            self.store.words[loc + i] = word
        return loc

    def binder(self) -> int:
        """Lay out the binder of a lambda."""
        cells = self._lam_cells
        loc = self.alloc(cells)
        self.store.words[loc + 1] = 0
        if cells > 2:
            self.store.words[loc + 2] = 0xFFFFFFFF
        return loc

    def clone(self, label: int, word: int) -> tuple[int, int]:
        """Duplicate a term: return both ends of a new slot."""
        slot = self.alloc(self._slot_cells)
        self.store.words[slot] = word
        self.store.words[slot + 1] = 0
        return pack(Tag.DP0, label, slot), pack(Tag.DP1, label, slot)

    def encode(self, value: Any, name: str, call: object) -> int:
        """Return the word of what a Python primitive gave back.

        Raises
        ------
        PrimitiveError
            If it is no Term of this very call, int, str or list of these.
        """
        given: set[int] = set()
        words = self.store.words

        def listed(items: list[int]) -> int:
            word = _NIL
            for item in reversed(items):
                cell = self.alloc(2)
                words[cell], words[cell + 1] = item, word
                word = _CON | cell
            return word

        def character(c: str) -> int:
            cell = self.alloc(1)
            words[cell] = _NUM | ord(c)
            return _CHR | cell

        def encoded(value: Any) -> int:
            if isinstance(value, Term):
                if value.call is not call:
                    raise PrimitiveError(f"%{name} gave back a Term of another call or run; give a copy: .python()")
                if value.word in given and value.children:
                    raise PrimitiveError(f"%{name} gave the same Term back twice; terms are linear: give a copy")
                given.add(value.word)
                return value.word
            if isinstance(value, str):
                return listed([character(c) for c in value])
            if isinstance(value, list | tuple):
                return listed([encoded(item) for item in value])  # type: ignore[misc]
            try:
                return _NUM | (operator.index(value) & 0xFFFFFFFF)
            except TypeError:
                raise PrimitiveError(
                    f"%{name} gave back {type(value).__name__}; it must give a Term, an int, a str or a list of these"
                ) from None

        return encoded(value)
