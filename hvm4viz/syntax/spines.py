"""Shapes that run along many nodes at once: calls, case functions, lists, strings, nats."""

from __future__ import annotations

from typing import Final

from hvm4viz.syntax import spelling
from hvm4viz.syntax.view import Piece, Place, View
from hvm4viz.term import CHR, CON, EXT_SHIFT, NIL, SUB_BIT, SUC, ZER, Tag, pack, tag_of, val_of

CALL_MAX: Final = 256
"""Arguments shown in one call."""

CON_HEAD: Final = pack(Tag.C00 + 2, CON) >> EXT_SHIFT
SUC_HEAD: Final = pack(Tag.C00 + 1, SUC) >> EXT_SHIFT
CHR_HEAD: Final = pack(Tag.C00 + 1, CHR) >> EXT_SHIFT
_NIL_HEAD: Final = pack(Tag.C00, NIL) >> EXT_SHIFT
_ZER_HEAD: Final = pack(Tag.C00, ZER) >> EXT_SHIFT
_CALLS: Final = frozenset({int(Tag.APP), int(Tag.DRY)})
_MATCHES: Final = frozenset({int(Tag.MAT), int(Tag.SWI)})


def fields(view: View, node: int, count: int, place: Place) -> list[Piece]:
    """Show the fields of a node with commas between them."""
    pieces: list[Piece] = []
    for cell in range(node, node + count):
        if cell > node:
            pieces.append(",")
        pieces.append(view.piece(cell, place))
    return pieces


def call(view: View, word: int, place: Place, done: list[int]) -> list[Piece]:
    """Show a spine of APPs and DRYs as calls of at most 256 arguments, the shortest one innermost."""
    arguments = [val_of(word) + 1]
    head = val_of(word)
    while tag_of(word := view.word(head, place)) in _CALLS and view.enter(head, place, done):
        head = val_of(word)
        arguments.append(head + 1)
    arguments.reverse()
    pieces: list[Piece] = ["(", (head, place), ")"] if _is_function(view, head, place) else [(head, place)]
    first = (len(arguments) - 1) % CALL_MAX + 1
    for start in (0, *range(first, len(arguments), CALL_MAX)):
        pieces.append("(")
        for index, argument in enumerate(arguments[start : start + CALL_MAX if start else first]):
            if index:
                pieces.append(",")
            pieces.append(view.piece(argument, place))
        pieces.append(")")
    return pieces


def _is_function(view: View, cell: int, place: Place) -> bool:
    """Tell whether a cell shows as a λ, substitutions followed."""
    word = view.word(cell, place)
    seen: set[int] = set()
    while place.environment is None and tag_of(word) in {Tag.VAR, Tag.DP0, Tag.DP1} and word not in seen:
        content = view.raw(val_of(word))
        if not content & SUB_BIT:
            break
        seen.add(word)
        word = content & ~SUB_BIT
    return tag_of(word) == Tag.LAM


def cases(view: View, word: int, place: Place, done: list[int]) -> list[Piece]:
    """Show a case function: its cases, then what is behind the last one."""
    pieces: list[Piece] = ["λ{"]
    while True:
        rest = val_of(word) + 1
        pieces += (spelling.case(view.glossary, word) + ":", (val_of(word), place))
        word = view.word(rest, place)
        if tag_of(word) not in _MATCHES or not view.enter(rest, place, done):
            break
        pieces.append(";")
    if tag_of(word) == Tag.USE and view.enter(rest, place, done):
        pieces += (";", (val_of(word), place))
    elif word != pack(Tag.NUM):
        pieces += (";", (rest, place))
    pieces.append("}")
    return pieces


def nat(view: View, word: int, place: Place, done: list[int]) -> list[Piece]:
    """Show layers of #SUC by their number."""
    count = 1
    cell = val_of(word)
    while (word := view.word(cell, place)) >> EXT_SHIFT == SUC_HEAD and view.enter(cell, place, done):
        count += 1
        cell = val_of(word)
    if word >> EXT_SHIFT == _ZER_HEAD:
        return [f"{count}n"]
    return [f"{count}n+", (cell, place)]


def list_of(view: View, word: int, place: Place, done: list[int]) -> list[Piece]:
    """Show cells of #CON as a string, as a list, or with ``<>`` where no #NIL ends them."""
    heads = [val_of(word)]
    tail = val_of(word) + 1
    while (word := view.word(tail, place)) >> EXT_SHIFT == CON_HEAD and view.enter(tail, place, done):
        heads.append(val_of(word))
        tail = heads[-1] + 1
    if word >> EXT_SHIFT != _NIL_HEAD:
        pieces: list[Piece] = []
        for head in heads:
            pieces += (view.piece(head, place), "<>")
        return [*pieces, (tail, place)]
    text = _text(view, heads, place)
    if text is not None:
        return [text]
    pieces = ["["]
    for head in heads:
        pieces += (view.piece(head, place), ",")
    pieces[-1] = "]"
    return pieces


def _text(view: View, heads: list[int], place: Place) -> str | None:
    """Return a list's string, if all its elements are characters that can stand in one."""
    codes: list[int] = []
    for head in heads:
        word = view.word(head, place)
        if word >> EXT_SHIFT != CHR_HEAD:
            return None
        code = view.word(val_of(word), place)
        if tag_of(code) != Tag.NUM or not spelling.showable(val_of(code)):
            return None
        codes.append(val_of(code))
    return spelling.string(codes)
