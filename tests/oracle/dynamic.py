"""Short-circuit connectives and computed labels: what waits for the condition or the label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import EXT_MASK, Tag
from tests.oracle.steps import EVAL, VALUE, Step, consume
from tests.oracle.terms import Term, app, clone, inc, num, sup

if TYPE_CHECKING:
    from tests.oracle.machine import Machine


def on_and_or(m: Machine, w: Term, node: Term) -> Step:
    """``w .&. b`` and ``w .|. b``."""
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.NUM):
        node.args[0] = w
        return VALUE, node  # stuck
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        consume(w)
        c0, c1 = clone(w.ext, node.args[1])
        return VALUE, sup(w.ext, node.copy([w.args[0], c0]), node.copy([w.args[1], c1]))
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(node.copy([w.args[0], node.args[1]]))
    if node.tag == Tag.AND:
        return EVAL, node.args[1] if w.ext else num(0)
    return EVAL, num(1) if w.ext else node.args[1]


def on_dsu(m: Machine, w: Term, node: Term) -> Step:
    """``&(w){a, b}``."""
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.NUM):
        node.args[0] = w
        return VALUE, node  # stuck
    _, a, b = node.args
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.NUM:
        return VALUE, sup(w.ext & EXT_MASK, a, b)
    consume(w)
    if w.tag == Tag.INC:
        return VALUE, inc(node.copy([w.args[0], a, b]))
    (a0, a1), (b0, b1) = clone(w.ext, a), clone(w.ext, b)
    return VALUE, sup(w.ext, node.copy([w.args[0], a0, b0]), node.copy([w.args[1], a1, b1]))


def on_ddu(m: Machine, w: Term, node: Term) -> Step:
    """``! x &(w) = v; f``."""
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.NUM):
        node.args[0] = w
        return VALUE, node  # stuck
    _, value, function = node.args
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.NUM:
        return EVAL, app(function, *clone(w.ext & EXT_MASK, value))
    consume(w)
    if w.tag == Tag.INC:
        return VALUE, inc(node.copy([w.args[0], value, function]))
    (v0, v1), (f0, f1) = clone(w.ext, value), clone(w.ext, function)
    return VALUE, sup(w.ext, node.copy([w.args[0], v0, f0]), node.copy([w.args[1], v1, f1]))
