"""The words of many cells, each at the end of its own pass, from what the passes changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hvm4viz.trace.checks.view import View


@dataclass(frozen=True, slots=True)
class Words:
    """Changed cells by cell, then pass.

    Attributes
    ----------
    cell, pass_index : ndarray of int64
    before, after : ndarray of uint64
    """

    cell: NDArray[np.int64]
    pass_index: NDArray[np.int64]
    before: NDArray[np.uint64]
    after: NDArray[np.uint64]
    _start: NDArray[np.uint64]
    _stride: int

    @classmethod
    def of(cls, view: View) -> Words:
        """Sort the changed cells of a trace."""
        trace = view.trace
        deltas = trace.deltas(0, view.n)
        lengths = [np.diff(offsets) for _, offsets, _ in trace.parts(0, view.n, table="deltas")]
        passes = np.repeat(np.arange(view.n), np.concatenate([np.zeros(0, np.int64), *lengths]))
        cell = deltas["cell"].astype(np.int64)
        order = np.argsort(cell, kind="stable")
        return cls(
            cell[order], passes[order], deltas["before"][order], deltas["after"][order], view.header.heap, view.n + 2
        )

    def start(self, cells: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the words of cells when the recording begins."""
        inside = cells < self._start.size
        out = np.zeros(cells.shape, np.uint64)
        out[inside] = self._start[cells[inside]]
        return out

    def at_end(self, cells: NDArray[Any], passes: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the word of each cell at the end of its pass."""
        cells = cells.astype(np.int64)
        if not self.cell.size:
            return self.start(cells)
        keys = self.cell * self._stride + self.pass_index
        at = np.searchsorted(keys, cells * self._stride + passes, side="right") - 1
        found = np.maximum(at, 0)
        is_changed = (at >= 0) & (self.cell[found] == cells)
        return np.where(is_changed, self.after[found], self.start(cells))
