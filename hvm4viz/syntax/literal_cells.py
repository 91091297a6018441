"""The static cells of literals, many at once: lists, strings, unary numbers."""

from __future__ import annotations

from array import array
from typing import Final

from hvm4viz.term import CHR, CON, NIL, SUC, Tag, pack

CON_WORD: Final = pack(Tag.C00 + 2, CON)
SUC_WORD: Final = pack(Tag.C00 + 1, SUC)
_CHR_WORD: Final = pack(Tag.C00 + 1, CHR)
_NIL_WORD: Final = pack(Tag.C00, NIL)
_NUM_WORD: Final = pack(Tag.NUM)
_SHORT: Final = 12
"""Items up to which a list is faster made one by one."""


def layer_cells(first: int, count: int) -> array[int]:
    """Return the fields of all but the innermost of ``count`` layers of #SUC, from location ``first`` on."""
    return array("Q", range((SUC_WORD | first) + 1, (SUC_WORD | first) + count))


def list_cells(first: int, items: array[int]) -> array[int] | list[int]:
    """Return item and tail of each #CON of a list, from location ``first`` on; the last item is the list's end."""
    count = len(items) - 1
    tail = (CON_WORD | first) + 2
    if count <= _SHORT:
        words = [word for index in range(count) for word in (items[index], tail + 2 * index)]
    else:
        words = array("Q", bytes(16 * count))
        words[0::2] = items[:-1]
        words[1::2] = array("Q", range(tail, tail + 2 * count, 2))
    words[-1] = items[-1]
    return words


def text_cells(first: int, text: str) -> array[int]:
    """Return the cells of a string, from location ``first`` on: those of each #CON, then the numbers in the #CHRs."""
    codes = (_CHR_WORD | first) + 2 * len(text)
    items = array("Q", range(codes, codes + len(text)))
    items.append(_NIL_WORD)
    words = array("Q", list_cells(first, items))
    words.extend([_NUM_WORD | ord(character) for character in text])
    return words
