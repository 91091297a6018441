"""One opening of ``metalcompute``: a copy of the module, its device, what is compiled on it, what a dispatch costs."""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any, Final

import numpy as np

from hvm4viz.errors import CompileFailed, DeviceFailed

PROBE_EVERY: Final = 512
"""Dispatches between two measurements of what one costs."""

PROBES: Final = 5
"""Dispatches that do nothing, of which the shortest is believed."""

_NOTHING: Final = """\
#include <metal_stdlib>
using namespace metal;
kernel void nothing(device uint* out [[buffer(0)]], uint index [[thread_position_in_grid]]) {
  if (index < 1u) out[0] += 1u;
}
"""


class Opening:
    """One copy of the module, its device, and what is compiled on it.

    Parameters
    ----------
    module : module
        ``metalcompute``, or a copy of it.
    number : int

    Attributes
    ----------
    room_bytes : int
        What the system recommends that all buffers together take at most.
    cost_ns, least_ns : float
        What a dispatch costs now, and the least that it has cost since this opening was new.
    open_ns : float
        What it took to open the device and to compile what is compiled so far.
    drift_ns : float
        What dispatches have cost in all beyond what they would have if none were dearer than the cheapest.
    """

    def __init__(self, module: ModuleType, number: int) -> None:
        begun = time.perf_counter_ns()
        self.module: Any = module
        self.number = number
        self.device: Any = self.module.Device()
        self.room_bytes = max((int(each.recommendedWorkingSetSize) for each in self.module.get_devices()), default=0)
        self._kernels: dict[str, Any] = {}
        self._functions: dict[tuple[str, str], Any] = {}
        self._left = PROBE_EVERY
        self.drift_ns = 0.0
        self._out = self.device.buffer(4)
        self._seen = np.frombuffer(self._out, np.uint32)
        self._nothing = self.device.kernel(_NOTHING).function("nothing")
        self._probe()  # the first time, pipelines are built
        self.open_ns = float(time.perf_counter_ns() - begun)
        self.cost_ns = self.least_ns = self._probe()

    def compile(self, source: str) -> None:
        """Compile a kernel text, unless it is compiled already.

        Raises
        ------
        CompileFailed
            With the compiler's own words.
        """
        if source in self._kernels:
            return
        begun = time.perf_counter_ns()
        try:
            self._kernels[source] = self.device.kernel(source)
        except self.module.error as error:
            raise CompileFailed(f"the kernel does not compile with Metal:\n{error}", text=str(error)) from None
        self.open_ns += time.perf_counter_ns() - begun

    def function(self, source: str, name: str) -> Any:
        """Return an entry point of a kernel text.

        Raises
        ------
        CompileFailed
            If there is none of that name.
        """
        known = self._functions.get((source, name))
        if known is None:
            self.compile(source)
            try:
                known = self._functions[source, name] = self._kernels[source].function(name)
            except self.module.error as error:
                raise CompileFailed(f"the kernel has no entry point {name!r}: {error}", text=str(error)) from None
        return known

    def count(self) -> None:
        """Count a dispatch."""
        self._left -= 1

    def measure(self) -> None:
        """Now and then, measure what a dispatch costs; to be called while none is in flight."""
        if self._left <= 0:
            self._left = PROBE_EVERY
            self.cost_ns = self._probe()
            self.least_ns = min(self.least_ns, self.cost_ns)
            self.drift_ns += PROBE_EVERY * (self.cost_ns - self.least_ns)

    def _probe(self) -> float:
        best = float("inf")
        for _ in range(PROBES):
            before = int(self._seen[0])
            begun = time.perf_counter_ns()
            try:
                run = self._nothing(1, self._out)
            except self.module.error as error:
                raise DeviceFailed(f"the device metal refuses a dispatch: {error}", text=str(error)) from None
            del run  # waits
            best = min(best, time.perf_counter_ns() - begun)
            if int(self._seen[0]) != (before + 1) & 0xFFFFFFFF:
                raise DeviceFailed("the device metal took a dispatch and did not run it: restart Python, or the Mac")
        return best
