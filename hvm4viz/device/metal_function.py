"""Buffers and functions of the metal device: shared memory, and dispatches of which one is in flight."""

from __future__ import annotations

from typing import Any

import numpy as np

from hvm4viz.device.base import Buffer, Handle, Way
from hvm4viz.device.cpu import CpuFunction
from hvm4viz.device.opening import Opening
from hvm4viz.device.openings import Openings
from hvm4viz.errors import DeviceFailed


class MetalBuffer(np.ndarray[Any, np.dtype[np.uint8]]):
    """Bytes that host and GPU share: an array over a ``metalcompute`` buffer."""

    raw: Any = None
    opening: Opening | None = None
    address: int = 0

    def __hash__(self) -> int:  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]
        """Return a number of its own."""
        return id(self)

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        """Tell whether it is the same buffer: argument lists are looked up by their buffers."""
        return self is other


class _Done:
    def wait(self) -> None:
        """Return at once."""


class MetalFunction:
    """One entry point, as each opening has it.

    Parameters
    ----------
    device : str
        Its name, for messages.
    openings : Openings
    source, name : str
    host : CpuFunction
        The same entry point on the host: for buffers of several openings.
    """

    def __init__(self, device: str, openings: Openings, source: str, name: str, host: CpuFunction) -> None:
        self._device = device
        self._openings = openings
        self._source = source
        self._name = name
        self._host = host
        openings.current.function(source, name)

    def __call__(self, count: int, *buffers: Buffer) -> Handle:
        """Run ``count`` threads over the buffers."""
        opening = _opening_of(buffers)
        if count < 1:
            return _Done()
        with self._openings.turn:
            self._openings.land()
            if opening is None:
                return self._host(count, *buffers)
            function = opening.function(self._source, self._name)
            opening.count()
            try:  # held in one place: a name here would keep it in the air beyond its turn
                return self._openings.take_off(function(count, *(buffer.raw for buffer in buffers)))  # type: ignore[attr-defined]
            except opening.module.error as error:
                raise DeviceFailed(
                    f"the device {self._device} refuses the dispatch of {self._name}: {error}", text=str(error)
                ) from None


def _opening_of(buffers: tuple[Buffer, ...]) -> Opening | None:
    """Return the opening that all the buffers are of; None where a run is moving from one to another."""
    found = {buffer.opening for buffer in buffers if isinstance(buffer, MetalBuffer)}
    return found.pop() if len(found) == 1 else None


class GpuWay(Way):
    """What a dispatch costs drifts: it is asked for anew."""

    openings: Openings

    def expected_ns(self, work_ns: float, entries: int) -> float:
        """Return how long a pass should take on the GPU."""
        self.start_ns = self.openings.current.cost_ns
        return super().expected_ns(work_ns, entries)
