"""The shape of each kind of term in print: text and the cells between it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hvm4viz.syntax import spelling
from hvm4viz.syntax.spelling import alpha
from hvm4viz.syntax.spines import CHR_HEAD, CON_HEAD, SUC_HEAD, call, cases, fields, list_of, nat
from hvm4viz.syntax.tokens import id_name
from hvm4viz.syntax.view import Piece, Place, View
from hvm4viz.term import EXT_SHIFT, LAM_ERA, OPERATORS, SUB_BIT, Tag, ext_of, tag_of, val_of

Shape = Callable[[View, int, Place, list[int]], list[Piece]]
"""Takes the view, the word, its place, and the cells that are done with it; returns the pieces in order."""


def _function(view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    by_depth = place.quoted or place.environment is not None
    name = alpha(place.depth + 1) if by_depth else view.binder(val_of(word))
    return [f"λ{name}.", (val_of(word), place.below(entry=not ext_of(word) & LAM_ERA))]


def _variable(view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    return _bound(view, val_of(word), place)


def _bound(view: View, cell: int, place: Place) -> list[Piece]:
    """Show a variable by its binder's cell: its substitution, or its name."""
    if view.raw(cell) & SUB_BIT:
        return [(cell, Place(place.depth, quoted=False))]
    return ["_" if place.quoted and not view.known(cell) else view.binder(cell)]


def _end(view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    return _end_of(view, val_of(word), ext_of(word), tag_of(word) == Tag.DP1, place)


def _end_of(view: View, slot: int, label: int, side: int, place: Place) -> list[Piece]:
    """Show an end of a duplication: the substitution in its slot, or its name."""
    if view.raw(slot) & SUB_BIT:
        return [(slot, Place(place.depth, quoted=place.quoted))]
    return [view.slot(slot, label) + "₀₁"[side]]


def _level(view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    """Show a variable that carries a level, or, in an instance, an index into the environment."""
    tag, number = tag_of(word), val_of(word)
    if place.environment is None:
        name = alpha(number) if number <= place.depth else "_"
    else:
        binder = place.binder
        while binder is not None and number:
            binder, number = binder.binder, number - 1
        if binder is None:
            return _outside(view, word, number, place)
        name = alpha(binder.depth + 1)
    return [name if tag == Tag.BJV else name.upper() + "₀₁"[tag == Tag.BJ1]]


def _outside(view: View, word: int, number: int, place: Place) -> list[Piece]:
    """Show a variable of an instance that is bound by an entry of its environment."""
    entry = place.environment
    assert entry is not None
    while entry and number:
        entry, number = val_of(view.raw(entry + 1)), number - 1
    if not entry:
        return ["_"]
    dynamic = Place(place.depth, quoted=place.quoted)
    if tag_of(word) == Tag.BJV:
        return _bound(view, entry, dynamic)
    return _end_of(view, entry, ext_of(word), tag_of(word) == Tag.BJ1, dynamic)


def _duplication(view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    value = val_of(word)
    if not place.quoted and place.environment is None:
        view.slot(value, ext_of(word))
        return [(value + 1, place)]
    name = alpha(place.depth + 1).upper()
    return [f"!{name}&{id_name(ext_of(word))}=", (value, place), ";", (value + 1, place.below(entry=True))]


def _instance(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    return ["@{", (ext_of(word), Place(0, quoted=place.quoted, environment=val_of(word))), "}"]


def _superposition(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    node = val_of(word)
    return [f"&{id_name(ext_of(word))}{{", (node, place), ",", (node + 1, place), "}"]


def _computed_superposition(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    node = val_of(word)
    return ["&(", (node, place), "){", (node + 1, place), ",", (node + 2, place), "}"]


def _computed_duplication(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    node = val_of(word)
    return ["!(", (node, place), ")=", (node + 1, place), ";", (node + 2, place)]


def _use(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    return ["λ{", (val_of(word), place), "}"]


def _mark(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    return ["↑", (val_of(word), place)]


def _guarded(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    return [(val_of(word), place), " ~> ", (val_of(word) + 1, place)]


def _operation(_view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    signs = _SIGNS[Tag(tag_of(word))]
    sign = signs[ext_of(word)] if ext_of(word) < len(signs) else "?"
    return ["(", (val_of(word), place), f" {sign} ", (val_of(word) + 1, place), ")"]


def _unscoped(view: View, word: int, place: Place, done: list[int]) -> list[Piece]:
    """Show an unscoped pair by the names of its two functions, as far as they are there."""
    names: list[str] = []
    cell = val_of(word)
    while len(names) < 2 and tag_of(word := view.word(cell, place)) == Tag.LAM and view.enter(cell, place, done):
        cell = val_of(word)
        names.append(alpha(place.depth + 1) if place.environment is not None else view.binder(cell))
        place = place.below(entry=True)
    function, variable = [*names, "_", "_"][:2]
    return [f"! {function} = λ {variable} ; ", (cell, place)]


def _primitive(view: View, word: int, place: Place, _done: list[int]) -> list[Piece]:
    prims = view.glossary.prims
    if ext_of(word) >= len(prims):
        return [f"%?{ext_of(word)}()"]
    name, arity = prims[ext_of(word)]
    return [f"%{name}(", *fields(view, val_of(word), arity, place), ")"]


def _constructor(view: View, word: int, place: Place, done: list[int]) -> list[Piece]:
    """Show a constructor with its sugar, which asks for the right number of fields (D24)."""
    head = word >> EXT_SHIFT
    if head == CON_HEAD:
        return list_of(view, word, place, done)
    if head == SUC_HEAD:
        return nat(view, word, place, done)
    node = val_of(word)
    if head == CHR_HEAD:
        code = view.word(node, place)
        if tag_of(code) == Tag.NUM and spelling.showable(val_of(code)):
            return [spelling.character(val_of(code))]
    name = spelling.constructor(view.glossary, ext_of(word))
    return [name + "{", *fields(view, node, tag_of(word) - Tag.C00, place), "}"]


_SIGNS: Final = {Tag.OP2: OPERATORS, Tag.EQL: ("===",), Tag.AND: (".&.",), Tag.OR: (".|.",)}

_BY_TAG: Final[dict[int, Shape]] = {
    Tag.APP: call,
    Tag.DRY: call,
    Tag.VAR: _variable,
    Tag.LAM: _function,
    Tag.DP0: _end,
    Tag.DP1: _end,
    Tag.SUP: _superposition,
    Tag.DUP: _duplication,
    Tag.ALO: _instance,
    Tag.MAT: cases,
    Tag.SWI: cases,
    Tag.USE: _use,
    Tag.OP2: _operation,
    Tag.DSU: _computed_superposition,
    Tag.DDU: _computed_duplication,
    Tag.RED: _guarded,
    Tag.EQL: _operation,
    Tag.AND: _operation,
    Tag.OR: _operation,
    Tag.UNS: _unscoped,
    Tag.INC: _mark,
    Tag.BJV: _level,
    Tag.BJ0: _level,
    Tag.BJ1: _level,
    Tag.PRI: _primitive,
    **dict.fromkeys(range(Tag.C00 + 1, Tag.C16 + 1), _constructor),
}

SHAPES: Final = {int(tag): shape for tag, shape in _BY_TAG.items()}
"""Shape of every tag that has fields or is a variable."""
