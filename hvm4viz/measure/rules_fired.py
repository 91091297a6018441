"""Which rules fired, and how often."""

from __future__ import annotations

from hvm4viz.trace.trace import Trace


def rules_fired(trace: Trace) -> dict[str, int]:
    """Count the interactions of the whole run by rule.

    Returns
    -------
    counts : dict of str to int
        Name of each rule that fired, the most frequent first.
    """
    totals = trace.rules.totals()
    order = sorted(range(totals.size), key=lambda rule: (-int(totals[rule]), rule))
    return {trace.header.rules[rule]: int(totals[rule]) for rule in order if totals[rule]}
