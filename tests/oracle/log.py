"""``%log``: force a string and write it, the text read so far kept as a function (``interactions.md`` 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import CHR, CON, NIL, Tag
from tests.oracle.steps import OracleError
from tests.oracle.terms import CTR_TAGS, Term, app, clone, cons, inc, lam, sup, variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle.machine import Machine


def run(m: Machine, call: Term) -> Term:
    """Evaluate ``%log(text)``: what is not a plain string passes through, with the log still to be done inside."""
    binder, hole = variable()
    before, text = lam(binder, hole), call.args[0]
    line: list[str] = []
    while True:
        w = m.wnf(text)
        if w.tag in PASSING:
            return passed_on(call, w, before, None, lambda rest, _: rest)
        if (w.tag, w.ext) == (Tag.C00, NIL):
            m.wnf(app(before, w))
            m.lines.append("".join(line))
            return w
        if (w.tag, w.ext) != (Tag.C00 + 2, CON):
            raise OracleError("%log expected a string list")
        rest = w.args[1]
        head = m.wnf(w.args[0])
        if head.tag in PASSING:
            return passed_on(call, head, before, rest, cons)
        if head.tag not in CTR_TAGS or head.ext != CHR or len(head.args) != 1:
            raise OracleError("%log expected #Chr head")
        code = m.wnf(head.args[0])
        if code.tag in PASSING:
            return passed_on(call, code, before, rest, lambda c, rest: cons(Term(Tag.C00 + 1, CHR, [c]), rest))
        if code.tag != Tag.NUM:
            raise OracleError("%log expected a numeric codepoint")
        head.args[0] = code
        line.append(chr(code.ext) if code.ext < 0x110000 else "\ufffd")
        binder, hole = variable()
        before, text = lam(binder, app(before, cons(head, hole))), rest


PASSING = (Tag.ERA, Tag.INC, Tag.SUP)


def passed_on(call: Term, w: Term, before: Term, rest: Term | None, rebuild: Callable[[Term, Term], Term]) -> Term:
    """``&{}``, ``↑%log(s)`` or ``&L{%log(s), %log(t)}``, the text read so far put in front again."""
    after = Term(Tag.ERA) if rest is None else rest
    if w.tag == Tag.ERA:
        return w
    if w.tag == Tag.INC:
        return inc(call.copy([app(before, rebuild(w.args[0], after))]))
    (before0, before1), (after0, after1) = clone(w.ext, before), clone(w.ext, after)
    return sup(
        w.ext,
        call.copy([app(before0, rebuild(w.args[0], after0))]),
        call.copy([app(before1, rebuild(w.args[1], after1))]),
    )
