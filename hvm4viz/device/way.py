"""Where a pass can run, and which place should take the least time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from hvm4viz.device.base import Function

WORK_NS: Final = 30.0
"""What an entry or an interaction takes on a host thread, until passes have shown it."""

WORK_MIN: Final = 64
"""Entries and interactions of a pass that tells anything of that."""

MOVING_NS: Final = 2e6
"""What it costs to move a run between host and device, besides the bytes of its heap."""

MOVING_BYTES_NS: Final = 5.0
"""Bytes of the heap that move in a nanosecond, on the way there."""

HOME_BYTES_NS: Final = 1.7
"""The same on the way home, measured on an H200: the host's pages are fresh ones."""

MOVING_PASSES: Final = 8
"""Passes over which a move should pay."""

SMALL_BYTES: Final = 16 << 20
"""A heap in use that goes home once one entry is left: that takes milliseconds, and a host thread is faster."""

AHEAD: Final = 8
"""How many times as wide a frontier that grows may be a pass later: what is small yet moves at less cost."""

FORGETTING, FORGETTING_AWAY = 8, 64
"""Passes elsewhere after which little is left of what was seen: a way that is never tried would never be seen again."""

LONG: Final = 1 / 1024
"""What part of its fuel a pass is taken to use at least: however little the last one did, one in a thousand may use all
of it, and one thread of a device does that slowly."""


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
    prior : float
        The slowness that it was made with.
    """

    function: Function
    device: str
    start_ns: float = 0.0
    lanes: int = 1
    slowness: float = 1.0
    is_away: bool = False
    prior: float = field(init=False)

    def __post_init__(self) -> None:
        """Keep what the slowness is taken to be while nothing is known of it."""
        self.prior = self.slowness

    def expected_ns(self, work_ns: float, entries: int) -> float:
        """Return how long a pass should take here that takes ``work_ns`` on one host thread."""
        return self.start_ns + work_ns * self.slowness / min(self.lanes, entries)

    def learn(self, work_ns: float, entries: int, took_ns: float) -> None:
        """Correct the slowness, a step at a time, by what a pass took here."""
        seen = max(took_ns - self.start_ns, 0.0) * min(self.lanes, entries) / work_ns
        self.slowness += (seen - self.slowness) / 8

    def forget(self) -> None:
        """Believe a little less of what was seen here: a pass ran elsewhere, so what it is compared with is another."""
        self.slowness += (self.prior - self.slowness) / (FORGETTING_AWAY if self.is_away else FORGETTING)


class Pace:
    """Chooses where each pass of a run is to run, and learns from how long it took.

    The choice shows in the trace, not in the digest: a pass does the same wherever it runs.

    Parameters
    ----------
    ways : tuple of Way
        What suits a narrow frontier first.
    threads : int
        Logical threads of the machine.

    Attributes
    ----------
    moves : bool
        Whether there is a place that buffers have to be moved to.
    """

    def __init__(self, ways: tuple[Way, ...], threads: int) -> None:
        self._ways = ways
        self._threads = threads
        self._work, self._work_ns = 0, WORK_NS
        self._widths = 1, 1
        self.moves = any(way.is_away for way in ways)

    def way(self, width: int, *, is_away: bool, heap_bytes: Callable[[], int], fuel: int = 0) -> Way:
        """Return where a pass over ``width`` entries, with as much work as the last one, should take the least time.

        What is narrow from the start stays on the host. A narrow pass of a run that is away is no reason to move a
        large heap home: it runs where the heap is, unless so much work is expected that moving pays.

        Parameters
        ----------
        width : int
        is_away : bool
            Where the buffers are now.
        heap_bytes : callable
            Tells what would have to move.
        fuel : int
            Interactions that the pass does at most, roughly.
        """
        ways = self._ways
        if len(ways) == 1 or (width < 2 and (not is_away or heap_bytes() <= SMALL_BYTES)):
            return ways[0]
        work = max(self._work, int(fuel * LONG)) if is_away else self._work
        ahead = 1 if is_away else self._growth(width)
        work_ns, entries = ahead * work * self._work_ns, min(ahead * width, self._threads)
        rate = HOME_BYTES_NS if is_away else MOVING_BYTES_NS
        moving_ns = (MOVING_NS + heap_bytes() / rate) / MOVING_PASSES if self.moves else 0.0
        return min(
            ways, key=lambda way: way.expected_ns(work_ns, entries) + (moving_ns if way.is_away != is_away else 0)
        )

    def _growth(self, width: int) -> int:
        """Return how much wider the frontier will be two passes on, if it grew in each of the last two."""
        before, last = self._widths
        if not self.moves or width < 2 * last or last < 2 * before:
            return 1
        return min(width // last, AHEAD) ** 2

    def learn(self, way: Way, width: int, work: int, took_ns: int) -> None:
        """Take note of a pass: its entries and interactions, and how long it took there."""
        self._work = work
        self._widths = self._widths[1], width
        for other in self._ways:
            if other is not way:
                other.forget()
        if work < WORK_MIN:
            return
        if way is self._ways[0]:
            self._work_ns += (took_ns / work - self._work_ns) / 8
        else:
            way.learn(work * self._work_ns, min(width, self._threads), took_ns)
