"""How a run ends: its status fits what the last pass left."""

from __future__ import annotations

import numpy as np

from hvm4viz.events import OUTCOMES
from hvm4viz.trace.checks.counts import carried
from hvm4viz.trace.checks.view import ABORTED, ERROR, STARVED, CannotCheck, Found, Rule, View


def status(view: View) -> Found | None:
    """Compare the status of the run with the outcomes of its last pass."""
    end = view.trace.end
    if end is None:
        raise CannotCheck("the recording stops before the run does")
    n = view.trace.n_passes
    outcomes = view.trace.outcomes
    for stop, of in ((ERROR, "error"), (ABORTED, "primitive")):
        early = outcomes[:, stop] > 0
        early &= ~view.is_evaluator  # it calls primitives, and takes what they raise
        early[n - 1 :] = False
        if early.any():
            p = int(np.flatnonzero(early)[0])
            return Found(p, f"a task ended {OUTCOMES[stop]} there and the run went on")
        stopped = n > 0 and outcomes[n - 1, stop] > 0 and not view.is_evaluator[n - 1]
        if stopped and end.status not in (of, "error", "heap_full"):
            return Found(n - 1, f"a task ended {OUTCOMES[stop]} and the run {end.status!r}")
    if not n:
        return None
    last = n - 1
    if end.status == "heap_full" and not outcomes[last, STARVED] and not view.is_evaluator[last]:
        return Found(last, "the heap is full and no task starved")
    if end.status == "done" and not _stops_early(view):
        left = int(carried(view)[last]) + int(view.trace.parked[last])
        if left:
            return Found(last, f"the run is done and {left:,} tasks are left")
    if end.status == "stalled" and not view.is_evaluator[last]:
        waiting = int(view.trace.parked[last]) + int(carried(view)[last])
        if not waiting:
            return Found(last, "the run is stalled and nothing waits")
    return None


def finished(view: View) -> Found | None:
    """Check that a run which is done left no unfinished task."""
    end = view.trace.end
    if end is None or view.trace.dropped:
        raise CannotCheck("the recording stops before the run does")
    if end.status != "done":
        return None
    if _stops_early(view):
        raise CannotCheck("enough branches were enumerated: the run may stop with tasks at work")
    chains = view.chains
    left = chains.events[(chains.following < 0) & chains.is_open[chains.events]]
    if not left.size:
        return None
    event = int(left.min())
    words = f"its task was {OUTCOMES[view.col('outcome')[event]]} in pass {view.passes[event]} and never went on"
    return Found(view.n - 1, words, loc=int(view.col("loc")[event]), thread=int(view.col("thread")[event]))


def _stops_early(view: View) -> bool:
    return view.lifts and (view.header.limit is not None or view.forks)


RULES = (
    Rule("the status fits the last pass", "counts", status),
    Rule("a run that is done leaves no unfinished task", "events", finished),
)
