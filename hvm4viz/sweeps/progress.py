"""What the updating line says of a sweep."""

from __future__ import annotations

import time
from collections.abc import Callable

from hvm4viz.progress import Line, Show


class SweepProgress:
    """Counts runs as they come.

    Parameters
    ----------
    show : callable or None
        Shows the line; None: nobody sees it.
    total, kept : int
        Runs in all, and those of them that are there from before.
    """

    def __init__(
        self, show: Show | None, total: int, kept: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._line = Line(show, clock=clock) if show else None
        self._total, self._kept = total, kept
        self._ran = self._not_done = 0
        self._clock, self._start = clock, clock()

    def count(self, status: str) -> None:
        """Count a run that has ended; show the line when it is due."""
        self._ran += 1
        self._not_done += status != "done"
        seconds = self._line.due() if self._line else None
        if self._line and seconds is not None:
            left_s = seconds / self._ran * (self._total - self._kept - self._ran)
            self._line.tell(f"{self.text()} | about {_duration(left_s)} left")

    def text(self) -> str:
        """Say how far it is."""
        parts = [f"{self._kept + self._ran:,} of {self._total:,} runs"]
        if self._kept:
            parts.append(f"{self._kept:,} kept from before")
        if self._not_done:
            parts.append(f"{self._not_done:,} not done")
        return " | ".join(parts)

    def end(self, how: str) -> None:
        """Leave the last line behind, if there was one."""
        if self._line:
            self._line.end(f"{how} after {_duration(self._clock() - self._start)}", text=self.text())


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
