"""Case functions: ``λ{#A: a; 12: b; d}``."""

from __future__ import annotations

from typing import Final

from hvm4viz import limits
from hvm4viz.syntax.literals import read_code
from hvm4viz.syntax.reader import Frame, Reader
from hvm4viz.syntax.tokens import match_case, match_default, match_semicolon, number
from hvm4viz.term import CON, EXT_SHIFT, NIL, SUC, TAG_SHIFT, ZER, Tag, pack

_MISSING: Final = pack(Tag.NUM)
_BRACKETS: Final = {"[]": NIL, "<>": CON}


def read_cases(reader: Reader, start: int) -> int | None:
    """Read on behind ``λ{``."""
    return Cases(reader, start).next_entry(reader)


class Cases(Frame):
    """The cases so far; waits for the term of the last one, or for the default."""

    __slots__ = ("default", "heads", "hits", "opening", "spans", "starts")

    def __init__(self, reader: Reader, start: int) -> None:
        super().__init__(reader, start)
        self.opening = reader.pos - 1
        self.default = False
        self.heads: list[int] = []
        self.starts: list[int] = []
        self.hits: list[int] = []
        self.spans: list[int] = []

    def next_entry(self, reader: Reader) -> int | None:
        """Read up to the term of the next entry; build the function if there is none."""
        reader.skip()
        if reader.take("}"):
            return self._finish(reader, _MISSING, reader.pos - 1 << 32 | reader.pos)
        self.starts.append(reader.pos)
        reader.ask(self)
        if reader.pos >= len(reader.text):
            reader.fail("}")
        match = reader.try_match(match_case)
        if match is not None:
            kind = match.lastindex
            assert kind is not None
            self.heads.append(self._head(reader, kind, match[kind]))
            reader.expect(":", "a case is #Name: term; a default that starts like a case needs _: before it")
            return None
        self.default = True
        if self.heads:
            reader.try_match(match_default)
        return None

    def _head(self, reader: Reader, kind: int, text: str) -> int:
        """Return tag and EXT of a case from the group of ``match_case`` that matched."""
        if kind == 1:
            return Tag.MAT << TAG_SHIFT | reader.constructor_id(text) << EXT_SHIFT
        if kind == 2:
            return Tag.MAT << TAG_SHIFT | _BRACKETS[text] << EXT_SHIFT
        if kind in {3, 4}:
            return Tag.MAT << TAG_SHIFT | (ZER if kind == 3 else SUC) << EXT_SHIFT
        value = number(text) if kind == 5 else read_code(reader, reader.pos - 1)
        if value >= limits.EXT_END:
            raise reader.fault(
                f"case {value} is too large",
                self.starts[-1] << 32 | reader.pos,
                expected=f"a number below {limits.EXT_END:,}",
                hint="compare larger numbers with == in the default",
            )
        return Tag.SWI << TAG_SHIFT | value << EXT_SHIFT

    def resume(self, reader: Reader, term: int) -> int | None:
        """Keep the hit of a case and go on, or finish behind the default."""
        if self.default:
            span = reader.span
            cases = "cases are #Name, [], <>, 0n, 1n+, a number, or a character"
            reader.shut(self, "}", cases if reader.peek(":") else "")
            return self._finish(reader, term, span)
        self.hits.append(term)
        self.spans.append(reader.span)
        reader.try_match(match_semicolon)
        return self.next_entry(reader)

    def _finish(self, reader: Reader, term: int, span: int) -> int:
        """Nest the cases to the right around the default."""
        reader.level = self.level
        reader.span = self.start << 32 | reader.pos
        if not self.heads:
            if not self.default:
                return pack(Tag.ERA)
            return reader.core.one(Tag.USE, 0, term, span)
        for index in range(len(self.heads) - 1, -1, -1):
            place = reader.core.two(0, 0, self.hits[index], self.spans[index], term, span)
            term = self.heads[index] | place
            span = self.starts[index] << 32 | reader.pos
        return term

    def opener(self) -> tuple[int, str]:
        """Tell the bracket."""
        return self.opening, "{"
