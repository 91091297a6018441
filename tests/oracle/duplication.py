"""Duplication: what one end of a slot does with the value of the slot's term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import Tag
from tests.oracle.steps import VALUE, Step, consume
from tests.oracle.terms import CASE_TAGS, CTR_TAGS, NAME_TAGS, Term, clone, lam, sup, variable

if TYPE_CHECKING:
    from tests.oracle.machine import Machine


COPIED_NODES = frozenset(
    {*CTR_TAGS, *CASE_TAGS, Tag.ERA, Tag.ANY, Tag.NUM, Tag.USE, Tag.INC, Tag.OP2, Tag.DSU, Tag.DDU}
)


def on_dup(m: Machine, w: Term, end: Term) -> Step:
    """One end of a duplication of w; the other end finds what it gets in the slot."""
    slot, label, tag = end.slot(), end.ext, w.tag
    is_copied = tag in COPIED_NODES or tag in (Tag.DRY, Tag.RED) or tag in NAME_TAGS
    is_copied |= m.is_collapsing and tag in (Tag.APP, Tag.AND, Tag.OR, Tag.REF)  # row D14
    if tag not in (Tag.LAM, Tag.SUP) and not is_copied:
        slot.term = w
        return VALUE, end  # stuck
    m.interactions += 1
    is_value = tag in NAME_TAGS or tag in (Tag.DRY, Tag.RED, Tag.LAM)
    if tag == Tag.LAM:
        consume(w)
        b0, b1 = clone(label, w.args[0])
        (y, y_variable), (z, z_variable) = variable(), variable()
        w.binder().filled = sup(label, y_variable, z_variable)
        pair = lam(y, b0, w.ext), lam(z, b1, w.ext)
    elif tag == Tag.SUP and w.ext == label:
        consume(w)
        pair = w.args[0], w.args[1]
    elif not w.args:
        pair = w, w
    else:
        consume(w)
        is_value |= tag == Tag.SUP
        ends = [clone(label, field) for field in w.args]
        pair = w.copy([first for first, _ in ends]), w.copy([second for _, second in ends])
    mine, other = pair if end.tag == Tag.DP0 else (pair[1], pair[0])
    slot.published = other
    return is_value, mine
