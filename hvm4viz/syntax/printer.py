"""The printer: terms back to text (``printing.md``), from a heap image or from a book, without recursion.

What is still to be printed stands on a stack, next things last: text, a cell to show, or cells that are done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.syntax.shapes import SHAPES
from hvm4viz.syntax.spelling import Glossary, leaf
from hvm4viz.syntax.tokens import id_name
from hvm4viz.syntax.view import Piece, Place, View
from hvm4viz.term import TAG_SHIFT

Words = NDArray[np.uint64] | Sequence[int]

_CUT: Final = "…"


def show(words: Words, root_loc: int, book: Glossary, *, quoted: bool = False, limit: int | None = None) -> str:
    """Print the term in a cell.

    Parameters
    ----------
    words : ndarray of uint64, or sequence of int
        Heap image without frames, or the ``words`` of a book.
    root_loc : int
        Location of the cell that holds the term.
    book : Book, or alike
        Names of definitions and constructors, and the static cells that suspended instances point to.
    quoted : bool
        Whether binders are named by depth, as in results of collapsing, instead of by their cells.
    limit : int, optional
        Most characters to print; what is left out shows as ``…``.

    Returns
    -------
    text : str
        The term, and the duplications that float beside it. Cycles show as ``…``.
    """
    return _Printer(words, book, quoted=quoted, limit=limit).text(root_loc)


class _Printer:
    """The stack, and the text so far."""

    def __init__(self, words: Words, book: Glossary, *, quoted: bool, limit: int | None) -> None:
        self.view = View(_word_reader(words), _word_reader(book.code), book)
        self.place = Place(0, quoted=quoted)
        self.room = limit
        self.out: list[str] = []
        self.stack: list[Piece] = []

    def text(self, root: int) -> str:
        """Print a cell and the duplications that float beside it."""
        self.stack.append((root, self.place))
        whole = self._drain()
        printed = 0
        while whole and printed < len(self.view.slots):
            slot, label = self.view.slots[printed]
            name = self.view.slot(slot, label)
            self.stack += (";", (slot, self.place), f"{'' if printed else ';'}!{name}&{id_name(label)}=")
            printed += 1
            whole = self._drain()
        return "".join(self.out) + ("" if whole else _CUT)

    def _drain(self) -> bool:
        """Print what is on the stack; tell whether there was room for all of it."""
        stack, out, active = self.stack, self.out, self.view.active
        while stack:
            piece = stack.pop()
            if isinstance(piece, str):
                out.append(piece)
                if self.room is not None:
                    self.room -= len(piece)
                    if self.room < 0:
                        out[-1] = piece[: self.room]
                        return False
            elif isinstance(piece, tuple):
                self._show(*piece)
            else:
                active.difference_update(piece)
        return True

    def _show(self, cell: int, place: Place) -> None:
        """Replace a cell by the pieces of its content."""
        view = self.view
        word = view.word(cell, place)
        text = leaf(view.glossary, word)
        if text is not None:
            self.stack.append(text)
            return
        done: list[int] = []
        shape = SHAPES.get(word >> TAG_SHIFT)
        if shape is None:
            self.stack.append("?")
        elif view.enter(cell, place, done):
            pieces = shape(view, word, place, done)
            self.stack.append(done)
            self.stack += reversed(pieces)
        else:
            self.stack.append(_CUT)


def _word_reader(words: Words) -> Callable[[int], int]:
    """Return the fastest way to read one word as an int."""
    if isinstance(words, np.ndarray):
        return words.item
    reader: Callable[[], Callable[[int], int]] | None = getattr(words, "reader", None)  # of cells that lie elsewhere
    return words.__getitem__ if reader is None else reader()
