"""Opening recordings."""

from __future__ import annotations

from hvm4viz.trace.trace import State, Trace

__all__ = ["State", "Trace"]
