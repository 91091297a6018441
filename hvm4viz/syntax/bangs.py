"""Forms that start with ``!``: lets, duplications, unscoped pairs."""

from __future__ import annotations

from hvm4viz.syntax.binders import Ends, Plain, read_label
from hvm4viz.syntax.reader import Frame, Reader
from hvm4viz.syntax.tokens import match_unscoped
from hvm4viz.term import Tag


def read_bang(reader: Reader, start: int) -> int | None:
    """Read on behind ``!``, up to the label or value."""
    strict = reader.take("!")
    cloned = reader.take("&")
    name = reader.name("a let is ! x = value; body, a duplication ! x &L = value; body")
    if reader.take("="):
        match = reader.try_match(match_unscoped)
        if match is not None:
            reader.ask(_Unscoped(reader, start, name, match[1]))
        else:
            reader.ask(_Let(reader, start, name, cloned=cloned, strict=strict))
        return None
    if not reader.take("&"):
        reader.fail("=", "a let is ! x = value; body, a duplication ! x &L = value; body")
    if reader.take("("):
        reader.ask(_Label(reader, start, name, cloned=cloned))
        return None
    ends = Ends(name, read_label(reader), cloned=cloned)
    reader.expect("=")
    reader.ask(_Duplication(reader, start, ends))
    return None


class _Let(Frame):
    """``! x = v; b``, waiting for the value, then for the body."""

    __slots__ = ("binder", "cloned", "name", "strict", "value", "value_span")
    value: int
    value_span: int

    def __init__(self, reader: Reader, start: int, name: str, *, cloned: bool, strict: bool) -> None:
        super().__init__(reader, start)
        self.name = name
        self.cloned = cloned
        self.strict = strict
        self.binder: Plain | None = None

    def resume(self, reader: Reader, term: int) -> int | None:
        """Take the value and bring the variable into scope, or take the body and build the application."""
        if self.binder is None:
            self.value = term
            self.value_span = reader.span
            reader.take(";")
            self.binder = Plain(reader, self.name, cloned=self.cloned)
            reader.ask(self)
            return None
        inner = reader.span
        reader.span = span = reader.spanning(self.start)
        function = self.binder.wrap(reader, term, inner)
        if self.strict:
            function = reader.core.one(Tag.USE, 0, function, span)
        return reader.core.two(Tag.APP, 0, function, span, self.value, self.value_span)


class _Label(Frame):
    """``! x &(l) = v; b``, waiting for the label."""

    __slots__ = ("cloned", "name", "opening")

    def __init__(self, reader: Reader, start: int, name: str, *, cloned: bool) -> None:
        super().__init__(reader, start)
        self.name = name
        self.cloned = cloned
        self.opening = reader.pos - 1

    def resume(self, reader: Reader, term: int) -> int | None:
        """Go on to the value."""
        ends = Ends(self.name, term, reader.span, cloned=self.cloned, computed=True)
        reader.shut(self, ")")
        reader.expect("=")
        reader.ask(_Duplication(reader, self.start, ends))
        return None

    def opener(self) -> tuple[int, str]:
        """Tell the bracket of the label."""
        return self.opening, "("


class _Duplication(Frame):
    """``! x &L = v; b``, waiting for the value, then for the body."""

    __slots__ = ("ends", "has_value", "value", "value_span")
    value: int
    value_span: int

    def __init__(self, reader: Reader, start: int, ends: Ends) -> None:
        super().__init__(reader, start)
        self.ends = ends
        self.has_value = False

    def resume(self, reader: Reader, term: int) -> int | None:
        """Take the value and bring the ends into scope, or take the body and build the duplication."""
        if not self.has_value:
            self.has_value = True
            self.value = term
            self.value_span = reader.span
            reader.take(";")
            self.ends.open(reader)
            reader.ask(self)
            return None
        inner = reader.span
        reader.span = reader.spanning(self.start)
        return self.ends.wrap(reader, self.value, self.value_span, term, inner)


class _Unscoped(Frame):
    """``! f = λ x ; b``, waiting for the body."""

    __slots__ = ("function", "variable")

    def __init__(self, reader: Reader, start: int, function: str, variable: str) -> None:
        super().__init__(reader, start)
        self.function = Plain(reader, function, clonable=False)
        self.variable = Plain(reader, variable, clonable=False)

    def resume(self, reader: Reader, term: int) -> int:
        """Close both names."""
        inner = reader.span
        reader.span = span = reader.spanning(self.start)
        body = self.variable.wrap(reader, term, inner)
        return reader.core.one(Tag.UNS, 0, self.function.wrap(reader, body, inner), span)
