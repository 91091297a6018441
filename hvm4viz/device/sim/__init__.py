"""The sim device: the cpu device under a schedule that can be chosen, drawn from a seed, or gone through exhaustively.

The kernel is compiled with its accesses to the heap as points at which another thread may go on (``kernels/watch.h``),
and with weak memory: a relaxed read may see any value not older than what its thread has seen. It is there to show that
nothing depends on timing; it is slow.
"""

from hvm4viz.device.sim.device import SimDevice
from hvm4viz.device.sim.device import open_sim as open  # noqa: A004  (the lookup's verb)
from hvm4viz.device.sim.dispatch import Dispatch
from hvm4viz.device.sim.found import Choices, Explored
from hvm4viz.device.sim.schedules import Exhaustive, Replayed, Schedule, Seeded

__all__ = ["Choices", "Dispatch", "Exhaustive", "Explored", "Replayed", "Schedule", "Seeded", "SimDevice", "open"]
