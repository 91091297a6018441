"""Cells at level ``full``: what is final stays, no live cell is zero, slots and children are what operations say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.kernel_text import abi
from hvm4viz.term import SUB_BIT, Tag
from hvm4viz.trace.checks.operations import CLOSES, GIVE_BACK, PUBLISH, STUCK, TAKE
from hvm4viz.trace.checks.view import DONE, FRESH, CannotCheck, Found, Rule, View, first
from hvm4viz.trace.checks.words import Words

SUB: Final = np.uint64(SUB_BIT)
FORKED: Final = 84  # kernels/term.h: the field whose operand is being reduced elsewhere
NOBODY: Final = np.uint64(0xFFFFFFFF)  # kernels/heap.h: in the third cell of a binder, until a thread fills it

_ARITIES: Final = {
    **dict.fromkeys((Tag.LAM, Tag.USE, Tag.INC, Tag.UNS, Tag.DP0, Tag.DP1), 1),
    **dict.fromkeys((Tag.APP, Tag.SUP, Tag.DRY, Tag.MAT, Tag.SWI, Tag.OP2, Tag.RED, Tag.EQL, Tag.AND, Tag.OR), 2),
    **dict.fromkeys((Tag.DSU, Tag.DDU), 3),
    **{Tag.C00 + n: n for n in range(17)},
}
CHILDREN: Final = np.array([_ARITIES.get(tag, 0) for tag in range(128)], np.int64)
"""Cells that a term in weak normal form with this tag puts on the next frontier; a stuck end its slot."""


def _tags(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (words >> np.uint64(56)).astype(np.int64) & 0x7F


def continuous(view: View) -> Found | None:
    """Check that each change of a cell begins where the one before ended."""
    words = view.words
    is_first = np.ones(words.cell.size, bool)
    is_first[1:] = words.cell[1:] != words.cell[:-1]
    last = np.where(is_first, words.start(words.cell), np.roll(words.after, 1))
    wrong = words.before != last
    return _at_change(words, wrong, lambda i: f"it held {_hex(last[i])} and now begins as {_hex(words.before[i])}")


def final(view: View) -> Found | None:
    """Check that a cell with SUB never changes again."""
    words = view.words
    wrong = ((words.before & SUB) != 0) & ~_is_protocol(view, words.cell, offsets=(2,))
    return _at_change(words, wrong, lambda i: f"it held SUB and changes to {_hex(words.after[i])}")


def not_zero(view: View) -> Found | None:
    """Check that a cell that holds something is not emptied, but for stamps, waiters and marks of slots."""
    words = view.words
    wrong = (words.before != 0) & (words.before != NOBODY) & (words.after == 0)
    wrong &= ~_is_protocol(view, words.cell, offsets=(1, 2, 3))
    found = _at_change(words, wrong, lambda i: f"it held {_hex(words.before[i])} and is zero")
    done = np.flatnonzero(view.col("outcome") == DONE)
    loc = view.col("loc")[done]
    empty = done[view.words.at_end(loc, view.passes[done]) == 0]
    return first(found, view.at_event(empty, "its task is done and the cell is zero"))


def _is_protocol(view: View, cells: NDArray[np.int64], *, offsets: tuple[int, ...]) -> NDArray[np.bool_]:
    """Tell which cells hold protocol words of a slot."""
    if view.is_single and 2 in offsets and 1 not in offsets:
        return np.zeros(cells.size, bool)
    slots = _slots(view)
    return np.logical_or.reduce([np.isin(cells - offset, slots) for offset in offsets])


def _slots(view: View) -> NDArray[np.int64]:
    """Return the slots that the recording names."""
    return np.unique(np.concatenate([view.ops["slot"], view.col("slot")[view.col("slot") != 0]])).astype(np.int64)


def slots(view: View) -> Found | None:
    """Check that a slot's cell holds what was done to it: a frame while it is held, SUB once it is published."""
    ops = view.ops[np.isin(view.ops["op"], (TAKE, *CLOSES))]
    order = np.argsort(ops["slot"].astype(np.int64) * (view.n + 1) + ops["pass"], kind="stable")
    ops = ops[order]
    is_last = np.ones(ops.size, bool)
    is_last[:-1] = (ops["slot"][1:] != ops["slot"][:-1]) | (ops["pass"][1:] != ops["pass"][:-1])
    last = ops[is_last]
    word = view.words.at_end(last["slot"], last["pass"])
    has_sub, is_frame = (word & SUB) != 0, _tags(word) >= abi.F_ROOT
    is_free = ~has_sub & ~is_frame
    held, published = last["op"] == TAKE, last["op"] == PUBLISH
    good = (held & is_frame & ~has_sub) | (published & has_sub) | (~held & ~published & is_free)
    names = {TAKE: "taken", PUBLISH: "published", GIVE_BACK: "given back", STUCK: "given back"}
    wrong = np.flatnonzero(~good)
    found = None
    if wrong.size:
        at = wrong[np.argmin(last["event"][wrong])]
        what = f"slot {last['slot'][at]} is {names[int(last['op'][at])]} and holds {_hex(word[int(at)])}"
        found = view.at_event(last["event"][at : at + 1], what)
    return first(found, _changed_by_nobody(view, ops))


def _changed_by_nobody(view: View, ops: NDArray[np.void]) -> Found | None:
    """Find a slot whose cell changes though nobody takes, publishes or gives it back."""
    words, stride = view.words, view.n + 1
    touched = np.unique(ops["slot"].astype(np.int64) * stride + ops["pass"])
    at = np.flatnonzero(np.isin(words.cell, _slots(view)) & (words.before != 0))
    at = at[~view.is_evaluator[words.pass_index[at]]]
    alone = at[~np.isin(words.cell[at] * stride + words.pass_index[at], touched)]
    wrong = np.zeros(words.cell.size, bool)
    wrong[alone] = True
    return _at_change(words, wrong, lambda i: f"nobody acts on slot {words.cell[i]} and it changes")


def children(view: View) -> Found | None:
    """Check that the fresh entries of a pass are the children of what the pass before finished, all of them."""
    if view.lifts:
        raise CannotCheck("branches are begun by the host")
    chains, origin, outcome, passes = view.chains, view.col("origin"), view.col("outcome"), view.passes
    is_told = np.zeros(view.n, bool)
    is_told[1:] = (view.unrun[1:] == 0) & (view.unrun[:-1] == 0)
    is_told &= ~view.is_evaluator[: view.n] & ~view.is_start[: view.n]
    fresh = np.flatnonzero((origin == FRESH) & is_told[passes])
    joins, joined_in = _joins(view)
    done = np.flatnonzero((outcome == DONE) & ~np.isin(view.col("loc"), joins))
    done = done[(passes[done] + 1 < view.n)]
    done = done[is_told[passes[done] + 1]]
    word = view.words.at_end(view.col("loc")[done], passes[done])
    tag = _tags(word)
    count = np.where((word & SUB) != 0, 0, CHILDREN[tag])
    parent = np.repeat(done, count)
    child = np.repeat((word & np.uint64(0xFFFFFFFF)).astype(np.int64), count) + _ranges(count)
    certain = np.repeat(~np.isin(tag, (Tag.DP0, Tag.DP1)), count) & chains.is_first[parent]
    stride = np.int64(view.n + 2)
    expected = np.unique(np.concatenate([child * stride + passes[parent] + 1, joins * stride + joined_in + 1]))
    found = view.col("loc")[fresh].astype(np.int64) * stride + passes[fresh]
    unknown = fresh[~np.isin(found, expected)]
    # where nothing was left the host may begin something new; a stuck slot may have been visited before
    nothing_left = np.ones(view.n, bool)
    nothing_left[passes[parent[certain]] + 1] = False
    nothing_left[passes[origin != FRESH]] = False
    unknown = unknown[~nothing_left[passes[unknown]]]
    visited = np.unique(view.col("loc").astype(np.int64)[origin == FRESH] * stride + passes[origin == FRESH])
    missing = np.flatnonzero(certain & ~np.isin(child * stride + passes[parent] + 1, visited))
    lost = None
    if missing.size:
        at = missing[np.argmin(parent[missing])]
        words = f"it is a child of cell {view.col('loc')[parent[at]]} and not on the frontier"
        lost = Found(int(passes[parent[at]]) + 1, words, loc=int(child[at]))
    return first(view.at_event(unknown, "no task of the pass before has it as a child"), lost)


def _joins(view: View) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells in which forked operands are reduced, and the pass that left each there."""
    words = view.words
    at = np.flatnonzero(_tags(words.after) == FORKED)
    return (words.after[at] & np.uint64(0xFFFFFFFF)).astype(np.int64), words.pass_index[at]


def _ranges(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count 0, 1 … up to each of the counts, one run after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - counts, counts)


def _hex(word: Any) -> str:
    return f"{int(word):#018x}"


def _at_change(words: Words, wrong: NDArray[np.bool_], message: Callable[[int], str]) -> Found | None:
    """Return the first of some changes as what was found."""
    at = np.flatnonzero(wrong)
    if not at.size:
        return None
    i = int(at[np.argmin(words.pass_index[at])])
    return Found(int(words.pass_index[i]), message(i), loc=int(words.cell[i]))


RULES = (
    Rule("a cell changes from what it held", "full", continuous),
    Rule("a cell with SUB is final", "full", final),
    Rule("a cell that is in use is not zero", "full", not_zero),
    Rule("a slot's cell holds what was done to it", "full", slots),
    Rule("fresh entries are the children of finished tasks, all of them", "full", children),
)
