"""Whose a cell is, and whose a region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.measure.frontier import bin_edges
from hvm4viz.trace.trace import Trace

NOBODY: Final = -1
"""In an ``OwnerMap``: the regions have no owner yet."""

SEVERAL: Final = -2
"""In an ``OwnerMap``: the regions of a bin have different owners, or some have none."""


@dataclass(frozen=True, slots=True)
class OwnerMap:
    """Owners by region and pass, gathered into bins.

    Attributes
    ----------
    values : ndarray of int64, shape (n_region_bins, n_pass_bins)
        Block that owns the regions of a bin when its passes end; ``NOBODY`` or ``SEVERAL`` if no one block does.
    regions_per_bin, passes_per_bin : int
        Size of a bin; the last ones may be smaller.
    n_regions, n_passes, n_blocks : int
        Size of what was looked at.
    """

    values: NDArray[np.int64]
    regions_per_bin: int
    passes_per_bin: int
    n_regions: int
    n_passes: int
    n_blocks: int


def owner_threads(trace: Trace, locs: NDArray[np.integer[Any]], p: int) -> NDArray[np.int64]:
    """Return the thread that owns each cell in pass p, or -1 where its region has no owner.

    Returns
    -------
    threads : ndarray of int64, shape of ``locs``
    """
    lanes = trace.header.threads_per_block
    regions, inside = np.divmod(np.asarray(locs, np.int64), trace.region_size)
    found, place = np.unique(regions, return_inverse=True)
    owners = (trace.owner(region, p) for region in found.tolist())
    blocks = np.array([-1 if block is None else block for block in owners], np.int64)
    threads = blocks[place] * lanes + inside // (trace.region_size // lanes)
    return np.where(blocks[place] < 0, -1, threads)


def owner_map(trace: Trace, *, shape: tuple[int, int] = (512, 512)) -> OwnerMap:
    """Tell which block owned each region in each pass, in at most ``shape`` bins.

    Parameters
    ----------
    trace : Trace
    shape : (int, int)
        Most bins of regions and of passes.

    Notes
    -----
    A region that is given to a block in a pass is its own from the next one on, as in ``Trace.owner``.
    """
    n_regions, n_passes = trace.n_regions, trace.n_passes
    rows, columns = bin_edges(n_regions, shape[0]), bin_edges(n_passes, shape[1])
    per_region, per_pass = (int(edges[1]) if edges.size > 1 else 1 for edges in (rows, columns))
    values = np.full((rows.size - 1, columns.size - 1), NOBODY, np.int64)
    if values.size:
        owners = np.full(n_regions, NOBODY, np.int64)
        first = trace.header.regions[:n_regions]
        owners[: first.size] = first
        given, done = trace.given, 0
        passes: NDArray[np.int64] = given["pass"]
        for column, end in enumerate(columns[1:]):
            upto = int(np.searchsorted(passes, int(end) - 1))  # those given before the last pass of the bin
            owners[given["region"][done:upto]] = given["block"][done:upto]
            done = upto
            low, high = np.minimum.reduceat(owners, rows[:-1]), np.maximum.reduceat(owners, rows[:-1])
            values[:, column] = np.where(low == high, low, SEVERAL)
    return OwnerMap(values, per_region, per_pass, n_regions, n_passes, trace.header.blocks)
