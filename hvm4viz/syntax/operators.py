"""What stands before, around or between terms: operators, brackets, marks, stuck terms, references."""

from __future__ import annotations

from typing import Final

from hvm4viz.syntax.items import Call
from hvm4viz.syntax.reader import ATOM_ONLY, Frame, Reader
from hvm4viz.syntax.tokens import name_id
from hvm4viz.term import CON, EXT_SHIFT, OPERATORS, TAG_SHIFT, Tag

_REF: Final = Tag.REF << TAG_SHIFT

_BY_LEVEL: Final = ("~", "||", "&&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %", "^")
_LEVELS: Final = {sign: level for level, signs in enumerate(_BY_LEVEL) for sign in signs.split()}
_OPERATORS: Final = {sign: (_LEVELS[sign], int(Tag.OP2), code) for code, sign in enumerate(OPERATORS)}

# Forms that take the operand just read, whatever the level: level of the right side, tag, EXT.
_FORMS: Final = {
    "~>": (_LEVELS["~"], int(Tag.RED), 0),
    "<>": (_LEVELS["~"], Tag.C00 + 2, CON),
    "===": (_LEVELS["<"], int(Tag.EQL), 0),
    ".&.": (_LEVELS["&&"], int(Tag.AND), 0),
    ".|.": (_LEVELS["||"], int(Tag.OR), 0),
}


def open_form(reader: Reader, left: int, sign: str) -> None:
    """Read on behind a form that ignores the level."""
    level, tag, ext = _FORMS[sign]
    reader.ask(_Operator(reader, left, tag, ext), level)


def open_operator(reader: Reader, left: int, sign: str) -> bool:
    """Read on behind an operator, unless the term in hand may not be continued by one of its level."""
    level, tag, ext = _OPERATORS[sign]
    continues = level >= reader.level
    if continues:
        reader.ask(_Operator(reader, left, tag, ext), level + 1)
    return continues


def open_call(reader: Reader, function: int, opening: int) -> int | None:
    """Read on behind the bracket of a call; ``f()`` is ``f``."""
    return Call(reader, function, reader.span, opening).begin(reader)


class _Operator(Frame):
    """``a + b``, waiting for the right side."""

    __slots__ = ("ext", "left", "left_span", "tag")

    def __init__(self, reader: Reader, left: int, tag: int, ext: int) -> None:
        self.level = reader.level
        self.left = left
        self.left_span = reader.span
        self.start = self.left_span >> 32
        self.tag = tag
        self.ext = ext

    def resume(self, reader: Reader, term: int) -> int:
        """Build the node."""
        reader.level = self.level
        node = reader.core.two(self.tag, self.ext, self.left, self.left_span, term, reader.span)
        reader.span = self.start << 32 | reader.span & 0xFFFFFFFF
        return node


class _Mark(Frame):
    """``↑t``, waiting for the atom."""

    __slots__ = ()

    def resume(self, reader: Reader, term: int) -> int:
        """Build the priority mark."""
        reader.level = self.level
        inner = reader.span
        reader.span = reader.spanning(self.start)
        return reader.core.one(Tag.INC, 0, term, inner)


class _Parentheses(Frame):
    """``(t)``, waiting for the term."""

    __slots__ = ()

    def resume(self, reader: Reader, term: int) -> int:
        """Give the term as it is."""
        reader.shut(self, ")")
        reader.level = self.level
        reader.span = self.start << 32 | reader.pos
        return term

    def opener(self) -> tuple[int, str]:
        """Tell the bracket."""
        return self.start, "("


class _Stuck(Frame):
    """``^(f x)``, waiting for the head, then for the argument."""

    __slots__ = ("has_head", "head", "head_span", "opening")
    head: int
    head_span: int

    def __init__(self, reader: Reader, start: int) -> None:
        super().__init__(reader, start)
        self.opening = reader.pos - 1
        self.has_head = False

    def resume(self, reader: Reader, term: int) -> int | None:
        """Take the head, or the argument and build the node."""
        if not self.has_head:
            self.has_head = True
            self.head = term
            self.head_span = reader.span
            reader.ask(self)
            return None
        reader.shut(self, ")", "a stuck application is ^(head argument)")
        reader.level = self.level
        node = reader.core.two(Tag.DRY, 0, self.head, self.head_span, term, reader.span)
        reader.span = self.start << 32 | reader.pos
        return node

    def opener(self) -> tuple[int, str]:
        """Tell the bracket."""
        return self.opening, "("


def read_parentheses(reader: Reader, start: int) -> None:
    """Read on behind ``(``."""
    reader.ask(_Parentheses(reader, start))


def read_mark(reader: Reader, start: int) -> None:
    """Read on behind ``↑``, up to an atom."""
    reader.ask(_Mark(reader, start), ATOM_ONLY)


def read_any(reader: Reader, start: int) -> int:
    """Read ``*``."""
    reader.span = start << 32 | reader.pos
    return Tag.ANY << TAG_SHIFT


def read_reference(reader: Reader, start: int) -> int:
    """Read on behind ``@`` in a term."""
    index = reader.definition_id(reader.name("a reference is @name"))
    reader.span = start << 32 | reader.pos
    return _REF | index << EXT_SHIFT


def read_stuck(reader: Reader, start: int) -> int | None:
    """Read on behind ``^`` where a term starts: a stuck name or application."""
    if reader.take("("):
        reader.ask(_Stuck(reader, start))
        return None
    name = reader.name("a stuck name is ^name, a stuck application ^(head argument)")
    reader.span = start << 32 | reader.pos
    return Tag.NAM << TAG_SHIFT | name_id(name) << EXT_SHIFT
