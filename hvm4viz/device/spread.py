"""Memory of several GPUs in one range of addresses: each page lies on the GPU whose blocks own it.

Addresses are there for the whole buffer; memory is put behind them, a page at a time, as the buffer comes into use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Memory(Protocol):
    """A range of addresses, and the pages behind it.

    Attributes
    ----------
    array : array
        All of it, as bytes; CuPy's, or one that has as much of its interface as ``CudaDevice`` uses.
    page : int
        Bytes of a page.
    """

    array: Any
    page: int

    def put(self, start: int, stop: int, gpu: int) -> None:
        """Put zero-filled memory of a GPU behind some bytes, whole pages of them."""
        ...

    def close(self) -> None:
        """Give all of it back; the GPUs must be done with it."""
        ...


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each region of a buffer belongs.

    Attributes
    ----------
    owner : ndarray of uint32
        Owner block of each region: a view, it changes.
    region_bytes : int
    threads, threads_per_block : int
        Of the machine.
    """

    owner: NDArray[np.uint32]
    region_bytes: int
    threads: int
    threads_per_block: int

    def thread(self, at: int) -> int:
        """Return the first thread of the block that owns the byte at ``at``."""
        return int(self.owner[at // self.region_bytes]) * self.threads_per_block


class Spread:
    """A buffer over such memory: slices are copied page by page, for neighbours may lie on different GPUs.

    Parameters
    ----------
    memory : Memory
    home : callable
        Number of the GPU that a byte belongs to: that of the region in which its page begins.
    """

    def __init__(self, memory: Memory, home: Callable[[int], int]) -> None:
        self._memory = memory
        self._home = home
        self._homes: list[int] = []

    @property
    def data(self) -> Any:
        """Where it begins."""
        return self._memory.array.data

    def cover(self, nbytes: int) -> None:
        """Put memory behind the first bytes; what has some already keeps it."""
        page = self._memory.page
        first, stop = len(self._homes), -(-nbytes // page)
        if stop <= first:
            return
        fresh = [self._home(at * page) for at in range(first, stop)]
        for start, end, gpu in _runs(fresh):
            self._memory.put((first + start) * page, (first + end) * page, gpu)
            self._homes += fresh[start:end]  # where there was no room, it goes on from here

    def counts(self) -> NDArray[np.int64]:
        """Return the number of pages on each GPU."""
        return np.bincount(self._homes)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    def __getitem__(self, part: slice) -> _Part:
        """Return some of it, for copies to and from."""
        return _Part(self, part.start, part.stop)

    def pieces(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Cut a range where neighbouring pages lie on different GPUs."""
        page = self._memory.page
        first = start // page
        runs = _runs(self._homes[first : -(-stop // page)])
        return [(max(start, (first + a) * page), min(stop, (first + b) * page)) for a, b, _ in runs]

    def array(self, start: int, stop: int) -> Any:
        """Return some of it that lies on one GPU."""
        return self._memory.array[start:stop]


@dataclass(frozen=True, slots=True)
class _Part:
    whole: Spread
    start: int
    stop: int

    def set(self, given: NDArray[np.uint8], *, stream: Any) -> None:
        """Copy from the host."""
        for a, b in self.whole.pieces(self.start, self.stop):
            self.whole.array(a, b).set(given[a - self.start : b - self.start], stream=stream)

    def get(self, *, out: NDArray[np.uint8], stream: Any) -> None:
        """Copy to the host."""
        for a, b in self.whole.pieces(self.start, self.stop):
            self.whole.array(a, b).get(out=out[a - self.start : b - self.start], stream=stream)


def _runs(homes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (start, stop, number) of each run of equal numbers."""
    edges = [0, *(np.flatnonzero(np.diff(homes)) + 1).tolist(), len(homes)] if len(homes) else [0]
    return [(start, stop, homes[start]) for start, stop in pairwise(edges)]
