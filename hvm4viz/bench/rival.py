"""Another implementation on the same programs: a binary that is called as HVM4's C runtime is.

``BINARY program.hvm4 -s``, with ``-C`` or ``-CLIMIT`` for a collapse, prints the results, one a line, and then lines of
statistics that begin with ``- ``: ``- Itrs: N interactions``, ``- Time: SEC seconds`` and, if it tells,
``- Heap: N words``.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from hvm4viz.bench.suite_programs import SuiteProgram

_DIM: Final = re.compile(r"\s*\x1b\[[0-9;]*m.*?\x1b\[0m\s*$")
"""What a collapse of HVM4 writes behind a result: how many interactions it took."""

_TOLD: Final = re.compile(r"^- (Itrs|Time|Heap): ([\d_,.]+) ?(interactions|seconds|words)\b")
_UNITS: Final = {"Itrs": "interactions", "Time": "seconds", "Heap": "words"}

_WATCH: Final = """
import os, sys
child = os.fork()
if child == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    os.execv(sys.argv[1], sys.argv[1:])
print(os.wait4(child, 0)[2].ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""
"""Runs in a small process of its own: a process starts with the peak of the one it was made from."""


class RivalFailed(Exception):
    """The rival did not give the answer: what it did instead."""


@dataclass(frozen=True, slots=True)
class RivalRun:
    """One run of the rival.

    Attributes
    ----------
    wall_s : float
        Of the whole process.
    told_s : float or None
        Of the evaluation, by its own word; None if that is less than it can tell.
    interactions, words : int or None
        By its own word: how many, and how many words of its heap it used.
    """

    wall_s: float
    told_s: float | None
    interactions: int | None
    words: int | None

    @property
    def seconds(self) -> float:
        """What counts: its own word, else the time of the whole process."""
        return self.wall_s if self.told_s is None else self.told_s


def find_rival(path: str | Path) -> Path:
    """Return the absolute path of a binary.

    Raises
    ------
    OSError
        If there is none, or it cannot be executed.
    """
    given = str(Path(path).expanduser())
    file = Path(given if os.path.dirname(given) else shutil.which(given) or given)  # noqa: PTH120  (a bare name?)
    if file.is_dir():
        raise IsADirectoryError(21, "is a folder; --vs takes the binary to compare with", str(path))
    if not file.exists():
        raise FileNotFoundError(2, "no such file; --vs takes the binary to compare with", str(path))
    if not os.access(file, os.X_OK):
        raise PermissionError(13, "cannot be executed; --vs takes the binary to compare with", str(path))
    return file.resolve()


def command_of(rival: Path, file: Path, mode: Literal["snf", "collapse"], limit: int | None) -> list[str]:
    """Return the command that runs a program."""
    how = [] if mode == "snf" else ["-C" if limit is None else f"-C{limit}"]
    return [str(rival), str(file), "-s", *how]


def run_rival(rival: Path, program: SuiteProgram, file: Path, *, timeout: float) -> RivalRun:
    """Run the rival on a program that lies in a file, and check what it answers.

    Raises
    ------
    RivalFailed
        If it cannot be started, crashes, takes too long, or gives another answer.
    """
    command = command_of(rival, file, program.mode, program.limit)
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise RivalFailed(f"took more than {timeout:g} s; raise --timeout") from None
    except OSError as error:
        raise RivalFailed(f"cannot be started: {error.strerror or error}") from None
    wall_s = time.perf_counter() - begun
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    if done.returncode:
        raise RivalFailed(_end(done.returncode, done.stderr.decode("utf-8", "replace")))
    answer = tuple(_DIM.sub("", line) for line in lines if not line.startswith("- "))
    if answer != program.expected:
        raise RivalFailed(f"answers {_few(answer)}, not {_few(program.expected)}")
    told = _told(lines)
    return RivalRun(wall_s, told.get("Time") or None, _whole(told.get("Itrs")), _whole(told.get("Heap")))


def rival_peak(rival: Path, program: SuiteProgram, file: Path, *, timeout: float) -> int | None:
    """Return the most bytes of memory that the rival's process had; None if the system does not say."""
    if not hasattr(os, "wait4"):
        return None
    command = [sys.executable, "-I", "-S", "-c", _WATCH, *command_of(rival, file, program.mode, program.limit)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True
    ) as watch:
        try:
            out = watch.communicate(timeout=timeout)[0]
        except BaseException as stop:
            os.killpg(watch.pid, signal.SIGKILL)  # the rival, too
            if isinstance(stop, subprocess.TimeoutExpired):
                return None
            raise
    return int(out) if out.strip().isdigit() else None


def _told(lines: list[str]) -> dict[str, float]:
    found = (_TOLD.match(line) for line in lines)
    return {
        each[1]: float(re.sub("[_,]", "", each[2])) for each in found if each is not None and _UNITS[each[1]] == each[3]
    }


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _end(code: int, stderr: str) -> str:
    words = " ".join(stderr.split())[:200]
    how = f"died of signal {-code}" if code < 0 else f"ended with code {code}"
    return f"{how}: {words}" if words else how


def _few(lines: tuple[str, ...]) -> str:
    shown = " | ".join(lines)
    return repr(shown if len(shown) <= 200 else f"{shown[:199]}…") if lines else "nothing"
