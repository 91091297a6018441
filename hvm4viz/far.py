"""Cells of a heap that lies on a device: what the host asks for is fetched, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, overload

import numpy as np
from numpy.typing import NDArray

PAGE_CELLS: Final = 1 << 13
"""Cells that are fetched at once: 64 KiB, which take little longer than one."""

AHEAD, AHEAD_MAX = 64, 4
"""Fetches after which twice as many pages come at once, as who reads on wants all of it; and how often that may be."""


class Far(Protocol):
    """A heap whose true cells may lie elsewhere.

    Attributes
    ----------
    words : ndarray of uint64
        The host's side: true where it has been read since the last change.
    """

    words: NDArray[np.uint64]

    @property
    def change(self) -> int | None:
        """Number of the last change elsewhere; None while the host's side is the true one."""
        ...

    def read(self, start: int, stop: int) -> None:
        """Make the host's side true from cell ``start`` up to ``stop``."""
        ...

    def read_all(self) -> None:
        """Make all of the host's side true."""
        ...

    def gather(self, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return single cells from all over the heap."""
        ...


class FarCells(Sequence[int]):
    """The cells of such a heap, for reading: whoever wants a few of them does not wait for all.

    Parameters
    ----------
    heap : Far
    """

    def __init__(self, heap: Far) -> None:
        self._heap, self._words = heap, heap.words
        self._pages = -(-len(heap.words) // PAGE_CELLS)
        self._forget(None)

    def _forget(self, change: int | None) -> None:
        self._change = change
        self._held: bytearray | None = None
        self._single: dict[int, int] = {}
        self._fetches = 0

    def _is_here(self) -> bool:
        """Tell whether the host's side is true; what was fetched before the last change counts no more."""
        change = self._heap.change
        if change != self._change:
            self._forget(change)
        return change is None

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._words)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Any: ...
    def __getitem__(self, at: int | slice) -> Any:
        """Return the word in a cell, or a copy of the words in adjacent ones."""
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self._words))
            if step != 1:
                raise ValueError(f"cells {start} to {stop} by steps of {step}: only adjacent cells are read at once")
            if not self._is_here():
                self._need(start, stop)
            return self._words[start:stop].copy()
        cell = int(at)
        if not -len(self._words) <= cell < len(self._words):
            raise IndexError(f"cell {cell}: the heap has cells 0 to {len(self._words) - 1}")
        cell %= len(self._words)
        if not self._is_here():
            known = self._single.get(cell)
            if known is not None:
                return known
            self._need(cell, cell + 1)
        return self._words.item(cell)

    def reader(self) -> Callable[[int], int]:
        """Return the fastest way to read single words, good until the next change."""
        return self._words.item if self._is_here() else self.__getitem__

    def _need(self, start: int, stop: int) -> None:
        """Fetch the pages of these cells that are not there yet."""
        if self._held is None:
            self._held = bytearray(self._pages)
        held, at, last = self._held, start // PAGE_CELLS, -(-stop // PAGE_CELLS)
        while (page := held.find(0, at, last)) >= 0:
            at = held.find(1, page, last)
            at = last if at < 0 else at
            together = 1 << min(self._fetches // AHEAD, AHEAD_MAX)
            page -= page % together
            at = max(at, min(page + together, self._pages))
            self._fetches += 1
            self._heap.read(page * PAGE_CELLS, min(at * PAGE_CELLS, len(self._words)))
            held[page:at] = b"\1" * (at - page)

    def gather(self, cells: Sequence[int]) -> list[int]:
        """Return the words in cells that may lie anywhere, all in one fetch."""
        at = np.asarray(cells, np.int64)
        if self._is_here():
            return self._words[at].tolist()
        held, single = self._held, self._single
        if missing := [c for c in set(at.tolist()) if c not in single and not (held and held[c // PAGE_CELLS])]:
            found = self._heap.gather(np.array(missing, np.int64))
            single.update(zip(missing, found.tolist(), strict=True))
        return [self[cell] for cell in at.tolist()]

    def whole(self) -> NDArray[np.uint64]:
        """Return the host's side, all of it true: everything in use comes over, if it has not yet."""
        if not self._is_here() and (self._held is None or 0 in self._held):
            self._heap.read_all()
            self._held = bytearray(b"\1" * self._pages)
            self._single.clear()
        return self._words

    def __array__(self, dtype: Any = None, **_: Any) -> NDArray[Any]:
        """Return a copy of all of it as an array."""
        return np.array(self.whole(), dtype)


Cells = NDArray[np.uint64] | FarCells
"""Cells of a heap for reading, wherever it lies."""


def gather(cells: Cells, at: Sequence[int]) -> list[int]:
    """Return the words in cells that may lie anywhere."""
    return cells.gather(at) if isinstance(cells, FarCells) else cells[np.asarray(at, np.int64)].tolist()
