"""Where a pass can run, and which place should take the least time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hvm4viz.device.base import Function


@dataclass(slots=True)
class Way:
    """One place to run a pass, and what that costs.

    Attributes
    ----------
    function : Function
    device : str
        What the trace calls this place.
    start_ns : float
        What a dispatch costs before any work is done.
    lanes : int
        Logical threads that run there at once.
    slowness : float
        Time that one of them takes for a piece of work, over the time of a host thread.
    is_away : bool
        Whether buffers have to be moved there, and back.
    """

    function: Function
    device: str
    start_ns: float = 0.0
    lanes: int = 1
    slowness: float = 1.0
    is_away: bool = False

    def expected_ns(self, work_ns: float, entries: int) -> float:
        """Return how long a pass should take here that takes ``work_ns`` on one host thread."""
        return self.start_ns + work_ns * self.slowness / min(self.lanes, entries)

    def learn(self, work_ns: float, entries: int, took_ns: float) -> None:
        """Correct the slowness, a step at a time, by what a pass took here."""
        seen = max(took_ns - self.start_ns, 0.0) * min(self.lanes, entries) / work_ns
        self.slowness += (seen - self.slowness) / 8
