"""Whose a cell is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.trace import Trace


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
