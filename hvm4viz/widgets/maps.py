"""Maps of regions and passes, for any range, at any number of pixels: a pixel holds the largest count in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hvm4viz.measure.frontier import bin_edges, ideal_parallelism, largest_by_bin
from hvm4viz.measure.regions import What, region_counts
from hvm4viz.trace.trace import Trace
from hvm4viz.widgets import cells
from hvm4viz.widgets.frames import Frame, pack

MEASURES: Final = ("deferrals", "frontier", "takes", "writes", "occupancy")
"""What the overview can show; ``writes`` are all cells changed at level ``full``, remote linear writes below it."""

FIRST_SHAPE: Final = (96, 640)
"""Most rows and columns of the map that every view has from the start."""

_WHAT: Final[dict[str, str]] = {"deferrals": "deferrals", "frontier": "entries", "writes": "remote writes"}

Triples = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Pass, region and count of everything that is not zero, by pass."""


class Maps:
    """Counts by region and pass of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._triples: dict[str, Triples] = {}

    def has(self, what: str) -> bool:
        """Tell whether the trace holds what a measure counts."""
        if what == "takes":
            return cells.has_words(self.trace)
        return what in MEASURES and (what != "frontier" or self.trace.n_events > 0)

    def first(self) -> str:
        """Choose what to show first: deferrals, or entries if nobody was deferred, or cells."""
        if self.trace.n_deferrals:
            return "deferrals"
        return "frontier" if self.trace.n_events else "occupancy"

    def triples(self, what: str) -> Triples:
        """Return what is not zero."""
        if what not in MEASURES or not self.has(what):
            raise ValueError(f"what={what[:40]!r}: this trace has {', '.join(filter(self.has, MEASURES))}")
        if what not in self._triples:
            found = [(p, r, c) for p, r, c in self._counted(what) if len(p)]
            parts = zip(*found, strict=True) if found else ((), (), ())
            p, r, c = (np.concatenate([np.empty(0, np.int64), *part]).astype(np.int64) for part in parts)
            order = np.argsort(p, kind="stable")
            self._triples[what] = (p[order], r[order], c[order])
        return self._triples[what]

    def _counted(self, what: str) -> Any:
        if what == "occupancy":
            table = self.trace.cells
            return [(table.passes, table.keys, table.states)]
        if what == "takes" or (what == "writes" and cells.has_words(self.trace)):
            return [cells.by_region(self.trace, what)]
        return region_counts(self.trace, cast("What", _WHAT[what]))

    def arrays(self) -> Iterator[NDArray[np.int64]]:
        """Go through the arrays that are kept."""
        for found in self._triples.values():
            yield from found

    def triples_frame(self, what: str) -> Frame:
        """Pack what is not zero; for ``occupancy`` the changes of a state that holds."""
        p, r, c = self.triples(what)
        columns = {"pass": p.astype(np.uint32), "region": r.astype(np.uint32), "count": c.astype(np.uint32)}
        return pack("triples", columns, what=what)

    def frame(self, what: str, p0: int, p1: int, r0: int, r1: int, shape: tuple[int, int]) -> Frame:
        """Gather a range into at most ``shape`` pixels; each holds its largest count."""
        region_edges, pass_edges = bin_edges(r1 - r0, shape[0]), bin_edges(p1 - p0, shape[1])
        per_region, per_pass = int(region_edges[1]), int(pass_edges[1])
        values = np.zeros((region_edges.size - 1, pass_edges.size - 1), np.uint32)
        p, r, c = self.triples(what)
        lo, hi = np.searchsorted(p, [p0, p1]).tolist()
        inside = (r[lo:hi] >= r0) & (r[lo:hi] < r1)
        p, r, c = (part[lo:hi][inside] for part in (p, r, c))
        if what == "occupancy":
            _hold(values, self.trace.cells.at(p0 - 1)[r0:r1] if p0 else None, (p - p0, r - r0, c), per_region, per_pass)
        else:
            np.maximum.at(values, ((r - r0) // per_region, (p - p0) // per_pass), c.astype(np.uint32))
        lines = (self.trace.frontier_sizes.astype(np.float64), ideal_parallelism(self.trace))
        frontier, ideal = (largest_by_bin(line[p0:p1], values.shape[1])[1].astype(np.float32) for line in lines)
        return pack(
            "map",
            {"values": values.ravel(), "frontier": frontier, "ideal": ideal},
            what=what, rows=values.shape[0], columns=values.shape[1],
            per_region=per_region, per_pass=per_pass, p0=p0, p1=p1, r0=r0, r1=r1,
        )  # fmt: skip


def _hold(
    values: NDArray[np.uint32],
    before: NDArray[np.int64] | None,
    changes: Triples,
    per_region: int,
    per_pass: int,
) -> None:
    """Fill in a state that holds until it changes: the largest it has within each pixel."""
    passes, regions, states = changes
    rows, columns = values.shape
    state = np.zeros(rows * per_region, np.int64)
    if before is not None:
        state[: before.size] = before
    edges = np.array(range(0, (columns + 1) * per_pass, per_pass), np.int64)
    for column, (lo, hi) in enumerate(pairwise(np.searchsorted(passes, edges).tolist())):
        largest = state.copy()
        if lo < hi and passes[lo] == column * per_pass:  # what changes in the first pass of the pixel never shows
            first = int(np.searchsorted(passes, column * per_pass, side="right"))
            largest[regions[lo:first]] = states[lo:first]
        np.maximum.at(largest, regions[lo:hi], states[lo:hi])
        state[regions[lo:hi]] = states[lo:hi]
        values[:, column] = largest.reshape(rows, per_region).max(axis=1)
