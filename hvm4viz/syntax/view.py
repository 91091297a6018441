"""What the shapes of printed terms need to know: where cells are read, and how binders are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hvm4viz.syntax.spelling import Glossary, alpha, leaf
from hvm4viz.term import SUB_BIT


@dataclass(frozen=True, slots=True)
class Place:
    """Where a term stands.

    Attributes
    ----------
    depth : int
        λs around it in the output.
    quoted : bool
        Whether binders are named by depth instead of by their cells.
    environment : int or None
        For a static term: innermost entry of the instance that it belongs to. None for dynamic terms.
    binder : Place or None
        For a static term: place of the innermost binder that is printed with it and makes an environment entry.
    """

    depth: int
    quoted: bool
    environment: int | None = None
    binder: Place | None = None

    def below(self, *, entry: bool) -> Place:
        """Return the place of the body of a binder here; ``entry`` tells whether it makes an environment entry."""
        binder = self if self.environment is not None and entry else self.binder
        return Place(self.depth + 1, self.quoted, self.environment, binder)


Piece = str | list[int] | tuple[int, Place]
"""Text, dynamic cells whose content is printed now, or a cell to show."""


class View:
    """A heap image and a glossary, with the names given so far.

    Attributes
    ----------
    slots : list of (int, int)
        Slots met so far and the label of the end met first, in that order.
    active : set of int
        Dynamic cells whose content is being printed.
    """

    def __init__(self, read: Callable[[int], int], static: Callable[[int], int], glossary: Glossary) -> None:
        self.glossary = glossary
        self.slots: list[tuple[int, int]] = []
        self.active: set[int] = set()
        self._read = read
        self._static = static
        self._lower: dict[int, int] = {}
        self._upper: dict[int, int] = {}

    def word(self, cell: int, place: Place) -> int:
        """Return the word of a cell, a substitution's content included; -1 outside the heap."""
        try:
            return (self._read if place.environment is None else self._static)(cell) & ~SUB_BIT
        except IndexError:
            return -1

    def piece(self, cell: int, place: Place) -> Piece:
        """Return the text of a cell at once if it is a leaf, else the cell to show later."""
        text = leaf(self.glossary, self.word(cell, place))
        return (cell, place) if text is None else text

    def raw(self, cell: int) -> int:
        """Return the word of a dynamic cell as it is; 0 outside the heap."""
        try:
            return self._read(cell)
        except IndexError:
            return 0

    def known(self, cell: int) -> bool:
        """Tell whether a λ has a name by its cell."""
        return cell in self._lower

    def binder(self, cell: int) -> str:
        """Return the name of a λ by its cell."""
        return alpha(self._lower.setdefault(cell, len(self._lower) + 1))

    def slot(self, cell: int, label: int) -> str:
        """Return the name of a duplication by its slot, which floats from now on."""
        if cell not in self._upper:
            self._upper[cell] = len(self._upper) + 1
            self.slots.append((cell, label))
        return alpha(self._upper[cell]).upper()

    def enter(self, cell: int, place: Place, done: list[int]) -> bool:
        """Mark a cell as being printed, unless it is already; static terms are trees and need no mark."""
        if place.environment is not None:
            return True
        is_new = cell not in self.active
        if is_new:
            self.active.add(cell)
            done.append(cell)
        return is_new
