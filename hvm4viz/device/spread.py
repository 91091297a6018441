"""Memory of several GPUs in one range of addresses: each page lies on the GPU whose blocks own it.

The driver's virtual memory management does it (CUDA driver API, "Virtual Memory Management"): addresses are reserved
for the whole buffer, and pages of physical memory are put behind them as the buffer comes into use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import DeviceFailed


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
        self._homes += fresh

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


# ---- the driver

_PINNED: Final = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
_ON_DEVICE: Final = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ_WRITE: Final = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


def _properties(gpu: int) -> _Properties:
    return _Properties(type=_PINNED, location=_Location(_ON_DEVICE, gpu))


class DriverMemory:
    """Such memory of the CUDA driver.

    Parameters
    ----------
    cupy : module
    nbytes : int
        Most bytes that it may hold.
    gpus : sequence of int
        Numbers of the GPUs that all reach all of it; where its pages may lie.

    Raises
    ------
    DeviceFailed
        If the driver refuses, with its own words.
    """

    def __init__(self, cupy: Any, nbytes: int, gpus: Sequence[int]) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._gpus = tuple(gpus)
        self._mapped: list[tuple[int, int]] = []
        page = ctypes.c_size_t()
        self._ask("cuMemGetAllocationGranularity", ctypes.byref(page), ctypes.byref(_properties(gpus[0])), 0)
        self.page = page.value
        self._nbytes = -(-nbytes // self.page) * self.page
        self._at = ctypes.c_uint64()
        self._ask(
            "cuMemAddressReserve",
            ctypes.byref(self._at),
            ctypes.c_size_t(self._nbytes),
            ctypes.c_size_t(0),
            ctypes.c_uint64(0),
            ctypes.c_uint64(0),
        )
        memory = cupy.cuda.UnownedMemory(self._at.value, self._nbytes, self, gpus[0])
        self.array: Any = cupy.ndarray(self._nbytes, np.uint8, cupy.cuda.MemoryPointer(memory, 0))

    def put(self, start: int, stop: int, gpu: int) -> None:
        """Put zero-filled memory of a GPU behind some bytes, whole pages of them."""
        at, size = ctypes.c_uint64(self._at.value + start), ctypes.c_size_t(stop - start)
        handle = ctypes.c_uint64()
        self._ask(
            "cuMemCreate",
            ctypes.byref(handle),
            size,
            ctypes.byref(_properties(self._gpus[gpu])),
            ctypes.c_uint64(0),
        )
        try:
            self._ask("cuMemMap", at, size, ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        finally:
            self._ask("cuMemRelease", handle)  # the mapping holds the memory
        self._mapped.append((start, stop))
        reach = (_Access * len(self._gpus))(*(_Access(_Location(_ON_DEVICE, each), _READ_WRITE) for each in self._gpus))
        self._ask("cuMemSetAccess", at, size, reach, ctypes.c_size_t(len(self._gpus)))
        self._ask("cuMemsetD8_v2", at, ctypes.c_ubyte(0), size)
        self._ask("cuCtxSynchronize")

    def close(self) -> None:
        """Give all of it back; the GPUs must be done with it."""
        self.array = None
        for start, stop in self._mapped:
            self._ask("cuMemUnmap", ctypes.c_uint64(self._at.value + start), ctypes.c_size_t(stop - start))
        self._mapped = []
        if self._at.value:
            self._ask("cuMemAddressFree", self._at, ctypes.c_size_t(self._nbytes))
            self._at.value = 0

    def __del__(self) -> None:
        """Give all of it back: a run may end where nothing is fetched any more."""
        if getattr(self, "_at", None):
            self.close()

    def _ask(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            words = ctypes.c_char_p()
            self._driver.cuGetErrorString(status, ctypes.byref(words))
            text = f"{name}: {(words.value or b'unknown error').decode()} ({status})"
            raise DeviceFailed(f"memory over several GPUs: {text}", text=text)
