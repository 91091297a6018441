"""A stand-in for ``metalcompute`` 0.2.9, after its published behaviour, with a C++ compiler instead of a GPU.

The text that it compiles is the text as Metal gets it: ``dialect.h``'s branch for Metal, at language version 2.3. What
it keeps to: ``Device().kernel(text).function(name)(count, *buffers)``; one error type; shared buffers that speak the
buffer protocol and have no length of their own; other Python buffers as arguments are copied; a grid rounded up to
whole threadgroups of a size that the caller does not choose; dispatches that run late, when their handle is dropped; no
word about a dispatch that went wrong; a record of every dispatch in a table of the module, looked through at each
completion.
"""

from __future__ import annotations

import ctypes
import re
from collections import namedtuple
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hvm4viz.device.compiler import library
from hvm4viz.errors import CompileFailed
from hvm4viz.kernel_text.functions import functions
from hvm4viz.kernel_text.metal_text import INCLUDE_MARK, metal_text
from tests.device.stand_in.control import control

BUFFERS_MAX = 31
FORGOTTEN_MAX = 1 << 22  # larger buffers, such as the heap, keep what was written: part of a lost pass may be there

_METAL_STDLIB = """
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define kernel extern "C" __attribute__((visibility("default")))
#define thread
#define device
#define constant const
#define threadgroup
namespace metal {
enum memory_order { memory_order_relaxed };
struct atomic_uint { uint word; };
static inline uint atomic_load_explicit(const volatile atomic_uint* at, memory_order) {
  return __atomic_load_n(&at->word, __ATOMIC_RELAXED);
}
static inline void atomic_store_explicit(volatile atomic_uint* at, uint word, memory_order) {
  __atomic_store_n(&at->word, word, __ATOMIC_RELAXED);
}
static inline uint atomic_fetch_add_explicit(volatile atomic_uint* at, uint n, memory_order) {
  return __atomic_fetch_add(&at->word, n, __ATOMIC_RELAXED);
}
static inline uint atomic_fetch_or_explicit(volatile atomic_uint* at, uint bits, memory_order) {
  return __atomic_fetch_or(&at->word, bits, __ATOMIC_RELAXED);
}
static inline uint atomic_fetch_max_explicit(volatile atomic_uint* at, uint n, memory_order) {
  uint seen = __atomic_load_n(&at->word, __ATOMIC_RELAXED);
  while (seen < n && !__atomic_compare_exchange_n(&at->word, &seen, n, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  return seen;
}
static inline bool atomic_compare_exchange_weak_explicit(
    volatile atomic_uint* at, uint* seen, uint word, memory_order, memory_order) {
  return __atomic_compare_exchange_n(&at->word, seen, word, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
}
"""
_SLOT = re.compile(r"([^,\[]*?)\w+\s*\[\[\s*buffer\((\d+)\)\s*\]\]")

_records: dict[int, _Record] = {}  # of every dispatch since this copy of the module was loaded


class error(Exception):  # noqa: N801  (the published name)
    """The one error type."""


_DeviceInfo = namedtuple(  # noqa: PYI024  (the published names)
    "_DeviceInfo", ("deviceName", "recommendedWorkingSetSize", "maxTransferRate", "hasUnifiedMemory")
)


def get_devices() -> tuple[_DeviceInfo, ...]:
    return (_DeviceInfo("Stand-in", 1 << 33, 0, hasUnifiedMemory=True),) if control.has_device else ()


class Device:
    def __init__(self, device_index: int = -1) -> None:
        if not control.has_device or device_index > 0:
            raise error("Cannot create device")
        control.opened += 1

    def __str__(self) -> str:
        return "metalcompute.Device(Stand-in)"

    def kernel(self, program: str) -> Kernel:
        if not isinstance(program, str):
            raise TypeError("argument 2 must be str")
        return Kernel(self, program)

    def buffer(self, length_or_buffer: Any) -> Buffer:
        return _buffer(self, length_or_buffer)


class Kernel:
    def __init__(self, device: Device, program: str) -> None:
        if control.refused_text and control.refused_text in program:
            raise error("program_source:1:1: error: use of undeclared identifier 'refused'")
        self.device = device
        try:
            self.entries = _compile(program)
        except CompileFailed as failed:
            raise error(f"program_source: {failed}") from None

    def function(self, name: str) -> Function:
        if name not in self.entries:
            raise error("Function not found")
        return Function(self, name)


class Function:
    def __init__(self, kernel: Kernel, name: str) -> None:
        self.kernel = kernel
        self.name = name

    def __call__(self, *arguments: Any) -> Run:
        return Run(self, arguments)


class Buffer(np.ndarray):
    """Shared memory; like the real one it has the buffer protocol and nothing else."""

    made_by: Device

    def __len__(self) -> int:
        raise TypeError("object of type 'metalcompute.Buffer' has no len()")


def _buffer(device: Device, given: Any) -> Buffer:
    try:
        source = np.frombuffer(given, np.uint8) if not isinstance(given, int) else None
    except (TypeError, ValueError, BufferError):
        raise error("Unsupported input format") from None
    nbytes = given if source is None else source.size
    if not 0 < nbytes <= control.buffer_bytes_max:
        raise error("Could not make buffer")
    made = np.zeros(nbytes, np.uint8).view(Buffer)
    made.made_by = device
    if source is not None:
        made[:] = source
    return made


class Run:
    """A dispatch: it runs at the latest moment that is allowed, when the last reference to it goes."""

    def __init__(self, function: Function, arguments: Sequence[Any]) -> None:
        self._is_open = False
        if len(arguments) < 2:
            raise error("Buffer not found")
        count = arguments[0]
        if not isinstance(count, int):
            raise error("First argument should be an integer kernel count")
        device = function.kernel.device
        self._buffers = [given if isinstance(given, Buffer) else _buffer(device, given) for given in arguments[1:]]
        if any(buffer.made_by is not device for buffer in self._buffers):
            raise error("Buffer not found")
        entry, needed = function.kernel.entries[function.name]
        assert len(self._buffers) == needed <= BUFFERS_MAX, "Metal's own validation would end the process here"
        assert count > 0, "and here"
        self._is_probe = function.name == "nothing"
        self._fails = control.fails_probes if self._is_probe else control.fails_now()
        if self._fails and control.how == "refuse":
            raise error("Cannot create pipeline state")
        if not self._is_probe:
            control.dispatched.append(function.name)
        self._entry = entry
        self._grid = -(-count // control.group) * control.group
        self._is_open = True
        control.in_flight += 1
        control.most_in_flight = max(control.most_in_flight, control.in_flight)
        _records[len(_records)] = _Record()
        self._record = len(_records) - 1

    def __del__(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        how = control.how if self._fails else "right"
        small = [buffer for buffer in self._buffers if buffer.nbytes < FORGOTTEN_MAX]
        before = [buffer.copy() for buffer in small] if how == "forget" else []
        if how != "nothing":
            pointers = (ctypes.c_void_p * len(self._buffers))(*(buffer.ctypes.data for buffer in self._buffers))
            self._entry(pointers, 0, self._grid, 2 if how == "half" else 1)
        for buffer, old in zip(small, before, strict=False):
            np.copyto(buffer, old)
        _complete(self._record)
        control.in_flight -= 1


class _Record:
    """What is kept of a dispatch."""


def _complete(number: int) -> None:
    """Look for the record of a dispatch: no record ever goes, so this takes longer each time."""
    wanted = _records[number]
    for record in _records.values():
        if record is wanted:
            break


def _compile(program: str) -> dict[str, tuple[Any, int]]:
    known = control.compiled.get(program)
    if known is None:
        known = control.compiled[program] = _load(program)
    return known


def _load(program: str) -> dict[str, tuple[Any, int]]:
    """Compile a text as Metal reads it; return each entry point, as a loop over a grid, with its number of buffers."""
    read = metal_text(program).text
    stdlib = f"{INCLUDE_MARK}(<metal_stdlib>)"
    if INCLUDE_MARK in read.replace(stdlib, ""):
        raise CompileFailed("error: file not found")
    found = [f for f in functions(read) if re.search(r"\bkernel\b", f.head)]
    loops: list[str] = []
    needed: dict[str, int] = {}
    for function in found:
        types = {int(slot): kind for kind, slot in _SLOT.findall(function.parameters)}
        needed[function.name] = len(types)
        arguments = ", ".join(f"({types[slot]})buffers[{slot}]" for slot in sorted(types))
        loops.append(
            f'extern "C" __attribute__((visibility("default"))) void {function.name}_grid(void** buffers, uint begin, '
            f"uint end, uint step) {{ for (uint i = begin; i < end; i += step) {function.name}({arguments}, i); }}"
        )
    whole = read.replace(stdlib, _METAL_STDLIB) + "\n" + "\n".join(loops) + "\n"
    loaded = ctypes.CDLL(str(library(whole, extra=("-w",))))
    entries: dict[str, tuple[Any, int]] = {}
    for name, buffers in needed.items():
        call = getattr(loaded, f"{name}_grid")
        call.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
        call.restype = None
        entries[name] = (call, buffers)
    return entries


assert Path(__file__).name == "metalcompute.py", "copies keep the name"
