"""Copies between host and GPU: neighbours in one, large ones home through pinned memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import view
from hvm4viz.device.cuda_buffer import CudaBuffer, pieces_of
from hvm4viz.device.spread import Spread
from hvm4viz.device.staging import STAGED_BYTES, Staging
from hvm4viz.device.telling import Failing, told


class Copies(Failing):
    """What is copied of buffers whose twins are the true ones.

    Parameters
    ----------
    cupy : module
    numbers : tuple of int
        Numbers of the GPUs, the first first.
    streams : list
        CuPy's stream of each.
    """

    def __init__(self, cupy: Any, numbers: tuple[int, ...], streams: list[Any]) -> None:
        super().__init__(cupy)
        self.numbers, self.streams = numbers, streams
        self.gpus = [cupy.cuda.Device(number) for number in numbers]
        self.stream = streams[0]

    @told
    def wait(self) -> None:
        """Return once everything on all streams is done."""
        for stream in self.streams:
            stream.synchronize()

    def pull(self, buffer: Any, nbytes: int | None = None) -> None:
        """Copy what the GPU has in the first bytes of a buffer to the host, or in all that is in use."""
        if isinstance(buffer, CudaBuffer) and buffer.is_away:
            for start, stop in buffer.ranges(nbytes):
                self._down(buffer, start, min(stop, buffer.room))
            self.wait()
        elif not isinstance(buffer, CudaBuffer):
            self.pull_all((buffer, len(buffer) if nbytes is None else nbytes))

    def pull_all(self, *wanted: tuple[Any, int] | tuple[Any, int, int]) -> None:
        """Copy so many bytes of several buffers to the host, and wait once; neighbours in one copy.

        They are the first ones of each, or those from the third number on.
        """
        pieces = pieces_of(wanted)
        for whole, start, stop in pieces:
            self._down(whole, start, min(stop, whole.room))
        if pieces:
            self.wait()

    @told
    def columns(self, buffer: Any, dtype: np.dtype[Any], *names: str) -> dict[str, NDArray[np.uint32]]:
        """Return some 32-bit fields of all the structs in a buffer as they are, wherever it is."""
        host = view(buffer, dtype)
        if not isinstance(buffer, CudaBuffer) or not buffer.is_away:
            return {name: host[name] for name in names}
        step, fields = dtype.itemsize // 4, cast("Any", dtype.fields)
        with self.gpus[0], self.stream:
            words = buffer.twin.view(np.uint32)[: len(host) * step]
            found = {name: words[int(fields[name][1]) // 4 :: step].get(stream=self.stream) for name in names}
        self.wait()
        return found

    @told
    def gather(self, buffer: CudaBuffer, words: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return 64-bit words of a buffer that is away, from anywhere in it."""
        found = np.zeros(words.size, np.uint64)
        inside = words < min(buffer.extent, buffer.room) // 8
        twin = buffer.twin.array(0, buffer.room) if isinstance(buffer.twin, Spread) else buffer.twin
        with self.gpus[0], self.stream:
            got = twin.view(np.uint64)[self.cupy.asarray(words[inside])].get(stream=self.stream)
        self.wait()
        found[inside] = got
        return found

    def push(self, buffer: Any, nbytes: int | None = None) -> None:
        """Copy what the host has in the first bytes of a buffer to the GPU."""
        if isinstance(buffer, CudaBuffer) and buffer.is_away:
            for start, stop in buffer.ranges(nbytes):
                self._up(buffer, start, stop)
            self.wait()  # the host may write there again
        elif not isinstance(buffer, CudaBuffer):
            self.push_all((buffer, len(buffer) if nbytes is None else nbytes))
            self.wait()

    def push_all(self, *given: tuple[Any, int]) -> None:
        """Copy the first bytes of several buffers to the GPU; neighbours in one copy.

        The host may write there again once a dispatch has been waited for.
        """
        for whole, start, stop in pieces_of(given):
            self._up(whole, start, stop)

    @told
    def clear(self, buffer: Any, nbytes: int) -> None:
        """Set the first bytes of a buffer to zero, where it is."""
        if isinstance(buffer, CudaBuffer) and buffer.is_away:
            with self.gpus[0]:
                buffer.twin.data.memset_async(0, min(nbytes, buffer.room), self.stream)
        else:
            view(buffer, np.uint8)[:nbytes] = 0

    @told
    def _up(self, buffer: CudaBuffer, start: int, stop: int) -> None:
        if stop <= start:
            return
        if isinstance(buffer.twin, Spread):
            buffer.twin[start:stop].set(buffer.bytes(start, stop), stream=self.stream)
        else:
            (buffer.twin.data + start).copy_from_host_async(buffer.address + start, stop - start, self.stream)

    @told
    def _down(self, buffer: CudaBuffer, start: int, stop: int) -> None:
        if stop <= start:
            return
        twin, to = buffer.twin, buffer.address
        if stop - start >= STAGED_BYTES and (staging := self._staging) is not None:
            pieces = twin.pieces(start, stop) if isinstance(twin, Spread) else [(start, stop)]
            for a, b in pieces:
                staging.down(twin.data + a, to + a, b - a, self.stream)
        elif isinstance(twin, Spread):
            twin[start:stop].get(out=buffer.bytes(start, stop), stream=self.stream)
        else:
            (twin.data + start).copy_to_host_async(to + start, stop - start, self.stream)

    @cached_property
    def _staging(self) -> Staging | None:
        """What large copies go through; None where no memory can be pinned for it."""
        try:
            with self.gpus[0]:
                return Staging(self.cupy)
        except (self.cupy.cuda.memory.OutOfMemoryError, *self.failures):
            return None

    @told
    def _across(self, to: Any, given: Any, nbytes: int) -> None:
        to.data.copy_from_device_async(given.data, nbytes, self.stream)
