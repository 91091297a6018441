"""Why a task stopped: slot, side and reason fit its outcome, and nobody defers where he may act."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.trace.checks.view import (
    BUSY,
    CLAIM,
    CONTENDED,
    DEFERRED,
    DONE,
    FORKED,
    FRESH,
    NO_REASON,
    PARKED,
    PUBLISH,
    RELEASE,
    RETURNED,
    STALE,
    TAKE,
    CannotCheck,
    Found,
    Rule,
    View,
    first,
)


def reasons(view: View) -> Found | None:
    """Check that the reason fits the outcome, and the outcome the protocol."""
    outcome, reason, slot = view.col("outcome"), view.col("reason"), view.col("slot")
    hops = np.isin(reason, (TAKE, PUBLISH, RELEASE))
    expected = np.full(outcome.size, NO_REASON, np.uint8)
    expected[outcome == CONTENDED] = BUSY
    expected[outcome == DEFERRED] = CLAIM
    fits = reason == expected
    is_deferred = outcome == DEFERRED
    if view.by_claim:
        fits &= ~is_deferred | (reason == CLAIM)
        fits |= is_deferred & (reason == RELEASE) & view.forks
    else:
        fits = np.where(is_deferred, hops & (view.dup == "owner"), fits)
    fits &= (reason != RELEASE) | view.forks
    found = view.at_event(~fits, lambda e: f"it is {OUTCOMES[outcome[e]]}, reason {REASONS[reason[e]] or 'none'!r}")
    unknown = (outcome == FORKED) & (not view.forks)
    unknown |= (outcome == RETURNED) & (not view.returns)
    unknown |= np.isin(outcome, (PARKED, STALE)) & (view.by_owner_thread or view.is_single)
    unknown |= (outcome == STALE) & view.is_shared
    odd = view.at_event(unknown, lambda e: f"it is {OUTCOMES[outcome[e]]}, which these settings do not know")
    waits = is_deferred | (outcome == CONTENDED) | (outcome == PARKED)
    nowhere = view.at_event(waits & (slot == 0), lambda e: f"it is {OUTCOMES[outcome[e]]} at no slot")
    free = view.at_event(~waits & (slot != 0), lambda e: f"it is {OUTCOMES[outcome[e]]} and names slot {slot[e]}")
    return first(found, odd, nowhere, free)


def authority(view: View) -> Found | None:
    """Check that no task defers at a slot where its thread may act, nor waits at one where it may not."""
    if view.dup != "owner" or view.is_single:
        return None
    outcome, slot, thread = view.col("outcome"), view.col("slot"), view.col("thread")
    at = np.flatnonzero(((outcome == DEFERRED) | (outcome == CONTENDED)) & ~view.by_evaluator)
    owner = view.owner_thread(slot[at], view.passes[at])
    may = view.may_act(thread[at], owner)
    is_deferred = outcome[at] == DEFERRED
    return first(
        view.at_event(at[is_deferred & may], lambda e: f"slot {slot[e]} is its own thread's"),
        view.at_event(at[~is_deferred & ~may], lambda e: f"slot {slot[e]} is another thread's"),
    )


def answered(view: View) -> Found | None:
    """Check that every deferral is closed, in a later pass, unless the run stopped with it open."""
    end = view.trace.end
    if view.trace.dropped or end is None:
        raise CannotCheck("the recording stops before the run does")
    found = view.trace.deferrals()
    early = np.flatnonzero((found["closed"] >= 0) & (found["age"] < 1))
    here = view.at_event(found["event"][early], "it is closed in the pass that opens it")
    if end.status != "done" or _may_end_open(view):
        return here
    still = np.flatnonzero(found["closed"] < 0)
    if not still.size:
        return here
    one = found[still[0]]
    words = f"the one at slot {one['slot']} that opened in pass {one['opened']} is open when the run is done"
    return first(here, Found(view.n - 1, words, loc=int(one["loc"]), thread=int(one["thread"])))


def _may_end_open(view: View) -> bool:
    """Whether a run may be done though tasks are at work: enough branches are enumerated."""
    return view.lifts and (view.header.limit is not None or view.forks)


def fresh_have_parents(view: View) -> Found | None:
    """Check that fresh entries follow a pass that finished a task, or one that left nothing."""
    origin, outcome = view.col("origin"), view.col("outcome")

    def in_pass(events: NDArray[np.intp]) -> NDArray[np.bool_]:
        return np.bincount(view.passes[events], minlength=view.n) > 0

    begins = in_pass(np.flatnonzero(origin == FRESH))
    goes_on = in_pass(np.flatnonzero(origin != FRESH))
    parents = in_pass(np.flatnonzero((outcome == DONE) | view.forks))
    waits = (view.trace.parked[: view.n] > 0) | (view.unrun > 0)
    wrong = np.zeros(view.n, bool)
    wrong[1:] = begins[1:] & ~parents[:-1] & (goes_on[1:] | waits[:-1]) & (view.unrun[:-1] == 0)
    wrong &= ~view.is_start[: view.n] & ~view.is_evaluator[: view.n]
    if not wrong.any():
        return None
    p = int(np.flatnonzero(wrong)[0])
    here = np.arange(int(view.offsets[p]), int(view.offsets[p + 1]))
    return view.at_event(here[origin[here] == FRESH], f"no task of pass {p - 1} is done")


RULES = (
    Rule("slot and reason fit the outcome", "events", reasons),
    Rule("a task defers only where its thread may not act", "events", authority),
    Rule("every deferral is answered in a later pass", "events", answered),
    Rule("a fresh entry is the child of a finished task", "events", fresh_have_parents),
)
