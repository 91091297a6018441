"""Save while one operation on files fails after the other: ``python -m tests.faults.failing SAVER FOLDER``.

Prints a line of JSON for each try. ``failing.cpp`` must stand before the system's library (``LD_PRELOAD``): to it, all
are the same, whether Python, Arrow or Pillow asks for the operation.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from hvm4viz.errors import Hvm4vizError
from tests.faults.saves import SAVERS, content

KINDS: Final = ("full", "broken", "short", "part", "interrupt")
TRIES_MAX: Final = 400


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def once(name: str, folder: Path, number: int, kind: str, *, is_old: bool) -> dict[str, object]:
    """Save while an operation fails; return what came of it."""
    saver, library = SAVERS[name], ctypes.CDLL(None)
    library.fail_no_more.restype = ctypes.c_char_p
    shutil.rmtree(folder, ignore_errors=True)
    path = folder / saver.place
    path.parent.mkdir(parents=True)
    if is_old:
        saver.save(0, path, True)  # noqa: FBT003
    error, is_ours, left, files = "", True, ctypes.c_long(), open_files()
    library.fail_at(os.fsencode(folder), ctypes.c_long(number), KINDS.index(kind))
    try:
        saver.save(1, path, is_old)
        failed = library.fail_no_more(ctypes.byref(left))
    except BaseException as caught:  # noqa: BLE001  (an interrupt is one of the kinds)
        failed = library.fail_no_more(ctypes.byref(left))
        error = f"{type(caught).__name__}: {caught}"
        is_ours = isinstance(caught, Hvm4vizError) or (kind == "interrupt" and isinstance(caught, KeyboardInterrupt))
    return {
        "number": number,
        "kind": kind,
        "is_old": is_old,
        "failed": failed.decode(),
        "is_done": left.value > 0,
        "error": error,
        "is_ours": is_ours,
        "names": str(path) in error,
        "leaked": open_files() - files,
        "left": sorted(
            each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.name.endswith(".part")
        ),
        "content": STATES.index(content(path)) if content(path) in STATES else -1,
    }


STATES: list[bytes | dict[str, bytes] | None] = [None]


def main(name: str, folder: Path) -> None:
    """Fail every operation in every way, with an old file there and without one."""
    saver = SAVERS[name]
    for version in (0, 1):
        path = folder / f"whole {version}" / saver.place
        path.parent.mkdir(parents=True)
        saver.save(version, path, False)  # noqa: FBT003
        STATES.append(content(path))
    assert STATES[1] != STATES[2]
    olds = (True, False) if name != "notebooks" else (False,)
    for is_old, kind in ((is_old, kind) for is_old in olds for kind in KINDS):
        for number in range(1, TRIES_MAX):
            told = once(name, folder / "tried", number, kind, is_old=is_old)
            sys.stdout.write(json.dumps(told) + "\n")
            if told["is_done"]:
                break


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
