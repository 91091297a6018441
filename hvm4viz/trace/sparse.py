"""Per-pass tables with few entries that are not zero: counts by rule or region, and states that change now and then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sparse:
    """Counts by pass and key; what is not listed is 0.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_passes + 1,)
        The entries of pass p are ``offsets[p]`` to ``offsets[p + 1]``.
    keys, counts : ndarray
        Key (rule, outcome or region) and count of each entry.
    width : int
        Number of keys there are.
    """

    offsets: NDArray[np.int64]
    keys: NDArray[Any]
    counts: NDArray[Any]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of passes, number of keys."""
        return self.offsets.size - 1, self.width

    @property
    def passes(self) -> NDArray[np.int64]:
        """Pass of every entry."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def at(self, p: int) -> NDArray[np.int64]:
        """Return the counts of pass p, one a key."""
        p = check_pass(p, self.offsets.size - 1)
        out = np.zeros(self.width, np.int64)
        entries = slice(int(self.offsets[p]), int(self.offsets[p + 1]))
        out[self.keys[entries]] = self.counts[entries]
        return out

    def totals(self) -> NDArray[np.int64]:
        """Return the counts of all passes together, one a key."""
        out = np.zeros(self.width, np.int64)
        np.add.at(out, self.keys, self.counts.astype(np.int64))
        return out

    def dense(self) -> NDArray[np.int64]:
        """Return all counts, shape (n_passes, width)."""
        out = np.zeros(self.shape, np.int64)
        out[self.passes, self.keys] = self.counts
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        """Let NumPy take it as the dense table."""
        return np.asarray(self.dense(), dtype)


@dataclass(frozen=True, slots=True)
class Steps:
    """States by pass and key that hold until they change, all 0 before the first pass.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_passes + 1,)
        The changes of pass p are ``offsets[p]`` to ``offsets[p + 1]``.
    keys, states : ndarray
        Key (region) and new state of each change.
    width : int
        Number of keys there are.
    """

    offsets: NDArray[np.int64]
    keys: NDArray[Any]
    states: NDArray[Any]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of passes, number of keys."""
        return self.offsets.size - 1, self.width

    @property
    def passes(self) -> NDArray[np.int64]:
        """Pass of every change."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def at(self, p: int) -> NDArray[np.int64]:
        """Return the states at the end of pass p, one a key."""
        p = check_pass(p, self.offsets.size - 1)
        out = np.zeros(self.width, np.int64)
        out[self.keys[: self.offsets[p + 1]]] = self.states[: self.offsets[p + 1]]  # of several, the last one stays
        return out

    def dense(self) -> NDArray[np.int64]:
        """Return all states, shape (n_passes, width)."""
        out = np.zeros(self.shape, np.int64)
        state = np.zeros(self.width, np.int64)
        for p, row in enumerate(out):
            entries = slice(int(self.offsets[p]), int(self.offsets[p + 1]))
            state[self.keys[entries]] = self.states[entries]
            row[:] = state
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        """Let NumPy take it as the dense table."""
        return np.asarray(self.dense(), dtype)


def check_pass(p: int, n_passes: int) -> int:
    """Return p counted from the front; like a list, -1 is the last pass.

    Raises
    ------
    IndexError
        If there is no such pass.
    """
    if not -n_passes <= p < n_passes:
        raise IndexError(f"pass {p}: the trace has passes 0 to {n_passes - 1}" if n_passes else "the trace has no pass")
    return p % n_passes
