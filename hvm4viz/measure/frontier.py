"""How wide the frontier is, and how wide it could be."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.heatmap import bin_edges
from hvm4viz.trace.trace import Trace

__all__ = ["bin_edges", "deferred_sizes", "frontier_sizes", "ideal_parallelism", "largest_by_bin"]

_Number = TypeVar("_Number", np.int64, np.float64)


def frontier_sizes(trace: Trace) -> NDArray[np.int64]:
    """Count the entries that each pass was given.

    Returns
    -------
    sizes : ndarray of int64, shape (n_passes,)
        A deferred task counts in the pass that deferred it and in each later one until it is done; parked ones do not.
    """
    return trace.frontier_sizes.astype(np.int64)


def deferred_sizes(trace: Trace) -> NDArray[np.int64]:
    """Count the entries that each pass deferred.

    Returns
    -------
    sizes : ndarray of int64, shape (n_passes,)
    """
    return trace.deferral_sizes


def ideal_parallelism(trace: Trace) -> NDArray[np.float64]:
    """Tell how many threads each pass could have kept busy: its interactions over the most that one entry did.

    Returns
    -------
    parallelism : ndarray of float64, shape (n_passes,)
        0 for a pass without an interaction.
    """
    longest = trace.longest.astype(np.float64)
    return np.divide(trace.interactions, longest, out=np.zeros(trace.n_passes), where=longest > 0)


def largest_by_bin(values: NDArray[_Number], n_bins: int) -> tuple[NDArray[np.int64], NDArray[_Number]]:
    """Take the largest value of each of at most ``n_bins`` runs of equally many passes.

    Returns
    -------
    edges : ndarray of int64, shape (n + 1,)
        Pass at which each bin starts, and the end of the last one.
    largest : ndarray, shape (n,)
    """
    edges = bin_edges(values.size, n_bins)
    if not values.size:
        return edges, values
    return edges, np.maximum.reduceat(values, edges[:-1])
