"""Save over and over while being killed: ``python -m tests.faults.killed_saves SAVER FOLDER KILLS SEED``.

All that is slow is loaded and made once, then each process that is to be killed is a fork of this one. Prints a line of
JSON for each kill.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Final

from tests.faults.saves import SAVERS, content

SECONDS: Final = 0.03
"""Longest that a process lives on after it has said that it begins."""


def save_for_ever(name: str, path: Path) -> None:
    """Save one content after the other, of what is loaded already."""
    saver, version = SAVERS[name], 0
    while True:
        saver.save(version, path, True)  # noqa: FBT003
        version = 1 - version


def killed(name: str, path: Path, seconds: float) -> None:
    """Kill a process that saves, so long after it began."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writer, b"!")
            save_for_ever(name, path)
        finally:
            os._exit(1)
    os.close(writer)
    assert os.read(reader, 1) == b"!"
    os.close(reader)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status), "it ended by itself"


def main(name: str, folder: Path, kills: int, seed: int) -> None:
    """Kill so many; tell of each what was in the file behind it, and how many parts were."""
    saver, rng = SAVERS[name], random.Random(seed)
    states = []
    for version in (0, 1, 0, 1):  # the first time of anything is slow
        path = folder / saver.place
        path.parent.mkdir(parents=True, exist_ok=True)
        saver.save(version, path, True)  # noqa: FBT003
        states.append(content(path))
    assert states[:2] == states[2:]
    assert states[0] != states[1]
    for _ in range(kills):
        killed(name, path, rng.uniform(0, SECONDS))
        found = content(path)
        parts = len(list(path.parent.glob(".*.part")))
        sys.stdout.write(json.dumps({"is_whole": found in states, "parts": parts}) + "\n")
    saver.save(0, path, True)  # noqa: FBT003
    left = sorted(each.name for each in path.parent.glob(".*.part"))
    sys.stdout.write(json.dumps({"is_whole": content(path) == states[0], "parts": len(left)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
