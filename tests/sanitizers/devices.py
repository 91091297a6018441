"""The cpu device as a sanitizer can see into it: many threads at once, or memory with poison around it."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Way
from hvm4viz.device.compiler import library
from hvm4viz.device.cpu import CpuDevice, CpuKernel, load, wrap
from hvm4viz.kernel_text import abi
from tests.kernel_text.places import places

HERE: Final = Path(__file__).parent
WORKERS: Final = 8
REDZONE: Final = 1 << 16
"""Poisoned bytes on either side of a buffer."""

PLANTS: Final[dict[str, tuple[str, str]]] = {
    "non-owner takes at once": (
        "if (!heap_single(w) && heap_owner(w, slot) != w->me) {",
        "if (false) {",
    ),
    "same pass counts as published": (
        "return (stamp & ST_R) != 0u && (slot_is_old(w, stamp) || heap_live(w));",
        "return (stamp & ST_R) != 0u;",
    ),
    "a cell too far": ("  const uint loc = w->next;\n", "  const uint loc = w->next + 1u;\n"),
    "an event too far": (
        "pass_event(w, events + state->first + i,",
        "pass_event(w, events + state->first + i + 64u,",
    ),
    "shift by 32": ("return a << (b & 31u);", "return a << b;"),
}
"""Faults to plant in the kernel text, by name: what is there, what is put in its place."""


def planted(source: str, plants: tuple[str, ...]) -> str:
    """Put faults into a kernel text."""
    for name in plants:
        before, after = PLANTS[name]
        if (found := places(source, before)) != 1:
            raise ValueError(f"{name}: the kernel has {found} places for it, not 1: {before}")
        source = source.replace(before, after)
    return source


class _Done:
    def wait(self) -> None:
        """Return at once: it is finished."""


class ThreadedFunction:
    """One entry point whose grid eight host threads run at once."""

    def __init__(self, device: ThreadedDevice, call: Any) -> None:
        self._device = device
        self._call = ctypes.cast(call, ctypes.c_void_p)

    def __call__(self, count: int, *buffers: Any) -> _Done:
        """Run the grid; who runs which logical thread is another draw every time."""
        pointers = (ctypes.c_void_p * len(buffers))(*(b.address for b in buffers))
        self._device.seed += 1
        self._device.threads.threads_run(self._call, pointers, count, self._device.seed)
        return _Done()


class ThreadedKernel(CpuKernel):
    """A loaded library whose grids are never run by one thread alone."""

    threaded: ThreadedDevice

    def function(self, name: str) -> Any:
        """Return an entry point that all threads share."""
        super().function(name)  # says so if there is none of that name
        return ThreadedFunction(self.threaded, getattr(self._library, f"{name}_range"))

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return one way: whatever the width of a frontier, all threads run it."""
        return (Way(self.function(name), self.threaded.name),)


class ThreadedDevice(CpuDevice):
    """The cpu device for a race detector.

    Parameters
    ----------
    plants : tuple of str
        Faults to plant in the kernel.
    """

    def __init__(self, plants: tuple[str, ...] = ()) -> None:
        super().__init__(1)
        self.name = f"cpu (sanitized, {WORKERS} threads)"
        self.seed = 0
        self.is_on_grid = False
        self._plants = plants
        self.threads = ctypes.CDLL(str(library((HERE / "threads.cpp").read_text(encoding="utf-8"))))
        if not self.threads.threads_start(WORKERS):
            raise RuntimeError("no threads could be started")

    @property
    def joins_on_grid(self) -> bool:
        """Whether the next frontier is built on the grid: to be set before a run."""
        return self.is_on_grid

    def _load(self, source: str) -> CpuKernel:
        text = source if "#define WATCH_YIELD" in source else "#define WATCH_YIELD 1\n" + source
        text, entries = wrap(planted(text, self._plants))
        kernel = ThreadedKernel(load(text + (HERE / "yields.h").read_text(encoding="utf-8")), entries, None, self)
        kernel.threaded = self
        return kernel


def _poison(start: int, nbytes: int) -> None:
    ctypes.CDLL(None)["__asan_poison_memory_region"](ctypes.c_void_p(start), ctypes.c_size_t(nbytes))


def _unpoison(start: int, nbytes: int) -> None:
    ctypes.CDLL(None)["__asan_unpoison_memory_region"](ctypes.c_void_p(start), ctypes.c_size_t(nbytes))


class PoisonedBuffer(np.ndarray):  # type: ignore[type-arg]
    """Memory with poison on either side, so that a byte too far is reported."""

    address: int
    _whole: mmap.mmap

    @classmethod
    def of(cls, nbytes: int) -> PoisonedBuffer:
        """Reserve so many zero bytes."""
        size = max(nbytes, 1)
        total = 2 * REDZONE + -(-size // 8) * 8
        whole = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
        start = ctypes.addressof(ctypes.c_char.from_buffer(whole))
        made = np.frombuffer(whole, np.uint8)[REDZONE : REDZONE + size].view(cls)
        made.address, made._whole = start + REDZONE, whole
        _poison(start, REDZONE)
        made.poison(size)
        return made

    def poison(self, used: int) -> None:
        """Let only the first bytes be touched."""
        _unpoison(self.address, used)
        _poison(self.address + used, len(self._whole) - REDZONE - used)

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __del__(self) -> None:
        if hasattr(self, "_whole"):  # views have no memory of their own
            _unpoison(self.address - REDZONE, len(self._whole))


class PoisonedFunction:
    """One entry point, called with buffers that know where they end."""

    def __init__(self, name: str, call: Any) -> None:
        self._name = name
        self._call = call

    def __call__(self, count: int, *buffers: Any) -> _Done:
        """Run the grid; of the heap only regions in use may be touched."""
        if self._name in ("step_frontier", "step_depth_first"):
            params = np.frombuffer(buffers[0], abi.PARAMS)[0]
            buffers[1].poison(8 * (int(params["regions"]) << int(params["region_shift"])))
        self._call((ctypes.c_void_p * len(buffers))(*(b.address for b in buffers)), 0, count)
        return _Done()


class PoisonedKernel(CpuKernel):
    """A loaded library, called with poisoned buffers."""

    def _function(self, name: str, pool: Any) -> Any:
        super()._function(name, pool)  # says so if there is none of that name
        return PoisonedFunction(name, getattr(self._library, f"{name}_range"))


class PoisonedDevice(CpuDevice):
    """The cpu device for a memory checker; it wants the runtime of AddressSanitizer in the process.

    Parameters
    ----------
    plants : tuple of str
        Faults to plant in the kernel.
    """

    def __init__(self, plants: tuple[str, ...] = ()) -> None:
        super().__init__(1)
        self.name = "cpu (sanitized, poisoned memory)"
        self.is_on_grid = False
        self._plants = plants

    @property
    def joins_on_grid(self) -> bool:
        """Whether the next frontier is built on the grid: to be set before a run."""
        return self.is_on_grid

    def _load(self, source: str) -> CpuKernel:
        text, entries = wrap(planted(source, self._plants))
        return PoisonedKernel(load(text), entries, None, self)

    def buffer(self, source: int | NDArray[Any]) -> Any:
        """Return a buffer between two poisoned zones."""
        if isinstance(source, int):
            return PoisonedBuffer.of(source)
        made = PoisonedBuffer.of(source.nbytes)
        np.frombuffer(made, np.uint8)[: source.nbytes] = source.reshape(-1).view(np.uint8)
        return made
