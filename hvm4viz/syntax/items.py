"""Forms that hold any number of terms in brackets: lists, calls, constructors, primitives."""

from __future__ import annotations

import re
from typing import Final

from hvm4viz import limits
from hvm4viz.syntax.core import SEQ
from hvm4viz.syntax.habits import PRINT, prints
from hvm4viz.syntax.reader import Frame, Reader
from hvm4viz.syntax.tokens import (
    find_numbers,
    match_closing,
    match_constructor,
    match_flat_list,
    match_literals,
    match_separator,
    number,
)
from hvm4viz.term import EXT_SHIFT, NIL, TAG_SHIFT, Tag, pack

NIL_WORD: Final = pack(Tag.C00, NIL)
_NUM: Final = pack(Tag.NUM)
_C00: Final = int(Tag.C00)
_APP: Final = int(Tag.APP)


class Items(Frame):
    """Terms between brackets, with optional commas between them and one that may trail."""

    __slots__ = ("items", "opening", "spans")
    closing = ")"

    def __init__(self, reader: Reader, start: int, opening: int) -> None:
        super().__init__(reader, start)
        self.opening = opening
        self.items: list[int] = []
        self.spans: list[int] = []

    def begin(self, reader: Reader) -> int | None:
        """Ask for the first item, or finish at once if there is none."""
        match = match_closing(reader.text, reader.pos)
        assert match is not None
        if match[1] == self.closing:
            reader.pos = match.end()
            reader.span = self.start << 32 | reader.pos
            return self.finish(reader)
        if match[1] is None:  # else that sign is refused where a term should stand
            reader.pos = match.end()
        return self.ask(reader)

    def ask(self, reader: Reader) -> int | None:
        """Take the items that are literals, then finish, or ask for the first one that is not."""
        while match := match_literals(reader.text, reader.pos):
            self._take_literals(reader, match)
            if self._closes(reader):
                return self.finish(reader)
            if len(self.items) > limits.STATIC_CELLS_MAX:  # stop early: an item takes a cell at least
                raise reader.too_large(self.opening << 32 | reader.pos)
        reader.ask(self)
        if reader.pos >= len(reader.text):
            reader.fail(self.closing)
        return None

    def _take_literals(self, reader: Reader, match: re.Match[str]) -> None:
        """Take numbers in a row, or a list of numbers, where that is all there is up to the next comma."""
        if match[1]:
            self.items.append(_flat_list(reader, match.start(), match.end()))
            self.spans.append(reader.span)
        else:
            reader.pos = match.end()
            _add_numbers(reader.text, match.start(), reader.pos, self.items, self.spans)

    def resume(self, reader: Reader, term: int) -> int | None:
        """Keep the item, and go on behind the comma."""
        self.items.append(term)
        self.spans.append(reader.span)
        return self.finish(reader) if self._closes(reader) else self.ask(reader)

    def _closes(self, reader: Reader) -> bool:
        """Go on behind an item: tell whether the form ends there."""
        match = match_separator(reader.text, reader.pos)
        assert match is not None
        sign = match[1]
        if sign is None:
            reader.pos = match.end()
        elif sign != self.closing:
            reader.pos = match.start(1)
            reader.stack.append(self)  # for the hint
            reader.fail(self.closing)
        else:
            reader.pos = match.end()
            reader.level = self.level
            reader.span = self.start << 32 | reader.pos
        return sign is not None

    def finish(self, reader: Reader) -> int:
        """Build the term from all items; ``reader.span`` is that of the whole form."""
        raise NotImplementedError

    def opener(self) -> tuple[int, str]:
        """Tell the offset and sign of the bracket."""
        return self.opening, {")": "(", "]": "[", "}": "{"}[self.closing]


class List(Items):
    """``[a, b]``: cells of ``#CON``, then ``#NIL``."""

    __slots__ = ()
    closing = "]"

    def finish(self, reader: Reader) -> int:
        """Build the list."""
        return build_list(reader, self.items, self.spans)


def build_list(reader: Reader, items: list[int], spans: list[int]) -> int:
    """Build the list of items; ``reader.span`` is that of the whole form."""
    count = len(items)
    if not count:
        return NIL_WORD
    if count >= limits.EXT_END:
        raise reader.too_large(reader.span)
    items.append(NIL_WORD)
    spans.append(reader.span)
    return reader.core.node(SEQ, count, items, spans)


class Call(Items):
    """``f(a, b)``: one application each."""

    __slots__ = ("function", "function_span")

    def __init__(self, reader: Reader, function: int, function_span: int, opening: int) -> None:
        super().__init__(reader, function_span >> 32, opening)
        self.function = function
        self.function_span = function_span

    def finish(self, reader: Reader) -> int:
        """Build the applications, each spanning the function up to its argument's end."""
        term, span = self.function, self.function_span
        for item, item_span in zip(self.items, self.spans, strict=True):
            term = reader.core.two(_APP, 0, term, span, item, item_span)
            span = self.start << 32 | item_span & 0xFFFFFFFF
        return term


class Constructor(Items):
    """``#Name{a, b}``."""

    __slots__ = ("name",)
    closing = "}"

    def __init__(self, reader: Reader, start: int, name: str) -> None:
        super().__init__(reader, start, reader.pos - 1)
        self.name = name

    def finish(self, reader: Reader) -> int:
        """Build the node, of at most 16 fields (D3)."""
        count = len(self.items)
        if count > limits.FIELDS_MAX:
            raise reader.fault(
                f"constructor #{self.name} has {count} fields",
                self.spans[limits.FIELDS_MAX],
                expected=f"at most {limits.FIELDS_MAX} fields",
                hint="nest the rest in another constructor or a list",
            )
        return reader.core.node(_C00 + count, reader.constructor_id(self.name), self.items, self.spans)


class Primitive(Items):
    """``%name(a)``, with exactly as many arguments as the primitive takes."""

    __slots__ = ("arity", "id")

    def __init__(self, reader: Reader, start: int, index: int, arity: int) -> None:
        super().__init__(reader, start, reader.pos - 1)
        self.id = index
        self.arity = arity

    def finish(self, reader: Reader) -> int:
        """Build the node."""
        takes = f"this primitive takes {self.arity}"
        if len(self.items) < self.arity:
            reader.fail_at(reader.pos - 1, "argument", takes)
        if len(self.items) > self.arity:
            reader.fail_at(self.spans[self.arity] >> 32, "end of argument list", takes)
        return reader.core.node(Tag.PRI, self.id, self.items, self.spans)


def _flat_list(reader: Reader, start: int, end: int) -> int:
    """Build the list of the numbers between two offsets."""
    reader.pos = end
    reader.span = start << 32 | end
    items: list[int] = []
    spans: list[int] = []
    _add_numbers(reader.text, start, end, items, spans)
    return build_list(reader, items, spans)


def _add_numbers(text: str, start: int, end: int, items: list[int], spans: list[int]) -> None:
    for item in find_numbers(text, start, end):
        items.append(_NUM | number(item[0]))
        spans.append(item.start() << 32 | item.end())


def read_list(reader: Reader, start: int) -> int | None:
    """Read on behind ``[``."""
    flat = match_flat_list(reader.text, reader.pos)
    if flat is not None:
        return _flat_list(reader, start, flat.end())
    return List(reader, start, start).begin(reader)


def read_constructor(reader: Reader, start: int) -> int | None:
    """Read on behind ``#``."""
    match = match_constructor(reader.text, reader.pos)
    if match is None:
        reader.fail("name", "a constructor is #Name or #Name{a, b}")
    reader.pos = match.end()
    if match[2]:
        return Constructor(reader, start, match[1]).begin(reader)
    reader.span = start << 32 | reader.pos
    return _C00 << TAG_SHIFT | reader.constructor_id(match[1]) << EXT_SHIFT


def read_primitive(reader: Reader, start: int) -> int | None:
    """Read on behind ``%``."""
    name = reader.name()
    index = reader.names.primitive_ids.get(name)
    if index is None:
        known = ", ".join(f"%{name}" for name in sorted(reader.names.primitive_ids))
        define = f"in Python, @hv.primitive({name!r}, arity=1) above a function makes it %{name} of later programs"
        raise reader.fault(
            f"unknown primitive %{name}",
            start << 32 | reader.pos,
            expected=f"known primitive: {known}",
            hint=PRINT if prints(name) else define,
        )
    if not reader.take("("):
        reader.fail("primitive application", f"a primitive stands with its arguments: %{name}(...)")
    return Primitive(reader, start, index, reader.names.primitives[index][1]).begin(reader)
