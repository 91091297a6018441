"""Slots at level ``full``: who takes and publishes, who holds, who reads when, who wakes whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OPERATIONS
from hvm4viz.trace.checks.view import (
    CONTENDED,
    DEFERRED,
    NOTHING,
    PARKED,
    WAKE,
    Found,
    Rule,
    View,
    first,
)

READ, TAKE, PUBLISH, GIVE_BACK, STUCK, WAKES = (
    OPERATIONS.index(name) for name in ("read", "take", "publish", "release", "stuck", "wake")
)
CLOSES = (PUBLISH, GIVE_BACK, STUCK)
_VERBS: Final = {TAKE: "takes", PUBLISH: "publishes", GIVE_BACK: "gives back", STUCK: "gives back"}


def authority(view: View) -> Found | None:
    """Check that slots are taken, published and given back by threads that may act for their owner."""
    if view.dup != "owner" or view.is_single:
        return None
    ops = view.ops
    ops = ops[np.isin(ops["op"], (TAKE, *CLOSES)) & ~view.by_evaluator[ops["event"]]]
    owner = view.owner_thread(ops["slot"], ops["pass"])
    wrong = np.flatnonzero(~view.may_act(ops["thread"], owner))
    return _at_op(view, ops, wrong, lambda op: f"{_does(op)} slot {op['slot']}, which is another thread's")


def one_holder(view: View) -> Found | None:
    """Check that a slot is taken when nobody holds it, and left by the task that took it, at the side it took."""
    ops, before, is_first = _by_slot(view, (TAKE, *CLOSES))
    was, op = ops["op"][before], ops["op"]
    held = ~is_first & (was == TAKE)
    taken_twice = (op == TAKE) & held
    is_holder = held & (ops["loc"] == ops["loc"][before]) & (ops["side"] == ops["side"][before])
    free = ~held
    allowed = is_holder | (is_first & view.is_cold)
    if view.by_claim and view.forks:  # a cancelled task gives back what it would have taken
        allowed |= (op == GIVE_BACK) & free
    left = np.isin(op, CLOSES) & ~allowed
    left &= ~(free & ~is_first & (was == PUBLISH))  # told by the rule of publications

    def who(at: Any) -> str:
        return f"{_does(at)} slot {at['slot']} at side {at['side']}"

    return first(
        _at_op(view, ops, np.flatnonzero(taken_twice), lambda at: f"{who(at)} while another task holds it"),
        _at_op(view, ops, np.flatnonzero(left), lambda at: f"{who(at)} and does not hold it there"),
    )


def published_once(view: View) -> Found | None:
    """Check that nobody takes, publishes or gives back a published slot."""
    ops, before, is_first = _by_slot(view, (TAKE, *CLOSES))
    wrong = ~is_first & (ops["op"][before] == PUBLISH)
    return _at_op(view, ops, np.flatnonzero(wrong), lambda op: f"{_does(op)} slot {op['slot']}, published before")


def reads(view: View) -> Found | None:
    """Check that a slot is read after it was published, by others in a later pass only."""
    ops = view.ops
    publications = np.flatnonzero(ops["op"] == PUBLISH)
    slots, place = np.unique(ops["slot"][publications], return_index=True)
    publication = publications[place]
    at = np.flatnonzero(ops["op"] == READ)
    slot = ops["slot"][at]
    found, is_there = _find(slots, slot)
    source = publication[found] if publication.size else np.zeros(at.size, np.int64)
    # born SUB, of which nothing tells: then nobody ever takes it
    taken = np.unique(ops["slot"][ops["op"] == TAKE])
    is_born = ~is_there & ~np.isin(slot, taken)
    passes, own = ops["pass"][at], ops["thread"][at]
    is_old = is_there & (ops["pass"][source] < passes)
    mine = is_there & (source < at) & (ops["pass"][source] == passes) & (ops["thread"][source] == own)
    seen = is_there & (ops["pass"][source] <= passes) & view.is_live
    good = is_old | mine | seen | (is_born if not view.is_cold else ~is_there)
    wrong = at[~good]
    known = set(slots.tolist())
    return _at_op(
        view,
        ops,
        wrong,
        lambda op: (
            f"it reads slot {op['slot']}, "
            + ("published in this pass by another thread, or later" if int(op["slot"]) in known else "never published")
        ),
    )


def wakes(view: View) -> Found | None:
    """Check that only tasks that wait are woken, once, and that woken entries were woken."""
    ops = view.ops
    ops = ops[ops["op"] == WAKES]
    outcome, slot, side = view.col("outcome"), view.col("slot").astype(np.int64), view.col("side")
    waits = outcome == CONTENDED if view.by_owner_thread else (outcome == DEFERRED) & view.by_claim
    parks = np.flatnonzero(waits & ~view.by_evaluator)
    stride = np.int64(outcome.size + 1)
    key = (slot[parks] * 2 + side[parks]) * stride + parks
    order = np.argsort(key)
    key, parks = key[order], parks[order]
    wanted = ops["slot"].astype(np.int64) * 2 + ops["side"]
    at = np.searchsorted(key, wanted * stride + ops["event"], side="right") - 1
    park = parks[np.maximum(at, 0)] if parks.size else np.zeros(at.size, np.int64)
    nobody = (at < 0) | (key[np.maximum(at, 0)] // stride != wanted) if parks.size else np.ones(at.size, bool)
    again = _resumed(view)[park]
    gone = again <= ops["pass"]
    if view.by_claim:  # an arrival in this pass has a poll of its own to come
        gone |= view.passes[park] >= ops["pass"]
    is_second = np.zeros(at.size, bool)
    if view.by_owner_thread:
        known = np.flatnonzero(~nobody)
        known = known[np.argsort(at[known], kind="stable")]
        is_second[known[1:]] = at[known[1:]] == at[known[:-1]]
    wrong = np.flatnonzero((nobody & (not view.is_cold)) | (gone & ~nobody) | is_second)
    found = _at_op(view, ops, wrong, lambda op: f"it wakes side {op['side']} of slot {op['slot']}, where nobody waits")
    return first(found, _woken(view, ops))


def _woken(view: View, ops: NDArray[np.void]) -> Found | None:
    """Find an entry that came by a wake which nobody sent."""
    chains, slot, side = view.chains, view.col("slot").astype(np.int64), view.col("side")
    here = (view.col("origin")[chains.events] == WAKE) & (chains.previous != NOTHING)
    event, before = chains.events[here], chains.previous[here]
    sent = np.sort((ops["slot"].astype(np.int64) * 2 + ops["side"]) * (view.n + 1) + ops["pass"])
    wanted = (slot[before] * 2 + side[before]) * (view.n + 1)
    passes = view.passes[event]
    at = np.searchsorted(sent, wanted + passes) - 1  # the last one before this pass
    was_sent = (at >= 0) & (sent[np.maximum(at, 0)] >= wanted + view.passes[before]) if sent.size else at >= 0
    was_sent |= view.passes[before] == passes  # behind its late poll, sent for the slot before
    lone = (view.trace.frontier_sizes[: view.n] == 1)[passes]  # the host wakes one to break a cycle
    return view.at_event(event[~was_sent & ~lone], "nobody woke it")


def let_go(view: View) -> Found | None:
    """Check that a task that is done holds no slot."""
    ops, _, _ = _by_slot(view, (TAKE, *CLOSES))
    if not ops.size:
        return None
    taken = np.flatnonzero(ops["op"] == TAKE)
    after = np.minimum(taken + 1, ops.size - 1)
    is_closed = (taken + 1 < ops.size) & (ops["slot"][after] == ops["slot"][taken])
    closed = np.where(is_closed, ops["event"][after], np.iinfo(np.int64).max)
    over = _ended(view)[ops["event"][taken]]
    wrong = np.flatnonzero((over != NOTHING) & (closed > over))
    if not wrong.size:
        return None
    worst = wrong[np.argmin(over[wrong])]
    slot = int(ops["slot"][taken[worst]])
    return view.at_event(over[worst : worst + 1], f"its task is done and holds slot {slot}")


def _resumed(view: View) -> NDArray[np.int64]:
    """Return for each event the pass in which its task does something else than wait."""
    chains, outcome = view.chains, view.col("outcome")
    again = np.full(outcome.size, np.iinfo(np.int64).max)
    following = np.full(outcome.size, NOTHING, np.int64)
    following[chains.events] = chains.following
    at = np.flatnonzero((outcome == CONTENDED) | (outcome == DEFERRED))
    step = following[at]
    while True:
        waits = (step != NOTHING) & (outcome[step] == PARKED)
        if not waits.any():
            break
        step[waits] = following[step[waits]]
    known = step != NOTHING
    again[at[known]] = view.passes[step[known]]
    return again


def _ended(view: View) -> NDArray[np.int64]:
    """Return for each event the event that ends its task, or -1."""
    chains = view.chains
    ends = ~chains.is_open[chains.events]
    place = np.where(ends, np.arange(ends.size), ends.size)
    place = np.minimum.accumulate(place[::-1])[::-1]
    loc = view.col("loc")[chains.events]
    inside = np.minimum(place, ends.size - 1)
    is_same = (place < ends.size) & (loc[inside] == loc)
    out = np.full(view.col("loc").size, NOTHING, np.int64)
    out[chains.events] = np.where(is_same, chains.events[inside], NOTHING)
    return out


def _by_slot(view: View, kinds: tuple[int, ...]) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.bool_]]:
    """Return operations of some kinds by slot, for each the place of the one before, and whether there is none."""
    ops = view.ops[np.isin(view.ops["op"], kinds)]
    ops = ops[np.argsort(ops["slot"], kind="stable")]
    is_first = np.ones(ops.size, bool)
    is_first[1:] = ops["slot"][1:] != ops["slot"][:-1]
    return ops, np.maximum(np.arange(ops.size) - 1, 0), is_first


def _find(known: NDArray[np.uint32], wanted: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the place of each value in an ascending array, and whether it is there."""
    if not known.size:
        return np.zeros(wanted.size, np.int64), np.zeros(wanted.size, bool)
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return at, known[at] == wanted


def _does(op: Any) -> str:
    names = {
        READ: "reads",
        TAKE: "takes",
        PUBLISH: "publishes",
        GIVE_BACK: "gives back",
        STUCK: "leaves",
        WAKES: "wakes",
    }
    return f"it {names.get(int(op['op']), '?')}"


def _at_op(view: View, ops: NDArray[np.void], wrong: NDArray[np.int64], words: Callable[[Any], str]) -> Found | None:
    """Return the first of some operations as what was found."""
    if not wrong.size:
        return None
    op = ops[wrong[np.argmin(ops["event"][wrong])]]
    return view.at_event(np.array([int(op["event"])]), words(op))


RULES = (
    Rule("a slot is taken, published and given back with its owner's authority", "full", authority),
    Rule("a slot has one holder at a time", "full", one_holder),
    Rule("a slot is published once, and nobody takes it then", "full", published_once),
    Rule("others read what was published in an earlier pass", "full", reads),
    Rule("only tasks that wait are woken", "full", wakes),
    Rule("a task that is done holds no slot", "full", let_go),
)
