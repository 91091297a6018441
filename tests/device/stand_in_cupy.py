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


class Array:
    """A piece of device memory."""

    def __init__(self, words: NDArray[Any]) -> None:
        self.words = words

    @property
    def data(self) -> SimpleNamespace:
        return SimpleNamespace(ptr=self.words.ctypes.data)

    def __getitem__(self, part: slice) -> Array:
        return Array(self.words[part])

    def set(self, given: NDArray[Any], *, stream: Stream) -> None:
        assert stream.captured is None, "nothing may be copied while a graph is made"
        assert given.dtype == self.words.dtype
        self.words[:] = given

    def get(self, *, out: NDArray[Any], stream: Stream) -> None:
        assert stream.captured is None, "nothing may be copied while a graph is made"
        out[:] = self.words


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
    module: Any = ModuleType("cupy")
    module.RawModule = RawModule
    module.zeros = lambda n, dtype: Array(np.zeros(n, dtype))
    module.cuda = SimpleNamespace(
        Device=Device,
        Stream=Stream,
        alloc_pinned_memory=Pinned,
        driver=SimpleNamespace(CUDADriverError=type("CUDADriverError", (RuntimeError,), {})),
        memory=SimpleNamespace(OutOfMemoryError=type("OutOfMemoryError", (MemoryError,), {})),
        runtime=SimpleNamespace(
            CUDARuntimeError=type("CUDARuntimeError", (RuntimeError,), {}),
            getDeviceCount=lambda: gpus,
            deviceCanAccessPeer=lambda _, __: True,
            deviceEnablePeerAccess=lambda _: None,
            getDeviceProperties=lambda _: {"name": b"stand-in", "multiProcessorCount": 1},
        ),
    )
    return module
