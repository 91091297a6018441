"""Memory over several GPUs: the CUDA driver's virtual memory management (driver API, "Virtual Memory Management")."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from hvm4viz.errors import DeviceFailed

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
    """A range of addresses, and pages of several GPUs behind it; see ``hvm4viz.device.spread.Memory``.

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
            with suppress(DeviceFailed):  # of a GPU that is lost nothing can be given back
                self.close()

    def _ask(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            words = ctypes.c_char_p()
            self._driver.cuGetErrorString(status, ctypes.byref(words))
            text = f"{name}: {(words.value or b'unknown error').decode()} ({status})"
            raise DeviceFailed(f"memory over several GPUs: {text}", text=text)
