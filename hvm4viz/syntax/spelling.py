"""How single things are written: names of binders, characters, labels of cases, words without fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hvm4viz.syntax.tokens import id_name
from hvm4viz.term import CON, NIL, SUC, TAG_SHIFT, VAL_MASK, ZER, Tag, ext_of, tag_of

_ESCAPES: Final = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r", 0x5C: "\\\\"}
_CASES: Final = {ZER: "0n", SUC: "1n+", NIL: "[]", CON: "<>"}


class Glossary(Protocol):
    """What the printer needs of a book."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of definitions by id."""
        ...

    @property
    def ctor_names(self) -> Mapping[int, str]:
        """Names of constructors by id."""
        ...

    @property
    def prims(self) -> tuple[tuple[str, int], ...]:
        """Names and arities of primitives by id."""
        ...

    @property
    def code(self) -> NDArray[np.uint64]:
        """Static cells, variables as indices."""
        ...


def alpha(number: int) -> str:
    """Return the name of a binder: ``a`` to ``z`` from 1, then ``aa``; ``_`` for 0."""
    name = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("a") + letter) + name
    return name or "_"


def showable(code: int) -> bool:
    """Tell whether a code point may be printed as a character."""
    if code < 0x20:
        return code in _ESCAPES
    return code <= 0x10FFFF and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF


def character(code: int) -> str:
    """Write a showable character between single quotes."""
    return "'" + (_ESCAPES.get(code) or ("\\'" if code == 0x27 else chr(code))) + "'"


def string(codes: list[int]) -> str:
    """Write showable characters between double quotes."""
    escapes = {**_ESCAPES, 0x22: '\\"'}
    return '"' + "".join([chr(code) for code in codes]).translate(escapes) + '"'


def constructor(glossary: Glossary, index: int) -> str:
    """Return the full name of a constructor with its ``#``."""
    return "#" + (glossary.ctor_names.get(index) or id_name(index))


def case(glossary: Glossary, word: int) -> str:
    """Return the label of a MAT or SWI."""
    if tag_of(word) == Tag.SWI:
        return str(ext_of(word))
    return _CASES.get(ext_of(word)) or constructor(glossary, ext_of(word))


_NUM: Final = int(Tag.NUM)
_LEAVES: Final = frozenset(map(int, (Tag.NUM, Tag.C00, Tag.REF, Tag.NAM, Tag.ERA, Tag.ANY)))


def leaf(glossary: Glossary, word: int) -> str | None:
    """Write a word that has no fields and is no variable, or return None."""
    tag = word >> TAG_SHIFT
    if tag == _NUM:
        return str(word & VAL_MASK)
    if tag not in _LEAVES:
        return None
    ext = ext_of(word)
    if tag == Tag.REF:
        return "@" + (glossary.names[ext] if ext < len(glossary.names) else f"?{ext}")
    if tag == Tag.NAM:
        return id_name(ext)
    if tag == Tag.ERA:
        return "&{}"
    if tag == Tag.ANY:
        return "*"
    return {NIL: "[]", ZER: "0n"}.get(ext) or constructor(glossary, ext) + "{}"
