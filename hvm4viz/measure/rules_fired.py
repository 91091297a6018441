"""Which rules fired, and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hvm4viz.measure.frontier import bin_edges
from hvm4viz.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class RuleMix:
    """Interactions by rule, over runs of equally many passes.

    Attributes
    ----------
    rules : tuple of str
        Names, the most frequent first.
    edges : ndarray of int64, shape (n_bins + 1,)
        Pass at which each bin starts, and the end of the last one.
    counts : ndarray of int64, shape (n_rules, n_bins)
        Interactions of each rule in all passes of a bin.
    others : int
        How many rarer rules were put together into the last row; 0 if none were.
    """

    rules: tuple[str, ...]
    edges: NDArray[np.int64]
    counts: NDArray[np.int64]
    others: int


def rules_fired(trace: Trace) -> dict[str, int]:
    """Count the interactions of the whole run by rule.

    Returns
    -------
    counts : dict of str to int
        Name of each rule that fired, the most frequent first.
    """
    totals: dict[str, int] = {}
    for name, count in zip(trace.header.rules, trace.rules.totals().tolist(), strict=False):
        totals[name] = totals.get(name, 0) + int(count)  # a file may give two rules one name
    return {name: totals[name] for name in sorted(totals, key=lambda name: -totals[name]) if totals[name]}


def rule_mix(trace: Trace, *, rules_max: int = 8, n_bins: int = 512) -> RuleMix:
    """Count the interactions of each rule over passes.

    Parameters
    ----------
    trace : Trace
        Recorded at ``counts`` or more.
    rules_max : int
        Most rows; the last one holds the rarer rules together, under the name ``others``.
    n_bins : int
        Most bins of passes.

    Raises
    ------
    ValueError
        If ``rules_max`` is below 1.
    """
    if rules_max < 1:
        raise ValueError(f"rules_max={rules_max}: must be 1 or more")
    names = list(rules_fired(trace))
    edges = bin_edges(trace.n_passes, n_bins)
    others = len(names) - rules_max + 1 if len(names) > rules_max else 0
    shown = names[: rules_max - 1] if others else names
    rows = {name: row for row, name in enumerate(shown)}
    row_of = np.array([rows.get(name, len(shown)) for name in trace.header.rules], np.int64)
    counts = np.zeros((len(shown) + (others > 0), edges.size - 1), np.int64)
    if counts.size:
        fired = trace.rules
        used = fired.counts > 0
        at = (row_of[fired.keys[used]], fired.passes[used] // int(edges[1]))
        np.add.at(counts, at, fired.counts[used].astype(np.int64))
    return RuleMix((*shown, "others") if others else tuple(shown), edges, counts, others)
