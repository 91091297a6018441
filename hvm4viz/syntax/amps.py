"""Forms that start with ``&``: erasure, superpositions and forks."""

from __future__ import annotations

from hvm4viz.syntax.binders import Ends
from hvm4viz.syntax.habits import fork_written_out, labelled
from hvm4viz.syntax.reader import Frame, Reader
from hvm4viz.syntax.scope import TooManyUses
from hvm4viz.syntax.tokens import match_branch, match_comma, match_name
from hvm4viz.term import Tag, pack


def read_amp(reader: Reader, start: int) -> int | None:
    """Read on behind ``&``."""
    if reader.take("{"):
        _refuse_sides(reader)
        reader.span = start << 32 | reader.pos
        return pack(Tag.ERA)
    if reader.take("("):
        reader.ask(_Label(reader, start))
        return None
    name = reader.name("a label starts with a letter; a computed one stands in brackets: &(1){a, b}")
    label = reader.names.label(name)
    if reader.take("λ"):
        read_fork(reader, start, label)
    else:
        reader.expect("{")
        reader.ask(_Superposition(reader, start, label))
    return None


def _refuse_sides(reader: Reader) -> None:
    """Go on behind ``&{}``; tell of a superposition without a label."""
    opening = reader.pos - 1
    if reader.peek("}") or reader.pos >= len(reader.text):
        reader.expect("}", "&{} is the erasure; a superposition has a label: &A{1, 2}")
        return
    written = labelled(reader.text, reader.pos)
    reader.fail_at(opening, "a label before {", f"any name will do: {written}; &{{}} alone is the erasure")


def _node(reader: Reader, frame: _Superposition | _Fork, right: int) -> int:
    """Build the superposition of both sides."""
    if not frame.computed:
        return reader.core.two(Tag.SUP, frame.label, frame.left, frame.left_span, right, reader.span)
    terms = [frame.label, frame.left, right]
    return reader.core.node(Tag.DSU, 0, terms, [frame.label_span, frame.left_span, reader.span])


class _Label(Frame):
    """``&(l)``, waiting for the label of a superposition or fork."""

    __slots__ = ("mark", "opening")

    def __init__(self, reader: Reader, start: int) -> None:
        super().__init__(reader, start)
        self.opening = reader.pos - 1
        self.mark = reader.scope.open_label()

    def resume(self, reader: Reader, term: int) -> int | None:
        """Go on to the sides."""
        span = reader.span
        reader.shut(self, ")")
        reader.level = self.level
        if reader.take("λ"):
            names = read_fork(reader, self.start, term, span, computed=True)
            try:
                reader.scope.copies(self.mark, names)
            except TooManyUses:
                raise reader.too_large(span) from None
        else:
            reader.expect("{")
            reader.ask(_Superposition(reader, self.start, term, span, computed=True))
        reader.scope.close_label()
        return None

    def opener(self) -> tuple[int, str]:
        """Tell the bracket of the label."""
        return self.opening, "("


class _Superposition(Frame):
    """``&L{a, b}``, waiting for the left side, then for the right one."""

    __slots__ = ("computed", "has_left", "label", "label_span", "left", "left_span", "opening")
    left: int
    left_span: int

    def __init__(self, reader: Reader, start: int, label: int, label_span: int = 0, *, computed: bool = False) -> None:
        super().__init__(reader, start)
        self.label = label
        self.label_span = label_span
        self.computed = computed
        self.opening = reader.pos - 1
        self.has_left = False

    def resume(self, reader: Reader, term: int) -> int | None:
        """Take a side."""
        reader.try_match(match_comma)
        if not self.has_left:
            self.has_left = True
            self.left = term
            self.left_span = reader.span
            reader.ask(self)
            return None
        reader.shut(self, "}", "a superposition has two sides")
        reader.level = self.level
        node = _node(reader, self, term)
        reader.span = self.start << 32 | reader.pos
        return node

    def opener(self) -> tuple[int, str]:
        """Tell the bracket of the sides."""
        return self.opening, "{"


def read_fork(reader: Reader, start: int, label: int, label_span: int = 0, *, computed: bool = False) -> int:
    """Read on behind ``&Lλ``, up to the left branch; return how many names there are."""
    if reader.forks:
        raise reader.fault(
            "nested forks are not allowed",
            start << 32 | reader.pos,
            expected="no fork inside a branch of another",
            hint="a name means its first copy in one branch and its second in the other, which two forks at once leave "
            f"open; write the inner one out: {fork_written_out(reader.text, start, reader.pos)}",
        )
    names = [reader.name("a fork names what it splits: &Lλx,y{a; b}")]
    reader.try_match(match_comma)
    while match := reader.try_match(match_name):
        names.append(match[1])
        reader.try_match(match_comma)
    reader.expect("{")
    fork = _Fork(reader, start, label, label_span, computed=computed)
    fork.binders = [Ends(name, label, label_span, clonable=False, computed=computed) for name in names]
    reader.try_match(match_branch[0])
    for binder in fork.binders:
        binder.open(reader)
        reader.scope.open(reader.scope.plain, binder.name, binder.variable)
    reader.forks += 1
    reader.ask(fork)
    return len(names)


class _Fork(_Superposition):
    """``&Lλx,y{a; b}``, waiting for the left branch, then for the right one."""

    __slots__ = ("binders",)
    binders: list[Ends]

    def resume(self, reader: Reader, term: int) -> int | None:
        """Take a branch; bare names mean the ends of its side."""
        reader.take(";")
        plain = reader.scope.plain
        for binder in self.binders:
            reader.scope.close(plain, binder.name)
        if not self.has_left:
            self.has_left = True
            self.left = term
            self.left_span = reader.span
            for binder in self.binders:
                reader.scope.open(plain, binder.name, binder.variable + 1)
            reader.try_match(match_branch[1])
            reader.ask(self)
            return None
        reader.shut(self, "}")
        reader.forks -= 1
        reader.level = self.level
        term = _node(reader, self, term)
        inner = reader.span = self.start << 32 | reader.pos
        for binder in reversed(self.binders):
            term = binder.wrap_parameter(reader, term, inner)
        return term
