"""Collapse: lift superpositions to the top and enumerate the branches (``normalize-and-collapse.md`` 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from hvm4viz.term import Tag
from tests.oracle.machine import Machine
from tests.oracle.normalise import Order
from tests.oracle.terms import CASE_TAGS, END_TAGS, Binder, Term, clone, inc, lam, sup

BUCKETS = 64
FINAL = (Tag.SUP, Tag.INC, Tag.ERA)
ELIMINATORS = (Tag.APP, Tag.OP2, Tag.AND, Tag.OR, Tag.DSU, Tag.DDU)

Lifting = Generator["Lifting", Term, Term]
"""A lifting yields the liftings it needs done first, and gets their results."""


def collapse(m: Machine, term: Term, limit: int | None) -> Iterator[Term]:
    """Give the results one by one, in order."""
    if limit == 0:
        return
    count = 0
    buckets: list[deque[list[Term]]] = [deque() for _ in range(BUCKETS)]
    buckets[0].append([term])
    while (key := next((key for key in range(BUCKETS) if buckets[key]), None)) is not None:
        for cell in buckets[key].popleft():
            branch, k = lifted(m, cell), key
            while branch.tag == Tag.INC:
                branch, k = lifted(m, branch.args[0]), max(0, k - 1)
            if branch.tag == Tag.SUP:
                buckets[min(BUCKETS - 1, k + 1)].append(branch.args)
            elif branch.tag != Tag.ERA:
                yield branch
                count += 1
                if count == limit:
                    return


@dataclass(slots=True)
class Branch:
    """A branch that was lifted ahead of its turn, and what it split into."""

    term: Term
    parts: list[Branch] = field(default_factory=list["Branch"])


def collapse_ahead(m: Machine, term: Term, order: Order) -> Iterator[Term]:
    """Give the same results in the same order, but lift all branches first, as a wide frontier may.

    Where a variable has escaped from its branch (labels that collide, holes), the order decides what is found.
    """
    root = Branch(term)
    todo = [root]
    while todo:
        branch = todo.pop(order(len(todo)))
        branch.term = lifted(m, branch.term)
        if branch.term.tag in (Tag.INC, Tag.SUP):
            branch.parts = [Branch(part) for part in branch.term.args]
            todo.extend(branch.parts)
    buckets: list[deque[list[Branch]]] = [deque() for _ in range(BUCKETS)]
    buckets[0].append([root])
    while (key := next((key for key in range(BUCKETS) if buckets[key]), None)) is not None:
        for branch in buckets[key].popleft():
            k = key
            while branch.term.tag == Tag.INC:
                branch, k = branch.parts[0], max(0, k - 1)  # noqa: PLW2901
            if branch.term.tag == Tag.SUP:
                buckets[min(BUCKETS - 1, k + 1)].append(branch.parts)
            elif branch.term.tag != Tag.ERA:
                yield branch.term


def lifted(m: Machine, term: Term) -> Term:
    """Lift a branch; again while a variable in it was filled only after it had been lifted (row D18)."""
    term = run(lift(m, term, 0))
    while term.tag not in FINAL and has_filled(term):
        term = run(lift(m, term, 0))
    return term


def run(lifting: Lifting) -> Term:
    """Drive a lifting and those it asks for, without recursion."""
    stack = [lifting]
    result: Term | None = None
    while True:
        try:
            asked = next(stack[-1]) if result is None else stack[-1].send(result)
        except StopIteration as end:
            stack.pop()
            result = end.value
            assert result is not None
            if not stack:
                return result
        else:
            stack.append(asked)
            result = None


def lift(m: Machine, term: Term, depth: int) -> Lifting:
    """Bring the first superposition or mark of a term to its top; ``depth`` counts the quoted λs around it."""
    while True:
        w = m.wnf(term)
        if w.tag == Tag.RED:
            term = w.args[1]  # the guard is dropped
        elif w.tag == Tag.LAM:
            w.binder().filled = Term(Tag.BJV, depth + 1)
            w.is_consumed = True
            body = yield lift(m, w.args[0], depth + 1)
            if body.tag == Tag.ERA:
                return body
            if body.tag in (Tag.INC, Tag.SUP):
                return body.copy([quoted(part, depth) for part in body.args])
            return quoted(body, depth)
        elif w.tag in FINAL or not w.args:
            return w
        elif (held := guard_in_the_way(w)) is not None:
            held.args[0] = held.args[0].args[1]  # row D20: what the guard kept apart may react now
            term = w
        else:
            for place, part in enumerate(w.args):
                w.args[place] = yield lift(m, part, depth)
                if w.args[place].tag == Tag.ERA:
                    return w.args[place]
            return promoted(w)


def quoted(body: Term, depth: int) -> Term:
    """A λ whose variable is its level."""
    return lam(Binder(), body, depth + 1)


def guard_in_the_way(w: Term) -> Term | None:
    """Find the node that is stuck on a guarded term, and keeps the node w stuck.

    Guards are dropped before any field is lifted: what is lifted cannot react any more, its λs being quoted.
    """
    while w.tag in ELIMINATORS:
        is_on_second = w.tag == Tag.OP2 and w.args[0].tag == Tag.NUM
        is_on_second |= w.tag == Tag.APP and (w.args[0].tag in CASE_TAGS or w.args[0].tag == Tag.USE)
        held = w.args[1 if is_on_second else 0]
        if held.tag == Tag.RED and not is_on_second:
            return w
        w = held
    return None


def promoted(node: Term) -> Term:
    """Exchange a node with the first superposition or mark among its lifted fields (row D19)."""
    for place, part in enumerate(node.args):
        if part.tag == Tag.INC:
            node.args[place] = part.args[0]
            return inc(node)
        if part.tag == Tag.SUP:
            ends = [clone(part.ext, other) for other in node.args]
            left, right = (node.copy([end[side] for end in ends]) for side in (0, 1))
            left.args[place], right.args[place] = part.args
            return sup(part.ext, left, right)
    return node


def has_filled(term: Term) -> bool:
    """Whether a variable or an end in a term stands for something by now."""
    todo = [term]
    seen: set[int] = set()
    while todo:
        term = todo.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        if term.tag == Tag.VAR and term.binder().filled is not None:
            return True
        if term.tag in END_TAGS:
            if term.slot().published is not None:
                return True
            todo.append(term.slot().term)
        todo.extend(term.args)
    return False
