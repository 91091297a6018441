"""The pass loop: dispatch, tell the observers, look at the limits, go on.

It knows no files and no plots: observers get frozen records (``events.py``).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final, Protocol

from hvm4viz.events import Observer, PassRecord
from hvm4viz.stops import Stop
from hvm4viz.store import PASSES_MAX


class _Interrupts:
    """Turns the first interrupt into a flag that is looked at between passes; a second one raises."""

    def __init__(self) -> None:
        self.seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT."""
        del number, frame
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


@contextmanager
def _catch_interrupts() -> Generator[_Interrupts]:
    flag = _Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None or before == signal.SIG_IGN:
        yield flag
        return
    signal.signal(signal.SIGINT, flag)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)


_UNLESS: Final = ", unless the program never ends"


def _passes(count: int) -> str:
    return f"{count:,} pass{'es' * (count != 1)}"


def _interrupted(passes: int) -> str:
    return f"interrupted after {_passes(passes)}"


class Engine(Protocol):
    """What the loop drives: a frontier machine, or the evaluator that hands terms to it."""

    @property
    def passes(self) -> int:
        """Passes so far."""
        ...

    def idle(self) -> Stop | None:
        """Make the next pass ready; return why there is none, if there is none."""
        ...

    def step(self) -> tuple[PassRecord, Stop | None]:
        """Run one pass; return what it did, and why the run must end, if it must."""
        ...


class Loop:
    """Runs passes until something ends the run.

    Parameters
    ----------
    engine : Engine
    observers : sequence of Observer
        Told of every pass, in order.
    max_passes : int
    timeout : float, optional
        Seconds; looked at between passes.
    on_pass : callable, optional
        Called after each pass; returning False ends the run as interrupted.
    """

    def __init__(
        self,
        engine: Engine,
        observers: Sequence[Observer],
        *,
        max_passes: int,
        timeout: float | None,
        on_pass: Callable[[PassRecord], bool | None] | None = None,
    ) -> None:
        self.engine = engine
        self.observers = observers
        self.limit = min(max_passes, PASSES_MAX)
        self.timeout = timeout
        self.on_pass = on_pass
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def run(self, until: Callable[[], bool] | None = None) -> Stop | None:
        """Run passes until the run ends, or ``until`` says so between two passes (then None is returned)."""
        with _catch_interrupts() as interrupts:
            stop = self._run(until, interrupts)
        if stop is None and interrupts.seen:  # it came behind the last look
            return Stop("interrupted", _interrupted(self.engine.passes))
        return stop

    def _run(self, until: Callable[[], bool] | None, interrupts: _Interrupts) -> Stop | None:
        engine = self.engine
        try:
            while True:
                ended = engine.idle()
                if ended is not None:
                    return ended
                if engine.passes >= self.limit:
                    return self._at_limit()
                if self._deadline is not None and time.monotonic() >= self._deadline:
                    return Stop("timeout", f"stopped after {self.timeout:g} s; raise timeout to go on{_UNLESS}")
                record, stop = engine.step()
                for observer in self.observers:
                    observer.on_pass(record)
                if stop is not None:
                    return stop
                if interrupts.seen or (self.on_pass is not None and self.on_pass(record) is False):
                    return Stop("interrupted", _interrupted(engine.passes))
                if until is not None and until():
                    return None
        except KeyboardInterrupt:
            if interrupts.seen:
                raise
            return Stop("interrupted", _interrupted(engine.passes))

    def _at_limit(self) -> Stop:
        if self.limit == PASSES_MAX:
            return Stop("pass_limit", f"stopped after {self.limit:,} passes: stamps hold no more")
        return Stop("pass_limit", f"stopped after {_passes(self.limit)}; raise max_passes to go on{_UNLESS}")
