"""The state of a parse: text and position, the terms that wait for a part of themselves, and how faults are told.

The parser is a machine without recursion. Where a form needs a term inside it, it leaves a ``Frame`` on the stack
and asks for that term; when the term is read, the frame resumes with it. Depth of nesting is limited by memory alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NoReturn

from hvm4viz import limits
from hvm4viz.errors import HvmSyntaxError, ProgramError, Source, Span
from hvm4viz.syntax.core import Core
from hvm4viz.syntax.habits import FUNCTION, comment_start, file_habit
from hvm4viz.syntax.names import Names, TooManyNames
from hvm4viz.syntax.scope import Scope
from hvm4viz.syntax.span import printable, report
from hvm4viz.syntax.tokens import SIGNS, match_name, skip_blank

ATOM_ONLY: Final = 100
"""Level at which nothing continues a term."""

_STARTS_ATOM: Final = re.compile(r"[A-Za-z0-9λ!&#@%^↑*(\[\"`']").match
_TERM_HINT: Final = "a term is missing: a name, number, string, λ, !, &, #, @, [ or ( would start one"
_TERM_HINTS: Final = {
    "\\": FUNCTION,
    "-": "numbers go from 0 to 4294967295; 0 - 1 wraps to 4294967295",
    ",": "a comma stands between two items; between cases stands a ;",
    ";": "a comma stands between items; a ; stands after a case, a branch, or the value of a let",
    "_": "a name starts with a letter; _: is the default of a case function, after at least one case; it "
    "is a function that gets the value: λ{0: a; _: λn. b}",
}


class Frame:
    """A form that waits for a term inside it.

    Attributes
    ----------
    level : int
        Operator level to go back to when the form is complete; one that takes all that may follow leaves nothing
        that a level could refuse, and need not go back.
    start : int
        Offset of the form's first character.
    """

    __slots__ = ("level", "start")

    def __init__(self, reader: Reader, start: int) -> None:
        self.level = reader.level
        self.start = start

    def resume(self, reader: Reader, term: int) -> int | None:
        """Take the term, whose span is ``reader.span``; return the complete form, or None to ask for another."""
        raise NotImplementedError

    def opener(self) -> tuple[int, str] | None:
        """Tell the offset and sign of the bracket that this form has open."""
        return None


class Reader:
    """What the grammar works on.

    Attributes
    ----------
    source, text, pos : Source, str, int
        The file being read, and the offset of the next character.
    level : int
        Lowest operator level that may continue the term in hand.
    span : int
        Where the term in hand was read: start << 32 | end.
    stack : list of Frame
        Forms that wait, innermost last.
    """

    source: Source
    text: str
    pos: int
    span: int

    def __init__(self, names: Names) -> None:
        self.level = 0
        self.stack: list[Frame] = []
        self.core = Core()
        self.scope = Scope()
        self.names = names
        self.forks = 0

    def open(self, source: Source, pos: int) -> None:
        """Go on in a file at an offset."""
        self.source = source
        self.text = source.text
        self.pos = pos

    def ask(self, frame: Frame, level: int = 0) -> None:
        """Leave a frame that waits for the next term, read at this operator level."""
        self.stack.append(frame)
        self.level = level

    def spanning(self, start: int) -> int:
        """Return the span from ``start`` to the end of the term in hand."""
        return start << 32 | self.span & 0xFFFFFFFF

    # Tokens.

    def peek(self, text: str) -> bool:
        """Skip blanks; tell whether this text comes next."""
        self.skip()
        return self.text.startswith(text, self.pos)

    def skip(self) -> None:
        """Skip blanks."""
        match = skip_blank(self.text, self.pos)
        assert match is not None
        self.pos = match.end()

    def take(self, text: str) -> bool:
        """Skip blanks, and this sign if it comes next; tell whether it did."""
        match = SIGNS[text](self.text, self.pos)
        if match is not None:
            self.pos = match.end()
        return match is not None

    def take_text(self, text: str) -> bool:
        """Skip blanks, and this text if it comes next; tell whether it did."""
        comes_next = self.peek(text)
        if comes_next:
            self.pos += len(text)
        return comes_next

    def expect(self, text: str, hint: str = "") -> None:
        """Skip this sign, or fail."""
        if not self.take(text):
            self.fail(text, hint)

    def shut(self, frame: Frame, text: str, hint: str = "") -> None:
        """Skip the closing sign of a form that is off the stack already, or fail."""
        if not self.take(text):
            self.stack.append(frame)  # so that the hint knows the bracket that is open
            self.fail(text, hint)

    def name(self, hint: str = "") -> str:
        """Read a name, or fail."""
        match = match_name(self.text, self.pos)
        if match is None:
            self.fail("name", hint)
        self.pos = match.end()
        return match[1]

    def try_match(self, matcher: Callable[[str, int], re.Match[str] | None]) -> re.Match[str] | None:
        """Match a pattern here and move behind it, or stay."""
        match = matcher(self.text, self.pos)
        if match is not None:
            self.pos = match.end()
        return match

    # Names.

    def definition_id(self, name: str) -> int:
        """Return the id of a definition."""
        try:
            return self.names.definition(name)
        except TooManyNames:
            raise self.too_large(self.pos << 32 | self.pos) from None

    def constructor_id(self, name: str) -> int:
        """Return the id of a constructor."""
        try:
            return self.names.constructor(name)
        except TooManyNames:
            raise self.too_large(self.pos << 32 | self.pos) from None

    # Faults.

    def where(self, span: int) -> Span:
        """Turn a packed span of this file into a place."""
        return Span(self.source, span >> 32, span & 0xFFFFFFFF)

    def fault(self, cause: str, span: int, *, kind: type[ProgramError] = HvmSyntaxError, **notes: str) -> ProgramError:
        """Build the error of a cause at a place."""
        place = self.where(span)
        return kind(report(cause, place, **notes), span=place, hint=notes.get("hint", ""))

    def fail(self, expected: str, hint: str = "") -> NoReturn:
        """Report text that does not fit: what was expected, and what stands there."""
        self.skip()
        self.fail_at(self.pos, expected, hint or self._hint(expected))

    def fail_at(self, offset: int, expected: str, hint: str = "") -> NoReturn:
        """Report the character at an offset."""
        at_end = offset >= len(self.text)
        if at_end:
            offset = len(self.text.rstrip())  # behind the last text, not on an empty line
        elif (comment := comment_start(self.text, offset)) is not None:
            offset = comment
        found = "EOF" if at_end else f"'{printable(self.text[offset])}'"
        cause = "unexpected end of file" if at_end else f"unexpected {found}"
        hint = ("" if at_end else file_habit(self.text, offset)) or hint
        raise self.fault(cause, offset << 32 | offset + (not at_end), expected=expected, detected=found, hint=hint)

    def too_large(self, span: int) -> ProgramError:
        """Build the error of a literal that no book can hold."""
        return self.fault(
            "too large for a book",
            span,
            kind=ProgramError,
            expected=f"at most {limits.STATIC_CELLS_MAX:,} static cells and {limits.NESTING_MAX:,} nested forms",
            hint="compute it while the program runs",
        )

    def _hint(self, expected: str) -> str:
        """Guess what went wrong from what was expected."""
        opened = next((opener for frame in reversed(self.stack) if (opener := frame.opener())), None)
        at_end = self.pos >= len(self.text)
        if expected == "name" and not (at_end and opened):
            if self.text.startswith("<>:", self.pos - 2):
                return "a case that starts with <> needs a ; before it"
            return _TERM_HINTS.get(self.text[self.pos : self.pos + 1], _TERM_HINT)
        if opened is None:
            return ""
        place = self.where(opened[0] << 32)
        hint = f"the {opened[1]!r} at {place.line}:{place.col} is still open"
        if not at_end and _STARTS_ATOM(self.text, self.pos):
            hint = f"to apply f to x write f(x), not f x; {hint}"
        return hint
