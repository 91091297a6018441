"""The cuda device: the kernel text compiled by NVRTC, run by an NVIDIA GPU through CuPy.

``memory="private"`` keeps buffers in device memory. Each has a twin on the host; who worked on it last has the true
one, and it is copied when the other side needs it: whole when a dispatch moves from one to the other, in small pieces
between two passes on the GPU. ``memory="shared"`` keeps them in host memory that the GPU reaches over the bus.

Several GPUs of one host work as one: each runs the threads of its share of the blocks over the same addresses. The
regions of the heap lie on the GPU whose blocks own them, all else on the first, which also builds the next frontier.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import re
import weakref
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, Function, Handle, Kernel, Way
from hvm4viz.device.compiler import find_compiler
from hvm4viz.device.cpu import CpuBuffer, CpuDevice, CpuKernel
from hvm4viz.device.driver_memory import DriverMemory
from hvm4viz.device.spread import Layout, Spread
from hvm4viz.errors import CompileFailed, DeviceFailed, DeviceUnavailable
from hvm4viz.settings import Machine

ADVICE: Final = "install an NVIDIA driver and CuPy (`pip install 'hvm4viz[cuda]'`)"
GROUP: Final = 64
"""Threads of a hardware group; a logical block may be smaller or larger."""

LANES: Final = 64
"""Logical threads that a multiprocessor advances at once, about: they diverge, and wait for memory."""

SLOWNESS: Final = 30.0
"""Time that one of them takes for a piece of work, over the time of a host thread, measured on an H200."""

START_NS: Final = 300_000.0
"""What a pass costs there before any work is done: its dispatch, the join over the grid, what the host reads back."""

HOST_ONLY: Final = ("step_depth_first", "join_frontier", "settle_frontier", "collect_ops", "collect_deltas")
"""Entry points that the GPU is never asked for."""

SHARED: Final = "step_frontier"
"""The entry point whose threads all GPUs share."""

PIECE: Final = 1 << 30
"""Bytes copied at a time."""

OPTIONS: Final = ("--std=c++14", "--maxrregcount=64")


class CudaBuffer(CpuBuffer):
    """Memory on the host with a twin in device memory.

    Attributes
    ----------
    is_away : bool
        Whether the twin is the true one.
    extent : int
        Bytes from the start that are in use; behind them both are zero.
    parts : callable or None
        Tells which ranges of bytes are in use, where most are not.
    layout : Layout or None
        Where its regions belong, if it has any.
    """

    twin: Any
    is_away: bool
    extent: int
    parts: Callable[[], list[tuple[int, int]]] | None
    layout: Layout | None

    def __new__(cls, nbytes: int) -> Self:
        """Reserve ``nbytes`` bytes; the twin is made when the device needs it."""
        self = super().__new__(cls, nbytes)
        self.twin = None
        self.is_away = False
        self.extent = len(self)
        self.parts = self.layout = None
        return self

    def bytes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return some of the host's bytes."""
        return np.frombuffer(self, np.uint8, stop - start, start)

    def ranges(self, nbytes: int | None) -> list[tuple[int, int]]:
        """Return what to copy: the first bytes, or all that is in use, in pieces of at most 1 GiB."""
        if nbytes is not None:
            return [(0, nbytes)]
        used = self.parts() if self.parts else [(0, self.extent)]
        return [(at, min(at + PIECE, stop)) for start, stop in used for at in range(start, stop, PIECE)]


def mapped_buffer(memory: Any, nbytes: int) -> Any:
    """Return pinned host memory as a buffer that the device reaches by the same address."""
    kind: Any = type("MappedBuffer", (ctypes.c_char * max(nbytes, 1),), {"__hash__": object.__hash__})
    made = kind.from_address(int(memory.ptr))
    ctypes.memset(int(memory.ptr), 0, max(nbytes, 1))
    made.address, made.memory = int(memory.ptr), memory  # the memory lives as long as the buffer
    return made


class _Pending:
    def __init__(self, device: CudaDevice) -> None:
        self._device = device

    def wait(self) -> None:
        """Return once all dispatches are finished."""
        device = self._device
        try:
            for stream in device.streams:
                stream.synchronize()
        except device.cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceFailed(f"{device.name} failed: {error}", text=str(error)) from None


class CudaFunction:
    """An entry point on the first GPU, or one whose grid all of them share.

    Parameters
    ----------
    device : CudaDevice
    calls : list
        The compiled entry point on each GPU that is to run it.
    """

    def __init__(self, device: CudaDevice, calls: list[Any]) -> None:
        self._device, self._calls = device, calls

    def __call__(self, count: int, *buffers: Buffer) -> Handle:
        """Run ``count`` threads over the buffers."""
        device, many = self._device, len(self._calls) > 1
        arguments = [np.uint64(pointer(device.address(buffer))) for buffer in buffers]
        if many:
            device.stream.synchronize()  # what is on its way to the first GPU is for all of them
        each = device.share(count) if many else count
        try:
            for call, gpu, stream, first in zip(
                self._calls, device.gpus, device.streams, range(0, count, each), strict=False
            ):
                groups = -(-min(each, count - first) // GROUP)
                with gpu:
                    call((groups,), (GROUP,), (*arguments, np.uint32(first)), stream=stream)
        except device.cupy.cuda.driver.CUDADriverError as error:
            raise DeviceFailed(f"{device.name} failed: {error}", text=str(error)) from None
        return device.pending


def pointer(argument: Any) -> int:
    """Return the address that a dispatch gets."""
    return int(argument.data.ptr) if hasattr(argument, "data") and hasattr(argument.data, "ptr") else int(argument)


@cache
def _stream(cupy: Any, gpu: int) -> Any:
    """Return the one stream of this process for a GPU: CuPy keeps freed memory for the stream that had it."""
    with cupy.cuda.Device(gpu):
        return cupy.cuda.Stream(non_blocking=True)


class _HostFunction:
    """An entry point on the host, for narrow frontiers: it works on the host's side of the buffers."""

    def __init__(self, device: CudaDevice, call: Function) -> None:
        self._device, self._call = device, call

    def __call__(self, count: int, *buffers: Buffer) -> Handle:
        """Run ``count`` threads over the buffers."""
        self._device.fetch(*buffers)
        return self._call(count, *buffers)


class CudaKernel(Kernel):
    """The kernel text, compiled for the GPU and for the host."""

    def __init__(self, device: CudaDevice, modules: list[Any], host: CpuKernel) -> None:
        self._device, self._modules, self._host = device, modules, host

    def function(self, name: str) -> CudaFunction:
        """Return an entry point on the GPU; all GPUs run threads, the first alone does the rest."""
        device = self._device
        calls: list[Any] = []
        try:
            for gpu, module in list(zip(device.gpus, self._modules, strict=True))[: None if name == SHARED else 1]:
                with gpu:
                    calls.append(module.get_function(name))
        except Exception as error:  # noqa: BLE001  (CuPy has one of its own for each step)
            raise CompileFailed(f"the kernel has no entry point {name!r}: {error}") from None
        return CudaFunction(device, calls)

    def serial(self, name: str) -> _HostFunction:
        """Return an entry point on one thread of the host."""
        return _HostFunction(self._device, self._host.serial(name))

    def on_host(self, name: str) -> Function:
        """Return an entry point on one thread of the host, over the host's side of the buffers."""
        return self._host.serial(name)

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return the host's ways, and the GPU."""
        device = self._device
        hosts = [
            Way(_HostFunction(device, self._host.serial(name)), way.device, way.start_ns, way.lanes, way.slowness)
            if i == 0
            else Way(
                _HostFunction(device, self._host.function(name)), way.device, way.start_ns, way.lanes, way.slowness
            )
            for i, way in enumerate(self._host.ways(name))
        ]
        if name in HOST_ONLY:
            return tuple(hosts)
        return (
            *hosts,
            Way(self.function(name), device.name, START_NS, device.lanes, SLOWNESS, is_away=device.is_private),
        )


@lru_cache(maxsize=32)  # a run may open a device of its own
def _module(cupy: Any, source: str, gpu: int, *, many: bool) -> Any:
    """Compile a kernel text for the GPU that is the current one."""
    del gpu  # on another it is another module
    if many:
        source = f"#define MANY_GPUS 1\n{source}"
    for entry in HOST_ONLY:  # each costs as much to compile as all the rest
        source = re.sub(rf"ENTRY\({entry}\)\(.*?\n}}\n", "", source, flags=re.DOTALL)
    module = cupy.RawModule(code=source, options=OPTIONS, backend="nvrtc")
    try:
        module.compile()
    except Exception as error:  # noqa: BLE001
        raise CompileFailed(f"the kernel does not compile with NVRTC:\n{error}") from None
    return module


class CudaDevice(Device):
    """One NVIDIA GPU, or several that work as one.

    Parameters
    ----------
    cupy : module
    workers : int, optional
        Host threads, for passes that are too narrow for the GPU.
    numbers : tuple of int
        Numbers of the GPUs, the first first.

    Attributes
    ----------
    gpus, streams : list
        CuPy's device and stream of each.
    spread : callable
        Returns the memory over several GPUs that was made last, or None.
    """

    def __init__(self, cupy: Any, workers: int | None, numbers: tuple[int, ...]) -> None:
        self.cupy = cupy
        self._host = CpuDevice(workers)
        self.numbers = numbers
        self.gpus = [cupy.cuda.Device(number) for number in numbers]
        self.streams = [_stream(cupy, number) for number in numbers]
        self.stream = self.streams[0]
        facts = [cupy.cuda.runtime.getDeviceProperties(number) for number in numbers]
        many = f", {len(numbers)} GPUs" if len(numbers) > 1 else ""
        self.name = f"cuda ({facts[0]['name'].decode()}{many})"
        self.lanes = LANES * sum(int(each["multiProcessorCount"]) for each in facts)
        self.is_private = True
        self.spread: Callable[[], Spread | None] = lambda: None
        self.pending = _Pending(self)
        self._kernels: dict[str, CudaKernel] = {}

    @property
    def joins_on_grid(self) -> bool:
        """Whether the join runs on the GPU: where it has the buffers to itself."""
        return self.is_private

    def check(self, machine: Machine) -> None:
        """Take note of where buffers shall live; refuse what several GPUs cannot do together."""
        if len(self.gpus) > 1:
            for name, value, use in (("memory", "shared", "private"), ("visibility", "live", "pass")):
                if getattr(machine, name) == value:
                    raise ValueError(
                        f"Machine({name}={value!r}): several GPUs do not have it; use {name}={use!r}, or one GPU"
                    )
        self.is_private = machine.memory != "shared"

    def share(self, threads: int) -> int:
        """Return how many threads of a grid each GPU runs, the last the rest: whole hardware groups."""
        return -(-threads // (len(self.gpus) * GROUP)) * GROUP

    def kernel(self, source: str) -> CudaKernel:
        """Compile a kernel text for the GPU (CuPy keeps the result on disk) and for the host."""
        key = f"{self.is_private}{source}"
        if key not in self._kernels:
            modules: list[Any] = []
            for gpu in self.gpus:
                with gpu:
                    modules.append(_module(self.cupy, source, gpu.id, many=len(self.gpus) > 1))
            self._kernels[key] = CudaKernel(self, modules, self._host.kernel(source))
        return self._kernels[key]

    def buffer(self, source: int | NDArray[Any]) -> Buffer:
        """Return a zero-filled buffer of that many bytes, or one holding a copy of an array."""
        nbytes = source if isinstance(source, int) else source.nbytes
        made = self._reserve(lambda: CudaBuffer(nbytes) if self.is_private else self._pinned(nbytes), nbytes)
        if not isinstance(source, int):
            np.frombuffer(made, dtype=np.uint8)[: source.nbytes] = source.reshape(-1).view(np.uint8)
        return made

    def _pinned(self, nbytes: int) -> Any:
        return mapped_buffer(self.cupy.cuda.alloc_pinned_memory(max(nbytes, 1)), nbytes)

    def _reserve(self, make: Callable[[], Any], nbytes: int) -> Any:
        try:
            return make()
        except (OSError, OverflowError, MemoryError, ValueError, self.cupy.cuda.memory.OutOfMemoryError) as error:
            raise DeviceFailed(f"{self.name} cannot reserve {nbytes:,} bytes: {error}", text=str(error)) from None

    def batch(self, calls: Sequence[tuple[Function, int, tuple[Buffer, ...]]]) -> Callable[[], None]:
        """Return what runs these dispatches: a graph, which costs one launch."""
        buffers = {id(buffer): buffer for _, _, each in calls for buffer in each}.values()
        graphs: dict[tuple[int, ...], Any] = {}

        def run() -> None:
            where = tuple(pointer(self.address(buffer)) for buffer in buffers)
            if where not in graphs:  # the first time, or memory has moved
                graphs.clear()
                with self.gpus[0]:
                    self.stream.begin_capture()
                    for function, count, each in calls:
                        function(count, *each)
                    graphs[where] = self.stream.end_capture()
            with self.gpus[0]:
                graphs[where].launch(self.stream)
            self.pending.wait()

        return run

    # ---- who has the true one

    def address(self, buffer: Any) -> Any:
        """Return what a dispatch takes for a buffer, with what the host wrote brought along."""
        if not isinstance(buffer, CudaBuffer):
            return np.uint64(buffer.address)
        if not buffer.is_away:
            if buffer.twin is None:
                buffer.twin = self._twin(buffer)
            for start, stop in buffer.ranges(None):
                buffer.twin[start:stop].set(buffer.bytes(start, stop), stream=self.stream)
            buffer.is_away = True
        return buffer.twin

    def _twin(self, buffer: CudaBuffer) -> Any:
        """Return zero-filled device memory for a buffer; that of regions lies where they belong."""
        nbytes = -(-len(buffer) // 8) * 8
        layout = buffer.layout
        with self.gpus[0], self.stream:
            if layout is None or len(self.gpus) == 1:
                return self._reserve(lambda: self.cupy.zeros(nbytes, np.uint8), nbytes)
            each = self.share(int(layout.threads))
            made = Spread(
                self._reserve(lambda: self.memory(self.cupy, nbytes, self.numbers), nbytes),
                lambda at: layout.thread(at) // each,
            )
            made.cover(buffer.extent)
            self.spread = weakref.ref(made)
            return made

    memory = staticmethod(DriverMemory)

    def lay_out(self, buffer: Any, layout: Layout) -> None:
        """Take note of where each region of a buffer belongs."""
        if isinstance(buffer, CudaBuffer):
            buffer.layout = layout

    def fetch(self, *buffers: Any) -> None:
        """Bring buffers home: the host's side is the true one now."""
        for buffer in buffers:
            if isinstance(buffer, CudaBuffer) and buffer.is_away:
                self.pull(buffer)
                buffer.is_away = False
                if isinstance(buffer.twin, Spread):
                    buffer.twin.close()
                buffer.twin = None  # device memory is for what is at work

    def extent(self, buffer: Any, nbytes: int, parts: Callable[[], list[tuple[int, int]]] | None = None) -> None:
        """Take note that no more than the first bytes of a buffer are in use, or than some parts of it."""
        if isinstance(buffer, CudaBuffer):
            buffer.extent, buffer.parts = nbytes, parts
            if isinstance(buffer.twin, Spread):
                buffer.twin.cover(nbytes)

    def pull(self, buffer: Any, nbytes: int | None = None) -> None:
        """Copy what the GPU has in the first bytes of a buffer to the host."""
        if isinstance(buffer, CudaBuffer) and buffer.is_away:
            for start, stop in buffer.ranges(nbytes):
                buffer.twin[start:stop].get(out=buffer.bytes(start, stop), stream=self.stream)
            self.pending.wait()

    def push(self, buffer: Any, nbytes: int | None = None) -> None:
        """Copy what the host has in the first bytes of a buffer to the GPU."""
        if isinstance(buffer, CudaBuffer) and buffer.is_away:
            for start, stop in buffer.ranges(nbytes):
                buffer.twin[start:stop].set(buffer.bytes(start, stop), stream=self.stream)
            self.pending.wait()  # the host may write there again


def open(*, workers: int | None = None, which: str = "") -> CudaDevice:  # noqa: A001  (the lookup's verb)
    """Open the GPU that CuPy has chosen, or those that are named.

    Parameters
    ----------
    workers : int, optional
        Host threads, for passes that are too narrow for the GPU.
    which : str
        Numbers of GPUs, with commas between them.

    Raises
    ------
    DeviceUnavailable
        If there is no CuPy, no driver or no such GPU, or if they do not reach each other's memory, with what to do.
    """
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceUnavailable(f"CuPy is not installed ({error}); {ADVICE}") from None
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:  # noqa: BLE001
        raise DeviceUnavailable(f"no NVIDIA GPU can be used: {error}; {ADVICE}") from None
    if count == 0:
        raise DeviceUnavailable(f"there is no NVIDIA GPU here; {ADVICE}")
    numbers = _numbers(which, count) if which else (int(cupy.cuda.Device().id),)
    _connect(cupy, numbers)
    find_compiler()
    return CudaDevice(cupy, workers, numbers)


def _numbers(which: str, count: int) -> tuple[int, ...]:
    words = which.split(",")
    numbers = tuple(int(word) for word in words if word.isdecimal() and int(word) < count)
    if len(numbers) < len(words) or len(set(numbers)) < len(numbers):
        raise DeviceUnavailable(
            f"device 'cuda:{which}': name different GPUs from 0 to {count - 1}, such as 'cuda:0'"
            + (" or 'cuda:0,1'" if count > 1 else ", the only one here")
        )
    return numbers


def _connect(cupy: Any, numbers: tuple[int, ...]) -> None:
    """Let every GPU reach the memory of every other."""
    runtime = cupy.cuda.runtime
    for one, other in itertools.permutations(numbers, 2):
        if not runtime.deviceCanAccessPeer(one, other):
            raise DeviceUnavailable(
                f"GPU {one} does not reach the memory of GPU {other}: they cannot work as one; use 'cuda:{one}'"
            )
        with cupy.cuda.Device(one):
            try:
                runtime.deviceEnablePeerAccess(other)
            except runtime.CUDARuntimeError as error:
                if "AlreadyEnabled" not in str(error):
                    raise DeviceUnavailable(f"GPU {one} is not let to the memory of GPU {other}: {error}") from None
