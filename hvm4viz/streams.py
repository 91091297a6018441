"""Standard output and standard error of the command line: what goes where, and what a terminal may see.

Each of them may be closed, full, or without a reader. An answer that cannot be written is an error; a note is not.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import IO

from hvm4viz.widgets.escape import terminal_text


def reserve() -> None:
    """Keep the numbers of closed standard streams from the files that are opened next; notes may go nowhere."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (for as long as the process lives)


def put(line: str) -> None:
    """Write one line to standard output: as it is, but with control characters made visible on a terminal.

    Raises
    ------
    OSError
        If there is no standard output, or it cannot be written.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, "closed: the answer cannot be written", "standard output")
    _send((terminal_text(line) if sys.stdout.isatty() else line) + "\n")


def flush_output() -> None:
    """Write out what others left in standard output.

    Raises
    ------
    OSError
        If that fails.
    """
    if sys.stdout is not None:
        _send("")


def _send(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _drop(sys.stdout)  # lest the interpreter fails on it once more when it ends
        raise OSError(error.errno, error.strerror, "standard output") from None


def note(text: str) -> None:
    """Write a note to standard error, if that can be written."""
    try:
        sys.stderr.write(f"{terminal_text(text)}\n")
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def complain(text: str) -> None:
    """Write what went wrong to standard error."""
    note(f"hvm4viz: {text}")


def flush_notes() -> None:
    """Write out what others left in standard error, or drop it."""
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: IO[str]) -> None:
    """Go on without a stream that cannot be written."""
    hole = os.open(os.devnull, os.O_WRONLY)
    os.dup2(hole, stream.fileno())
    os.close(hole)
