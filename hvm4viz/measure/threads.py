"""Which logical threads did the work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hvm4viz.measure.frontier import bin_edges
from hvm4viz.trace.trace import Trace

Against = Literal["pass", "region"]
"""What threads are set against: the pass in which an entry ran, or the region of its task's root cell."""

_Counts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ThreadMap:
    """Entries by thread and by pass or region, gathered into bins.

    Attributes
    ----------
    values : ndarray of float64, shape (n_thread_bins, n_bins)
        Entries that ran; the most of a bin where several are gathered.
    against : {"pass", "region"}
        What the columns are.
    threads_per_bin, columns_per_bin : int
        Size of a bin; the last ones may be smaller.
    n_threads, n_columns : int
        Size of what was counted.
    """

    values: NDArray[np.float64]
    against: str
    threads_per_bin: int
    columns_per_bin: int
    n_threads: int
    n_columns: int


def threads_at_work(trace: Trace) -> NDArray[np.int64]:
    """Count the threads that ran at least one entry, in each pass.

    Returns
    -------
    threads : ndarray of int64, shape (n_passes,)

    Raises
    ------
    TraceError
        If no events were recorded.
    """
    out = np.zeros(trace.n_passes, np.int64)
    for passes, _, _ in _by_thread(trace, "pass"):
        out += np.bincount(passes, minlength=trace.n_passes)
    return out


def thread_speedup(trace: Trace) -> float:
    """Return how many times faster than one thread the machine's threads can be: how evenly they share the work.

    All interactions over the sum over passes of the most that one thread did; every interaction counts alike.

    Returns
    -------
    speedup : float
        From 1 (one thread at a time) to the number of threads; 0 for a trace without an interaction.

    Raises
    ------
    TraceError
        If no events were recorded.
    """
    longest = int(busiest_thread(trace).sum())
    return int(trace.column("interactions").sum(dtype=np.int64)) / longest if longest else 0.0


def busiest_thread(trace: Trace) -> NDArray[np.int64]:
    """Return the most interactions that one thread did, in each pass.

    Returns
    -------
    interactions : ndarray of int64, shape (n_passes,)

    Raises
    ------
    TraceError
        If no events were recorded.
    """
    out = np.zeros(trace.n_passes, np.int64)
    for passes, _, done in _by_thread(trace, "pass", weight="interactions"):
        np.maximum.at(out, passes, done)
    return out


def thread_map(trace: Trace, against: Against = "pass", *, shape: tuple[int, int] = (512, 512)) -> ThreadMap:
    """Count the entries that each thread ran, by pass or by region, in at most ``shape`` bins.

    Parameters
    ----------
    trace : Trace
    against : {"pass", "region"}
    shape : (int, int)
        Most bins of threads and of passes or regions.

    Raises
    ------
    ValueError
        If ``against`` is neither.
    TraceError
        If no events were recorded.
    """
    if against not in get_args(Against):
        raise ValueError(f"against={against!r}: must be one of {', '.join(map(repr, get_args(Against)))}")
    n_threads = trace.header.blocks * trace.header.threads_per_block
    n_columns = trace.n_passes if against == "pass" else trace.n_regions
    rows, columns = bin_edges(n_threads, shape[0]), bin_edges(n_columns, shape[1])
    per_row, per_column = (int(edges[1]) if edges.size > 1 else 1 for edges in (rows, columns))
    values = np.zeros((rows.size - 1, columns.size - 1))
    places, threads, counts = (np.concatenate(parts) for parts in zip(*_by_thread(trace, against), strict=True))
    keys, inverse = np.unique(threads * max(n_columns, 1) + places, return_inverse=True)
    totals = np.bincount(inverse, counts, keys.size)
    threads, places = np.divmod(keys, max(n_columns, 1))
    np.maximum.at(values, (threads // per_row, places // per_column), totals)
    return ThreadMap(values, against, per_row, per_column, n_threads, n_columns)


def _by_thread(trace: Trace, against: Against, *, weight: str = "") -> Iterator[_Counts]:
    """Go through the counts that are not zero: passes or regions, threads, and entries or the sum of a column."""
    trace.events(0, 0)  # says so if there are none
    n_threads = trace.header.blocks * trace.header.threads_per_block
    none = np.zeros(0, np.int64)
    yield none, none, none
    for first, offsets, table in trace.parts():
        lo, hi = int(offsets[0]), int(offsets[-1])
        if against == "region":
            places = table.column("loc", lo, hi).astype(np.int64) // trace.region_size
        else:
            places = first + np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        keys, inverse = np.unique(places * n_threads + table.column("thread", lo, hi), return_inverse=True)
        weights = table.column(weight, lo, hi) if weight else None
        yield *np.divmod(keys, n_threads), np.bincount(inverse, weights, keys.size).astype(np.int64)
