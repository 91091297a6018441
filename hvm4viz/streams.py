"""Standard output and standard error of the command line: what goes where, and what a terminal may see."""

from __future__ import annotations

import os
import sys

from hvm4viz.widgets.escape import terminal_text


def put(line: str) -> None:
    """Write one line to standard output: as it is, but with control characters made visible on a terminal."""
    sys.stdout.write((terminal_text(line) if sys.stdout.isatty() else line) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Write a note to standard error."""
    sys.stdout.flush()
    sys.stderr.write(f"{terminal_text(text)}\n")


def complain(text: str) -> None:
    """Write what went wrong to standard error."""
    note(f"hvm4viz: {text}")


def drop_output() -> None:
    """Go on without a standard output whose reader has gone."""
    hole = os.open(os.devnull, os.O_WRONLY)
    os.dup2(hole, sys.stdout.fileno())
    os.close(hole)
