"""What a device is: metalcompute's own few verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.spread import Layout
from hvm4viz.device.way import Way
from hvm4viz.far import Cells
from hvm4viz.settings import Machine


class Buffer(Protocol):
    """Memory that a kernel can reach; it speaks Python's buffer protocol, so ``numpy.frombuffer`` reads it."""

    def __len__(self) -> int:
        """Return the size in bytes."""
        ...


class Handle(Protocol):
    """A dispatch on its way."""

    def wait(self) -> None:
        """Return once the dispatch is finished; buffers may be read then."""
        ...


class Function(Protocol):
    """An entry point: ``device.kernel(source).function(name)``."""

    def __call__(self, count: int, *buffers: Buffer) -> Handle:
        """Run ``count`` threads over the buffers."""
        ...


class Kernel(Protocol):
    """A compiled kernel text."""

    def function(self, name: str) -> Function:
        """Return one of its entry points.

        Raises
        ------
        CompileFailed
            If there is none of that name.
        """
        ...

    def serial(self, name: str) -> Function:
        """Return an entry point for dispatches of one thread: on the host, where the host sees the buffers."""
        return self.function(name)

    def on_host(self, name: str) -> Function:
        """Return an entry point for dispatches of one thread over memory as the host sees it, not as it is."""
        return self.serial(name)

    def batch(self, name: str) -> Function | None:
        """Return an entry point that runs many passes in one call; None where a dispatch is one pass."""
        del name

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return where an entry point can run: first what suits a narrow frontier, last the device itself."""
        return (Way(self.function(name), ""),)


class Device(Protocol):
    """One place that can run the kernel; the shape is metalcompute's own.

    Attributes
    ----------
    name : str
        Its kind, and in brackets what it is.
    """

    name: str

    def kernel(self, source: str) -> Kernel:
        """Compile a kernel text.

        Raises
        ------
        CompileFailed
            With the compiler's own words.
        """
        ...

    def buffer(self, source: int | NDArray[Any]) -> Buffer:
        """Return a zero-filled buffer of that many bytes, or one holding a copy of an array.

        Raises
        ------
        DeviceFailed
            If there is no room for it, with the device's own words.
        """
        ...

    def check(self, machine: Machine) -> None:
        """Look at the settings of a machine before a run.

        Raises
        ------
        ValueError
            If one asks for what this device does not have, with the reason and what to use.
        """

    @property
    def joins_on_grid(self) -> bool:
        """Whether the next frontier is built in many dispatches over the grid rather than in one of one thread."""
        return False

    @property
    def is_ordered(self) -> bool:
        """Whether a dispatch begins only when those before it are over, so that nobody has to wait between them."""
        return False

    @property
    def tailors(self) -> bool:
        """Whether a machine of one thread gets a text of its own (``Kernel.alone``): where compiling is quick."""
        return False

    def batch(self, calls: Sequence[tuple[Function, int, tuple[Buffer, ...]]]) -> Callable[[], None]:
        """Return what runs these dispatches one after the other, again and again, and returns when the last is done."""

        def run() -> None:
            for function, count, buffers in calls:
                function(count, *buffers).wait()

        return run

    def buffers(self, sizes: Sequence[int]) -> list[Buffer]:
        """Return zero-filled buffers of that many bytes; a device may copy neighbours at once."""
        return [self.buffer(size) for size in sizes]

    def grown(self, buffer: Buffer, nbytes: int, kept: int | None = None) -> Buffer:
        """Return a fresh buffer that starts with what ``buffer`` holds, or with its first bytes, lying where that lies.

        The old one is not to be used any more by a device with memory of its own.
        """
        made = self.buffer(nbytes)
        kept = min(len(buffer), nbytes) if kept is None else kept
        view(made, np.uint8)[:kept] = view(buffer, np.uint8)[:kept]
        return made

    # Where device and host do not see the same memory: who worked on a buffer last has the true one.

    def fetch(self, *buffers: Buffer) -> None:
        """Bring buffers home: what the host reads and writes of them is the true one now."""

    def extent(self, buffer: Buffer, nbytes: int, parts: Callable[[], list[tuple[int, int]]] | None = None) -> None:
        """Take note of what is in use of a buffer: no more than its first bytes, or than the ranges ``parts`` tells."""

    def lay_out(self, buffer: Buffer, layout: Layout) -> None:
        """Take note of where each region of a buffer belongs: a device of several parts may keep it near."""

    def cells(self, buffer: Buffer) -> Cells:
        """Return the words of a heap, to be read wherever it lies."""
        return view(buffer, np.uint64)

    def pull(self, buffer: Buffer, nbytes: int | None = None) -> None:
        """Let the host see the first bytes of a buffer as they are, wherever it is; by default all that is in use."""

    def pull_all(self, *wanted: tuple[Buffer, int] | tuple[Buffer, int, int]) -> None:
        """Let the host see so many bytes of several buffers as they are: the first ones, or those from the third on."""

    def columns(self, buffer: Buffer, dtype: np.dtype[Any], *names: str) -> dict[str, NDArray[np.uint32]]:
        """Return some 32-bit fields of the structs in a buffer as they are, wherever it is."""
        return {name: view(buffer, dtype)[name] for name in names}

    def push(self, buffer: Buffer, nbytes: int | None = None) -> None:
        """Let the device see what the host wrote into the first bytes of a buffer, wherever it is."""

    def push_all(self, *given: tuple[Buffer, int]) -> None:
        """Let the device see what the host wrote there; it may write again once a dispatch has been waited for."""

    def clear(self, buffer: Buffer, nbytes: int) -> None:
        """Set the first bytes of a buffer to zero, where it is."""
        view(buffer, np.uint8)[:nbytes] = 0

    def keep(self, buffer: Buffer, nbytes: int) -> None:
        """Take back a buffer of a run that is over, zero behind the first bytes; somebody may read it still."""

    def renew(self) -> int:
        """Open the device again, if that pays; asked between passes.

        Returns
        -------
        opening : int
            Number of the opening. When it is another than before, buffers should be moved to fresh ones: old ones
            still hold what they held, but a pass over them may run on the host.
        """
        return 0

    def stay(self) -> None:
        """Go on with the opening before the last: there was no room to move."""


def view(buffer: Buffer, dtype: Any) -> NDArray[Any]:
    """Return the buffer's memory as an array, without a copy."""
    return np.frombuffer(buffer, dtype=dtype)  # type: ignore[call-overload]
