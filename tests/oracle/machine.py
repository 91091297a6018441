"""Weak normal form: enter a term, then apply the frames that wait for its value (``interactions.md`` 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hvm4viz.term import EXT_MASK, Tag, arity_of, ext_of, tag_of, val_of
from tests.oracle import application, duplication, dynamic, equality, log, operators
from tests.oracle.steps import Step
from tests.oracle.terms import Binder, Scope, Slot, Static, Term, app, lam, variable

if TYPE_CHECKING:
    from hvm4viz.book import Book

Frame = tuple[Callable[..., Step], tuple[Term, ...]]

FIRST_FRAME: dict[int, Callable[..., Step]] = {
    Tag.APP: application.on_app,
    Tag.OP2: operators.on_op2_left,
    Tag.EQL: equality.on_eql_left,
    Tag.AND: dynamic.on_and_or,
    Tag.OR: dynamic.on_and_or,
    Tag.DSU: dynamic.on_dsu,
    Tag.DDU: dynamic.on_ddu,
}
"""What waits for field 0 of these nodes."""


class OutOfSteps(Exception):
    """The evaluation took more steps than allowed: it may never end."""


class Machine:
    """One evaluation: the book it reads, its counters, its log.

    Parameters
    ----------
    book : Book
        Static terms.
    max_steps : int
        Frames and entered terms after which ``OutOfSteps`` is raised.
    is_collapsing : bool
        Whether duplications of stuck terms are copied (row D14).
    """

    def __init__(self, book: Book, *, max_steps: int, is_collapsing: bool = False) -> None:
        self.book = book
        self.words: list[int] = book.words.tolist()
        self.roots: list[int] = book.roots.tolist()
        self.max_steps = max_steps
        self.is_collapsing = is_collapsing
        self.steps = 0
        self.interactions = 0
        self.lines: list[str] = []
        self.labels = EXT_MASK
        self.names = 0

    def fresh_label(self) -> int:
        """Draw a label that nothing else uses, from the upper end downwards."""
        self.labels -= 1
        return self.labels

    def fresh_name(self) -> Term:
        """Draw a name that no program can write (row D15)."""
        self.names += 1
        return Term(Tag.NAM, -self.names)

    def wnf(self, term: Term) -> Term:
        """Evaluate a term to weak normal form."""
        frames: list[Frame] = []
        while True:
            value = self.enter(term, frames)
            while True:
                if not frames:
                    return value
                self.tick()
                rule, context = frames.pop()
                is_value, result, *pushed = rule(self, value, *context)
                if pushed:
                    frames.append(pushed[0])
                if not is_value:
                    term = result
                    break
                value = result

    def tick(self) -> None:
        """Count one step."""
        self.steps += 1
        if self.steps > self.max_steps:
            raise OutOfSteps

    def enter(self, term: Term, frames: list[Frame]) -> Term:
        """Go down until the term in hand is in weak normal form."""
        while True:
            self.tick()
            tag = term.tag
            if tag == Tag.ALO:
                term = self.unfold(term)
            elif tag in FIRST_FRAME:
                frames.append((FIRST_FRAME[tag], (term,)))
                term = term.args[0]
            elif tag == Tag.VAR:
                filled = term.binder().filled
                if filled is None:
                    return term
                term = filled
            elif tag in (Tag.DP0, Tag.DP1):
                slot = term.slot()
                if slot.published is not None:
                    term = slot.published
                else:
                    frames.append((duplication.on_dup, (term,)))
                    term = slot.term
            elif tag == Tag.REF:
                root = self.root(term.ext)
                if not root:
                    return term
                term = Term(Tag.ALO, 0, None, Static(root, None))
            elif tag == Tag.UNS:
                self.interactions += 1
                y, y_variable = variable()
                x, x_variable = variable()
                term = app(term.args[0], lam(y, lam(x, y_variable)), x_variable)
            elif tag == Tag.PRI:
                term = log.run(self, term)
            else:
                return term

    def root(self, definition: int) -> int:
        """Where a definition's term lies in the book; 0 if there is none."""
        return self.roots[definition] if definition < len(self.roots) else 0

    def unfold(self, closure: Term) -> Term:
        """Make one layer of a static term."""
        static = closure.at
        assert isinstance(static, Static)
        word, scope = self.words[static.loc], static.scope
        tag, ext, val = tag_of(word), ext_of(word), val_of(word)
        if tag == Tag.BJV:
            return Term(Tag.VAR, 0, None, find(scope, val))
        if tag in (Tag.BJ0, Tag.BJ1):
            return Term(Tag.DP0 if tag == Tag.BJ0 else Tag.DP1, ext, None, find(scope, val))
        if tag == Tag.LAM:
            binder = Binder()
            return Term(Tag.LAM, 0, [instance(val, Scope(binder, scope, level_of(scope) + 1))], binder)
        if tag == Tag.DUP:
            slot = Slot(instance(val, scope))
            return instance(val + 1, Scope(slot, scope, level_of(scope) + 1))
        if tag == Tag.NUM:
            return Term(tag, val)
        arity = arity_of(word, self.book.prims[ext][1] if tag == Tag.PRI else 0)
        return Term(tag, ext, [instance(val + field, scope) for field in range(arity)])


def instance(loc: int, scope: Scope | None) -> Term:
    """A suspended instance of the static term in a cell of the book."""
    return Term(Tag.ALO, 0, None, Static(loc, scope))


def level_of(scope: Scope | None) -> int:
    """How many binders are in scope."""
    return scope.level if scope is not None else 0


def find(scope: Scope | None, level: int) -> Binder | Slot:
    """The binder of a level."""
    while scope is not None and scope.level > level:
        scope = scope.outer
    assert scope is not None
    assert scope.level == level
    return scope.bound
