"""Openings of ``metalcompute``, and when to make another.

What the published source of version 0.2.9 says: a dispatch builds its pipeline anew and leaves a record in a table of
the module. Nothing takes records out, and each completion looks through them, which waiting waits for: so a dispatch
costs a little more than the one before it, for as long as the process runs. The table is the module's, so ``Device()``
again keeps it; a fresh copy of the extension file begins with an empty one. That is what a new opening is here. What a
dispatch costs is measured by one that does nothing, so none of this is taken on trust: a new opening is made once the
drift has cost as much as it would, and ever more rarely where it does not help.
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
import shutil
import sys
import tempfile
import threading
import time
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hvm4viz.device.opening import Opening
from hvm4viz.errors import DeviceFailed, DeviceUnavailable


class Flight:
    """A dispatch on its way: dropping its handle waits for it."""

    def __init__(self, run: Any, turn: AbstractContextManager[Any]) -> None:
        self._run = run
        self._turn = turn

    def wait(self) -> None:
        """Return once it is finished; meanwhile no other begins."""
        with self._turn:
            self._run = None


class Openings:
    """The opening that this process works with, and the one dispatch that is in flight.

    More than one at a time is possible, and would have the module's table changed while a completion looks through it.

    Attributes
    ----------
    current : Opening
    patience : float
        How many times the price of an opening dispatches may have drifted before another is tried: more after each
        one that was no cheaper.
    turn : lock
        To be held from the landing of one dispatch to the start of the next.
    """

    def __init__(self, module: ModuleType) -> None:
        self.current = self._before = Opening(module, 0)
        self.patience = 1.0
        self.turn = threading.RLock()
        self._flight = Flight(None, self.turn)

    def take_off(self, run: Any) -> Flight:
        """Take note of a dispatch that is in flight now."""
        self._flight = Flight(run, self.turn)
        return self._flight

    def land(self) -> None:
        """Wait for the dispatch that is in flight, if one is."""
        self._flight.wait()

    def renew(self) -> Opening:
        """Open the device again if that pays; return the opening to work with."""
        with self.turn:
            self.land()
            before = self.current
            before.measure()
            if before.drift_ns > self.patience * before.open_ns:
                before.drift_ns = 0.0
                fresh = _open_copy(before.module, before.number + 1)
                if fresh is not None and fresh.least_ns - before.least_ns < (before.cost_ns - before.least_ns) / 2:
                    self.current, self._before, self.patience = fresh, before, 1.0
                else:
                    self.patience *= 2.0
            return self.current

    def go_back(self) -> None:
        """Work with the opening before: a run has no room to move."""
        with self.turn:
            self.current = self._before
            self.patience *= 2.0


def _open_copy(module: Any, number: int) -> Opening | None:
    """Load a fresh copy of an extension file and open the device with it; None if that cannot be done."""
    begun = time.perf_counter_ns()
    try:
        original = Path(module.__file__)
        copy = Path(tempfile.mkdtemp(dir=_folder().name)) / original.name
        shutil.copyfile(original, copy)
        spec = importlib.util.spec_from_file_location(f"opening_{number}.metalcompute", copy)
        if spec is None or spec.loader is None:
            return None
        fresh = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(fresh)
    except (OSError, ImportError, TypeError, AttributeError):
        return None
    try:
        opening = Opening(fresh, number)
    except (fresh.error, DeviceFailed):
        return None
    opening.open_ns = float(time.perf_counter_ns() - begun)
    return opening


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hvm4viz-metal-", ignore_cleanup_errors=True)


def openings() -> Openings:
    """Return the openings of this process; the first call opens the device.

    Raises
    ------
    DeviceUnavailable
        If ``metalcompute`` is not here or finds no device.
    """
    with _FIRST:
        return _openings()


_FIRST: Final = threading.Lock()


@cache
def _openings() -> Openings:
    module = importlib.import_module("metalcompute")
    try:
        return Openings(module)
    except (module.error, DeviceFailed) as error:
        raise DeviceUnavailable(
            f"metal: metalcompute finds no usable Metal device ({error}); virtual machines and build servers often "
            "have none: use device='cpu'",
            text=str(error),
        ) from None


def why_not() -> str:
    """Say why ``metalcompute`` is not here, and what to do."""
    if sys.platform != "darwin":
        return f"needs macOS 14 or later on Apple silicon, this is {platform.system()}: use device='cpu'"
    if platform.machine() != "arm64":
        return (
            f"needs Apple silicon and a Python that is built for it, this one is for {platform.machine()}: use "
            "device='cpu', or an arm64 Python"
        )
    if int(platform.mac_ver()[0].partition(".")[0] or 0) < 14:
        return f"needs macOS 14 or later, this is {platform.mac_ver()[0]}: use device='cpu'"
    if sys.version_info >= (3, 14):
        return "metalcompute has no wheels for Python 3.14: use Python 3.13, or device='cpu'"
    return "metalcompute is not installed; run: pip install metalcompute"
