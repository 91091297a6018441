"""Who owns which region in which pass, for many cells at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hvm4viz.trace.checks.view import View


@dataclass(frozen=True, slots=True)
class Owners:
    """The owner block of each region, from which pass on.

    A region keeps its owner for a frontier run. Between runs, which the CPU evaluator starts and ends, regions are
    dealt anew; the trace tells of that in the first pass that has them.

    Attributes
    ----------
    is_new : ndarray of bool
        Which of the given regions nobody had before.
    """

    is_new: NDArray[np.bool_]
    _keys: NDArray[np.int64]
    _blocks: NDArray[np.int64]
    _stride: int

    @classmethod
    def of(cls, view: View) -> Owners:
        """Read header and given regions of a trace."""
        given, known = view.trace.given, view.header.regions
        regions = given["region"].astype(np.int64)
        order = np.argsort(regions, kind="stable")
        again = np.zeros(regions.size, bool)
        again[order[1:]] = regions[order[1:]] == regions[order[:-1]]
        is_new = ~again & (regions >= known.size)
        starts = view.is_start[given["pass"]] if view.is_mixed else np.zeros(regions.size, bool)
        # a fresh one is given after the pass, unless a run begins with it; when a run ends the evaluator has all
        since = given["pass"] + np.where(is_new, ~starts, given["block"] == 0)
        stride = view.trace.n_passes + 2
        keys = np.concatenate([np.arange(known.size, dtype=np.int64) * stride, regions * stride + since])
        blocks = np.concatenate([known.astype(np.int64), given["block"].astype(np.int64)])
        place = np.argsort(keys, kind="stable")
        return cls(is_new, keys[place], blocks[place], stride)

    def block(self, regions: NDArray[Any], passes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the owner block of each region in a pass; -1 if it has none yet."""
        if not self._keys.size:
            return np.full(regions.shape, -1, np.int64)
        wanted = regions.astype(np.int64) * self._stride + passes
        at = np.searchsorted(self._keys, wanted, side="right") - 1
        found = np.maximum(at, 0)
        is_known = (at >= 0) & (self._keys[found] // self._stride == regions)
        return np.where(is_known, self._blocks[found], -1)
