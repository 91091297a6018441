"""The cuda device: the kernel text compiled by NVRTC, run by an NVIDIA GPU through CuPy.

``memory="private"`` keeps buffers in device memory. Each has a twin on the host; who worked on it last has the true
one, and it is copied when the other side needs it: whole when a dispatch moves from one to the other, in small pieces
between two passes on the GPU. ``memory="shared"`` keeps them in host memory that the GPU reaches over the bus.

Several GPUs of one host work as one: each runs the threads of its share of the blocks over the same addresses. The
regions of the heap lie on the GPU whose blocks own them, all else on the first, which also builds the next frontier.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Final, cast

import numpy as np

from hvm4viz.device.base import Buffer, Device, Function, Handle, Kernel, Way
from hvm4viz.device.compiler import find_compiler
from hvm4viz.device.cpu import CpuBuffer, CpuDevice, CpuKernel
from hvm4viz.device.cuda_buffer import CudaBuffer
from hvm4viz.device.cuda_memory import CudaMemory
from hvm4viz.device.telling import failures, told
from hvm4viz.errors import CompileFailed, DeviceFailed, DeviceUnavailable
from hvm4viz.settings import Machine

ADVICE: Final = "install an NVIDIA driver and CuPy (`pip install 'hvm4viz[cuda]'`)"
GROUP: Final = 64
"""Threads of a hardware group; a logical block may be smaller or larger."""

LANES: Final = 256
"""Logical threads of a multiprocessor from which on more do not get more done, measured on an H200."""

SLOWNESS: Final = 160.0
"""Time that one of them takes for a piece of work, over the time of a host thread, measured on an H200."""

START_NS: Final = 300_000.0
"""What a pass costs there before any work is done: its dispatch, the join over the grid, what the host reads back."""

HOST_ONLY: Final = ("step_depth_first", "join_frontier", "settle_frontier", "collect_ops", "collect_deltas")
"""Entry points that the GPU is never asked for."""

SHARED: Final = "step_frontier"
"""The entry point whose threads all GPUs share."""

LOOPS: Final = re.compile(r"(?<!\} )\b((?:for|while) \()")
"""Where a loop begins: none is unrolled, for what does not fit the instruction caches is slow."""

OPTIONS: Final = ("--std=c++14", "--maxrregcount=64")

BOUND_MAX: Final = 8
"""Lists of arguments that a function keeps ready."""


class _Pending:
    def __init__(self, device: CudaDevice) -> None:
        self._device = device

    def wait(self) -> None:
        """Return once all dispatches are finished."""
        self._device.wait()


class _Arguments:
    """Addresses of buffers, taken anew when one of them may have moved.

    Parameters
    ----------
    device : CudaDevice
    buffers : tuple of Buffer
    """

    def __init__(self, device: CudaDevice, buffers: tuple[Buffer, ...]) -> None:
        self._device, self._buffers = device, buffers
        self._away = [each for each in buffers if isinstance(each, CudaBuffer)]
        self._moves = -1
        self._taken: tuple[np.uint64, ...] = ()

    def take(self) -> tuple[np.uint64, ...]:
        """Return the addresses for a dispatch; what the host has read of the buffers is old after it."""
        if self._moves != self._device.moves:
            self._taken = tuple(np.uint64(self._device.address(each)) for each in self._buffers)
            self._moves = self._device.moves
        for each in self._away:
            each.change += 1
        return self._taken


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
        self._bound: dict[tuple[Buffer, ...], _Arguments] = {}

    def __call__(self, count: int, *buffers: Buffer) -> Handle:
        """Run ``count`` threads over the buffers."""
        bound = self._bound.get(buffers)
        if bound is None:
            if len(self._bound) >= BOUND_MAX:
                self._bound.clear()
            bound = self._bound[buffers] = _Arguments(self._device, buffers)
        return self.launch(count, bound.take())

    def launch(self, count: int, arguments: tuple[np.uint64, ...]) -> Handle:
        """Run ``count`` threads over what lies at these addresses."""
        device, many = self._device, len(self._calls) > 1
        each = device.share(count) if many else count
        try:
            if many:
                device.stream.synchronize()  # what is on its way to the first GPU is for all of them
            for call, gpu, stream, first in zip(
                self._calls, device.gpus, device.streams, range(0, count, each), strict=False
            ):
                groups = -(-min(each, count - first) // GROUP)
                with gpu:
                    call((groups,), (GROUP,), (*arguments, np.uint32(first)), stream=stream)
        except device.failures as error:
            raise DeviceFailed(f"{device.name} failed: {error}", text=str(error)) from None
        return device.pending


@cache
def _stream(cupy: Any, gpu: int) -> Any:
    """Return the one stream of this process for a GPU: CuPy keeps freed memory for the stream that had it."""
    with cupy.cuda.Device(gpu):
        return cupy.cuda.Stream(non_blocking=True)


class _HostFunction:
    """An entry point on the host, for narrow frontiers: it works on the host's side of the buffers."""

    def __init__(self, device: CudaDevice, call: Function) -> None:
        self._device, self._call = device, call
        self._moves: dict[tuple[Buffer, ...], int] = {}

    def __call__(self, count: int, *buffers: Buffer) -> Handle:
        """Run ``count`` threads over the buffers."""
        if self._moves.get(buffers) != self._device.moves:  # else they are at home since the last time
            self._device.fetch(*buffers)
            if len(self._moves) >= BOUND_MAX:
                self._moves.clear()
            self._moves[buffers] = self._device.moves
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
            if isinstance(error, device.failures) and "NOT_FOUND" not in str(error):
                raise DeviceFailed(f"{device.name} failed: {error}", text=str(error)) from None
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
    source = LOOPS.sub(r'_Pragma("unroll 1") \1', source)
    module = cupy.RawModule(code=source, options=OPTIONS, backend="nvrtc")
    try:
        module.compile()
    except Exception as error:  # noqa: BLE001
        raise CompileFailed(f"the kernel does not compile with NVRTC:\n{error}") from None
    return module


class CudaDevice(CudaMemory, Device):
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
    name : str
    lanes : int
        Logical threads that all GPUs advance at once.
    pending : Handle
        What waits for all that is under way.
    """

    def __init__(self, cupy: Any, workers: int | None, numbers: tuple[int, ...]) -> None:
        super().__init__(cupy, numbers, [_stream(cupy, number) for number in numbers])
        self._host = CpuDevice(workers)
        facts = [cupy.cuda.runtime.getDeviceProperties(number) for number in numbers]
        many = f", {len(numbers)} GPUs" if len(numbers) > 1 else ""
        self.name = f"cuda ({facts[0]['name'].decode()}{many})"
        self.lanes = LANES * sum(int(each["multiProcessorCount"]) for each in facts)
        self.pending = _Pending(self)
        self._kernels: dict[tuple[bool, str], CudaKernel] = {}

    def clear_home(self, buffer: CpuBuffer, nbytes: int) -> None:
        """Set the first bytes on the host to zero, with all its threads."""
        self._host.zero(buffer, nbytes)

    @property
    def joins_on_grid(self) -> bool:
        """Whether the join runs on the GPU: where it has the buffers to itself."""
        return self.is_private

    @property
    def is_ordered(self) -> bool:
        """Whether there is one stream: several GPUs are waited for before the first one joins."""
        return len(self.gpus) == 1

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

    @told
    def kernel(self, source: str) -> CudaKernel:
        """Compile a kernel text for the GPU (CuPy keeps the result on disk) and for the host."""
        key = self.is_private, source
        if key not in self._kernels:
            modules: list[Any] = []
            for gpu in self.gpus:
                with gpu:
                    modules.append(_module(self.cupy, source, gpu.id, many=len(self.gpus) > 1))
            self._kernels[key] = CudaKernel(self, modules, self._host.kernel(source))
        return self._kernels[key]

    def batch(self, calls: Sequence[tuple[Function, int, tuple[Buffer, ...]]]) -> Callable[[], None]:
        """Return what runs these dispatches: a graph, which costs one launch."""
        bound = [_Arguments(self, buffers) for _, _, buffers in calls]
        given = {id(each): each for _, _, buffers in calls for each in buffers if isinstance(each, CudaBuffer)}
        graph: Any = None
        moves = -1

        @told
        def run(self: CudaDevice) -> None:
            nonlocal graph, moves
            if moves != self.moves:  # the first time, or memory has moved
                for each in bound:
                    each.take()  # what is not there yet is brought along: nothing may be copied while a graph is made
                with self.gpus[0]:
                    self.stream.begin_capture()
                    try:
                        for (function, count, _), each in zip(calls, bound, strict=True):
                            cast("CudaFunction", function).launch(count, each.take())
                    finally:  # else nothing could ever be copied on this stream again
                        graph = self.stream.end_capture()
                moves = self.moves
            for each in given.values():
                each.change += 1
            with self.gpus[0]:
                graph.launch(self.stream)
            self.wait()

        return partial(run, self)


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
    try:
        return CudaDevice(cupy, workers, numbers)
    except failures(cupy) as error:
        raise DeviceUnavailable(f"the GPU cannot be used: {error}; restart Python, and look at nvidia-smi") from None


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
