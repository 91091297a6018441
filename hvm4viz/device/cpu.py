"""The cpu device: the kernel text compiled as C++, its grid run by a pool of host threads."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Device, Kernel, Way
from hvm4viz.device.compiler import Compiler, find_compiler, library, wanted_cache
from hvm4viz.errors import CompileFailed, DeviceFailed, DeviceUnavailable
from hvm4viz.kernel_text.source import batch_text
from hvm4viz.settings import Machine

_ENTRY = re.compile(r"ENTRY\((\w+)\)\((.*?)GRID_INDEX\)", re.DOTALL)
_ENTRY_NAME = re.compile(r"^ENTRY\((\w+)\)", re.MULTILINE)
_PASSES: Final = {"step_frontier", "join_frontier"}
_BUFFER = re.compile(r"BUFFER\(\s*([\w ]+?)\s*,\s*\w+\s*,\s*\d+\s*\)")


_TAKEN_WORDS: Final = 16  # a cache line
_STEPS: Final = 256  # in which a worker goes through a wide grid's part
_POINTERS_MAX = 8  # argument lists kept ready; a pass loop alternates between two

WAKING_NS = 20_000
"""What it costs to wake host threads and to wait for them, for a pass: the calling one works meanwhile."""


class CpuBuffer(mmap.mmap):
    """Zero-filled memory that takes no room until it is touched."""

    address: int

    def __new__(cls, nbytes: int) -> Self:
        """Reserve ``nbytes`` bytes."""
        if hasattr(mmap, "MAP_PRIVATE"):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
            self = super().__new__(cls, -1, max(nbytes, 1), flags=flags)
            if nbytes >= 1 << 22 and hasattr(mmap, "MADV_HUGEPAGE"):
                self.madvise(mmap.MADV_HUGEPAGE)
        else:
            self = super().__new__(cls, -1, max(nbytes, 1))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self))
        return self

    def make_new(self) -> None:
        """Serve another run."""


KEPT_BYTES: Final = 256 << 20
"""Most memory that finished runs leave for others: to clear it takes a tenth of what fresh pages cost."""

CLEARED_ALONE: Final = 1 << 20
"""Bytes that one thread clears as fast as it would wake another."""

KEPT_MAX: Final = 64
"""Buffers that are kept: those of two runs, for whoever runs again often holds the last run while the next is made."""

_kept: list[tuple[CpuBuffer, int]] = []


class _Done:
    def wait(self) -> None:
        """Return at once: cpu dispatches are finished when they return."""


_DONE = _Done()


class CpuFunction:
    """One entry point: C loops over a part of the grid, called with the interpreter lock released.

    Parameters
    ----------
    call : function
        Runs the grid from one thread to another.
    share : function
        Runs a worker's part of the grid and then what others have left of theirs.
    pool : ThreadPoolExecutor or None
        The workers besides the calling thread.
    workers : int
    """

    def __init__(self, call: Any, share: Any, pool: ThreadPoolExecutor | None, workers: int) -> None:
        self._call = call
        self._share = share
        self._pool = pool
        self._workers = workers
        self._pointers: dict[tuple[Buffer, ...], Any] = {}

    def __call__(self, count: int, *buffers: Buffer) -> _Done:
        """Run ``count`` threads over the buffers; returns when they are done."""
        pointers = self._pointers.get(buffers)
        if pointers is None:
            if len(self._pointers) >= _POINTERS_MAX:
                self._pointers.clear()
            pointers = (ctypes.c_void_p * len(buffers))(*(b.address for b in buffers))  # type: ignore[attr-defined]
            self._pointers[buffers] = pointers
        if self._pool is None or count < 2:
            self._call(pointers, 0, count)
            return _DONE
        workers = min(self._workers, count)
        taken = (ctypes.c_uint32 * (_TAKEN_WORDS * workers))()
        jobs: list[Future[None]] = [
            self._pool.submit(self._share, pointers, count, taken, worker, workers) for worker in range(1, workers)
        ]
        self._share(pointers, count, taken, 0, workers)
        for job in jobs:
            if not job.cancel():  # one that has not begun comes too late to find any work
                job.result()
        return _DONE


class CpuKernel(Kernel):
    """A loaded library."""

    def __init__(
        self, library_: ctypes.CDLL, entries: dict[str, int], pool: ThreadPoolExecutor | None, device: CpuDevice
    ) -> None:
        self._library = library_
        self._entries = entries
        self._pool = pool
        self._device = device

    def function(self, name: str) -> CpuFunction:
        """Return an entry point whose grid the host's threads share."""
        return self._function(name, self._pool)

    def serial(self, name: str) -> CpuFunction:
        """Return an entry point that runs its grid on the calling thread."""
        return self._function(name, None)

    def batch(self, name: str) -> CpuFunction | None:
        """Return an entry point that runs many passes in one call, on the calling thread."""
        return self.serial(name) if name in self._entries else None

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return the calling thread and, if there is one, the pool of host threads."""
        device = self._device
        alone = Way(self.serial(name), device.name)
        if self._pool is None:
            return (alone,)
        return (alone, Way(self.function(name), device.name, start_ns=WAKING_NS, lanes=device.workers))

    def _function(self, name: str, pool: ThreadPoolExecutor | None) -> CpuFunction:
        if name not in self._entries:
            raise CompileFailed(f"the kernel has no entry point {name!r}; it has {', '.join(self._entries)}")
        call = getattr(self._library, f"{name}_range")
        call.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
        share = getattr(self._library, f"{name}_share")
        share.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
        call.restype = share.restype = None
        return CpuFunction(call, share, pool, self._device.workers)


_SHARE: Final = f"""\
ENTRY(NAME_share)(void** buffers, unsigned count, unsigned* taken, unsigned worker, unsigned workers) {{
  const unsigned step = count / workers / {_STEPS}u + 1u;
  for (unsigned k = 0u; k < workers; k++) {{
    const unsigned long long part = (worker + k) % workers;
    const unsigned first = (unsigned)(count * part / workers), size = (unsigned)(count * (part + 1u) / workers) - first;
    for (;;) {{
      const unsigned at = __atomic_fetch_add(taken + {_TAKEN_WORDS}u * part, step, __ATOMIC_RELAXED);
      if (at >= size) break;
      NAME_range(buffers, first + at, first + (size - at < step ? size : at + step));
    }}
  }}
}}"""


def wrap(source: str) -> tuple[str, dict[str, int]]:
    """Add loops over parts of the grid to each entry point; return the text and each entry's number of buffers.

    A worker runs its own part a few threads at a time, then helps others with theirs: so neighbours in the grid, whose
    counters and lists share cache lines, are seldom run at once. ``taken`` tells, in a cache line each, how far each
    part is.
    """
    entries: dict[str, int] = {}
    out = [source, "// loops over the grid"]
    for name, signature in _ENTRY.findall(source):
        types = _BUFFER.findall(signature)
        entries[name] = len(types)
        arguments = ", ".join(f"({type_}*)buffers[{i}]" for i, type_ in enumerate(types))
        out.append(f"ENTRY({name}_range)(void** buffers, uint begin, uint end) {{")
        out.append(f"  for (uint i = begin; i < end; i++) {name}({arguments}, i);")
        out.append("}")
        out.append(_SHARE.replace("NAME", name))
    return "\n".join(out) + "\n", entries


def load(text: str, *, extra: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Compile C++ text, with extra flags, or find it in the cache, and load it.

    Raises
    ------
    DeviceUnavailable
        If what was just compiled cannot be loaded.
    """
    path = library(text, extra=extra)
    try:
        return ctypes.CDLL(str(path))
    except OSError:  # a damaged cache entry: build it again
        with suppress(OSError):
            path.unlink()
    path = library(text, extra=extra)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise DeviceUnavailable(
            f"the compiled kernel {path} cannot be loaded: {error}. Name a folder in HVM4VIZ_CACHE from which programs "
            "may be loaded (no `noexec` mount), and a compiler for this Python in HVM4VIZ_CXX"
        ) from None


@lru_cache(maxsize=16)  # a run may open a device of its own; to join the text again takes as long as a small run
def _loaded(source: str, compiler: Compiler, folder: Path) -> tuple[ctypes.CDLL, dict[str, int]]:
    """Return a kernel text as a library and its entry points, with the loop over many passes where that belongs."""
    del compiler, folder  # with others it is another library
    if _PASSES.issubset(_ENTRY_NAME.findall(source)):
        source = f"{source}\n{batch_text()}"
    text, entries = wrap(source)
    return load(text), entries


class CpuDevice(Device):
    """The host's processor.

    Parameters
    ----------
    workers : int, optional
        Host threads; default: one a core. The result does not depend on it.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1
        self.name = f"cpu ({platform.machine() or 'unknown'}, {self.workers} worker{'s' * (self.workers != 1)})"
        self._kernels: dict[str, CpuKernel] = {}
        self._pool = ThreadPoolExecutor(self.workers - 1, "hvm4viz") if self.workers > 1 else None

    def check(self, machine: Machine) -> None:
        """Refuse what a host does not have."""
        if machine.memory == "private":
            raise ValueError(
                "Machine(memory='private'): the cpu device works in the host's own memory; use memory='auto', or a "
                "device with memory of its own, such as device='cuda'"
            )

    @property
    def tailors(self) -> bool:
        """A C++ compiler takes seconds, and a text for one thread alone runs a fifth faster."""
        return True

    def kernel(self, source: str) -> CpuKernel:
        """Compile a kernel text, or load it from the cache."""
        known = self._kernels.get(source)
        if known is None:
            known = self._kernels[source] = self._load(source)
        return known

    def _load(self, source: str) -> CpuKernel:
        return CpuKernel(*_loaded(source, find_compiler(), wanted_cache()), self._pool, self)

    def buffer(self, source: int | NDArray[Any]) -> CpuBuffer:
        """Return a zero-filled buffer of that many bytes, or one holding a copy of an array."""
        nbytes = source if isinstance(source, int) else source.nbytes
        try:
            made = reserve(nbytes, clear=self.zero) if isinstance(source, int) else CpuBuffer(nbytes)
        except (OSError, OverflowError, MemoryError, ValueError) as error:
            raise DeviceFailed(f"{self.name} cannot reserve {nbytes:,} bytes: {error}", text=str(error)) from None
        if isinstance(source, int):
            return made
        np.frombuffer(made, dtype=np.uint8)[: source.nbytes] = source.reshape(-1).view(np.uint8)
        return made

    def zero(self, buffer: CpuBuffer, nbytes: int) -> None:
        """Set the first bytes to zero, all workers together where there are many."""
        if self._pool is None or nbytes < CLEARED_ALONE:
            clear(buffer, nbytes)
            return
        part = -(-nbytes // self.workers)
        jobs = [
            self._pool.submit(clear, buffer, min(part, nbytes - start), start) for start in range(part, nbytes, part)
        ]
        clear(buffer, part)
        for job in jobs:
            job.result()

    def keep(self, buffer: Buffer, nbytes: int) -> None:
        """Use a buffer again, of which all behind the first bytes is zero, once nobody else has it."""
        if isinstance(buffer, CpuBuffer):
            keep(buffer, nbytes)


def clear(buffer: CpuBuffer, nbytes: int, start: int = 0) -> None:
    """Set bytes to zero, with the interpreter lock released."""
    ctypes.memset(buffer.address + start, 0, nbytes)


def keep(buffer: CpuBuffer, nbytes: int) -> None:
    """Keep a buffer for others, of which all behind the first bytes is zero."""
    kept = [*_kept, (buffer, nbytes)][-KEPT_MAX:]
    while sum(used for _, used in kept) > KEPT_BYTES:
        del kept[0]
    _kept[:] = kept


def reserve(
    nbytes: int,
    *,
    is_zero: bool = True,
    kind: type[CpuBuffer] = CpuBuffer,
    clear: Callable[[CpuBuffer, int], object] = clear,
) -> CpuBuffer:
    """Return a buffer, zero-filled unless it need not be: a kept one of that size, if there is one that is nobody's."""
    for _ in range(len(_kept)):
        try:
            made, used = _kept.pop(0)
        except IndexError:  # another thread was faster
            break
        is_free = sys.getrefcount(made) == 2  # ``made`` and the argument: no run reads it any more
        if is_free and len(made) == nbytes and type(made) is kind:
            if is_zero:
                clear(made, used)
            made.make_new()
            return made
        _kept.append((made, used))
    return kind(nbytes)


def open(*, workers: int | None = None) -> CpuDevice:  # noqa: A001  (the lookup's verb)
    """Open the cpu device; raises ``DeviceUnavailable`` when there is no compiler."""
    find_compiler()
    return CpuDevice(workers)
