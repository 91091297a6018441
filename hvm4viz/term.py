"""The 64-bit term: ``SUB | TAG | EXT | VAL``, mirrored from ``kernels/term.h``.

=======  ====  ==========================================================
bits     name  meaning
=======  ====  ==========================================================
63       SUB   this cell holds a substitution
62-56    TAG   constructor of the term
55-32    EXT   label, constructor id, operator, number or book location
31-0     VAL   location of the first field, or an immediate
=======  ====  ==========================================================
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

SUB_BIT: Final = 1 << 63
TAG_SHIFT: Final = 56
TAG_MASK: Final = 0x7F
EXT_SHIFT: Final = 32
EXT_MASK: Final = 0xFFFFFF
VAL_MASK: Final = 0xFFFFFFFF

LAM_ERA: Final = 0x800000
"""Flag in a LAM's EXT: its variable has no occurrence (and no environment entry)."""


class Tag(IntEnum):
    """Constructors of terms; the numbers are HVM4's."""

    APP = 0
    VAR = 1
    LAM = 2
    DP0 = 3
    DP1 = 4
    SUP = 5
    DUP = 6
    ALO = 7
    REF = 8
    NAM = 9
    DRY = 10
    ERA = 11
    MAT = 12
    C00 = 13
    C16 = 29
    NUM = 30
    SWI = 31
    USE = 32
    OP2 = 33
    DSU = 34
    DDU = 35
    RED = 36
    EQL = 37
    AND = 38
    OR = 39
    UNS = 40
    ANY = 41
    INC = 42
    BJV = 43
    BJ0 = 44
    BJ1 = 45
    PRI = 46


_FIXED_ARITY: Final[dict[int, int]] = {
    Tag.APP: 2,
    Tag.LAM: 1,
    Tag.SUP: 2,
    Tag.DUP: 2,
    Tag.DRY: 2,
    Tag.MAT: 2,
    Tag.SWI: 2,
    Tag.USE: 1,
    Tag.OP2: 2,
    Tag.DSU: 3,
    Tag.DDU: 3,
    Tag.RED: 2,
    Tag.EQL: 2,
    Tag.AND: 2,
    Tag.OR: 2,
    Tag.UNS: 1,
    Tag.INC: 1,
}

OPERATORS: Final = ("+", "-", "*", "/", "%", "&&", "||", "^", "<<", ">>", "~", "==", "!=", "<", "<=", ">", ">=")
"""Operator signs by code (EXT of OP2)."""

ZER, SUC, NIL, CON, CHR = 215020, 187357, 166118, 121448, 121004
"""Ids of the built-in constructors #ZER, #SUC, #NIL, #CON, #CHR."""


def pack(tag: int, ext: int = 0, val: int = 0) -> int:
    """Build a term word from its fields."""
    return (tag << TAG_SHIFT) | (ext << EXT_SHIFT) | val


def tag_of(word: int) -> int:
    """Return the TAG field of a word."""
    return (word >> TAG_SHIFT) & TAG_MASK


def ext_of(word: int) -> int:
    """Return the EXT field of a word."""
    return (word >> EXT_SHIFT) & EXT_MASK


def val_of(word: int) -> int:
    """Return the VAL field of a word."""
    return word & VAL_MASK


def has_sub(word: int) -> bool:
    """Tell whether a cell holds a substitution."""
    return bool(word & SUB_BIT)


def arity_of(word: int, pri_arity: int = 0) -> int:
    """Return how many field cells a node word has (PRI nodes: pass their arity)."""
    tag = tag_of(word)
    if Tag.C00 <= tag <= Tag.C16:
        return tag - Tag.C00
    if tag == Tag.PRI:
        return pri_arity
    return _FIXED_ARITY.get(tag, 0)
