"""The metal device: Apple's GPUs through ``metalcompute``, and the host's processor over the same memory.

What holds for metalcompute 0.2.9, and what follows from it here:

* Buffers are shared storage: the host reads and writes them where they lie. So dispatches of one thread and narrow
  passes run on the cpu device's functions over the very same memory; a pass does the same wherever it runs.
* A dispatch tells nothing of errors of its command buffer. So the machine poisons what a pass must leave behind, and
  looks at it afterwards; nothing here is a promise that a dispatch has run.
* Dropping a dispatch's handle waits for it. One dispatch is in flight at a time.
* Language version 2.3: 32-bit atomics, relaxed order only. So no ``visibility="live"`` and no private memory.
* A dispatch gets dearer with each one before it (``openings.py``).
"""

from __future__ import annotations

import importlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Device, Kernel, Way
from hvm4viz.device.compiler import find_compiler
from hvm4viz.device.cpu import CpuDevice, CpuFunction, CpuKernel
from hvm4viz.device.metal_function import GpuWay, MetalBuffer, MetalFunction
from hvm4viz.device.openings import Openings, openings, why_not
from hvm4viz.errors import DeviceFailed, DeviceUnavailable
from hvm4viz.settings import Machine

LANES: Final = 4096
"""Logical threads that a GPU is taken to run at once, until passes have shown how fast it is."""

SLOWNESS: Final = 54.0
"""Time that one GPU thread takes over a host thread's: measured on another GPU, and learnt anew in each run."""


class MetalKernel(Kernel):
    """A kernel text compiled by Metal and, as C++, for the host."""

    def __init__(self, device: MetalDevice, source: str, host: CpuKernel) -> None:
        self._device = device
        self._source = source
        self._host = host

    def function(self, name: str) -> MetalFunction:
        """Return an entry point on the GPU."""
        return MetalFunction(self._device.name, self._device.openings, self._source, name, self._host.function(name))

    def serial(self, name: str) -> CpuFunction:
        """Return an entry point on the calling host thread, over the same memory."""
        return self._host.serial(name)

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return the ways of the host, and the GPU."""
        way = GpuWay(self.function(name), self._device.name, lanes=LANES, slowness=SLOWNESS)
        way.openings = self._device.openings
        return (*self._host.ways(name), way)


class MetalDevice(Device):
    """A Mac's GPU.

    Parameters
    ----------
    opened : Openings
    workers : int, optional
        Host threads for passes that run on the host; default: one a core.
    """

    def __init__(self, opened: Openings, workers: int | None = None) -> None:
        self.openings = opened
        self._host = CpuDevice(workers)
        said = str(opened.current.device)
        self.name = f"metal ({said.partition('(')[2].removesuffix(')') or said})"

    def kernel(self, source: str) -> MetalKernel:
        """Compile a kernel text by Metal and for the host."""
        self.openings.current.compile(source)
        return MetalKernel(self, source, self._host.kernel(source))

    def buffer(self, source: int | NDArray[Any]) -> MetalBuffer:
        """Return a zero-filled buffer of that many bytes, or one holding a copy of an array."""
        nbytes = source if isinstance(source, int) else source.nbytes
        opening = self.openings.current
        try:
            raw = opening.device.buffer(max(nbytes, 1))  # none of zero bytes exists
        except (opening.module.error, OverflowError, MemoryError) as error:
            raise DeviceFailed(
                f"the device {self.name} cannot reserve {nbytes:,} bytes: {error}; the system recommends "
                f"{opening.room_bytes:,} bytes for all buffers together",
                text=str(error),
            ) from None
        made = np.frombuffer(raw, np.uint8).view(MetalBuffer)
        made.raw, made.opening, made.address = raw, opening, made.ctypes.data
        if not isinstance(source, int):
            made[: source.nbytes] = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
        return made

    def check(self, machine: Machine) -> None:
        """Refuse what Metal does not have."""
        if machine.visibility == "live":
            raise ValueError(
                "Machine(visibility='live') needs acquire and release; Metal at language version 2.3 has relaxed order "
                "only: use visibility='pass', or device='cpu'"
            )
        if machine.memory == "private":
            raise ValueError(
                "Machine(memory='private'): metalcompute makes shared buffers only; use memory='shared' or 'auto'"
            )

    def renew(self) -> int:
        """Open the device again, if its dispatches have become dearer than that is worth."""
        return self.openings.renew().number

    def stay(self) -> None:
        """Go on with the opening before."""
        self.openings.go_back()


def open(*, workers: int | None = None) -> MetalDevice:  # noqa: A001  (the lookup's verb)
    """Open the metal device.

    Raises
    ------
    DeviceUnavailable
        If it cannot run here, with the reason and the next step.
    """
    find_compiler()
    try:
        importlib.import_module("metalcompute")
    except ModuleNotFoundError:
        raise DeviceUnavailable(f"metal: {why_not()}") from None
    except ImportError as error:
        raise DeviceUnavailable(f"metal: metalcompute does not load ({error}): {why_not()}", text=str(error)) from None
    return MetalDevice(openings(), workers)
