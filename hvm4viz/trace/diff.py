"""What is different between the heaps of two passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import DELTA
from hvm4viz.trace.heaps import check_heap, owners_at, squash

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

REGION_COUNT: Final = np.dtype(
    [("region", "<u4"), ("added", "<i8"), ("freed", "<i8"), ("changed", "<i8"), ("moved", "?")]
)
"""What is different in one region: cells, and whether another block owns it."""


@dataclass(frozen=True, slots=True)
class HeapDiff:
    """Cells that differ between the start of pass p and that of pass q.

    Attributes
    ----------
    p, q : int
        The passes; p may be the later one.
    cells : ndarray of DELTA
        Every cell that differs, ascending, with its word at p (``before``) and at q (``after``).
    added, freed, changed : ndarray of uint32
        Cells that were empty at p, that are empty at q, and the others.
    moved : ndarray of uint32
        Regions in use at both that another block owns at q.
    regions : ndarray of REGION_COUNT
        Counts of each region that differs, ascending.
    """

    p: int
    q: int
    cells: NDArray[np.void]
    added: NDArray[np.uint32]
    freed: NDArray[np.uint32]
    changed: NDArray[np.uint32]
    moved: NDArray[np.uint32]
    regions: NDArray[np.void]

    def __str__(self) -> str:
        """Say it in a line."""
        return (
            f"pass {self.p} to {self.q}: {self.added.size:,} cells added, {self.freed.size:,} freed, "
            f"{self.changed.size:,} changed, in {self.regions.size:,} regions; {self.moved.size:,} regions moved"
        )


def heap_diff(trace: Trace, p: int, q: int) -> HeapDiff:
    """Compare the heaps of two passes; see ``Trace.diff``."""
    p, q = (check_heap(trace, each) for each in (p, q))
    first, last = min(p, q), max(p, q)
    cells = _cells(trace, first, last)
    if p > q:
        cells["before"], cells["after"] = cells["after"], cells["before"].copy()
    is_added, is_freed = cells["before"] == 0, cells["after"] == 0
    before, after = owners_at(trace, p), owners_at(trace, q)
    shared = min(before.size, after.size)
    moved = np.flatnonzero(before[:shared] != after[:shared]).astype(np.uint32)
    return HeapDiff(
        p=p,
        q=q,
        cells=cells,
        added=cells["cell"][is_added],
        freed=cells["cell"][is_freed],
        changed=cells["cell"][~is_added & ~is_freed],
        moved=moved,
        regions=_by_region(cells, moved, trace.region_size),
    )


def _cells(trace: Trace, p: int, q: int) -> NDArray[np.void]:
    """Return the cells that differ: from what passes changed between, or of long stretches from the heaps."""
    n_deltas = sum(int(offsets[-1] - offsets[0]) for _, offsets, _ in trace.parts(p, q, table="deltas"))
    after = trace.at(q).words
    if n_deltas < after.size:
        return squash(trace.long_table("deltas", p, q))
    before = np.zeros(after.size, np.uint64)
    words = trace.at(p).words
    before[: words.size] = words
    at = np.flatnonzero(before != after)
    cells = np.empty(at.size, DELTA)
    cells["cell"], cells["before"], cells["after"] = at, before[at], after[at]
    return cells


def _by_region(cells: NDArray[np.void], moved: NDArray[np.uint32], region_size: int) -> NDArray[np.void]:
    regions = cells["cell"] // region_size
    found = np.unique(np.concatenate([regions, moved]))
    out = np.zeros(found.size, REGION_COUNT)
    out["region"] = found
    place = np.searchsorted(found, regions)
    kinds = {"added": cells["before"] == 0, "freed": cells["after"] == 0}
    kinds["changed"] = ~kinds["added"] & ~kinds["freed"]
    for name, fits in kinds.items():
        out[name] = np.bincount(place[fits], minlength=found.size)
    out["moved"] = np.isin(found, moved)
    return out
