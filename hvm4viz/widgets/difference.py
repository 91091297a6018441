"""Where two traces part: the first pass, entry and fact that differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from hvm4viz.events import EVENT, OUTCOMES, REASONS
from hvm4viz.trace.trace import Trace

_COMPARED = ("thread", "loc", "slot", "interactions", "cells", "outcome", "reason", "side")


def first_difference(a: Trace, b: Trace) -> dict[str, Any] | None:
    """Find the first event in which two traces differ; None if there is none.

    Returns
    -------
    difference : dict or None
        ``pass``, ``loc`` (of the first trace's entry, -1 if it has none) and ``text``.
    """
    passes = min(a.n_passes, b.n_passes)
    for p in range(passes):
        one, two = _events(a, p), _events(b, p)
        if one.tobytes() == two.tobytes():
            continue
        n = min(one.size, two.size)
        at = next((i for i in range(n) if any(one[name][i] != two[name][i] for name in _COMPARED)), n)
        if at == n and one.size == two.size:
            continue  # only what is not compared differs
        loc = int(one["loc"][at]) if at < one.size else -1
        return {"pass": p, "loc": loc, "text": f"pass {p}, entry {at}: A {_told(a, one, at)}; B {_told(b, two, at)}"}
    if a.n_passes != b.n_passes:
        return {"pass": passes, "loc": -1, "text": f"A has {a.n_passes:,} passes, B has {b.n_passes:,}"}
    return None


def _events(trace: Trace, p: int) -> Any:
    return trace.events(p, p + 1) if trace.n_events else np.empty(0, EVENT)


def _told(trace: Trace, events: Any, at: int) -> str:
    if at >= events.size:
        return "has none"
    event = events[at]
    block, lane = divmod(int(event["thread"]), trace.header.threads_per_block)
    reason = REASONS[int(event["reason"])]
    told = f"B{block}/t{lane} runs cell {event['loc']}: {OUTCOMES[event['outcome']]}"
    return f"{told} ({reason}, slot {event['slot']})" if reason else told
