"""Core terms: what the parser builds and the book is written from.

A core term is one word, as in ``term.py``, with these differences:

* VAL of a node is a place in ``Core.cells``, where its fields lie side by side;
* a variable is ``BJV`` with the *identity* of its variable in VAL, so that moving a term renumbers nothing;
  levels, indices and the ends of automatic duplications are found when the book is written;
* ``LAM`` has a second cell, its variable; ``DUP`` a third, the variable of its end 0 (end 1 is the next number),
  and a fourth, its label: the number, or ``AUTO`` and its place in the sequence of automatic labels;
* three tags of its own stand for what would be many nodes.

Core terms may share subterms: the book gets one copy for each mention.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final

from hvm4viz.term import EXT_MASK, EXT_SHIFT, TAG_SHIFT

CHAIN: Final = 0x50
"""Automatic duplications of variable cell 1 around the term in cell 0 (``language.md`` 7)."""

SEQ: Final = 0x51
"""A list: EXT items, one cell each, then the tail."""

TEXT: Final = 0x52
"""A string: VAL is a place in ``Core.texts``."""

LAYERS: Final = 0x53
"""EXT layers of #SUC around the term in cell 0."""

AUTO: Final = EXT_MASK + 1
"""Flag of a label that is drawn, above all labels: the rest is its place in the sequence."""


@dataclass(slots=True)
class Core:
    """The cells of core terms, each with the stretch of source its term came from (start << 32 | end)."""

    cells: array[int] = field(default_factory=lambda: array("Q"))
    spans: array[int] = field(default_factory=lambda: array("Q"))
    texts: list[str] = field(default_factory=list[str])

    def one(self, tag: int, ext: int, term: int, span: int) -> int:
        """Build a node with one field."""
        place = len(self.cells)
        self.cells.append(term)
        self.spans.append(span)
        return tag << TAG_SHIFT | ext << EXT_SHIFT | place

    def two(self, tag: int, ext: int, first: int, first_span: int, second: int, second_span: int) -> int:
        """Build a node with two fields."""
        place = len(self.cells)
        self.cells.append(first)
        self.cells.append(second)
        self.spans.append(first_span)
        self.spans.append(second_span)
        return tag << TAG_SHIFT | ext << EXT_SHIFT | place

    def node(self, tag: int, ext: int, terms: list[int], spans: list[int]) -> int:
        """Build a node with any number of fields."""
        place = len(self.cells)
        self.cells.extend(terms)
        self.spans.extend(spans)
        return tag << TAG_SHIFT | ext << EXT_SHIFT | place
