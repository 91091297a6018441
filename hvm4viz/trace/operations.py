"""Operations on slots: who took, published, read or gave back what, in which pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OPERATIONS

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

OPERATION: Final = np.dtype(
    [
        ("pass", "<i8"),
        ("event", "<i8"),
        ("thread", "<u4"),
        ("loc", "<u4"),
        ("slot", "<u4"),
        ("op", "u1"),
        ("side", "u1"),
    ]
)
"""One operation: pass, index of its event among all events, acting thread, root cell of the task, slot, operation
(``events.OPERATIONS``), side."""


def operations(
    trace: Trace, p0: int | None, p1: int | None, *, kind: str | None = None, slot: int | None = None
) -> NDArray[np.void]:
    """Return the operations of passes p0 to p1; see ``Trace.ops``."""
    if kind is not None and (kind not in OPERATIONS or not kind):
        raise ValueError(f"kind={kind!r}: must be one of {', '.join(OPERATIONS[1:])}")
    start, stop, _ = slice(p0, p1).indices(trace.n_passes)
    found: list[NDArray[np.void]] = []
    for first, offsets, table in trace.parts(start, stop, table="ops"):
        lo, hi = int(offsets[0]), int(offsets[-1])
        at = np.arange(lo, hi)
        if kind is not None:
            at = at[table.column("op", lo, hi)[at - lo] == OPERATIONS.index(kind)]
        if slot is not None:
            at = at[table.column("slot", lo, hi)[at - lo] == slot]
        passes = first + np.searchsorted(offsets, at, side="right") - 1
        out = np.empty(at.size, OPERATION)
        out["pass"] = passes
        out["event"] = trace.event_offsets[passes] + table.column("event")[at]
        for name in ("slot", "op", "side"):
            out[name] = table.column(name)[at]
        events = trace.events(first, first + offsets.size - 1)
        inside = out["event"] - trace.event_offsets[first]
        out["thread"], out["loc"] = events["thread"][inside], events["loc"][inside]
        found.append(out)
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, OPERATION), *found])
