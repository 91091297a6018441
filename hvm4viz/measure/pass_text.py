"""A pass in words: what each thread did with each of its entries."""

from __future__ import annotations

from typing import Final

import numpy as np

from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS
from hvm4viz.measure.owners import owner_threads
from hvm4viz.term import Tag, tag_of, val_of
from hvm4viz.trace.sparse import check_pass
from hvm4viz.trace.trace import Trace

_VERBS: Final = {
    "read": "reads",
    "take": "takes",
    "publish": "publishes",
    "release": "gives back",
    "stuck": "leaves stuck",
    "wake": "wakes",
}
_MOVES: Final = ("take", "publish", "release")
_NUMBERED: Final = ("deferred", "contended", "parked")


def pass_text(trace: Trace, p: int) -> list[str]:
    """Tell what a pass did, one line an entry: thread, root cell of the task, what it did to slots, how it ended.

    Such as ``B0/t0: 8 takes, publishes, := 1``, or ``B2/t1: 18 deferred to B0/t0 (take, slot 1)``. What tasks did to
    slots, and the numbers that they became, are told of traces recorded at ``full``.

    Parameters
    ----------
    trace : Trace
        Recorded at ``events`` or more.
    p : int

    Returns
    -------
    lines : list of str
        In the order of the frontier.

    Raises
    ------
    IndexError
        If there is no such pass.
    TraceError
        If no events were recorded.
    """
    p = check_pass(p, trace.n_passes)
    events = trace.events(p, p + 1)
    did: dict[int, list[str]] = {}
    words = np.empty(0, np.uint64)
    if trace.level == "full":
        for op in trace.ops(p, p + 1):
            did.setdefault(int(op["event"]), []).append(_VERBS[OPERATIONS[op["op"]]])
        words = trace.at(p + 1).words
    first = int(trace.event_offsets[p])
    owners = owner_threads(trace, events["slot"], p).tolist()
    lanes = trace.header.threads_per_block
    lines: list[str] = []
    for index, (event, owner) in enumerate(zip(events, owners, strict=True)):
        loc, outcome, reason = int(event["loc"]), OUTCOMES[int(event["outcome"])], REASONS[int(event["reason"])]
        told = did.get(first + index, [])
        if outcome == "done" and told and loc < len(words) and tag_of(int(words[loc])) == Tag.NUM:
            told = [*told, f":= {val_of(int(words[loc]))}"]
        else:
            where = f" to {_name(owner, lanes)}" if outcome == "deferred" and reason in _MOVES else ""
            why = ", ".join(filter(None, [reason, f"slot {event['slot']}" if outcome in _NUMBERED else ""]))
            told = [*told, f"{outcome}{where}{f' ({why})' if why else ''}"]
        poll = "poll of " if ORIGINS[event["origin"]] == "poll" else ""
        lines.append(f"{_name(int(event['thread']), lanes)}: {poll}{loc} {', '.join(told)}")
    return lines


def _name(thread: int, lanes: int) -> str:
    return f"B{thread // lanes}/t{thread % lanes}"
