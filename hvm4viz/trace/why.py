"""Why a task waits: the chain of deferrals, from its slot to the task that holds it, and on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hvm4viz.events import OPERATIONS, OUTCOMES, REASONS
from hvm4viz.term import has_sub
from hvm4viz.trace.history import changes_of
from hvm4viz.trace.origin import word_text
from hvm4viz.trace.sparse import check_pass

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

_TAKE, _PUBLISH, _RELEASE, _STUCK = (OPERATIONS.index(name) for name in ("take", "publish", "release", "stuck"))


@dataclass(frozen=True, slots=True)
class Cause:
    """One link of the chain: a task that waits at a slot.

    Attributes
    ----------
    loc : int
        Root cell of the task that waits.
    slot, side : int
        Where it waits.
    reason, outcome : str
        Why it stopped there, and how it ended that pass.
    opened : int
        Pass in which it stopped.
    closed : int or None
        Pass in which it went on; None: not in this trace.
    home, owner : int
        Regions of the task's root cell and of the slot.
    thread : int
        Thread that stopped.
    value_pass : int or None
        Pass in which the slot got its value; None: not in this trace, or not known below level ``full``.
    value : str
        That value, written out, or empty.
    holder : int or None
        Root cell of the task that held the slot meanwhile; None: nobody, or not known below level ``full``.
    """

    loc: int
    slot: int
    side: int
    reason: str
    outcome: str
    opened: int
    closed: int | None
    home: int
    owner: int
    thread: int
    value_pass: int | None
    value: str
    holder: int | None

    def __str__(self) -> str:
        """Say it in words."""
        until = f"until pass {self.closed}" if self.closed is not None else "to the end"
        why = f"{self.outcome}, {self.reason}" if self.reason else self.outcome
        where = f"slot {self.slot}, side {self.side}, of region {self.owner}"
        parts = [f"task {self.loc} (region {self.home}) waits from pass {self.opened} {until} at {where}: {why}"]
        if self.holder is not None:
            parts.append(f"task {self.holder} holds the slot")
        if self.value_pass is not None:
            parts.append(f"its value came in pass {self.value_pass}: {self.value}")
        return "; ".join(parts)


def why(trace: Trace, loc: int, p: int) -> list[Cause]:
    """Return the chain of deferrals; see ``Trace.why``."""
    p = check_pass(p, trace.n_passes)
    chain: list[Cause] = []
    seen: set[int] = set()
    task: int | None = loc
    while task is not None and task not in seen:
        seen.add(task)
        cause = _waiting(trace, task, p)
        if cause is None:
            break
        chain.append(cause)
        task = cause.holder
    return chain


def _waiting(trace: Trace, loc: int, p: int) -> Cause | None:
    """Find what a task waits for in pass p: it has stopped by then, and does not go on before the next pass."""
    found = trace.deferrals()
    found = found[found["loc"] == loc]
    found = found[(found["opened"] <= p) & ((found["closed"] < 0) | (found["closed"] > p))]
    if not found.size:
        return None
    each = found[-1]
    slot, opened = int(each["slot"]), int(each["opened"])
    value_pass, value = _value(trace, slot, opened)
    return Cause(
        loc=loc,
        slot=slot,
        side=int(each["side"]),
        reason=REASONS[int(each["reason"])],
        outcome=OUTCOMES[int(each["outcome"])],
        opened=opened,
        closed=int(each["closed"]) if each["closed"] >= 0 else None,
        home=int(each["home"]),
        owner=int(each["owner"]),
        thread=int(each["thread"]),
        value_pass=value_pass,
        value=value,
        holder=_holder(trace, slot, p),
    )


def _value(trace: Trace, slot: int, opened: int) -> tuple[int | None, str]:
    """Find the pass in which a slot got its value: at the latest one after the task had stopped there."""
    if trace.level != "full":
        return None, ""
    book = trace.program.book if trace.program else None
    found: tuple[int | None, str] = (None, "")
    for p, before, after in changes_of(trace, slot):
        if has_sub(after) and not has_sub(before):
            found = p, word_text(after, book)
            if p >= opened:
                break
    return found


def _holder(trace: Trace, slot: int, p: int) -> int | None:
    """Find the task that holds a slot at the end of pass p: the last one that took it and has not left it."""
    if trace.level != "full":
        return None
    for first, offsets, table in reversed(list(trace.parts(0, p + 1, table="ops"))):
        lo, hi = int(offsets[0]), int(offsets[-1])
        op = table.column("op", lo, hi)
        at = np.flatnonzero((table.column("slot", lo, hi) == slot) & np.isin(op, (_TAKE, _PUBLISH, _RELEASE, _STUCK)))
        if not at.size:
            continue
        if op[at[-1]] != _TAKE:
            return None
        last = lo + int(at[-1])
        taken = first + int(np.searchsorted(offsets, last, side="right")) - 1
        return int(trace.events(taken, taken + 1)["loc"][table.column("event")[last]])
    return None
