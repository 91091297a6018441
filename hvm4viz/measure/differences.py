"""Where two runs differ: counts by region and pass of one, less those of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hvm4viz.measure.frontier import bin_edges
from hvm4viz.measure.regions import Reduce, What, region_counts, region_map
from hvm4viz.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class DifferenceMap:
    """Differences by region and pass, gathered into bins.

    Attributes
    ----------
    values : ndarray of float64, shape (n_region_bins, n_pass_bins)
        What b has more than a; below 0 where a has more.
    by_pass : ndarray of float64, shape (n_pass_bins,)
        The difference of the sums over all regions, a pass: the mean over the passes of a bin.
    what, reduce : str
        What was counted, and how the differences of a bin became one.
    regions_per_bin, passes_per_bin : int
        Size of a bin; the last ones may be smaller.
    n_regions, n_passes : int
        Size of what was counted: of the larger one of both traces.
    """

    values: NDArray[np.float64]
    by_pass: NDArray[np.float64]
    what: str
    reduce: str
    regions_per_bin: int
    passes_per_bin: int
    n_regions: int
    n_passes: int


def region_differences(
    a: Trace, b: Trace, what: What = "deferrals", *, shape: tuple[int, int] = (512, 512), reduce: Reduce = "max"
) -> DifferenceMap:
    """Count something by region and pass in b, less the same in a, in at most ``shape`` bins.

    Parameters
    ----------
    a, b : Trace
        Pass p of one stands against pass p of the other; where one has ended, its counts are 0, and its cells in use
        stay as they were.
    what : str
        As in ``region_map``.
    shape : (int, int)
        Most bins of regions and of passes.
    reduce : {"max", "sum", "mean"}
        "max" keeps the difference that is farthest from 0, so that a lone one stays visible; of two that are equally
        far, the one above 0.

    Raises
    ------
    ValueError
        If ``what`` or ``reduce`` is none of these.
    TraceError
        If a trace does not hold it.
    """
    for trace in (a, b):
        region_map(trace.slice(0, 0), what, reduce=reduce)  # says what is wrong with the options
    n_regions, n_passes = max(a.n_regions, b.n_regions), max(a.n_passes, b.n_passes)
    rows, columns = bin_edges(n_regions, shape[0]), bin_edges(n_passes, shape[1])
    per_region, per_pass = (int(edges[1]) if edges.size > 1 else 1 for edges in (rows, columns))
    up, down = np.zeros((2, rows.size - 1, columns.size - 1))
    total, by_pass = np.zeros_like(up), np.zeros(columns.size - 1)
    if what == "cells" and up.size:
        _gather_states(a, b, rows, columns, up, down, total)
        by_pass = total.sum(axis=0)
    elif up.size:
        passes, regions, more = _sparse_differences(a, b, what, n_regions)
        at = (regions // per_region, passes // per_pass)
        np.maximum.at(up, at, more)
        np.minimum.at(down, at, more)
        np.add.at(total, at, more)
        np.add.at(by_pass, at[1], more)
    if reduce == "max":
        values = np.where(up >= -down, up, down)
    else:
        values = total / (np.diff(rows)[:, None] * np.diff(columns)) if reduce == "mean" else total
    by_pass = by_pass / np.diff(columns)
    return DifferenceMap(values, by_pass, what, reduce, per_region, per_pass, n_regions, n_passes)


def _sparse_differences(
    a: Trace, b: Trace, what: What, n_regions: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return passes, regions and differences where there is one."""
    keys, weights = [np.zeros(0, np.int64)], [np.zeros(0)]
    for sign, trace in ((-1.0, a), (1.0, b)):
        for passes, regions, counts in region_counts(trace, what):
            keys.append(np.asarray(passes, np.int64) * n_regions + np.asarray(regions, np.int64))
            weights.append(sign * np.asarray(counts, np.float64))
    found, place = np.unique(np.concatenate(keys), return_inverse=True)
    more = np.bincount(place, np.concatenate(weights), found.size).astype(np.float64)
    found, more = found[more != 0], more[more != 0]
    return *np.divmod(found, max(n_regions, 1)), more


def _gather_states(
    a: Trace,
    b: Trace,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    up: NDArray[np.float64],
    down: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Gather the differences of cells in use, which hold until they change, pass by pass."""
    n_regions = int(rows[-1])
    state = np.zeros((2, n_regions))
    for column in range(columns.size - 1):
        highest, lowest, found = np.full(n_regions, -np.inf), np.full(n_regions, np.inf), np.zeros(n_regions)
        for p in range(int(columns[column]), int(columns[column + 1])):
            for own, trace in zip(state, (a, b), strict=True):
                if p < trace.n_passes:
                    changed = slice(int(trace.cells.offsets[p]), int(trace.cells.offsets[p + 1]))
                    own[trace.cells.keys[changed]] = trace.cells.states[changed]
            more = state[1] - state[0]
            np.maximum(highest, more, out=highest)
            np.minimum(lowest, more, out=lowest)
            found += more
        up[:, column] = np.maximum(np.maximum.reduceat(highest, rows[:-1]), 0)
        down[:, column] = np.minimum(np.minimum.reduceat(lowest, rows[:-1]), 0)
        total[:, column] = np.add.reduceat(found, rows[:-1])
