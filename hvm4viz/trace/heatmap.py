"""What happened in which region, in which pass: counts by region and pass, gathered into bins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import OPERATIONS

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

What = Literal["deferrals", "deferrals to", "entries", "cells", "remote writes", "takes", "writes"]
"""Deferrals by home region (of the task), by owner region (of the slot), entries that ran by home region, cells in
use at the end of the pass, linear cells written by other blocks; at level ``full`` slots taken, and cells changed."""

Reduce = Literal["max", "sum", "mean"]

_Counts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RegionMap:
    """Counts by region and pass, gathered into bins.

    Attributes
    ----------
    values : ndarray of float64, shape (n_region_bins, n_pass_bins)
    what, reduce : str
        What was counted, and how the values of a bin became one.
    regions_per_bin, passes_per_bin : int
        Size of a bin; the last ones may be smaller.
    n_regions, n_passes : int
        Size of what was counted.
    all_regions : int
        Regions in use; above ``n_regions`` nothing was counted if the map was cropped.
    """

    values: NDArray[np.float64]
    what: str
    reduce: str
    regions_per_bin: int
    passes_per_bin: int
    n_regions: int
    n_passes: int
    all_regions: int

    @property
    def is_binned(self) -> bool:
        """Whether a value stands for more than one region and pass."""
        return self.regions_per_bin > 1 or self.passes_per_bin > 1


def region_map(
    trace: Trace,
    what: What = "deferrals",
    *,
    shape: tuple[int, int] = (512, 512),
    reduce: Reduce = "max",
    crop: bool = False,
) -> RegionMap:
    """Count something by region and pass, in at most ``shape`` bins.

    Parameters
    ----------
    trace : Trace
    what : {"deferrals", "deferrals to", "entries", "cells", "remote writes", "takes", "writes"}
        "entries" needs a trace recorded at ``events``, "takes" and "writes" one recorded at ``full``.
    shape : (int, int)
        Most bins of regions and of passes.
    reduce : {"max", "sum", "mean"}
        "max" keeps a lone count visible however much it is gathered with.
    crop : bool
        Leave out the regions above the last one in which something was counted, but for one.

    Raises
    ------
    ValueError
        If ``what`` or ``reduce`` is none of these.
    TraceError
        If the trace does not hold it.
    """
    for name, value, allowed in (("what", what, get_args(What)), ("reduce", reduce, get_args(Reduce))):
        if value not in allowed:
            raise ValueError(f"{name}={value!r}: must be one of {', '.join(map(repr, allowed))}")
    n_passes, all_regions = trace.n_passes, trace.n_regions
    sparse = [] if what == "cells" else list(region_counts(trace, what))
    n_regions = min(_last_region(trace, what, sparse) + 2, all_regions) if crop else all_regions
    region_edges, pass_edges = bin_edges(n_regions, shape[0]), bin_edges(n_passes, shape[1])
    rows, columns = region_edges.size - 1, pass_edges.size - 1
    per_region, per_pass = (int(edges[1]) if edges.size > 1 else 1 for edges in (region_edges, pass_edges))
    values = np.zeros((rows, columns))
    if values.size and what == "cells":
        _fill_states(values, trace, region_edges, pass_edges, reduce)
    elif values.size:
        for passes, regions, counts in sparse:
            at = (regions // per_region, passes // per_pass)
            (np.maximum if reduce == "max" else np.add).at(values, at, counts)
    if values.size and reduce == "mean":
        values /= np.diff(region_edges)[:, None] * np.diff(pass_edges)
    return RegionMap(values, what, reduce, per_region, per_pass, n_regions, n_passes, all_regions)


def _last_region(trace: Trace, what: What, counts: list[_Counts]) -> int:
    """Find the last region in which something was counted, or at least the first one."""
    found = [trace.cells.keys] if what == "cells" else [regions for _, regions, _ in counts]
    return max((int(regions.max()) for regions in found if regions.size), default=min(trace.n_regions, 1) - 1)


def region_counts(trace: Trace, what: What) -> Iterator[_Counts]:
    """Go through the counts that are not zero, one a pass and region: arrays of passes, regions and counts."""
    if what == "entries":
        yield from _entries(trace)
    elif what == "remote writes":
        yield trace.remote.passes, trace.remote.keys, trace.remote.counts
    elif what == "takes":
        yield from _in_regions(trace, "ops", "slot", OPERATIONS.index("take"))
    elif what == "writes":
        yield from _in_regions(trace, "deltas", "cell")
    else:
        pairs = trace.deferral_pairs()
        regions = pairs["owner" if what == "deferrals to" else "home"].astype(np.int64)
        keys, place = np.unique(pairs["pass"] * (trace.n_regions or 1) + regions, return_inverse=True)
        yield *np.divmod(keys, trace.n_regions or 1), np.bincount(place, pairs["count"], keys.size)


def _entries(trace: Trace) -> Iterator[_Counts]:
    trace.need_events("entries")
    yield from _in_regions(trace, "events", "loc")


def _in_regions(trace: Trace, table: str, place: str, op: int | None = None) -> Iterator[_Counts]:
    """Count the values of a long table by pass and region of one of their cells, or only those with an operation."""
    if table != "events" and trace.level != "full":
        raise TraceError(f"{table}: this trace was recorded at level {trace.level!r}; run it again with record='full'")
    n_regions = trace.n_regions
    for first, offsets, values in trace.parts(table=table):
        n_rows = offsets.size - 1
        lo, hi = int(offsets[0]), int(offsets[-1])
        keys = values.column(place, lo, hi) // np.uint32(trace.region_size)
        keys = keys + np.repeat(np.arange(n_rows) * n_regions, np.diff(offsets))
        if op is not None:
            keys = keys[values.column("op", lo, hi) == op]
        if n_rows * n_regions <= max(4 * keys.size, 1 << 16):
            counts = np.bincount(keys, minlength=n_rows * n_regions)
            found = np.flatnonzero(counts)
            counts = counts[found]
        else:
            found, counts = np.unique(keys, return_counts=True)
        yield first + found // n_regions, found % n_regions, counts


def _fill_states(
    values: NDArray[np.float64],
    trace: Trace,
    region_edges: NDArray[np.int64],
    pass_edges: NDArray[np.int64],
    reduce: Reduce,
) -> None:
    """Fill in the cells in use: what holds when a bin begins, and what it changes to."""
    cells = trace.cells
    state = np.zeros(cells.width)
    shown = int(region_edges[-1])
    gather = np.maximum if reduce == "max" else np.add
    for column in range(values.shape[1]):
        found = np.zeros(cells.width)
        for p in range(int(pass_edges[column]), int(pass_edges[column + 1])):
            entries = slice(int(cells.offsets[p]), int(cells.offsets[p + 1]))
            state[cells.keys[entries]] = cells.states[entries]
            if reduce != "max":
                found += state
            elif p == pass_edges[column]:
                found[:] = state
            else:
                np.maximum.at(found, cells.keys[entries], cells.states[entries])
        values[:, column] = gather.reduceat(found[:shown], region_edges[:-1])


def bin_edges(count: int, n_bins: int) -> NDArray[np.int64]:
    """Cut ``count`` things into at most ``n_bins`` runs of one length (the last may be shorter)."""
    width = max(-(-count // max(n_bins, 1)), 1)
    return np.append(np.arange(0, count, width), count)
