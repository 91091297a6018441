"""Operators on numbers: what waits for the left and for the right operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import Tag
from tests.oracle.steps import EVAL, VALUE, Step, consume
from tests.oracle.terms import Term, clone, inc, num, sup

if TYPE_CHECKING:
    from tests.oracle.machine import Machine


def on_op2_left(m: Machine, w: Term, node: Term) -> Step:
    """``w ∘ b``."""
    if w.tag == Tag.NUM:
        return EVAL, node.args[1], (on_op2_right, (node, w))
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC):
        node.args[0] = w
        return VALUE, node  # stuck
    m.interactions += 1
    consume(node, w)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        c0, c1 = clone(w.ext, node.args[1])
        return VALUE, sup(w.ext, node.copy([w.args[0], c0]), node.copy([w.args[1], c1]))
    return VALUE, inc(node.copy([w.args[0], node.args[1]]))


def on_op2_right(m: Machine, w: Term, node: Term, left: Term) -> Step:
    """``n ∘ w``."""
    if w.tag == Tag.RED:
        return EVAL, w.args[1], (on_op2_right, (node, left))
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.NUM):
        node.args[:] = [left, w]
        return VALUE, node  # stuck
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        consume(w)
        n0, n1 = clone(w.ext, left)
        return VALUE, sup(w.ext, node.copy([n0, w.args[0]]), node.copy([n1, w.args[1]]))
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(node.copy([left, w.args[0]]))
    return VALUE, num(operate(node.ext, left.ext, w.ext))


def operate(operator: int, a: int, b: int) -> int:
    """Apply an operator to two unsigned 32-bit numbers (``terms.md`` 7); the caller cuts to 32 bits."""
    match operator:
        case 0:
            return a + b
        case 1:
            return a - b
        case 2:
            return a * b
        case 3:
            return a // b if b else 0
        case 4:
            return a % b if b else 0
        case 5:
            return a & b
        case 6:
            return a | b
        case 7:
            return a ^ b
        case 8:
            return a << (b & 31)
        case 9:
            return a >> (b & 31)
        case 10:
            return ~b
        case 11:
            return int(a == b)
        case 12:
            return int(a != b)
        case 13:
            return int(a < b)
        case 14:
            return int(a <= b)
        case 15:
            return int(a > b)
        case 16:
            return int(a >= b)
        case _:
            raise AssertionError(operator)
