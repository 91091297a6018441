"""The life of each task: every entry continues one, at the thread where it must, and no task is lost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import ORIGINS, OUTCOMES
from hvm4viz.trace.checks.view import (
    ABORTED,
    CLAIM,
    CONTENDED,
    DEFERRED,
    DONE,
    ERROR,
    FORKED,
    FRESH,
    FUEL,
    HOP,
    JOIN,
    NOTHING,
    PARKED,
    POLL,
    RESUME,
    RETURNED,
    STALE,
    STARVED,
    WAKE,
    CannotCheck,
    Found,
    Rule,
    View,
    first,
)

NEVER: Final = np.iinfo(np.int32).max
"""Pass in which a task that is over, or waits for others, must go on."""

TERMINAL: Final = (DONE, STALE, ERROR)


@dataclass
class Chains:
    """The events of each task, linked.

    Attributes
    ----------
    events : ndarray of int64
        Indices of the events that move a task on, by root cell, then in the order of the trace.
    previous, following : ndarray of int64
        For each of them the index of the one before and after it that has the same root cell; -1: none.
    """

    view: View
    events: NDArray[np.int64]
    previous: NDArray[np.int64]
    following: NDArray[np.int64]

    @classmethod
    def of(cls, view: View) -> Chains:
        """Link the events of a trace."""
        loc, outcome = view.col("loc"), view.col("outcome")
        order = np.argsort(loc, kind="stable")
        order = order[outcome[order] != STALE]
        is_same = np.concatenate([[False], loc[order[1:]] == loc[order[:-1]]])[: order.size]
        # a cell that was visited before is passed over: a cyclic term leads back to it
        again = order[is_same]
        passed = np.zeros(loc.size, bool)
        passed[again] = (
            (view.col("origin")[again] == FRESH)
            & (outcome[again] == DONE)
            & (view.col("interactions")[again] == 0)
            & (view.col("cells")[again] == 0)
        )
        order = order[~passed[order]]
        is_same = loc[order[1:]] == loc[order[:-1]]
        previous = np.full(order.size, NOTHING, np.int64)
        following = previous.copy()
        previous[1:][is_same] = order[:-1][is_same]
        following[:-1][is_same] = order[1:][is_same]
        return cls(view, order, previous, following)

    @cached_property
    def is_first(self) -> NDArray[np.bool_]:
        """Which events, of all, are those of the first task that their cell had."""
        begins = (self.view.col("origin")[self.events] == FRESH) & (self.previous != NOTHING)
        begun = np.cumsum(begins)
        start = np.maximum.accumulate(np.where(self.previous == NOTHING, np.arange(begun.size), 0))
        out = np.zeros(self.view.col("loc").size, bool)
        out[self.events] = begun == begun[start]
        return out

    @cached_property
    def is_open(self) -> NDArray[np.bool_]:
        """Which events, of all, leave their task unfinished."""
        outcome, by_evaluator = self.view.col("outcome"), self.view.by_evaluator
        over = np.isin(outcome, TERMINAL)
        over |= (outcome == ABORTED) & ~by_evaluator
        return ~over

    @cached_property
    def due(self) -> NDArray[np.int32]:
        """Pass in which the task of each event, of all, must be on the frontier again; ``NEVER``: in none, or any."""
        view, outcome = self.view, self.view.col("outcome")
        stays = np.isin(outcome, (FUEL, STARVED, RETURNED, DEFERRED))
        if view.is_shared:
            stays |= np.isin(outcome, (CONTENDED, PARKED))
        stays |= (outcome == CONTENDED) & view.by_evaluator
        return np.where(stays, view.passes + 1, NEVER).astype(np.int32)


def one_task(view: View) -> Found | None:
    """Check that no cell has two live tasks, nor two entries in one pass."""
    chains, passes, origin, outcome = view.chains, view.passes, view.col("origin"), view.col("outcome")
    here = chains.previous != NOTHING
    event, before = chains.events[here], chains.previous[here]
    twice = passes[event] == passes[before]
    if view.by_claim:  # a poll that had to wait and a wake may meet; who arrived in this pass waits for the next
        named = np.isin(origin[event], (WAKE, POLL)) & np.isin(origin[before], (WAKE, POLL))
        twice &= ~named | ((outcome[before] == DEFERRED) & (outcome[event] != PARKED))
    twice &= ~view.by_evaluator[event]
    second = (origin[event] == FRESH) & chains.is_open[before]
    return first(
        view.at_event(event[twice], "a second entry of this pass has the same root cell"),
        view.at_event(
            event[second],
            lambda e: f"it begins while the task that began before is {OUTCOMES[outcome[_before(chains, e)]]}",
        ),
    )


def _before(chains: Chains, event: int) -> int:
    return int(chains.previous[np.flatnonzero(chains.events == event)[0]])


def causes(view: View) -> Found | None:
    """Check that each entry continues what its task did last, in the way that this asks for."""
    chains, origin, outcome, reason = view.chains, view.col("origin"), view.col("outcome"), view.col("reason")
    goes_on = origin[chains.events] != FRESH
    event, before = chains.events[goes_on], chains.previous[goes_on]
    if not view.is_cold:
        orphan = event[before == NOTHING]
        found = view.at_event(orphan, lambda e: f"nothing began the task that goes on by {ORIGINS[origin[e]]}")
    else:
        found = None
    event, before = event[before != NOTHING], before[before != NOTHING]
    how, was, by_evaluator = origin[event], outcome[before], view.by_evaluator[event]
    allowed = (how == RESUME) & np.isin(was, (FUEL, STARVED))
    allowed |= (how == RESUME) & (was == RETURNED) & view.returns
    allowed |= (how == RESUME) & by_evaluator & np.isin(was, (CONTENDED, ABORTED))
    allowed |= (how == HOP) & (was == DEFERRED) & (reason[before] != CLAIM) & (view.dup == "owner")
    allowed |= (how == JOIN) & (was == FORKED) & view.forks
    if view.is_single:
        allowed |= (how == RESUME) & (was == CONTENDED)
    elif view.by_owner_thread:
        allowed |= (how == WAKE) & (was == CONTENDED)
    elif view.by_claim:
        allowed |= np.isin(how, (POLL, WAKE)) & (was == DEFERRED) & (reason[before] == CLAIM)
        allowed |= np.isin(how, (POLL, WAKE)) & (was == PARKED)
    else:
        allowed |= (how == POLL) & np.isin(was, (CONTENDED, PARKED))
    stale = np.flatnonzero(view.col("outcome") == STALE)
    odd = stale[~np.isin(origin[stale], (WAKE, POLL))] if view.by_claim else stale
    return first(
        found,
        view.at_event(
            event[~allowed],
            lambda e: f"it comes by {ORIGINS[origin[e]]} after its task was {OUTCOMES[outcome[_before(chains, e)]]}",
        ),
        view.at_event(odd, lambda e: f"it is stale and came by {ORIGINS[origin[e]]}"),
    )


def places(view: View) -> Found | None:
    """Check that a task goes on where it was suspended, or at the owner that it went to."""
    chains, thread, slot = view.chains, view.col("thread").astype(np.int64), view.col("slot")
    here = (chains.previous != NOTHING) & (view.col("origin")[chains.events] != FRESH)
    event, before = chains.events[here], chains.previous[here]
    origin = view.col("origin")[event]
    at_home = (origin != HOP) & (view.col("outcome")[before] != RETURNED)
    moved = event[at_home & (thread[event] != thread[before])]
    hops = origin == HOP
    owner = view.owner_thread(slot[before[hops]], view.passes[event[hops]])
    lost = event[hops][~view.may_act(thread[event[hops]], owner)]
    return first(
        view.at_event(moved, lambda e: f"it was suspended by thread {thread[_before(chains, e)]}"),
        view.at_event(lost, lambda e: f"it went to the owner of slot {slot[_before(chains, e)]}, another thread"),
    )


def nothing_lost(view: View) -> Found | None:
    """Check that every unfinished task is on the frontier again in time."""
    chains, passes = view.chains, view.passes
    due, following = chains.due[chains.events], chains.following
    again = np.where(following == NOTHING, view.n, passes[following]).astype(np.int64)
    early = (following != NOTHING) & (due != NEVER) & (again < due)
    if view.by_claim:  # a wake behind its late poll finds the task waiting elsewhere
        early &= view.col("outcome")[following] != PARKED
    early = np.flatnonzero(early)
    late = np.flatnonzero((due < again) & (due < view.n))
    found = view.at_event(following[early], "it goes on in the pass in which it was suspended")
    if not late.size:
        return found
    # entries that had to wait untouched are counted, pass by pass
    missing = np.zeros(view.n + 1, np.int64)
    np.add.at(missing, due[late], 1)
    np.add.at(missing, again[late], -1)
    short = np.flatnonzero(np.cumsum(missing)[: view.n] > np.maximum(view.unrun, 0))
    if not short.size:
        return found
    p = int(short[0])
    gone = chains.events[late[(due[late] <= p) & (again[late] > p)]]
    event = int(gone.min())
    words = f"its task was {OUTCOMES[view.col('outcome')[event]]} in pass {passes[event]} and is not on the frontier"
    return first(found, Found(p, words, NOTHING, int(view.col("loc")[event]), int(view.col("thread")[event])))


def parked(view: View) -> Found | None:
    """Compare the parked tasks that each pass counts with those that wait for others."""
    if view.is_cold:
        raise CannotCheck("the recording does not show what was parked when it began")
    chains, passes, outcome = view.chains, view.passes, view.col("outcome")
    event, following = chains.events, chains.following
    again = np.where(following == NOTHING, NEVER, passes[following]).astype(np.int64)
    is_frontier = ~view.by_evaluator[event]
    counted = np.zeros(view.n + 1, np.int64)

    def count(which: NDArray[np.bool_], until: NDArray[np.int64]) -> None:
        begin, end = passes[event[which]], np.minimum(until[which], view.n)
        np.add.at(counted, begin, 1)
        np.add.at(counted, np.maximum(end, begin), -1)

    woken = outcome[event] == FORKED
    if view.by_owner_thread:
        woken |= outcome[event] == CONTENDED
    count(woken & is_frontier, again - 1)  # on the frontier already when the pass before ends
    if view.by_claim:
        count(np.isin(outcome[event], (DEFERRED, PARKED)) & is_frontier, again)
    counted = np.cumsum(counted)[: view.n]
    said = view.trace.parked[: view.n].astype(np.int64)
    slack = np.zeros(view.n, np.int64)
    slack[:-1] = np.maximum(view.unrun[1:], 0)  # woken, but not run in the next pass
    slack[-1:] = counted[-1:]  # woken, but the run ended
    broken = np.zeros(view.n, np.int64)  # the host wakes one to break a cycle, after the pass was counted
    broken[:-1] = _lone_wakes(view)[1:]
    wrong = (said > counted + broken) | (said < counted - slack)
    wrong &= ~view.is_evaluator[: view.n]
    return view.at_pass(wrong, lambda p: f"pass {p} counts {said[p]:,} and {counted[p]:,} wait")


def _lone_wakes(view: View) -> NDArray[np.bool_]:
    """Tell which passes have a single entry, one that was woken."""
    out = view.trace.frontier_sizes[: view.n] == 1
    out &= np.diff(view.offsets) == 1
    out[out] = np.isin(view.col("origin")[view.offsets[:-1][out]], (WAKE, JOIN))
    return out


RULES = (
    Rule("a cell has at most one live task", "events", one_task),
    Rule("an entry continues its task, or begins one", "events", causes),
    Rule("a task goes on where it was suspended, or at the owner that it went to", "events", places),
    Rule("no task is lost", "events", nothing_lost),
    Rule("parked tasks are counted", "events", parked),
)
