"""Forms that hold any number of terms in brackets: lists, calls, constructors, primitives."""

from __future__ import annotations

from typing import Final

from hvm4viz import limits
from hvm4viz.syntax.core import SEQ
from hvm4viz.syntax.reader import Frame, Reader
from hvm4viz.syntax.tokens import match_comma
from hvm4viz.term import NIL, Tag, pack

NIL_WORD: Final = pack(Tag.C00, NIL)


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
        reader.skip()
        return self._next(reader)

    def resume(self, reader: Reader, term: int) -> int | None:
        """Keep the item, and go on behind the comma."""
        self.items.append(term)
        self.spans.append(reader.span)
        match = match_comma(reader.text, reader.pos)
        assert match is not None
        reader.pos = match.end()
        return self._next(reader)

    def _next(self, reader: Reader) -> int | None:
        if reader.text.startswith(self.closing, reader.pos):
            reader.pos += 1
            reader.level = self.level
            reader.span = self.start << 32 | reader.pos
            return self.finish(reader)
        if reader.pos >= len(reader.text):
            reader.fail(self.closing)
        reader.stack.append(self)
        reader.level = 0
        return None

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
        items = self.items
        if not items:
            return NIL_WORD
        if len(items) >= limits.STATIC_CELLS_MAX // 2:
            raise reader.too_large(reader.span)
        items.append(NIL_WORD)
        self.spans.append(reader.span)
        return reader.core.node(SEQ, len(items) - 1, items, self.spans)


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
            term = reader.core.two(Tag.APP, 0, term, span, item, item_span)
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
        return reader.core.node(Tag.C00 + count, reader.constructor_id(self.name), self.items, self.spans)


class Primitive(Items):
    """``%name(a)``, with exactly as many arguments as the primitive takes."""

    __slots__ = ("arity", "id")

    def __init__(self, reader: Reader, start: int, index: int, arity: int) -> None:
        super().__init__(reader, start, reader.pos - 1)
        self.id = index
        self.arity = arity

    def _next(self, reader: Reader) -> int | None:
        closes = reader.peek(")")
        if len(self.items) == self.arity and not closes:
            reader.fail("end of argument list", f"this primitive takes {self.arity}")
        if len(self.items) < self.arity and closes:
            reader.fail("argument", f"this primitive takes {self.arity}")
        return super()._next(reader)

    def finish(self, reader: Reader) -> int:
        """Build the node."""
        return reader.core.node(Tag.PRI, self.id, self.items, self.spans)


def read_list(reader: Reader, start: int) -> int | None:
    """Read on behind ``[``."""
    return List(reader, start, start).begin(reader)


def read_constructor(reader: Reader, start: int) -> int | None:
    """Read on behind ``#``."""
    name = reader.name()
    end = reader.pos
    if reader.take("{"):
        return Constructor(reader, start, name).begin(reader)
    reader.span = start << 32 | end
    return pack(Tag.C00, reader.constructor_id(name))


def read_primitive(reader: Reader, start: int) -> int | None:
    """Read on behind ``%``."""
    name = reader.name()
    index = reader.names.primitive_ids.get(name)
    if index is None:
        known = ", ".join(f"%{name}" for name in sorted(reader.names.primitive_ids))
        raise reader.fault(
            f"unknown primitive %{name}", start << 32 | reader.pos, expected="known primitive", hint=f"there are {known}"
        )
    if not reader.take("("):
        reader.fail("primitive application", f"a primitive stands with its arguments: %{name}(...)")
    return Primitive(reader, start, index, reader.names.primitives[index][1]).begin(reader)
