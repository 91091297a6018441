"""What the cuda device uses of CuPy, on the host: device memory is memory that the host's views do not see."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.compiler import library
from hvm4viz.device.cpu import wrap

launches: list[tuple[int, str, int, int]] = []
"""GPU, entry point, first thread and number of threads of each dispatch so far."""


class Device:
    """One of the GPUs; the current one is where dispatches go."""

    current = 0

    def __init__(self, number: int | None = None) -> None:
        self.id = Device.current if number is None else number
        self._before: list[int] = []

    def __enter__(self) -> Self:
        self._before.append(Device.current)
        Device.current = self.id
        return self

    def __exit__(self, *_: object) -> None:
        Device.current = self._before.pop()


class Pages:
    """Memory over several GPUs, of small pages."""

    page = 4096

    def __init__(self, module: Any, nbytes: int, gpus: tuple[int, ...]) -> None:
        del module
        self.array: Any = Array(np.zeros(-(-nbytes // self.page) * self.page, np.uint8))
        self.homes: dict[int, int] = {}
        self._gpus = gpus
        made.append(self)

    def put(self, start: int, stop: int, gpu: int) -> None:
        assert start % self.page == stop % self.page == 0
        assert 0 <= gpu < len(self._gpus)
        pages = range(start // self.page, stop // self.page)
        assert not self.homes.keys() & set(pages), "nothing is put there twice"
        self.homes.update(dict.fromkeys(pages, gpu))

    def close(self) -> None:
        self.array = None


made: list[Pages] = []


copies: list[tuple[str, int]] = []
"""Which way each copy went (``down`` to the host, ``up``, ``across`` on the GPU), and how many bytes it had."""


class Pointer:
    """Where a piece of device memory begins."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr

    def __add__(self, nbytes: int) -> Pointer:
        return Pointer(self.ptr + nbytes)

    def _copy(self, way: str, to: int, given: int, nbytes: int, stream: Stream) -> None:
        assert stream.captured is None, "nothing may be copied while a graph is made"
        copies.append((way, nbytes))
        ctypes.memmove(to, given, nbytes)

    def copy_from_host_async(self, mem: int, size: int, stream: Stream) -> None:
        self._copy("up", self.ptr, mem, size, stream)

    def copy_to_host_async(self, mem: int, size: int, stream: Stream) -> None:
        self._copy("down", mem, self.ptr, size, stream)

    def copy_from_device_async(self, src: Pointer, size: int, stream: Stream) -> None:
        self._copy("across", self.ptr, src.ptr, size, stream)

    def memset_async(self, value: int, size: int, stream: Stream) -> None:
        assert stream.captured is None
        ctypes.memset(self.ptr, value, size)


class Array:
    """A piece of device memory."""

    def __init__(self, words: NDArray[Any]) -> None:
        self.words = words

    @property
    def data(self) -> Pointer:
        return Pointer(self.words.ctypes.data)

    def __getitem__(self, part: Any) -> Array:
        return Array(self.words[part.words if isinstance(part, Array) else part])

    def view(self, dtype: Any) -> Array:
        return Array(self.words.view(dtype))

    def set(self, given: NDArray[Any], *, stream: Stream) -> None:
        assert stream.captured is None, "nothing may be copied while a graph is made"
        assert given.dtype == self.words.dtype
        copies.append(("up", given.nbytes))
        self.words[:] = given

    def get(self, *, stream: Stream, out: NDArray[Any] | None = None) -> NDArray[Any]:
        assert stream.captured is None, "nothing may be copied while a graph is made"
        copies.append(("down", self.words.nbytes))
        if out is None:
            return self.words.copy()
        out[:] = self.words
        return out


class Pool:
    """What CuPy keeps of memory that was freed."""

    freed = 0

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        self.freed += 1


class Graph:
    """Dispatches that were captured."""

    def __init__(self, captured: list[Callable[[], None]]) -> None:
        self._captured = captured

    def launch(self, stream: Stream) -> None:
        assert stream.captured is None
        for each in self._captured:
            each()


class Stream:
    """Where dispatches and copies go, one after the other."""

    def __init__(self, *, non_blocking: bool) -> None:
        assert non_blocking
        self.captured: list[Callable[[], None]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin_capture(self) -> None:
        self.captured = []

    def end_capture(self) -> Graph:
        captured, self.captured = self.captured, None
        return Graph(captured or [])

    def synchronize(self) -> None:
        pass


class Event:
    """A place in a stream."""

    def __init__(self) -> None:
        self._is_recorded = False

    def record(self, stream: Stream) -> None:
        assert stream.captured is None
        self._is_recorded = True

    def synchronize(self) -> None:
        assert self._is_recorded, "nobody would wait for anything"


class RawModule:
    """The kernel, compiled for the host."""

    def __init__(self, *, code: str, options: tuple[str, ...], backend: str) -> None:
        assert backend == "nvrtc"
        assert options
        self._code = code

    def compile(self) -> None:
        text, self._entries = wrap(self._code)
        self._library = ctypes.CDLL(str(library(text)))

    def get_function(self, name: str) -> Any:
        call = getattr(self._library, f"{name}_range")
        call.argtypes, call.restype = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32), None

        def launch(grid: tuple[int], group: tuple[int], arguments: tuple[Any, ...], *, stream: Stream) -> None:
            if stream.captured is not None:
                stream.captured.append(lambda: launch(grid, group, arguments, stream=stream))
                return
            *buffers, first = arguments
            assert len(buffers) == self._entries[name]
            where = [b.words.ctypes.data if isinstance(b, Array) else int(b) for b in buffers]
            threads = grid[0] * group[0]  # rounded up
            launches.append((Device.current, name, int(first), threads))
            call((ctypes.c_void_p * len(where))(*where), int(first), int(first) + threads)

        return launch


class Pinned:
    """Host memory that the device reaches, too."""

    def __init__(self, nbytes: int) -> None:
        self._held = ctypes.create_string_buffer(nbytes)
        self.ptr = ctypes.addressof(self._held)


def stand_in(gpus: int = 1) -> ModuleType:
    """Return the module, with so many GPUs."""
    launches.clear()
    made.clear()
    copies.clear()
    module: Any = ModuleType("cupy")
    module.RawModule = RawModule
    module.zeros = lambda n, dtype: Array(np.zeros(n, dtype))
    module.empty = lambda n, dtype: Array(np.full(n, 0xA5, dtype))  # nobody may take it for zeros
    module.asarray = lambda words: Array(np.asarray(words))
    pool = Pool()
    module.get_default_memory_pool = lambda: pool
    module.cuda = SimpleNamespace(
        Device=Device,
        Stream=Stream,
        Event=Event,
        alloc_pinned_memory=Pinned,
        driver=SimpleNamespace(CUDADriverError=type("CUDADriverError", (RuntimeError,), {})),
        memory=SimpleNamespace(OutOfMemoryError=type("OutOfMemoryError", (MemoryError,), {})),
        runtime=SimpleNamespace(
            CUDARuntimeError=type("CUDARuntimeError", (RuntimeError,), {}),
            getDeviceCount=lambda: gpus,
            deviceCanAccessPeer=lambda _, __: True,
            deviceEnablePeerAccess=lambda _: None,
            memGetInfo=lambda: (1 << 40, 1 << 40),
            getDeviceProperties=lambda _: {"name": b"stand-in", "multiProcessorCount": 1},
        ),
    )
    return module
