"""The stop key: pressed while the command line is still being imported, and where Python would lose it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NoReturn

INTERRUPTED: Final = 130
"""Exit code of what a person stopped."""


@contextmanager
def ends_the_command() -> Generator[None]:
    """End the process at an interrupt if it is the command line; any other program gets the exception."""
    try:
        yield
    except KeyboardInterrupt:
        if _is_command():
            end()
        raise


class kept_interrupts:  # noqa: N801  (used as the function that it looks like)
    """Raise at the end an interrupt that came meanwhile and got lost, or was taken for something else.

    Python prints and forgets an exception that is raised while it calls back for an object that goes away, and C++ that
    converts its arguments makes a TypeError of any. Whoever does very much of both, as matplotlib does, loses an
    interrupt now and then.

    No generator: one that is interrupted on its way to ``yield`` is not ended before its traceback is forgotten. An
    interrupt on the way in or out is kept, too, and the handler that was there before comes back. One in a generator
    that somebody gives up may be left after one that it is a part of: then what was there before both comes back.
    """

    def __init__(self) -> None:
        self.before: Any = None
        self.is_on = self._is_pressed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT; on the way out it is only noted."""
        del number, frame
        self.note()
        if self.is_on:
            raise KeyboardInterrupt

    def note(self) -> None:
        """Keep in mind that there was one, here and in whatever this is a part of."""
        self._is_pressed = True
        if isinstance(self.before, kept_interrupts):
            self.before.note()

    def __enter__(self) -> None:
        """Take over, if nobody but Python, or another of these, handles interrupts."""
        if threading.current_thread() is not threading.main_thread():
            return
        before = _in_use(signal.getsignal(signal.SIGINT))
        if before is not signal.default_int_handler and not isinstance(before, kept_interrupts):
            return
        self.before = before
        try:
            self.is_on = True
            signal.signal(signal.SIGINT, self)
        except BaseException:
            self._leave()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Give back; raise what came meanwhile, unless it is on its way."""
        self._leave()
        if self._is_pressed and (error is None or isinstance(error, Exception)):
            raise KeyboardInterrupt from error

    def _leave(self) -> None:
        self.is_on = False
        if self.before is not None and signal.getsignal(signal.SIGINT) is self:
            signal.signal(signal.SIGINT, _in_use(self.before))


def _in_use(handler: Any) -> Any:
    """Return a handler, or the nearest one before it that nobody has left."""
    while isinstance(handler, kept_interrupts) and not handler.is_on:
        handler = handler.before
    return handler


def end() -> NoReturn:
    """Say that the command was interrupted; end the process."""
    with suppress(AttributeError, OSError):  # standard error may be closed
        sys.stderr.write("hvm4viz: interrupted\n")
    sys.exit(INTERRUPTED)


def _is_command() -> bool:
    if sys.argv[:1] == ["-m"]:  # python -m imports the package before it knows the file
        return "hvm4viz" in sys.orig_argv
    return bool(sys.argv) and sys.argv[0].rpartition(os.sep)[2].removesuffix(".exe") == "hvm4viz"
