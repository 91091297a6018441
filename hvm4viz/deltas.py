"""What a pass changed in the heap: the words now against a copy kept from the pass before."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import DELTA, NO_DELTAS

STEP_CELLS: Final = 1 << 16
"""Cells compared at a time: they stay in the processor's cache."""

LOOKUP_COSTS: Final = 4
"""How many times as long it takes to look up a written cell as to compare the next one."""

SORT_COSTS: Final = 64
"""How many times as long it takes to sort a cell as to look at a byte."""


class Mirror:
    """A copy of the heap as it was when the last pass ended.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_cells,)
        All cells of the heap, as they lie: read again at each pass.
    cells : int
        Cells in use now; all behind them are zero.
    """

    def __init__(self, words: NDArray[np.uint64], cells: int) -> None:
        self._words = words
        self._before = np.zeros(words.size, np.uint64)  # takes no memory where it is never written
        self._before[:cells] = words[:cells]

    def changes(self, cells: int, written: NDArray[Any] | None = None) -> NDArray[np.void]:
        """Return what changed since the last call, and keep the heap as it is now.

        Parameters
        ----------
        cells : int
            Cells in use now.
        written : ndarray of int, optional
            Cells that may have changed, in any order, some perhaps twice; by default all of them.

        Returns
        -------
        deltas : ndarray of DELTA, shape (n_changed,)
            Ascending by cell, only cells that differ.
        """
        if written is not None and written.size * LOOKUP_COSTS < cells:
            at = _once(written[self._words[written] != self._before[written]], cells)
        else:
            at = self._differing(cells)
        if not at.size:
            return NO_DELTAS
        deltas = np.empty(at.size, DELTA)
        deltas["cell"] = at
        deltas["before"] = self._before[at]
        after = self._words[at]
        deltas["after"] = after
        self._before[at] = after
        return deltas

    def _differing(self, cells: int) -> NDArray[np.intp]:
        found = [
            np.flatnonzero(self._words[start:stop] != self._before[start:stop]) + start
            for start in range(0, cells, STEP_CELLS)
            for stop in (min(start + STEP_CELLS, cells),)
        ]
        return np.concatenate(found) if found else np.empty(0, np.intp)


def _once(cells: NDArray[Any], n_cells: int) -> NDArray[Any]:
    """Return cells in ascending order, each once: of many by marking them, of few by sorting."""
    if cells.size * SORT_COSTS > n_cells:
        is_there = np.zeros(n_cells, bool)
        is_there[cells] = True
        return np.flatnonzero(is_there)
    found = np.sort(cells)
    return found[np.flatnonzero(np.diff(found, prepend=-1))]
