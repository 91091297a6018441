"""What is counted in two ways must agree: interactions, outcomes, the widths of frontiers."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.fuel import auto_fuel
from hvm4viz.trace.checks.view import (
    CONTENDED,
    DEFERRED,
    DONE,
    FORKED,
    FUEL,
    PARKED,
    RETURNED,
    STARVED,
    UNRUN,
    CannotCheck,
    Found,
    Rule,
    View,
    first,
)

CHILDREN_MAX: Final = 16
"""Cells that a finished task puts on the next frontier at most: the most fields of a constructor."""

FORKS_MAX: Final = 8
"""Operands that a task leaves to others in a pass at most."""


def interactions_by_rule(view: View) -> Found | None:
    """Compare the interactions of each pass with their sum over rules."""
    rules = view.trace.rules
    counted = np.zeros(view.trace.n_passes, np.int64)
    np.add.at(counted, rules.passes, rules.counts.astype(np.int64))
    total = view.trace.interactions.astype(np.int64)
    return view.at_pass(counted != total, lambda p: f"the rules make {counted[p]:,} of {total[p]:,} interactions")


def interactions_by_task(view: View) -> Found | None:
    """Compare the interactions of each pass with what its tasks are charged."""
    charged = _sums(view, view.col("interactions"))
    total = view.trace.interactions[: view.n].astype(np.int64)
    evaluator = view.is_evaluator[: view.n]  # counts the applications of %log besides
    wrong = np.where(evaluator, charged > total, charged != total if view.is_single else charged < total)
    return view.at_pass(wrong, lambda p: f"{total[p]:,} are counted and the tasks are charged {charged[p]:,}")


def longest_entry(view: View) -> Found | None:
    """Compare the most that one entry is charged with what the pass says."""
    most = np.zeros(view.n, np.int64)
    np.maximum.at(most, view.passes, view.col("interactions"))
    said = view.trace.longest[: view.n].astype(np.int64)
    wrong = (most != said) & ~view.is_evaluator[: view.n]
    return view.at_pass(wrong, lambda p: f"the longest is said to take {said[p]:,} and one takes {most[p]:,}")


def fuel(view: View) -> Found | None:
    """Compare what each entry is charged with the fuel of its pass."""
    fuel = view.fuel
    if not isinstance(fuel, int) and fuel != "auto":
        raise CannotCheck(f"the recording says fuel={fuel!r:.40}, which is no number")
    widths = view.trace.frontier_sizes[: view.n]
    unique, place = np.unique(widths, return_inverse=True)
    auto = np.array([auto_fuel(int(width), view.threads) for width in unique], np.int64)[place]
    allowed = np.full(view.n, min(max(fuel, 0), 1 << 62), np.int64) if isinstance(fuel, int) else auto
    allowed[view.is_evaluator[: view.n]] = auto_fuel(1, 1)
    limit = allowed[view.passes]
    spent = view.col("interactions")
    return view.at_event(spent > limit, lambda e: f"it is charged {spent[e]:,} and has fuel for {limit[e]:,}")


def outcomes(view: View) -> Found | None:
    """Check that entries run, or wait: none twice, and not all of them."""
    found = view.trace.outcomes
    ran, width = found.sum(axis=1), view.trace.frontier_sizes.astype(np.int64)
    wrong = (ran > width) | ((ran == 0) & (width > 0)) | (found[:, UNRUN] > 0)
    return view.at_pass(wrong, lambda p: f"of {width[p]:,} entries {ran[p]:,} ran")


def widths(view: View) -> Found | None:
    """Compare each frontier with what the pass before left for it."""
    trace = view.trace
    found, width = trace.outcomes, trace.frontier_sizes.astype(np.int64)
    parked = trace.parked.astype(np.int64)
    if width.size < 2:
        return None
    stays = carried(view)
    ends = (stays == 0) & (parked == 0)  # then the host may begin something new
    lost = np.concatenate([[False], (width[1:] < stays[:-1]) & ~ends[:-1]])
    here = view.at_pass(lost, lambda p: f"pass {p - 1} leaves {stays[p - 1]:,} entries and {width[p]:,} follow")
    if view.lifts:  # the host adds branches
        return here
    fresh = CHILDREN_MAX * found[:, DONE] + (FORKS_MAX * found.sum(axis=1) if view.forks else 0)
    before = np.concatenate([[0], parked[:-1]])
    waits = found[:, FORKED] + (found[:, CONTENDED] if view.by_owner_thread else 0)
    woken = before + waits + (found[:, DEFERRED] if view.by_claim else -parked)
    most = stays + fresh + np.maximum(woken, 0) + 1  # and one that the host wakes to break a cycle
    follows = ~view.is_evaluator & ~ends
    follows[:1] &= view.header.skipped == 0  # who was parked before is not known
    extra = np.concatenate([[False], (width[1:] > most[:-1]) & follows[:-1] & ~view.is_evaluator[1:]])
    return first(
        here,
        view.at_pass(extra, lambda p: f"pass {p - 1} leaves at most {most[p - 1]:,} entries and {width[p]:,} follow"),
    )


def carried(view: View) -> NDArray[np.int64]:
    """Count the tasks that each pass leaves for the next frontier, without fresh and woken ones."""
    found = view.trace.outcomes
    stays = view.trace.frontier_sizes - found.sum(axis=1) + found[:, FUEL] + found[:, STARVED] + found[:, RETURNED]
    stays += found[:, DEFERRED]
    if view.is_shared:
        stays += found[:, CONTENDED] + found[:, PARKED]
    return np.where(view.is_evaluator, 0, stays).astype(np.int64)


def _sums(view: View, values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Add up a column by pass."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return total[view.offsets[1:]] - total[view.offsets[:-1]]


RULES = (
    Rule("the interactions of a pass are those of its rules", "counts", interactions_by_rule),
    Rule("every entry of a frontier runs, or waits untouched", "counts", outcomes),
    Rule("a frontier holds what the pass before left", "counts", widths),
    Rule("the interactions of a pass are charged to its tasks", "events", interactions_by_task),
    Rule("no entry takes longer than the longest of its pass", "events", longest_entry),
    Rule("a task stops when its fuel is spent", "events", fuel),
)
