"""The rules that a trace is checked against, one question a file."""

from __future__ import annotations

from hvm4viz.trace.checks import cells, counts, ends, entries, operations, regions, stops, tasks
from hvm4viz.trace.checks.view import Rule

RULES: tuple[Rule, ...] = (
    *entries.RULES,
    *counts.RULES,
    *regions.RULES,
    *tasks.RULES,
    *stops.RULES,
    *ends.RULES,
    *operations.RULES,
    *cells.RULES,
)
"""Every rule; of two broken at one place the first is named."""
