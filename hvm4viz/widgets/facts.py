"""What a view knows of a trace before it asks anything: names of codes, sizes, how the run went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hvm4viz.errors import TraceError
from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS
from hvm4viz.kernel_text import abi
from hvm4viz.limits import FIELDS_MAX
from hvm4viz.term import OPERATORS, Tag, arity_of, pack
from hvm4viz.trace.digest import is_ordered
from hvm4viz.widgets.cells import ROLES
from hvm4viz.widgets.escape import line_text, terminal_text
from hvm4viz.widgets.maps import MEASURES
from hvm4viz.widgets.service import AT_ONCE_EVENTS, TraceService

TEXT_CHARS: Final = 2_000
"""Characters of an answer or a message that a view shows."""

LINES: Final = 40
"""Lines of an answer that a view shows."""

_CONSTRUCTORS: Final = {Tag.C00 + arity: f"C{arity:02}" for arity in range(FIELDS_MAX + 1)}
_FRAMES: Final = {value: name for name, value in vars(abi).items() if name.startswith("F_")}
_NAMES: Final = {**_FRAMES, **{tag.value: tag.name for tag in Tag}, **_CONSTRUCTORS}


def facts(
    service: TraceService, *, status: str | None = None, message: str = "", lines: Sequence[str] | None = None
) -> dict[str, Any]:
    """Describe a trace in plain values, a few kilobytes whatever its size.

    Parameters
    ----------
    service : TraceService
    status, message : str, optional
    lines : sequence of str, optional
        How the run ended and its results, where that is known better than from the trace.
    """
    trace, maps = service.trace, service.maps
    header, end = trace.header, trace.end
    ended = status or (end.status if end else trace.state)
    lines = lines if lines is not None else (end.lines if end else ())
    later = service.trace.n_events > AT_ONCE_EVENTS
    digest, no_digest = "", ""
    try:
        digest = "" if later else trace.digest()
    except TraceError as error:
        no_digest = str(error)
    return {
        "status": ended,
        "message": terminal_text((message or (end.message if end else trace.note))[:TEXT_CHARS]),
        "answer": terminal_text(_answer(lines)),
        "state": trace.state,
        "note": line_text(trace.note, most=TEXT_CHARS),
        "level": trace.level,
        "device": line_text(", ".join(trace.devices) or header.device or "no device", most=60),
        "device_reason": line_text(header.device, most=200),
        "digest": digest,
        "digest_later": later,
        "no_digest": line_text(no_digest, most=TEXT_CHARS),
        "ordered": is_ordered(header, "done"),
        "n_passes": trace.n_passes,
        "n_events": trace.n_events,
        "n_regions": trace.n_regions,
        "n_cells": service.n_cells,
        "region_size": trace.region_size,
        "blocks": header.blocks,
        "threads_per_block": header.threads_per_block,
        "interactions": int(trace.interactions.sum()),
        "deferrals": trace.n_deferrals,
        "dropped": trace.dropped if trace.level not in ("off", "counts") else 0,
        "events_until": trace.events_until,
        "is_small": service.is_small,
        "bytes": service.whole_bytes,
        "measures": [what for what in MEASURES if maps.has(what)],
        "first_measure": maps.first(),
        "outcomes": list(OUTCOMES),
        "reasons": list(REASONS),
        "origins": list(ORIGINS),
        "operations": list(OPERATIONS),
        "operators": list(OPERATORS),
        "rules": [line_text(name, most=40) for name in header.rules],
        "roles": list(ROLES),
        "tags": {str(code): name for code, name in _NAMES.items()},
        "arity": {str(tag.value): arity_of(pack(tag)) for tag in Tag if arity_of(pack(tag))},
    }


def _answer(lines: Sequence[str]) -> str:
    """Join result lines, cut to what a view shows."""
    text = "\n".join(line[: TEXT_CHARS + 1] for line in lines[:LINES])
    cut = len(lines) > LINES or len(text) > TEXT_CHARS or any(len(line) > TEXT_CHARS for line in lines[:LINES])
    return f"{text[:TEXT_CHARS]}… (the whole answer is Run.text)" if cut else text
