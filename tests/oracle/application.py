"""Application, matching and strict functions: what waits for a function, and for the argument of a case or of ⟨f⟩."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import Tag
from tests.oracle import guarded
from tests.oracle.steps import EVAL, VALUE, OracleError, Step, consume
from tests.oracle.terms import CASE_TAGS, CTR_TAGS, NAME_TAGS, Term, app, clone, dry, inc, sup

if TYPE_CHECKING:
    from tests.oracle.machine import Machine


def on_app(m: Machine, w: Term, node: Term) -> Step:
    """``w(a)``."""
    argument = node.args[1]
    if w.tag in CASE_TAGS:
        return EVAL, argument, (on_case, (node, w))
    if w.tag == Tag.USE:
        return EVAL, argument, (on_use, (node, w))
    if w.tag == Tag.RED:
        node.args[0] = w
        return EVAL, w.args[1], (guarded.on_body, (node, w))
    if w.tag in NAME_TAGS or w.tag == Tag.DRY:
        consume(node)
        return VALUE, dry(w, argument)
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.LAM, Tag.NUM) and w.tag not in CTR_TAGS:
        node.args[0] = w
        return VALUE, node  # stuck
    if w.tag == Tag.NUM or w.tag in CTR_TAGS:
        raise OracleError(f"cannot apply a {'number' if w.tag == Tag.NUM else 'constructor'}")
    m.interactions += 1
    consume(node, w)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        a0, a1 = clone(w.ext, argument)
        return VALUE, sup(w.ext, app(w.args[0], a0), app(w.args[1], a1))
    if w.tag == Tag.INC:
        return VALUE, inc(app(w.args[0], argument))
    w.binder().filled = argument
    return EVAL, w.args[0]


def on_case(m: Machine, w: Term, node: Term, case: Term) -> Step:
    """``[K: h; m](w)``."""
    hit, miss = case.args
    if w.tag == Tag.RED:
        return EVAL, w.args[1], (on_case, (node, case))
    if w.tag in NAME_TAGS or w.tag == Tag.DRY:
        consume(node)
        return VALUE, dry(case, w)
    if w.tag not in (Tag.ERA, Tag.SUP, Tag.INC, Tag.NUM) and w.tag not in CTR_TAGS:
        node.args[:] = [case, w]
        return VALUE, node  # stuck
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        consume(w)
        m0, m1 = clone(w.ext, case)
        return VALUE, sup(w.ext, app(m0, w.args[0]), app(m1, w.args[1]))
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(app(case, w.args[0]))
    consume(case)
    if is_hit(case, w):
        consume(w)
        return EVAL, app(hit, *w.args)
    return EVAL, app(miss, w)


def is_hit(case: Term, w: Term) -> bool:
    """Whether a case is for this constructor or number; only for its own kind (row D13)."""
    return case.ext == w.ext and (w.tag == Tag.NUM) == (case.tag == Tag.SWI)


def on_use(m: Machine, w: Term, node: Term, use: Term) -> Step:
    """``⟨f⟩(w)``."""
    if w.tag == Tag.RED:
        return EVAL, w.args[1], (on_use, (node, use))
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        consume(w, use)
        f0, f1 = clone(w.ext, use.args[0])
        return VALUE, sup(w.ext, app(use.copy([f0]), w.args[0]), app(use.copy([f1]), w.args[1]))
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(app(use, w.args[0]))
    consume(use)
    return EVAL, app(use.args[0], w)
