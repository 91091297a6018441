"""Strong normal form: visit every reachable field until a whole round changes nothing.

The default order is the reference's, depth first from left to right; any other must give the same, but where something
is decided while it is still open.

The rounds after the first are step 3 of ``normalize-and-collapse.md`` 1 (row D18): a variable that was met while its
binder was still unapplied is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable

from hvm4viz.term import Tag
from tests.oracle.machine import Machine
from tests.oracle.terms import END_TAGS, Slot, Term

Cell = tuple[Term | Slot, int]


Order = Callable[[int], int]
"""Which of n fields to visit next; the last is the one that depth first, left to right would take."""


def depth_first(count: int) -> int:
    """The reference's order."""
    return count - 1


def normalise(m: Machine, term: Term, order: Order = depth_first) -> Term:
    """Evaluate a term and everything in it."""
    root = Term(Tag.USE, 0, [term])
    while is_changed_by_round(m, root, order):
        pass
    return root.args[0]


def is_changed_by_round(m: Machine, root: Term, order: Order = depth_first) -> bool:
    """Evaluate each reachable field once; tell whether that changed anything."""
    is_changed = False
    seen: set[tuple[int, int]] = set()
    kept: list[Term | Slot] = []  # so that no identity is used twice
    todo: list[Cell] = [(root, 0)]
    while todo:
        owner, field = todo.pop(order(len(todo)))
        if (id(owner), field) in seen or is_gone(owner):
            continue
        seen.add((id(owner), field))
        kept.append(owner)
        term = owner.term if isinstance(owner, Slot) else owner.args[field]
        value = m.wnf(term)
        is_changed |= value is not term
        if isinstance(owner, Slot):
            owner.term = value
        else:
            owner.args[field] = value
        todo.extend(reversed(children(value)))
    return is_changed


def is_gone(owner: Term | Slot) -> bool:
    """Whether the content of a field has meanwhile moved on: consumed by a rule, or copied for both ends."""
    return owner.published is not None if isinstance(owner, Slot) else owner.is_consumed


def children(value: Term) -> list[Cell]:
    """The fields below a value, in order; below a stuck end, its slot."""
    if value.tag in END_TAGS:
        return [(value.slot(), 0)]
    return [(value, field) for field in range(len(value.args))]
