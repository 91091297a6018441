"""Terms of the oracle: plain objects that point to each other, no cells and no addresses.

A node's fields are the list ``args``; the one cell that a variable reads is a ``Binder``, the one that the two ends of
a duplication share is a ``Slot``. Whoever evaluates a field writes the value back into the list that holds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hvm4viz.term import CON, Tag

CTR_TAGS = frozenset(range(Tag.C00, Tag.C16 + 1))
CASE_TAGS = frozenset({Tag.MAT, Tag.SWI})
NAME_TAGS = frozenset({Tag.NAM, Tag.BJV, Tag.BJ0, Tag.BJ1})
END_TAGS = frozenset({Tag.DP0, Tag.DP1})


class Binder:
    """What a variable points to: ``filled`` is its substitution, once there is one."""

    __slots__ = ("filled",)

    def __init__(self) -> None:
        self.filled: Term | None = None


class Slot:
    """The expression of a duplication; ``published`` is what the end that did not reduce it gets."""

    __slots__ = ("published", "term")

    def __init__(self, term: Term) -> None:
        self.term = term
        self.published: Term | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The binders around a static term, innermost first; ``level`` counts them."""

    bound: Binder | Slot
    outer: Scope | None
    level: int


@dataclass(frozen=True, slots=True)
class Static:
    """A place in the book and the binders around it: what an ALO holds."""

    loc: int
    scope: Scope | None


class Term:
    """One term: ``at`` is the binder of LAM and VAR, the slot of an end, the place of an ALO."""

    __slots__ = ("args", "at", "ext", "is_consumed", "tag")

    def __init__(
        self, tag: int, ext: int = 0, args: list[Term] | None = None, at: Binder | Slot | Static | None = None
    ) -> None:
        self.tag = tag
        self.ext = ext
        self.args: list[Term] = [] if args is None else args
        self.at = at
        self.is_consumed = False

    def copy(self, args: list[Term]) -> Term:
        """Make the same node with other fields."""
        return Term(self.tag, self.ext, args, self.at)

    def binder(self) -> Binder:
        """The binder of a LAM or VAR."""
        assert isinstance(self.at, Binder)
        return self.at

    def slot(self) -> Slot:
        """The slot of an end."""
        assert isinstance(self.at, Slot)
        return self.at


def era() -> Term:
    """``&{}``."""
    return Term(Tag.ERA)


def num(value: int) -> Term:
    """A number, modulo 2^32."""
    return Term(Tag.NUM, value & 0xFFFFFFFF)


def app(function: Term, *arguments: Term) -> Term:
    """``f(a, b ...)``."""
    for argument in arguments:
        function = Term(Tag.APP, 0, [function, argument])
    return function


def sup(label: int, left: Term, right: Term) -> Term:
    """``&L{a, b}``."""
    return Term(Tag.SUP, label, [left, right])


def inc(term: Term) -> Term:
    """``↑a``."""
    return Term(Tag.INC, 0, [term])


def dry(head: Term, argument: Term) -> Term:
    """``^(f a)``."""
    return Term(Tag.DRY, 0, [head, argument])


def red(guard: Term, body: Term) -> Term:
    """``f ~> g``."""
    return Term(Tag.RED, 0, [guard, body])


def cons(head: Term, tail: Term) -> Term:
    """``a <> b``."""
    return Term(Tag.C00 + 2, CON, [head, tail])


def variable() -> tuple[Binder, Term]:
    """A new binder and its variable."""
    binder = Binder()
    return binder, Term(Tag.VAR, 0, None, binder)


def lam(binder: Binder, body: Term, level: int = 0) -> Term:
    """``λx. body``."""
    return Term(Tag.LAM, level, [body], binder)


def clone(label: int, term: Term) -> tuple[Term, Term]:
    """The two ends of a new duplication of a term."""
    slot = Slot(term)
    return Term(Tag.DP0, label, None, slot), Term(Tag.DP1, label, None, slot)
