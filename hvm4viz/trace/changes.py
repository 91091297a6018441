"""Tables of one word a region, pass after pass: which words each pass changed."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.columns import Ragged, join

WINDOW_PASSES: Final = 64
"""Most passes whose tables are compared at once."""

WINDOW_WORDS: Final = 1 << 17
"""Most words of these tables, unless one alone has more: a cache holds them."""

_WIDTH: Final = 256
"""Words of the first tables: regions are given by twos, and a wider table makes a new window."""


class _State(NamedTuple):
    base: int
    """First pass in the window."""
    window: NDArray[np.uint32]
    """A row a pass, behind the table before them all."""
    spare: NDArray[np.uint32] | None
    """Memory of the window before, to be used again."""
    done: tuple[Ragged | NDArray[np.uint32], ...]
    """What passes before the window changed, or their windows: those that were too narrow are compared when asked."""


class Changes:
    """Find out what changed, for many passes at once and in memory that is used again: fresh pages cost more.

    An interrupt between any two steps loses nothing: a state is made whole before it replaces the one before, and a
    pass that is put twice counts once.

    Parameters
    ----------
    dtype : numpy.dtype
        Records (region, word) of a change.
    first : int
        First pass.
    before : ndarray of uint32, optional
        Table before it; shorter tables go on with zeros. If None, each pass is compared with zeros.
    """

    def __init__(self, dtype: np.dtype[np.void], first: int, before: NDArray[np.uint32] | None) -> None:
        self._dtype = dtype
        self._is_each = before is None
        table = np.empty(0, np.uint32) if before is None else before
        self._state = _State(first, _window(table.size), None, ())
        _fill(self._state.window[0], table)

    def put(self, index: int, table: NDArray[np.uint32]) -> None:
        """Take the table behind a pass: the next one, or again the one put last; tables never get narrower."""
        state = self._state
        if index - state.base >= len(state.window) - 1 or table.size > state.window.shape[1]:
            state = self._state = self._next(state, index, table.size)
        _fill(state.window[index - state.base + 1], table)

    def rows(self, first: int, end: int) -> Ragged:
        """Return what passes ``first`` to ``end`` changed; none of them is forgotten."""
        state = self._state
        parts = (*state.done, state.window[: end - state.base + 1])
        found = join([part if isinstance(part, Ragged) else self._listed(part) for part in parts], self._dtype)
        known = found.offsets.size - 1
        if known == end - first:
            return found
        offsets = found.offsets[known - (end - first) :]
        return Ragged(offsets - offsets[0], found.records(self._dtype, int(offsets[0])))

    def forget(self, end: int) -> None:
        """Let go of the passes before ``end``, the last that was put and those before it."""
        self._state = self._next(self._state, end, 0)._replace(done=())

    def _next(self, state: _State, index: int, width: int) -> _State:
        """Return the state whose window begins with a pass."""
        filled = state.window[: index - state.base + 1]
        if width > filled.shape[1]:  # rarely, since widths double: what is filled is kept as it is
            window, spare, more = _window(max(min(2 * width, WINDOW_WORDS), width + width // 4)), None, filled
        else:
            window = _window(filled.shape[1]) if state.spare is None else state.spare
            spare, more = state.window, self._listed(filled)
        _fill(window[0], filled[-1])
        return _State(index, window, spare, (*state.done, more))

    def _listed(self, filled: NDArray[np.uint32]) -> Ragged:
        before, now = filled[:-1], filled[1:]
        n_rows, width = now.shape
        changed = now != (0 if self._is_each else before)
        # Few are: look for them by eights.
        eights = np.flatnonzero(changed.reshape(-1).view(np.uint64))
        at = (8 * eights[:, np.newaxis] + np.arange(8)).reshape(-1)
        row, column = np.divmod(at[changed.reshape(-1)[at]], width)
        offsets = np.zeros(n_rows + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=n_rows), out=offsets[1:])
        key, word = self._dtype.names or ("", "")
        return Ragged(offsets, {key: column.astype(np.uint32), word: now[row, column]})


def _window(width: int) -> NDArray[np.uint32]:
    width = max(-(-width // 64) * 64, _WIDTH)
    return np.empty((min(WINDOW_PASSES, max(1, WINDOW_WORDS // width)) + 1, width), np.uint32)


def _fill(row: NDArray[np.uint32], table: NDArray[np.uint32]) -> None:
    row[: table.size] = table
    row[table.size :] = 0
