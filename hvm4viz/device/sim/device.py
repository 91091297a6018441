"""The device: the kernel compiled with its scheduler; busy threads of a pass run on fibers of one host thread."""

from __future__ import annotations

import ctypes
import platform
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hvm4viz.device.base import Function, Way, view
from hvm4viz.device.compiler import find_compiler
from hvm4viz.device.cpu import CpuBuffer, CpuDevice, CpuKernel, load, wrap
from hvm4viz.device.sim.call import Room
from hvm4viz.device.sim.dispatch import Dispatch
from hvm4viz.device.sim.schedules import Schedule, Seeded
from hvm4viz.device.sim.text import STEP, Arguments, scheduler, with_yields
from hvm4viz.errors import DeviceUnavailable
from hvm4viz.kernel_text import abi

SYSTEMS: Final = ("linux", "darwin")
PROCESSORS: Final = ("x86_64", "amd64", "arm64", "aarch64")

_TURN = threading.Lock()
"""The scheduler's state is one a process."""


class SimFunction(Function):
    """An entry point, run straight; ``step_frontier`` under the device's schedule."""

    def __init__(self, straight: Function, stepper: Stepper | None) -> None:
        self._straight = straight
        self._stepper = stepper

    def __call__(self, count: int, *buffers: Any) -> Any:
        """Run ``count`` threads over the buffers; returns when they are done."""
        with _TURN:
            if self._stepper is None or not self._stepper.run(buffers):
                return self._straight(count, *buffers)
            return self._straight(0, *buffers)


class Stepper:
    """Runs passes of one compiled kernel under the device's schedule."""

    def __init__(self, library: ctypes.CDLL, arguments: Arguments, device: SimDevice) -> None:
        self._library = library
        self._arguments = arguments
        self._device = device

    def run(self, buffers: Sequence[CpuBuffer]) -> bool:
        """Run a pass; False if fewer than two threads are busy, so that there is nothing to schedule."""
        states = view(buffers[self._arguments.names.index("states")], abi.THREAD_STATE)
        busy = np.flatnonzero(states["count"])
        if len(busy) < 2:
            return False
        self._device.schedule.run(Dispatch(self._library, self._arguments, buffers, busy, self._device.room))
        return True


class SimKernel(CpuKernel):
    """A loaded library with its scheduler."""

    def __init__(
        self, library: ctypes.CDLL, entries: dict[str, int], arguments: Arguments | None, device: SimDevice
    ) -> None:
        super().__init__(library, entries, None, device)
        self._stepper = Stepper(library, arguments, device) if arguments is not None else None

    def function(self, name: str) -> Any:
        """Return an entry point."""
        return SimFunction(super().function(name), self._stepper if name == STEP else None)

    def serial(self, name: str) -> Any:
        """Return an entry point."""
        return self.function(name)

    def ways(self, name: str) -> tuple[Way, ...]:
        """Return the one way there is: every pass has its schedule."""
        return (Way(self.function(name), self._device.name),)


class SimDevice(CpuDevice):
    """The host's processor under a schedule that can be run again.

    Parameters
    ----------
    schedule : Schedule
        How passes with several busy threads are run.
    flags : tuple of str
        For the compiler, behind all others: ``-O0`` where the kernel is compiled more often than it is run.

    Raises
    ------
    DeviceUnavailable
        Where threads cannot be switched by hand.
    """

    def __init__(self, schedule: Schedule, *, flags: tuple[str, ...] = ()) -> None:
        _check_host()
        super().__init__(workers=1)
        self.schedule = schedule
        self._flags = flags
        self.room = Room()
        how = f"seed {schedule.seed}" if isinstance(schedule, Seeded) else type(schedule).__name__.lower()
        self.name = f"sim ({platform.machine()}, {how})"

    def _load(self, source: str) -> CpuKernel:
        text, arguments = with_yields(source)
        wrapped, entries = wrap(text)
        if arguments is not None:
            wrapped += scheduler(arguments)
        return SimKernel(load(wrapped, extra=self._flags), entries, arguments, self)


def _check_host() -> None:
    processor = platform.machine()
    if sys.platform in SYSTEMS and processor.lower() in PROCESSORS and sys.maxsize > 2**32:
        return
    raise DeviceUnavailable(
        "the sim device switches threads by hand, on Linux and macOS, on x86-64 and arm64 only; this is "
        f"{sys.platform} on {processor or 'an unknown processor'}: use device='cpu'"
    )


def open_sim(*, workers: int | None = None, seed: int = 0) -> SimDevice:
    """Open the sim device under the schedule of a seed.

    Parameters
    ----------
    workers : int, optional
        Of no account: one host thread runs everything.
    seed : int

    Raises
    ------
    DeviceUnavailable
        When there is no compiler, or threads cannot be switched by hand here.
    """
    del workers
    find_compiler()
    return SimDevice(Seeded(seed))
