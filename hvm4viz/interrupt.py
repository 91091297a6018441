"""The stop key, pressed while the command line is still being imported: it ends the process without a traceback."""

from __future__ import annotations

import os
import sys
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


def end() -> NoReturn:
    """Say that the command was interrupted; end the process."""
    with suppress(AttributeError, OSError):  # standard error may be closed
        sys.stderr.write("hvm4viz: interrupted\n")
    sys.exit(INTERRUPTED)


def _is_command() -> bool:
    if sys.argv[:1] == ["-m"]:  # python -m imports the package before it knows the file
        return "hvm4viz" in sys.orig_argv
    return bool(sys.argv) and sys.argv[0].rpartition(os.sep)[2].removesuffix(".exe") == "hvm4viz"
