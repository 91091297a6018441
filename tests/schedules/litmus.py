"""Little programs of a few accesses a thread, by which memory models are told apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hvm4viz.device.base import view
from hvm4viz.device.sim import Exhaustive, Explored, Replayed, Schedule, SimDevice
from hvm4viz.kernel_text import abi
from hvm4viz.rules import kernel_folder

OUT_MAX = 8
THREADS_MAX = 8
_HEADERS = ("dialect.h", "term.h", "layout.h", "watch.h")
_ENTRY = """
#define READ(half) atomic_read(halves + (half))
#define READ_ACQUIRE(half) atomic_read_acquire(halves + (half))
#define WRITE(half, word) atomic_write(halves + (half), word)
#define WRITE_RELEASE(half, word) atomic_write_release(halves + (half), word)
#define SET(half, bits) atomic_or(halves + (half), bits)
#define SWAP_IF(half, seen, word) (atomic_swap_if(halves + (half), seen, word) ? 1u : 0u)
#define SAY(word) mine[said++] = 1u + (uint)(word);
ENTRY(step_frontier)(
    BUFFER(const Params, params, 0), BUFFER(ulong, heap, 1), BUFFER(const uint, owner, 2),
    BUFFER(ThreadState, states, 3), BUFFER(Atomic32, visited, 4), BUFFER(uint, out, 5), GRID_INDEX) {
  Watch watch;
  watch.heap = heap;
  Cells cells = {heap, &watch};
  Halves halves = {(Atomic32*)heap, &watch};
  uint* mine = out + index * OUT_MAX;
  uint said = 0u;
  switch (params->rules * THREADS_MAX + index) {
BODIES
    default: break;
  }
}
"""


class Litmus:
    """Programs, compiled together, whose threads say what they read.

    Parameters
    ----------
    programs : mapping of str to tuple of str
        Code of each thread; it may use ``cells`` and the macros.
    """

    def __init__(self, programs: Mapping[str, tuple[str, ...]]) -> None:
        self._programs = programs
        headers = "\n".join((kernel_folder() / name).read_text(encoding="utf-8") for name in _HEADERS)
        bodies = "\n".join(
            f"    case {THREADS_MAX * number + i}u: {{ {body} break; }}"
            for number, threads in enumerate(programs.values())
            for i, body in enumerate(threads)
        )
        entry = _ENTRY.replace("BODIES", bodies)
        for name, value in (("OUT_MAX", OUT_MAX), ("THREADS_MAX", THREADS_MAX)):
            entry = entry.replace(name, f"{value}u")
        self._text = headers + entry

    def run(self, name: str, schedule: Schedule, cells: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Run a program on a heap that begins with these cells; return what was said, thread by thread."""
        device, n = SimDevice(schedule), len(self._programs[name])
        params = np.zeros(1, abi.PARAMS)
        params["threads"], params["regions"], params["region_shift"], params["slice_shift"] = n, 1, 6, 6
        params["now"], params["rules"] = 1, list(self._programs).index(name)
        states = np.zeros(n, abi.THREAD_STATE)
        states["count"] = 1
        heap = np.zeros(64, np.uint64)
        heap[: len(cells)] = cells
        out = device.buffer(4 * OUT_MAX * n)
        buffers = [device.buffer(each) for each in (params, heap, np.zeros(1, np.uint32), states)]
        device.kernel(self._text).function("step_frontier")(n, *buffers, device.buffer(16), out)
        return tuple(word - 1 for word in view(out, np.uint32)[: OUT_MAX * n].tolist() if word)

    def explore(self, name: str, *, is_reduced: bool = False) -> tuple[set[tuple[int, ...]], Explored]:
        """Run a program in every way; return all that can be said."""
        every = Exhaustive(is_reduced=is_reduced)
        self.run(name, every)
        ends = every.passes[0].ends
        return {self.run(name, Replayed({1: end.choices})) for end in ends}, every.passes[0]
