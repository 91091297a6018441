"""Who goes on from a pass of a trace: told when the package is imported, so that traces need not know the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hvm4viz.run import Run

Resume = Callable[..., "Run"]

_known: list[Resume] = []


def register(resume: Resume) -> None:
    """Say which function goes on from a pass of a trace: it gets the trace, the pass, and options by name."""
    _known[:] = [resume]


def resume_trace(trace: object, p: int, **options: Any) -> Run:
    """Go on from a pass of a trace."""
    (resume,) = _known
    return resume(trace, p, **options)
