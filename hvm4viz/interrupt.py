"""The stop key: pressed while the command line is still being imported, and where Python would lose it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

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


@contextmanager
def kept_interrupts() -> Generator[None]:
    """Raise at the end an interrupt that came meanwhile and got lost, or was taken for something else.

    Python prints and forgets an exception that is raised while it calls back for an object that goes away, and C++ that
    converts its arguments makes a TypeError of any. Whoever does very much of both, as matplotlib does, loses an
    interrupt now and then.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    pressed = False

    def press(*_: object) -> NoReturn:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, press)
    try:
        yield
    except Exception as taken_for:
        if pressed:
            raise KeyboardInterrupt from taken_for
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed:
        raise KeyboardInterrupt


def end() -> NoReturn:
    """Say that the command was interrupted; end the process."""
    with suppress(AttributeError, OSError):  # standard error may be closed
        sys.stderr.write("hvm4viz: interrupted\n")
    sys.exit(INTERRUPTED)


def _is_command() -> bool:
    if sys.argv[:1] == ["-m"]:  # python -m imports the package before it knows the file
        return "hvm4viz" in sys.orig_argv
    return bool(sys.argv) and sys.argv[0].rpartition(os.sep)[2].removesuffix(".exe") == "hvm4viz"
