"""The trace digest: SHA-256 over what a run means, the same on every device. Bytes: ``trace/README.md``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from hvm4viz.errors import TraceError
from hvm4viz.events import OUTCOMES, REASONS, RunHeader

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

VERSION: Final = 1
"""Changes whenever the bytes would change for an unchanged run."""

NAME_BYTES: Final = 12
"""Width of an outcome or reason: its name in UTF-8, filled up with zero bytes."""

RECORD: Final = np.dtype(
    [
        ("pass", "<u4"),
        ("thread", "<u4"),
        ("loc", "<u4"),
        ("slot", "<u4"),
        ("side", "<u4"),
        ("interactions", "<u4"),
        ("cells", "<u4"),
        ("outcome", f"S{NAME_BYTES}"),
        ("reason", f"S{NAME_BYTES}"),
    ]
)
"""One event in the digest, 52 bytes."""

STEP_EVENTS: Final = 1 << 16
"""Events hashed at a time."""

_OUTCOME_NAMES = np.array(OUTCOMES, f"S{NAME_BYTES}")
_REASON_NAMES = np.array(REASONS, f"S{NAME_BYTES}")
_UNORDERED = {"dup": "atomic", "owner_unit": "block", "visibility": "live"}
_STOPPED_BY_TIME = ("timeout", "interrupted")
_PLACES = ("heap", "memory")


def is_ordered(header: RunHeader, status: str) -> bool:
    """Tell whether the events of a run depend on program and settings alone."""
    return status not in _STOPPED_BY_TIME and all(
        header.machine.get(name) != value for name, value in _UNORDERED.items()
    )


def trace_digest(trace: Trace) -> str:
    """Compute the digest of a finished, uncut recording of its events."""
    if trace.level in ("off", "counts"):
        raise TraceError(f"no digest: the trace was recorded at level {trace.level!r}; record at 'events' to have one")
    if trace.end is None:
        raise TraceError("no digest: the recording stops before the run did")
    if not trace.complete:
        raise TraceError(f"no digest: the recording is {trace.state}")
    if trace.dropped:
        raise TraceError(
            f"no digest: events of passes from {trace.events_until} on were not kept; run with a larger trace_limit"
        )
    header, end = trace.header, trace.end
    sha = hashlib.sha256(b"hvm4viz trace digest\n")
    sha.update(_number(VERSION))
    sha.update(_texts([text for _, text in header.source]))
    sha.update(_texts([header.entry, header.mode]))
    sha.update(_number(-1 if header.limit is None or header.limit < 0 else header.limit))
    settings = sorted((name, str(value)) for name, value in header.machine.items() if name not in _PLACES)
    sha.update(_texts(text for setting in settings for text in setting))
    if is_ordered(header, end.status):
        _hash_events(sha, trace)
    else:
        sha.update(_number(-1))
    sha.update(_texts([end.status, *end.lines]))
    return sha.hexdigest()


def _hash_events(sha: hashlib._Hash, trace: Trace) -> None:
    sha.update(_number(trace.n_passes))
    sha.update(_number(trace.n_events))
    for first, offsets, table in trace.parts():
        for start in range(int(offsets[0]), int(offsets[-1]), STEP_EVENTS):
            stop = min(start + STEP_EVENTS, int(offsets[-1]))
            out = np.empty(stop - start, RECORD)
            out["pass"] = first + np.searchsorted(offsets, np.arange(start, stop), side="right") - 1
            for name in ("thread", "loc", "slot", "side", "interactions", "cells"):
                out[name] = table.column(name, start, stop)
            out["outcome"] = _OUTCOME_NAMES[table.column("outcome", start, stop)]
            out["reason"] = _REASON_NAMES[table.column("reason", start, stop)]
            sha.update(out.tobytes())


def _number(value: int) -> bytes:
    """Eight bytes, little-endian, signed."""
    return value.to_bytes(8, "little", signed=True)


def _texts(texts: Iterable[str]) -> bytes:
    """How many there are, then each as its length in bytes and its UTF-8."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return _number(len(encoded)) + b"".join(_number(len(text)) + text for text in encoded)
