"""The trace digest: SHA-256 over what a run means, the same on every device. Bytes: ``trace/README.md``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
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
        ("interactions", "<u4"),
        ("cells", "<u4"),
        ("side", "<u4"),
        ("names", f"V{2 * NAME_BYTES}"),
    ]
)
"""One event in the digest, 52 bytes; ``names`` is the outcome's and the reason's."""

LIMIT_MAX: Final = (1 << 63) - 1
"""Largest limit that is told from larger ones."""

STEP_EVENTS: Final = 1 << 14
"""Events hashed at a time: they stay in the processor's cache."""

_NAMES: Final = np.array(
    [outcome.encode().ljust(NAME_BYTES, b"\0") + reason.encode().ljust(NAME_BYTES, b"\0")
     for outcome in OUTCOMES for reason in REASONS],
    f"V{2 * NAME_BYTES}",
)  # fmt: skip
_UNORDERED: Final = {"dup": "atomic", "owner_unit": "block", "visibility": "live"}
_STOPPED_BY_TIME: Final = ("timeout", "interrupted")
_PLACES: Final = ("heap", "memory")


def is_ordered(header: RunHeader, status: str) -> bool:
    """Tell whether the events of a run depend on program and settings alone."""
    return status not in _STOPPED_BY_TIME and all(
        header.machine.get(name) != value for name, value in _UNORDERED.items()
    )


def trace_digest(trace: Trace) -> str:
    """Compute the digest of a finished, uncut recording of its events."""
    if trace.level in ("off", "counts"):
        raise TraceError(
            f"no digest: the trace was recorded at level {trace.level!r}; run it again with record='events' to have one"
        )
    if trace.end is None:
        raise TraceError("no digest: the recording stops before the run did")
    if trace.header.skipped:
        raise TraceError(f"no digest: {trace.header.skipped} passes before the first one are not in this recording")
    if trace.dropped:
        raise TraceError(
            f"no digest: events of passes from {trace.events_until} on were not kept; run with a larger trace_limit"
        )
    header, end = trace.header, trace.end
    sha = hashlib.sha256(b"hvm4viz trace digest\n")
    sha.update(_number(VERSION))
    sha.update(_texts([text for _, text in header.source]))
    sha.update(_texts([header.entry, header.mode]))
    sha.update(_number(-1 if header.limit is None or header.limit < 0 else min(header.limit, LIMIT_MAX)))
    settings = sorted((name, str(value)) for name, value in header.machine.items() if name not in _PLACES)
    sha.update(_texts(text for setting in settings for text in setting))
    if is_ordered(header, end.status):
        for part in _event_bytes(trace):
            sha.update(part)
    else:
        sha.update(_number(-1))
    sha.update(_texts([end.status, *end.lines]))
    return sha.hexdigest()


def _event_bytes(trace: Trace) -> Iterator[bytes | memoryview]:
    yield _number(trace.n_passes)
    yield _number(trace.n_events)
    for first, offsets, table in trace.parts():
        passes = np.repeat(np.arange(first, first + offsets.size - 1, dtype=np.uint32), np.diff(offsets))
        for start in range(0, passes.size, STEP_EVENTS):
            lo = int(offsets[0]) + start
            hi = lo + min(STEP_EVENTS, passes.size - start)
            out = np.empty(hi - lo, RECORD)
            out["pass"] = passes[start : start + STEP_EVENTS]
            for name in ("thread", "loc", "slot", "interactions", "cells", "side"):
                out[name] = table.column(name, lo, hi)
            codes = table.column("outcome", lo, hi) * np.uint8(len(REASONS)) + table.column("reason", lo, hi)
            out["names"] = _NAMES.take(codes)
            yield out.view(np.uint8).data


def _number(value: int) -> bytes:
    """Eight bytes, little-endian, signed."""
    return value.to_bytes(8, "little", signed=True)


def _texts(texts: Iterable[str]) -> bytes:
    """How many there are, then each as its length in bytes and its UTF-8."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return _number(len(encoded)) + b"".join(_number(len(text)) + text for text in encoded)
