"""Buffers of the cuda device: memory of the host with a twin on the GPU, and parts of one such buffer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.cpu import CpuBuffer
from hvm4viz.device.spread import Layout

if TYPE_CHECKING:
    from hvm4viz.device.cuda_memory import CudaMemory

PIECE: Final = 1 << 30
"""Bytes copied at a time."""

ALIGNED: Final = 64
"""Bytes at whose multiples parts begin."""


class CudaBuffer(CpuBuffer):
    """Memory on the host with a twin in device memory.

    Attributes
    ----------
    twin : array or None
        The twin; it may be shorter, where nothing behind its end is in use.
    room : int
        Bytes that the twin holds.
    clean : int
        Bytes of the twin that are zero, or in use; what it holds behind them means nothing.
    keeper : CudaMemory or None
        Who made the twin.
    is_away : bool
        Whether the twin is the true one.
    change : int
        Dispatches that were given it: what was read of it is old after one.
    extent : int
        Bytes from the start that are in use; behind them both are zero.
    parts : callable or None
        Tells which ranges of bytes are in use, where most are not.
    layout : Layout or None
        Where its regions belong, if it has any.
    """

    twin: Any
    room: int
    clean: int
    keeper: CudaMemory | None
    is_away: bool
    change: int
    extent: int
    parts: Callable[[], list[tuple[int, int]]] | None
    layout: Layout | None

    def __new__(cls, nbytes: int) -> Self:
        """Reserve ``nbytes`` bytes; the twin is made when the device needs it."""
        self = super().__new__(cls, nbytes)
        self.change = 0
        self.make_new()
        return self

    def make_new(self) -> None:
        """Be as a fresh one is, but for what the host's side holds."""
        self.twin = self.keeper = self.parts = self.layout = None
        self.is_away = False
        self.room = self.clean = 0
        self.extent = len(self)

    def bytes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return some of the host's bytes."""
        return np.frombuffer(self, np.uint8, stop - start, start)

    def ranges(self, nbytes: int | None) -> list[tuple[int, int]]:
        """Return what to copy: the first bytes, or all that is in use, in pieces of at most 1 GiB."""
        if nbytes is not None:
            return [(0, nbytes)]
        used = self.parts() if self.parts else [(0, self.extent)]
        return [(at, min(at + PIECE, stop)) for start, stop in used for at in range(start, stop, PIECE)]


@cache
def _kind(name: str, nbytes: int) -> Any:
    return type(name, (ctypes.c_char * max(nbytes, 1),), {"__hash__": object.__hash__})


def part_buffers(sizes: list[int]) -> list[Any]:
    """Return buffers that are parts of one, in order: what is copied of neighbours is copied at once."""
    starts = np.cumsum([0, *(-(-size // ALIGNED) * ALIGNED for size in sizes)]).tolist()
    whole = CudaBuffer(starts[-1])
    made: list[Any] = []
    for start, size in zip(starts, sizes, strict=False):
        part = _kind("PartBuffer", size).from_buffer(whole, start)
        part.whole, part.start, part.address = whole, start, whole.address + start
        made.append(part)
    return made


def placed(buffer: Any) -> tuple[CudaBuffer | None, int]:
    """Return the buffer with a twin that a buffer is or is part of, and where it begins there."""
    if isinstance(buffer, CudaBuffer):
        return buffer, 0
    return getattr(buffer, "whole", None), getattr(buffer, "start", 0)


def pieces_of(wanted: Sequence[tuple[Any, ...]]) -> list[tuple[CudaBuffer, int, int]]:
    """Return (buffer, start, stop) of what is away of so many first bytes of buffers; neighbours of a buffer in one."""
    found: list[tuple[CudaBuffer, int, int]] = []
    for buffer, nbytes, *at in wanted:
        whole, start = placed(buffer)
        if whole is None or not whole.is_away:
            continue
        start += at[0] if at else 0
        if whole is not buffer and found and found[-1][0] is whole:
            found[-1] = (whole, min(start, found[-1][1]), max(start + nbytes, found[-1][2]))
        else:
            found.append((whole, start, start + nbytes))
    return found


def mapped_buffer(memory: Any, nbytes: int) -> Any:
    """Return pinned host memory as a buffer that the device reaches by the same address."""
    made = _kind("MappedBuffer", nbytes).from_address(int(memory.ptr))
    ctypes.memset(int(memory.ptr), 0, max(nbytes, 1))
    made.address, made.memory = int(memory.ptr), memory  # the memory lives as long as the buffer
    return made
