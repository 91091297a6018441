"""Equality: what waits for the left and for the right side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import CON, SUC, Tag
from tests.oracle.steps import EVAL, VALUE, Step, consume
from tests.oracle.terms import CASE_TAGS, CTR_TAGS, NAME_TAGS, Term, clone, inc, num, sup

if TYPE_CHECKING:
    from tests.oracle.machine import Machine


def on_eql_left(m: Machine, w: Term, node: Term) -> Step:
    """``w === b``."""
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.ANY):
        node.args[0] = w
        return EVAL, node.args[1], (on_eql_right, (node,))
    m.interactions += 1
    consume(node, w)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        c0, c1 = clone(w.ext, node.args[1])
        return VALUE, sup(w.ext, equal(w.args[0], c0), equal(w.args[1], c1))
    if w.tag == Tag.INC:
        return VALUE, inc(equal(w.args[0], node.args[1]))
    return VALUE, num(1)


def on_eql_right(m: Machine, w: Term, node: Term) -> Step:
    """``v === w`` with v in weak normal form."""
    left = node.args[0]
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        consume(w)
        a0, a1 = clone(w.ext, left)
        return VALUE, sup(w.ext, equal(a0, w.args[0]), equal(a1, w.args[1]))
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(equal(left, w.args[0]))
    if w.tag == Tag.ANY:
        return VALUE, num(1)
    if left.tag == w.tag == Tag.NUM:
        return VALUE, num(int(left.ext == w.ext))
    if left.tag in NAME_TAGS and w.tag in NAME_TAGS:
        return VALUE, num(int((left.tag, left.ext) == (w.tag, w.ext)))
    if left.tag == w.tag == Tag.LAM:
        consume(left, w)
        name = m.fresh_name()
        left.binder().filled = name
        w.binder().filled = name
        return EVAL, equal(left.args[0], w.args[0])
    if left.tag in CTR_TAGS and w.tag in CTR_TAGS:
        if (left.tag, left.ext) != (w.tag, w.ext):
            return EVAL, num(0)
        consume(left, w)
        return EVAL, equal_fields(left, w)
    if left.tag in CASE_TAGS and w.tag in CASE_TAGS:
        if (left.tag, left.ext) != (w.tag, w.ext):  # row D13
            return EVAL, num(0)
        consume(left, w)
        return EVAL, both(equal(left.args[0], w.args[0]), equal(left.args[1], w.args[1]))
    if left.tag == w.tag == Tag.USE:
        consume(left, w)
        return EVAL, equal(left.args[0], w.args[0])
    if left.tag == w.tag == Tag.DRY:
        consume(left, w)
        return EVAL, both(equal(left.args[0], w.args[0]), equal(left.args[1], w.args[1]))
    return VALUE, num(0)


def equal(left: Term, right: Term) -> Term:
    """``a === b``."""
    return Term(Tag.EQL, 0, [left, right])


def both(left: Term, right: Term) -> Term:
    """``a .&. b``."""
    return Term(Tag.AND, 0, [left, right])


def equal_fields(left: Term, right: Term) -> Term:
    """Compare the fields of two constructors of the same name and arity."""
    pairs = [equal(a, b) for a, b in zip(left.args, right.args, strict=True)]
    if (left.ext, len(pairs)) == (SUC, 1):
        return inc(pairs[0])
    if (left.ext, len(pairs)) == (CON, 2):
        return inc(both(pairs[0], inc(pairs[1])))
    if not pairs:
        return num(1)
    result = pairs[0]
    for pair in pairs[1:]:
        result = both(result, pair)
    return result
