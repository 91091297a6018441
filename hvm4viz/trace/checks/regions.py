"""Regions: given once, in order, to blocks that ran out of cells; cells come from them alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.checks.view import STARVED, CannotCheck, Found, Rule, View, first


def given_once(view: View) -> Found | None:
    """Check that fresh regions come in order of their numbers, and no region changes its owner within a run."""
    given, is_new = view.trace.given, view.owners.is_new
    region, block = given["region"].astype(np.int64), given["block"]
    fresh = region[is_new]
    in_order = np.arange(fresh.size) + view.header.regions.size
    passes = given["pass"]

    def found(at: NDArray[np.intp], what: str) -> Found | None:
        if not at.size:
            return None
        return Found(int(passes[at[0]]), f"region {region[at[0]]} is given to block {block[at[0]]} {what}")

    foreign = np.flatnonzero(block >= view.header.blocks)
    moved = ~is_new
    if view.is_mixed:  # between runs regions are dealt anew
        ends = np.append(view.is_evaluator[1:], [True])
        moved &= ~(view.is_start | ends | view.is_evaluator)[passes]
    return first(
        found(foreign, f"of {view.header.blocks}"),
        found(np.flatnonzero(moved), "though it had an owner"),
        found(np.flatnonzero(is_new)[fresh != in_order], "out of turn"),
    )


def given_to_the_hungry(view: View) -> Found | None:
    """Check that a block gets regions after a pass in which one of its threads starved, and only then."""
    at = np.flatnonzero((view.col("outcome") == STARVED) & ~view.by_evaluator)
    tpb, stride = view.header.threads_per_block, view.header.blocks
    hungry = view.passes[at].astype(np.int64) * stride + view.col("thread")[at] // tpb
    given = view.trace.given
    is_fresh = view.owners.is_new[given["pass"] < view.n]
    given = given[given["pass"] < view.n]
    fed = given["pass"] * stride + given["block"]
    satisfied = np.isin(hungry, fed)
    end = view.trace.end
    last = view.n - 1
    if end is None or end.status == "heap_full":
        satisfied |= view.passes[at] == last
    unasked = ~np.isin(fed, hungry) & is_fresh
    if view.is_mixed:  # there a new run gets regions to begin with, or the host takes some
        unasked &= ~(view.is_evaluator | view.is_start)[given["pass"]]
    unasked = np.flatnonzero(unasked)
    extra = None
    if unasked.size:
        one = given[unasked[0]]
        extra = Found(int(one["pass"]), f"block {one['block']} gets region {one['region']} and was not starved")
    return first(view.at_event(at[~satisfied], "it starved and its block got no region"), extra)


def events_in_regions(view: View) -> Found | None:
    """Check that roots and slots lie in regions that somebody owns."""
    size = view.header.region_size
    found: list[Found | None] = []
    for name in ("loc", "slot"):
        cells = view.col(name)
        block = view.owners.block(cells // size, view.passes)
        wrong = (block < 0) & (cells != 0)
        found.append(view.at_event(wrong, lambda e, cells=cells: f"nobody owns region {cells[e] // size} yet"))
    return first(*found)


def allocation(view: View) -> Found | None:
    """Compare the cells that the tasks of each block allocated with the growth of its regions."""
    if view.trace.n_passes < 2:
        raise CannotCheck("one pass does not tell how much was in use before it")
    table = view.trace.cells
    passes, regions, states = table.passes, table.keys.astype(np.int64), table.states.astype(np.int64)
    order = np.lexsort((passes, regions))
    passes, regions, states = passes[order], regions[order], states[order]
    before = np.where(np.concatenate([[False], regions[1:] == regions[:-1]]), np.roll(states, 1), 0)
    grown = states - before
    size = view.header.region_size
    wrong = np.flatnonzero((states > size) | (grown < 0))
    if wrong.size:
        at = int(wrong[np.argmin(passes[wrong])])
        what = f"region {regions[at]} has {before[at]:,} cells in use, then {states[at]:,} of {size:,}"
        return Found(int(passes[at]), what)
    blocks = np.int64(view.header.blocks)
    owner = view.owners.block(regions, passes + 1)
    in_time = (passes < view.n) & (owner >= 0)
    grew_at = passes[in_time] * blocks + owner[in_time]
    took_at = view.passes * blocks + view.col("thread") // view.header.threads_per_block
    keys, place = np.unique(np.concatenate([grew_at, took_at]), return_inverse=True)
    grew = np.bincount(place[: grew_at.size], grown[in_time], keys.size).astype(np.int64)
    took = np.bincount(place[grew_at.size :], view.col("cells"), keys.size).astype(np.int64)
    is_told = ~(view.is_evaluator | view.is_start)[keys // blocks]  # before those the host lays out cells itself
    differs = np.flatnonzero((grew != took) & is_told)
    if not differs.size:
        return None
    p, b = divmod(int(keys[differs[0]]), int(blocks))
    return Found(p, f"block {b} allocated {took[differs[0]]:,} cells and its regions grew by {grew[differs[0]]:,}")


RULES = (
    Rule("a region is given once and keeps its owner", "counts", given_once),
    Rule("a block gets a region when a thread of it starves", "events", given_to_the_hungry),
    Rule("tasks and slots lie in regions with an owner", "events", events_in_regions),
    Rule("cells come from the block's own regions", "events", allocation),
)
