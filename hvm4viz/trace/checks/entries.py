"""The order of a frontier: segments in thread order, each laid out as the protocol says, fresh entries dealt evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.checks.view import (
    DONE,
    FRESH,
    HOP,
    JOIN,
    NOTHING,
    POLL,
    RETURNED,
    WAKE,
    Found,
    Rule,
    View,
    first,
)

_RESUMED, _SENT, _DEALT, _POLLS = range(4)


def threads_exist(view: View) -> Found | None:
    """Check that every entry ran on a thread of the machine."""
    thread = view.col("thread")
    limit = np.where(view.by_evaluator, 1, view.threads)
    return view.at_event(thread >= limit, lambda e: f"thread {thread[e]} is none of {limit[e]}")


def thread_order(view: View) -> Found | None:
    """Check that the segments of a frontier are in thread order."""
    thread, passes = view.col("thread"), view.passes
    wrong = np.zeros(thread.size, bool)
    wrong[1:] = (thread[1:] < thread[:-1]) & (passes[1:] == passes[:-1])
    return view.at_event(wrong, lambda e: f"thread {thread[e]} comes after thread {thread[e - 1]}")


def segment_order(view: View) -> Found | None:
    """Check that a segment holds resumed tasks, those sent to it, fresh ones, polls, each as they were left."""
    kind, sender = _kinds(view)
    thread, passes = view.col("thread"), view.passes
    is_next = np.zeros(kind.size, bool)
    is_next[1:] = (thread[1:] == thread[:-1]) & (passes[1:] == passes[:-1])
    is_next &= _is_ordered(view)
    before = np.roll(kind, 1)
    words = ("resumed", "sent by other tasks", "fresh", "polling")
    wrong = is_next & (kind < before)
    found = view.at_event(wrong, lambda e: f"it is {words[kind[e]]} and comes after one that is {words[before[e]]}")
    # of one kind, in the order in which the pass before left them
    last = np.roll(sender, 1)
    swapped = is_next & (kind == before) & (sender != NOTHING) & (last != NOTHING) & (sender < last)
    return first(found, view.at_event(swapped, "it was left after the one that follows it"))


def dealing(view: View) -> Found | None:
    """Check that fresh entries are dealt as the setting says: in turn, to the owner of their cell, to who is idle."""
    kind, _ = _kinds(view)
    dealt = np.flatnonzero((kind == _DEALT) & ~view.by_evaluator)
    thread, passes, loc = view.col("thread").astype(np.int64)[dealt], view.passes[dealt], view.col("loc")
    tpb = view.header.threads_per_block
    if view.by_address:
        owner = view.owner_thread(loc[dealt], passes)
        wrong = dealt[~view.may_act(thread, owner)]
        found = view.at_event(wrong, lambda e: f"cell {loc[e]} belongs to another thread")
        if not view.is_block or found is not None:
            return found
        groups, lanes, n_lanes = passes * np.int64(view.header.blocks) + thread // tpb, thread % tpb, tpb
    else:
        if view.by_idleness:
            dealt, found = _beyond_idle(view, dealt)
            if found is not None:
                return found
            thread, passes = view.col("thread").astype(np.int64)[dealt], view.passes[dealt]
        groups, lanes, n_lanes = passes.astype(np.int64), thread, view.threads
    return _in_turn(view, dealt, groups, lanes, n_lanes)


def hops_in_turn(view: View) -> Found | None:
    """Check that tasks which come to a block are dealt to its threads in the order in which they come."""
    if not (view.dup == "owner" and view.is_block) or view.is_single:
        return None
    _, sender = _kinds(view)
    hops = np.flatnonzero((view.col("origin") == HOP) & (sender != NOTHING))
    tpb = view.header.threads_per_block
    thread, passes = view.col("thread").astype(np.int64)[hops], view.passes[hops]
    groups = passes * np.int64(view.header.blocks) + thread // tpb
    order = np.lexsort((sender[hops], groups))
    number = _number_in_group(groups[order])
    wrong = order[(thread[order] % tpb != number % tpb) & _is_ordered(view)[hops[order]]]
    return view.at_event(hops[wrong], "another thread of the block is next")


def _beyond_idle(view: View, dealt: NDArray[np.int64]) -> tuple[NDArray[np.int64], Found | None]:
    """Check that fresh entries first fall on the first threads that have no others; return those that come after."""
    keys = view.passes.astype(np.int64) * view.threads + view.col("thread")
    is_dealt = np.zeros(keys.size, bool)
    is_dealt[dealt] = True
    busy, own = np.unique(keys[~is_dealt]), keys[dealt]
    starts = own - own % view.threads
    at, group = np.searchsorted(busy, own), np.searchsorted(own, starts)
    is_busy = np.zeros(own.size, bool)
    is_busy[at < busy.size] = busy[at[at < busy.size]] == own[at < busy.size]
    is_first = np.concatenate([[True], own[1:] != own[:-1]])[: own.size] & ~is_busy
    rank = own % view.threads - (at - np.searchsorted(busy, starts))
    n_dealt = np.searchsorted(own, starts + view.threads) - group
    n_first = np.bincount(group[is_first], minlength=max(own.size, 1))[group]
    n_idle = view.threads - (np.searchsorted(busy, starts + view.threads) - np.searchsorted(busy, starts))
    wrong = (is_first & (rank >= n_dealt)) | (n_first != np.minimum(n_dealt, n_idle))
    wrong &= _is_ordered(view)[dealt]
    return dealt[~is_first], view.at_event(dealt[wrong], "another thread has nothing else to do")


def _in_turn(
    view: View, events: NDArray[np.int64], groups: NDArray[np.int64], lanes: NDArray[np.int64], n_lanes: int
) -> Found | None:
    """Check that each group's entries fall on lane 0, 1, 2 … in turn: how many on each is known, not which."""
    is_whole = _is_ordered(view)[events]
    events, groups, lanes = events[is_whole], groups[is_whole], lanes[is_whole]
    if not events.size:
        return None
    order = np.lexsort((events, groups))
    events, groups, lanes = events[order], groups[order], lanes[order]
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    sizes = np.diff(np.append(starts, groups.size))
    # a lane's nth entry needs a group of n * n_lanes + lane + 1 entries
    by_lane = np.lexsort((events, lanes, groups))
    nth = _number_in_group((groups * n_lanes + lanes)[by_lane])
    size = np.repeat(sizes, sizes)[by_lane]
    wrong = nth * n_lanes + lanes[by_lane] >= size
    return view.at_event(events[by_lane[wrong]], "another thread is next in turn")


def _number_in_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count 0, 1, 2 … within each run of equal values."""
    if not groups.size:
        return np.zeros(0, np.int64)
    is_first = np.concatenate([[True], groups[1:] != groups[:-1]])
    starts = np.flatnonzero(is_first)
    return np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))


def _kinds(view: View) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return the part of the segment in which each entry belongs, and the event that left it there (-1: not known)."""
    origin = view.col("origin")
    chains = view.chains
    before = np.full(origin.size, NOTHING, np.int64)
    before[chains.events] = chains.previous
    kind = np.zeros(origin.size, np.int8)
    kind[(origin == HOP) | (origin == WAKE) | (origin == JOIN)] = _SENT
    kind[origin == FRESH] = _DEALT
    kind[origin == POLL] = _POLLS
    outcome = view.col("outcome")
    returned = (before != NOTHING) & (outcome[before] == RETURNED)
    kind[returned & (origin != FRESH)] = _DEALT
    is_told = (origin != FRESH) & (origin != WAKE) & (origin != JOIN) & (before != NOTHING)
    is_told &= ~((kind == _POLLS) & view.by_claim & (outcome[before] == DONE))
    return kind, np.where(is_told, before, NOTHING)


def _is_ordered(view: View) -> NDArray[np.bool_]:
    """Tell for which events the order of their frontier follows from the pass before: nothing had to wait there."""
    waited = np.concatenate([[0], view.unrun[:-1]])[: view.n]
    is_told = (waited == 0) & (view.unrun == 0) & ~view.is_evaluator[: view.n]
    return is_told[view.passes]


RULES = (
    Rule("an entry runs on a thread of the machine", "events", threads_exist),
    Rule("a frontier is its segments in thread order", "events", thread_order),
    Rule("a segment holds resumed, sent, fresh and polling entries in this order", "events", segment_order),
    Rule("fresh entries are dealt in turn, to the owner of their cell, or to idle threads", "events", dealing),
    Rule("tasks that come to a block are dealt in turn", "events", hops_in_turn),
)
