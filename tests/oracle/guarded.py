"""Guarded reduction: what waits for the body of an applied ``guard ~> body``, and for the argument of its case or ⟨g⟩.

``node`` is the application, its field 0 the guarded term, its field 1 the argument (``interactions.md`` 8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import Tag
from tests.oracle.steps import EVAL, VALUE, Step, consume
from tests.oracle.terms import (
    CASE_TAGS,
    CTR_TAGS,
    NAME_TAGS,
    Static,
    Term,
    app,
    clone,
    dry,
    inc,
    lam,
    red,
    sup,
    variable,
)

if TYPE_CHECKING:
    from tests.oracle.machine import Machine

ATOMS = frozenset({*NAME_TAGS, Tag.NUM, Tag.ERA, Tag.ANY, Tag.C00})


def share(m: Machine, term: Term) -> tuple[Term, Term]:
    """Give one term to two places: these rules copy their argument under a label of its own."""
    while isinstance(term.at, Static):
        term = m.unfold(term)
    if term.tag in ATOMS:
        return term, term
    return clone(m.fresh_label(), term)


def on_body(m: Machine, w: Term, node: Term, guarded: Term) -> Step:
    """``(f ~> w)(a)``."""
    guard, argument = guarded.args[0], node.args[1]
    if w.tag in CASE_TAGS or w.tag == Tag.USE:
        guarded.args[1] = w
        return EVAL, argument, (on_case if w.tag in CASE_TAGS else on_use, (node, guarded, w))
    is_rule = w.tag in (Tag.ERA, Tag.SUP, Tag.INC, Tag.LAM, Tag.RED, Tag.DRY) or w.tag in NAME_TAGS
    if not is_rule and w.tag not in CTR_TAGS:
        guarded.args[1] = w
        return VALUE, node  # stuck
    m.interactions += 1
    consume(node)
    if w.tag == Tag.DRY or w.tag in NAME_TAGS or w.tag in CTR_TAGS:
        guarded.args[1] = w
        return VALUE, dry(guarded, argument)
    consume(guarded, w)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.SUP:
        (f0, f1), (a0, a1) = clone(w.ext, guard), clone(w.ext, argument)
        return VALUE, sup(w.ext, app(red(f0, w.args[0]), a0), app(red(f1, w.args[1]), a1))
    if w.tag == Tag.INC:
        return VALUE, inc(app(red(guard, w.args[0]), argument))
    a0, a1 = share(m, argument)
    if w.tag == Tag.LAM:
        w.binder().filled = a1
        return VALUE, red(app(guard, a0), w.args[0])
    w.is_consumed = False
    return VALUE, red(app(guard, a0), app(w, a1))


def on_case(m: Machine, w: Term, node: Term, guarded: Term, case: Term) -> Step:
    """``(f ~> [K: h; m])(w)``."""
    guard, (hit, miss) = guarded.args[0], case.args
    if w.tag == Tag.RED:
        return EVAL, w.args[1], (on_case, (node, guarded, case))
    is_datum = w.tag == Tag.NUM or w.tag in CTR_TAGS
    if not is_datum and w.tag not in (Tag.ERA, Tag.SUP, Tag.INC):
        consume(node, guarded)
        return VALUE, dry(guard, w)
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(app(guarded, w.args[0]))
    consume(guarded, case)
    if w.tag == Tag.SUP:
        consume(w)
        (f0, f1), (h0, h1), (m0, m1) = (clone(w.ext, part) for part in (guard, hit, miss))
        left, right = red(f0, case.copy([h0, m0])), red(f1, case.copy([h1, m1]))
        return VALUE, sup(w.ext, app(left, w.args[0]), app(right, w.args[1]))
    is_hit = case.ext == w.ext and (w.tag == Tag.NUM) == (case.tag == Tag.SWI)
    if w.tag == Tag.NUM:
        if is_hit:
            return EVAL, red(app(guard, w), hit)
        p, p_variable = variable()
        return EVAL, app(red(lam(p, app(guard, p_variable)), miss), w)
    if not is_hit:
        return EVAL, app(red(guard, miss), w)
    consume(w)
    binders = [variable() for _ in w.args]
    inner = app(guard, w.copy([field for _, field in binders]))
    for binder, _ in reversed(binders):
        inner = lam(binder, inner)
    return EVAL, app(red(inner, hit), *w.args)


def on_use(m: Machine, w: Term, node: Term, guarded: Term, use: Term) -> Step:
    """``(f ~> ⟨g⟩)(w)``."""
    guard = guarded.args[0]
    if w.tag == Tag.RED:
        return EVAL, w.args[1], (on_use, (node, guarded, use))
    if w.tag in NAME_TAGS or w.tag == Tag.DRY:
        consume(node, guarded)
        return VALUE, dry(guard, w)
    m.interactions += 1
    consume(node)
    if w.tag == Tag.ERA:
        return VALUE, w
    if w.tag == Tag.INC:
        consume(w)
        return VALUE, inc(app(guarded, w.args[0]))
    consume(guarded, use)
    if w.tag == Tag.SUP:
        consume(w)
        (f0, f1), (g0, g1) = clone(w.ext, guard), clone(w.ext, use.args[0])
        left, right = red(f0, use.copy([g0])), red(f1, use.copy([g1]))
        return VALUE, sup(w.ext, app(left, w.args[0]), app(right, w.args[1]))
    a0, a1 = share(m, w)
    return VALUE, red(app(guard, a0), app(use.args[0], a1))
