"""From core terms to the static cells of a book: levels, indices, and the ends of automatic duplications.

One walk over each definition, in pre-order with fields in slot order: that is the order in which the uses of a
cloned variable are numbered (``language.md`` 7), so they are settled on the way.
"""

from __future__ import annotations

from array import array
from typing import Final

from hvm4viz import limits
from hvm4viz.syntax.core import AUTO, CHAIN, LAYERS, SEQ, TEXT
from hvm4viz.syntax.literal_cells import CON_WORD, SUC_WORD, layer_cells, list_cells, text_cells
from hvm4viz.syntax.parser import Definition, Parsed
from hvm4viz.term import EXT_MASK, EXT_SHIFT, LAM_ERA, TAG_SHIFT, VAL_MASK, Tag, arity_of, pack

_LAM: Final = pack(Tag.LAM)
_DUP: Final = pack(Tag.DUP)
_BJV: Final = pack(Tag.BJV)
_BJ0: Final = pack(Tag.BJ0)
_BJ1: Final = pack(Tag.BJ1)
_HEAD: Final = ~VAL_MASK

_ARITIES: Final = tuple(arity_of(tag << TAG_SHIFT) for tag in range(Tag.PRI + 1))
_LEAVES: Final = frozenset(map(int, (Tag.C00, Tag.NUM, Tag.REF, Tag.NAM, Tag.ERA, Tag.ANY)))

_Item = tuple[int, int, int, int]
"""A core term, the cell it goes to, how many binders are around it, and how many environment entries."""


class BookFull(Exception):
    """More static cells, levels or automatic labels than words can address."""


def automatic_labels(count: int, taken: set[int]) -> list[int] | range:
    """Return the first automatic labels that the program does not use itself (D11)."""
    end = limits.AUTO_LABEL_START + count + len(taken)
    if end > limits.EXT_END:
        raise BookFull
    labels = range(limits.AUTO_LABEL_START, end)
    return [label for label in labels if label not in taken][:count] if taken else labels


class Writer:
    """The cells written so far.

    Attributes
    ----------
    words, spans : array of 64-bit int
        Static cells, and the span that each came from (start << 32 | end). Cell 0 is never used.
    places, indices : array of int
        Cells that hold a variable, and how many environment entries lie between it and its binder.
    """

    def __init__(self, parsed: Parsed) -> None:
        self.words = array("Q", [0])
        self.spans = array("Q", [0])
        self.places = array("I")
        self.indices = array("I")
        self._core = parsed.core
        self._primitives = parsed.names.primitives
        self._chains = parsed.scope.chains
        self._labels = automatic_labels(parsed.scope.labels, parsed.names.labels)
        self._stack: list[_Item] = []
        # By variable: its word, the entries around its binder's body, and for a cloned one the uses so far.
        count = len(parsed.scope.uses)
        self._word = [0] * count
        self._entries = [0] * count
        self._used = [-1] * count
        self._writers = {
            CHAIN: self._chain,
            LAYERS: self._layers,
            SEQ: self._sequence,
            TEXT: self._text,
            Tag.LAM: self._function,
            Tag.DUP: self._duplication,
            Tag.BJV: self._variable,
        }

    def write(self, definition: Definition) -> int:
        """Write a definition; return the location of its root cell."""
        root = self._reserve([definition.span])
        stack, words, spans = self._stack, self.words, self.spans
        cells, sources = self._core.cells, self._core.spans
        stack.append((definition.term, root, 0, 0))
        while stack:
            term, cell, level, entries = stack.pop()
            tag = term >> TAG_SHIFT
            writer = self._writers.get(tag)
            if writer is not None:
                writer(term, cell, level, entries)
            elif _ARITIES[tag] == 2:  # the most common nodes, written out
                source = term & VAL_MASK
                place = len(words)
                words[cell] = term & _HEAD | place
                first, second = cells[source], cells[source + 1]
                words.append(first)
                words.append(second)
                spans.append(sources[source])
                spans.append(sources[source + 1])
                if second >> TAG_SHIFT not in _LEAVES:
                    stack.append((second, place + 1, level, entries))
                if first >> TAG_SHIFT not in _LEAVES:
                    stack.append((first, place, level, entries))
            else:
                self._node(term, cell, level, entries)
            if len(words) > limits.STATIC_CELLS_MAX:
                raise BookFull
        return root

    def _cells(self, words: array[int] | list[int], spans: array[int] | list[int]) -> int:
        """Append cells; return the location of the first."""
        place = len(self.words)
        self.words.extend(words)
        self.spans.extend(spans)
        return place

    def _reserve(self, spans: array[int] | list[int]) -> int:
        """Append cells that are written later, with anything in them; return the location of the first."""
        return self._cells(spans, spans)

    def _node(self, term: int, cell: int, level: int, entries: int) -> None:
        """Write any node whose fields are bound as it is."""
        tag = term >> TAG_SHIFT
        count = _ARITIES[tag] if tag != Tag.PRI else self._primitives[term >> EXT_SHIFT & EXT_MASK][1]
        if not count:
            self.words[cell] = term
            return
        source = term & VAL_MASK
        fields = self._core.cells[source : source + count]
        place = self._cells(fields, self._core.spans[source : source + count])
        self.words[cell] = term & _HEAD | place
        for index in reversed(range(count)):
            if fields[index] >> TAG_SHIFT not in _LEAVES:
                self._stack.append((fields[index], place + index, level, entries))

    # Binders and variables.

    def _function(self, term: int, cell: int, level: int, entries: int) -> None:
        """Write a λ; one whose variable has no use makes no environment entry."""
        body, variable = self._core.cells[term & VAL_MASK : (term & VAL_MASK) + 2]
        level += 1
        if level > limits.LEVELS_MAX:
            raise BookFull
        ext = term >> EXT_SHIFT & LAM_ERA
        entries += not ext
        self._word[variable] = _BJV | level
        self._entries[variable] = entries
        place = self._reserve(self._core.spans[term & VAL_MASK : (term & VAL_MASK) + 1])
        self.words[cell] = _LAM | (ext | level) << EXT_SHIFT | place
        self._stack.append((body, place, level, entries))

    def _duplication(self, term: int, cell: int, level: int, entries: int) -> None:
        """Write a duplication of the program."""
        source = term & VAL_MASK
        value, body, variable, label = self._core.cells[source : source + 4]
        if label & AUTO:
            label = self._labels[label & ~AUTO]
        place = self._reserve(self._core.spans[source : source + 2])
        self.words[cell] = _DUP | label << EXT_SHIFT | place
        self._stack.append((body, place + 1, level + 1, entries + 1))
        self._stack.append((value, place, level, entries))
        for side, head in enumerate((_BJ0, _BJ1)):
            self._word[variable + side] = head | label << EXT_SHIFT | level + 1
            self._entries[variable + side] = entries + 1

    def _chain(self, term: int, cell: int, level: int, entries: int) -> None:
        """Write the duplications of a cloned variable: end 0 of each is a use, end 1 goes to the next."""
        source = term & VAL_MASK
        body, variable = self._core.cells[source : source + 2]
        span = self._core.spans[source]
        value, bound = self._word[variable], self._entries[variable]
        for sequence in self._chains[variable]:
            label = self._labels[sequence]
            place = self._reserve([span, span])
            self._bound(value, place, entries - bound)
            self.words[cell] = _DUP | label << EXT_SHIFT | place
            cell = place + 1
            level += 1
            entries += 1
            value, bound = _BJ1 | label << EXT_SHIFT | level, entries
        self._word[variable] = level
        self._entries[variable] = entries
        self._used[variable] = 0
        self._stack.append((body, cell, level, entries))

    def _bound(self, word: int, cell: int, index: int) -> None:
        """Write a variable's word and index."""
        self.words[cell] = word
        self.places.append(cell)
        self.indices.append(index)

    def _variable(self, term: int, cell: int, _level: int, entries: int) -> None:
        """Write a use of a variable, or the end that this use of a cloned one gets."""
        variable = term & VAL_MASK
        word, bound = self._word[variable], self._entries[variable]
        use = self._used[variable]
        if use >= 0:
            # The chain's last duplication has level ``word`` and entry ``bound``; its last end is the last use.
            self._used[variable] = use + 1
            labels = self._chains[variable]
            side, back = (1, 0) if use == len(labels) else (0, len(labels) - 1 - use)
            label = self._labels[labels[-1 - back]]
            word = (_BJ0, _BJ1)[side] | label << EXT_SHIFT | word - back
            bound -= back
        self._bound(word, cell, entries - bound)

    # Literals that stand for many nodes.

    def _room(self, count: int) -> int:
        """Return the location of the next cell, if so many fit."""
        first = len(self.words)
        if first + count > limits.STATIC_CELLS_MAX:
            raise BookFull
        return first

    def _layers(self, term: int, cell: int, level: int, entries: int) -> None:
        """Write layers of #SUC."""
        count = term >> EXT_SHIFT & EXT_MASK
        source = term & VAL_MASK
        first = self._room(count)
        span = self._core.spans[source]
        self._cells(layer_cells(first, count), array("Q", [span]) * (count - 1))
        inner = self._reserve([span])
        self.words[cell] = SUC_WORD | first
        self._stack.append((self._core.cells[source], inner, level, entries))

    def _sequence(self, term: int, cell: int, level: int, entries: int) -> None:
        """Write a list: a #CON for each item."""
        count = term >> EXT_SHIFT & EXT_MASK
        source = term & VAL_MASK
        first = self._room(2 * count)
        items = self._core.cells[source : source + count + 1]
        self._cells(list_cells(first, items), array("Q", [self._core.spans[source + count]]) * (2 * count))
        self.spans[first::2] = self._core.spans[source : source + count]
        self.words[cell] = CON_WORD | first
        for index in reversed(range(count)):
            if items[index] >> TAG_SHIFT not in _LEAVES:
                self._stack.append((items[index], first + 2 * index, level, entries))

    def _text(self, term: int, cell: int, _level: int, _entries: int) -> None:
        """Write a string."""
        text = self._core.texts[term & VAL_MASK]
        first = self._room(3 * len(text))
        self._cells(text_cells(first, text), array("Q", [self.spans[cell]]) * (3 * len(text)))
        self.words[cell] = CON_WORD | first
