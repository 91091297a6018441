"""One updating line that tells how far a run is: an observer of passes.

It appears after half a second, changes at most four times a second, and leaves its last state behind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Literal, TextIO

import numpy as np

from hvm4viz.events import OUTCOMES, PassRecord, RunEnd, RunHeader

DELAY_S: Final = 0.5
INTERVAL_S: Final = 0.25
_DEFERRED: Final = OUTCOMES.index("deferred")

Show = Callable[[str, str], None]
"""Shows a line in place of the last one, then an end: a line break after the final one."""


class Progress:
    """Observes a run and shows one line about it."""

    def __init__(self, show: Show, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._clock = clock
        self._start = self._next = clock() + DELAY_S
        self._interactions = 0
        self._deferrals = 0
        self._line = ""

    def begin(self, header: RunHeader) -> None:
        """Start the clock."""
        del header
        now = self._clock()
        self._start, self._next = now, now + DELAY_S

    def on_pass(self, record: PassRecord) -> None:
        """Count the pass; show it when the line is due."""
        self._interactions += record.interactions
        self._deferrals += int(np.count_nonzero(record.events["outcome"] == _DEFERRED))
        now = self._clock()
        if now < self._next:
            return
        self._next = now + INTERVAL_S
        rate = self._interactions / max(now - self._start, 1e-9)
        cells = int(record.cells.sum(dtype=np.int64))
        self._line = (
            f"pass {record.index:,} | frontier {record.frontier:,} | {self._deferrals:,} deferrals | "
            f"{rate / 1e6:.2f} M interactions/s | heap {cells * 8 / 2**20:.1f} MiB"
        )
        self._show(self._line, "")

    def end(self, end: RunEnd) -> None:
        """Leave the last line behind, if there was one."""
        if self._line:
            self._show(f"{self._line} | {end.status}", "\n")


def terminal(stream: TextIO) -> Show:
    """Show the line on a terminal, over itself."""

    def show(line: str, end: str) -> None:
        with suppress(OSError):  # a terminal that has gone does not end the run
            stream.write(f"\r\x1b[K{line}{end}")
            stream.flush()

    return show


def notebook() -> Show:
    """Show the line in the running cell, in place."""
    from IPython.display import DisplayHandle

    handle: Any = DisplayHandle()
    verbs = iter([handle.display])

    def show(line: str, end: str) -> None:
        del end
        next(verbs, handle.update)({"text/plain": line}, raw=True)

    return show


def progress_for(wish: bool | Literal["auto"]) -> Progress | None:  # noqa: FBT001  (``run(progress=...)`` as given)
    """Return the observer that shows progress where it is wished for, or None."""
    show = show_for(wish)
    return Progress(show) if show else None


def show_for(wish: bool | Literal["auto"]) -> Show | None:  # noqa: FBT001  (as above)
    """Choose where progress is shown: in the notebook, on a terminal, or (auto, elsewhere) nowhere."""
    if wish is False:
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return notebook()
    if sys.stderr is not None and (wish is True or sys.stderr.isatty()):
        return terminal(sys.stderr)
    return None
