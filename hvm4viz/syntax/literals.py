"""Literals that stand for constructors: characters, strings, nats."""

from __future__ import annotations

from typing import Final

from hvm4viz import limits
from hvm4viz.syntax.core import LAYERS, TEXT
from hvm4viz.syntax.items import NIL_WORD
from hvm4viz.syntax.reader import Frame, Reader
from hvm4viz.syntax.tokens import match_character, match_string, unescape
from hvm4viz.term import CHR, TAG_SHIFT, ZER, Tag, pack

_ZER_WORD: Final = pack(Tag.C00, ZER)
_NUM: Final = Tag.NUM << TAG_SHIFT


def read_code(reader: Reader, start: int) -> int:
    """Read a character from its first quote on; return its code point."""
    match = match_character(reader.text, start)
    if match is None:
        escaped = reader.text.startswith("\\", start + 1)
        inside = start + 2 + escaped
        if inside > len(reader.text):
            reader.fail_at(inside, "character", "a character ends with '")
        if reader.text.startswith("''", start):
            reader.fail_at(start + 2, "'", "there is no empty character; \\' or ''' is the quote itself")
        reader.fail_at(inside, "'", 'a character is one sign; a string stands between "')
    reader.pos = match.end()
    reader.span = start << 32 | reader.pos
    return ord(unescape(match[1]))


def read_character(reader: Reader, start: int) -> int:
    """Read ``'c'`` as ``#CHR{code}``."""
    code = _NUM | read_code(reader, start)
    return reader.core.one(Tag.C00 + 1, CHR, code, reader.span)


def read_string(reader: Reader, start: int) -> int:
    """Read a string as the list of its characters."""
    match = match_string(reader.text, start)
    if match is None:
        raise reader.fault(
            "string without an end",
            start << 32 | start + 1,
            expected="character",
            detected="EOF",
            hint=f"a string goes on to the next {reader.text[start]}, over line breaks too",
        )
    reader.pos = match.end()
    reader.span = start << 32 | reader.pos
    text = unescape(match[2])
    if not text:
        return NIL_WORD
    reader.core.texts.append(text)
    return TEXT << TAG_SHIFT | len(reader.core.texts) - 1


class Successors(Frame):
    """``2n+t``: layers of ``#SUC`` around a whole term."""

    __slots__ = ("count",)

    def __init__(self, reader: Reader, start: int, count: int) -> None:
        super().__init__(reader, start)
        self.count = count

    def resume(self, reader: Reader, term: int) -> int:
        """Put the layers around the term."""
        inner = reader.span
        reader.span = reader.spanning(self.start)
        return reader.core.one(LAYERS, self.count, term, inner) if self.count else term


def read_nat(reader: Reader, start: int, literal: str) -> int | None:
    """Read on behind ``3n`` or ``2n+``, which the caller has read."""
    digits = literal.rstrip("+")[:-1].lstrip("0")
    count = int(digits[:9] or "0")  # nine digits are too many already
    if count >= limits.STATIC_CELLS_MAX:
        raise reader.too_large(start << 32 | reader.pos)
    if literal.endswith("+"):
        reader.ask(Successors(reader, start, count))
        return None
    reader.span = start << 32 | reader.pos
    return reader.core.one(LAYERS, count, _ZER_WORD, reader.span) if count else _ZER_WORD
