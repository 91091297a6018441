"""One updating line that tells how far long work is; of a run, it observes the passes.

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


class Line:
    """One line about long work."""

    def __init__(self, show: Show, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._clock = clock
        self._text = ""
        self.begin()

    def begin(self) -> None:
        """Start the clock."""
        self._start = self._clock()
        self._next = self._start + DELAY_S

    def due(self) -> float | None:
        """Return the seconds since the start if the line may change now, else None; ask once for each change."""
        now = self._clock()
        if now < self._next:
            return None
        self._next = now + INTERVAL_S
        return max(now - self._start, 1e-9)

    def tell(self, text: str) -> None:
        """Show a text in place of the last one."""
        self._text = text
        self._show(text, "")

    def end(self, how: str, *, text: str | None = None) -> None:
        """Leave the last text, or another one, behind with how it ended; nothing if none was shown."""
        if self._text:
            self._show(f"{text or self._text} | {how}", "\n")


class Progress:
    """Observes a run and shows one line about it."""

    def __init__(self, show: Show, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._line = Line(show, clock=clock)
        self._interactions = 0
        self._deferrals = 0

    def begin(self, header: RunHeader) -> None:
        """Start the clock."""
        del header
        self._line.begin()

    def on_pass(self, record: PassRecord) -> None:
        """Count the pass; show it when the line is due."""
        self._interactions += record.interactions
        self._deferrals += int(np.count_nonzero(record.events["outcome"] == _DEFERRED))
        seconds = self._line.due()
        if seconds is None:
            return
        cells = int(record.cells.sum(dtype=np.int64))
        self._line.tell(
            f"pass {record.index:,} | frontier {record.frontier:,} | {self._deferrals:,} deferrals | "
            f"{self._interactions / seconds / 1e6:.2f} M interactions/s | heap {cells * 8 / 2**20:.1f} MiB"
        )

    def end(self, end: RunEnd) -> None:
        """Leave the last line behind, if there was one."""
        self._line.end(end.status)


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


def show_for(wish: bool | Literal["auto"]) -> Show | None:  # noqa: FBT001  (``progress=...`` as given)
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


def progress_for(
    wish: bool | Literal["auto"],  # noqa: FBT001  (``run(progress=...)`` as given)
    before: Callable[[], None],
) -> Progress | None:
    """Return what shows the progress of a run, or None where none is shown; ``before`` is called ahead of each line."""
    show = show_for(wish)
    if show is None:
        return None

    def tell(line: str, end: str) -> None:
        before()
        show(line, end)

    return Progress(tell)
