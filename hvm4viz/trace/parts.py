"""Names of files while they are written, and what killed processes left under such names."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

NAME_BYTES_MAX: Final = 150
"""Bytes of a name that its part begins with; of a longer one it has the digest, as names end at 255 bytes."""

_HERE: Final = re.sub(r"[^A-Za-z0-9]", "-", platform.node())[:32] or "here"
_NUMBER: Final = itertools.count()
_MINE: Final[set[str]] = set()


@contextmanager
def part_of(path: Path) -> Generator[Path]:
    """Lend a name beside a file, hidden and not in use by any other thread, process or machine; remove what is there.

    What processes of this machine left of the same file when they were killed is removed, too.
    """
    name = path.name
    if len(os.fsencode(name)) > NAME_BYTES_MAX:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    part = path.with_name(f".{name}.{_HERE}.{os.getpid()}-{next(_NUMBER)}.part")
    _MINE.add(part.name)
    try:
        _clear(path.parent, re.compile(rf"\.{re.escape(name)}\.{re.escape(_HERE)}\.([0-9]+)-[0-9]+\.part"))
        remove(part)
        yield part
    finally:
        remove(part)
        _MINE.discard(part.name)


def _clear(folder: Path, pattern: re.Pattern[str]) -> None:
    with suppress(OSError):  # what is the matter with the folder is told when the file is written
        for each in folder.iterdir():
            found = pattern.fullmatch(each.name)
            if found and not _is_written(each.name, int(found[1])):
                remove(each)


def _is_written(name: str, process: int) -> bool:
    """Tell whether somebody may still be writing a part: a process that is alive, or that nobody can ask about."""
    if process == os.getpid():
        return name in _MINE
    if os.name == "nt":
        return True  # there, signal 0 is no question
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def remove(part: Path) -> None:
    """Remove a file or folder, if it is there and can be."""
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
        return
    with suppress(OSError):
        part.unlink()
