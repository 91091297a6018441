"""Run cases, rules' examples and generated programs under ThreadSanitizer, and under Address- and UBSanitizer.

::

    python tests/sanitizers/run.py [--tsan | --asan] [--programs 2000] [--machines 20] [--only NAME] [--jobs N]
                                   [--minutes N] [--resume FILE]

Prints every report with the program that it came from; exit code 1 if there is any. ThreadSanitizer sees eight host
threads that run each pass at once, with random pauses; AddressSanitizer poison around every buffer and behind the
regions in use. With ``--minutes`` the time is shared among the sanitizers; with ``--resume`` a run goes on behind the
items that the file tells of, whose numbers it adds up, and takes other programs once all are done.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import IO, Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hvm4viz.device.compiler import cache_folder

HERE: Final = Path(__file__).parent
COMPILER: Final = "g++"
FLAGS: Final = {
    "tsan": "-g -fsanitize=thread",
    "asan": "-g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all",
}
RUNTIMES: Final = {"tsan": ("libtsan.so",), "asan": ("libasan.so", "libubsan.so")}
OPTIONS: Final = {
    "TSAN_OPTIONS": "exitcode=66:halt_on_error=0:report_thread_leaks=0:history_size=4",
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=67:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
SIGNS: Final = ("WARNING: ThreadSanitizer", "ERROR: AddressSanitizer", "runtime error:")
"""What a report begins with."""


@dataclass
class Outcome:
    """What came of some runs.

    Attributes
    ----------
    statuses : Counter
        Runs by how they ended.
    reports : list of (str, str)
        What was running, and what the sanitizer said.
    stopped : int or None
        First item that there was no time for.
    """

    statuses: Counter[str] = field(default_factory=Counter[str])
    reports: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    stopped: int | None = None

    def add(self, other: Outcome) -> None:
        """Take in what came of other runs."""
        self.statuses += other.statuses
        self.reports += other.reports


def runtimes(kind: str) -> list[str]:
    """Return the files of a sanitizer's runtime.

    Raises
    ------
    FileNotFoundError
        If they, or the compiler, are not installed here.
    """
    found: list[str] = []
    for name in RUNTIMES[kind]:
        if shutil.which(COMPILER) is None:
            raise FileNotFoundError(f"{COMPILER} is not installed")
        done = subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        path = done.stdout.strip()
        if not Path(path).is_absolute() or not Path(path).exists():
            raise FileNotFoundError(f"{name} is not installed with {COMPILER}")
        found.append(path)
    return found


def environment(kind: str) -> dict[str, str]:
    """Return the environment in which Python can load a sanitized kernel."""
    folder = (cache_folder() or Path(tempfile.gettempdir())) / "sanitized"
    return {
        **os.environ,
        **OPTIONS,
        "LD_PRELOAD": " ".join(runtimes(kind)),
        "HVM4VIZ_CXX": f"{COMPILER} {FLAGS[kind]}",
        "HVM4VIZ_CACHE": str(folder),
        "PYTHONMALLOC": "malloc",
    }


def work(kind: str, *arguments: str, start: int = 0, step: int = 1) -> Outcome:
    """Run every ``step``-th item in processes of their own; one that dies is followed by one that goes on behind."""
    outcome = Outcome()
    while True:
        command = [sys.executable, str(HERE / "work.py"), kind, *arguments, "--start", str(start), "--step", str(step)]
        last = _one_process(command, environment(kind), outcome)
        if last is None:
            return outcome
        start = last + step


def _one_process(command: list[str], env: dict[str, str], outcome: Outcome) -> int | None:
    """Run one process to its end; return the item at which it died, or None."""
    with (
        tempfile.NamedTemporaryFile("a", encoding="utf-8") as sink,
        Path(sink.name).open(encoding="utf-8", errors="replace") as said,  # reading must not move where it writes
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=sink, text=True) as process,
    ):
        at, name, seen, n_reports = -1, "the start", 0, len(outcome.reports)
        assert process.stdout is not None
        for line in process.stdout:
            facts = json.loads(line)
            if "stopped" in facts:
                outcome.stopped = facts["stopped"]
                continue
            if "name" in facts:
                at, name = facts["number"], facts["name"]
                continue
            outcome.statuses[facts["status"]] += 1
            seen = _look(said, seen, name, outcome)
        code = process.wait()
        _look(said, seen, name, outcome)
        if code in (0, 66):
            return None
        if len(outcome.reports) == n_reports:
            said.seek(0)
            outcome.reports.append((name, f"ended with code {code}\n{said.read()[-4000:]}"))
        return at if at >= 0 else None


def _look(said: IO[str], seen: int, name: str, outcome: Outcome) -> int:
    """Read what was said since the last time; keep it if it is a report."""
    said.seek(seen)
    text = said.read()
    if any(sign in text for sign in SIGNS):
        outcome.reports.append((name, text))
    return said.tell()


def main() -> int:
    """Run it all; exit 1 if there was a report."""
    parser = argparse.ArgumentParser(description="Run cases and generated programs under sanitizers.")
    parser.add_argument("--tsan", action="store_true", help="ThreadSanitizer alone")
    parser.add_argument("--asan", action="store_true", help="AddressSanitizer and UndefinedBehaviorSanitizer alone")
    parser.add_argument("--programs", type=int, default=2000, help="generated programs")
    parser.add_argument("--machines", type=int, default=20, help="machines a case, of the pairwise selection")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--minutes", type=float, default=inf, help="stop after this time")
    parser.add_argument("--resume", type=Path, help="file that keeps how far it came, and the totals")
    given = parser.parse_args()
    kept: dict[str, Any] = {}
    if given.resume is not None and given.resume.exists():
        kept = json.loads(given.resume.read_text(encoding="utf-8"))
    kinds = [kind for kind in ("tsan", "asan") if getattr(given, kind)] or ["tsan", "asan"]
    arguments = ["--programs", str(given.programs), "--machines", str(given.machines), "--only", given.only]
    n_reports = 0
    for kind in kinds:
        begun, outcome = time.monotonic(), Outcome()
        state = kept.setdefault(kind, {"first": 0, "next": 0, "statuses": {}, "reports": 0})
        until = time.time() + 60 * given.minutes / len(kinds)
        more = [*arguments, "--first", str(state["first"]), "--until", str(until)]
        with ThreadPoolExecutor(given.jobs) as pool:
            starts = range(state["next"], state["next"] + given.jobs)
            parts = list(pool.map(partial(_part, kind, more, given.jobs), starts))
        for part in parts:
            outcome.add(part)
        left = [part.stopped for part in parts if part.stopped is not None]
        state["next"] = min(left, default=0)  # the slowest process says where to go on
        state["first"] += 0 if left else given.programs
        state["statuses"] = dict(Counter(state["statuses"]) + outcome.statuses)
        state["reports"] += len(outcome.reports)
        if given.resume is not None:
            given.resume.write_text(json.dumps(kept), encoding="utf-8")
        for name, text in outcome.reports:
            sys.stdout.write(f"{kind}: {name}\n{text}\n")
        told = ", ".join(f"{count:,} {status}" for status, count in outcome.statuses.most_common())
        n_reports += len(outcome.reports)
        sys.stdout.write(
            f"{kind}: {outcome.statuses.total():,} runs ({told}), {len(outcome.reports):,} with reports, "
            f"{time.monotonic() - begun:.0f} s\n"
        )
    return 1 if n_reports else 0


def _part(kind: str, arguments: list[str], jobs: int, number: int) -> Outcome:
    return work(kind, *arguments, start=number, step=jobs)


if __name__ == "__main__":
    sys.exit(main())
