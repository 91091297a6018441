"""Fuzz the parser, the printer, the trace loader and the kernel, guided by coverage.

::

    python tests/fuzz/run.py [--only NAME]... [--minutes N]

Needs ``pip install -e ".[dev,fuzz]"``, and clang for the kernel. The time is shared among the fuzzers. Each goes on
from where it last stopped (``.fuzz/``); what it found worth keeping is boiled down into ``tests/fuzz/corpus/NAME``,
which pytest runs. A finding goes there too, under a name that says what was raised and where, and the exit code is 1:
mend it, and keep the file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz import heaps, targets

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
WORK: Final = ROOT / ".fuzz"
CORPUS: Final = HERE / "corpus"
NAMES: Final = tuple(targets.TARGETS)
ATTEMPTS: Final = 20
"""Times that a fuzzer is started again after an input that ended its process."""

_UNITS: Final = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_UNIT: Final = re.compile(r"(?s:.*)^#(\d+)\s", re.MULTILINE)
_REPORT: Final = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)|runtime error:")
_FRAME: Final = re.compile(r"#\d+ \S+ in (\w+)\(")


@dataclass
class Effort:
    """What a fuzzer did: in this run, and in all runs so far."""

    executions: int = 0
    cpu_s: float = 0.0

    def add(self, other: Effort) -> None:
        """Add another run."""
        self.executions += other.executions
        self.cpu_s += other.cpu_s


def seeds(name: str) -> list[Path]:
    """Return the files that a fuzzer starts from."""
    kept = sorted((CORPUS / name).iterdir()) if (CORPUS / name).is_dir() else []
    if name == "trace":
        return kept + sorted((ROOT / "tests" / "golden").glob("*.hvt"))
    if name == "heaps":
        return kept
    return kept + sorted((ROOT / "tests" / "cases").glob("*.hvm4")) + sorted(ROOT.glob("notebooks/programs/*.hvm4"))


def environment(name: str) -> dict[str, str]:
    """Return the environment that a fuzzer wants."""
    return heaps.environment() if name == "heaps" else dict(os.environ)


def fuzz(name: str, seconds: int, found: Path) -> Effort:
    """Fuzz one target for some seconds; findings are files in ``found``."""
    work, start = WORK / name, WORK / f"{name}-seeds"
    work.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(start, ignore_errors=True)
    start.mkdir()
    for path in seeds(name):
        shutil.copy(path, start / path.name)
    effort, begun = Effort(), time.monotonic()
    for attempt in range(ATTEMPTS):
        left = seconds - int(time.monotonic() - begun)
        if left <= 0:
            break
        flags = (f"-max_total_time={left}", f"-max_len={targets.INPUT_BYTES}", "-timeout=30", "-rss_limit_mb=2048")
        command = [sys.executable, str(HERE / "worker.py"), name, "--found", str(found), str(work), str(start), *flags]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, f"-artifact_prefix={found}/{attempt}-", "-print_final_stats=1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
            env=environment(name), cwd=WORK,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        units = _UNITS.search(done.stderr) or _UNIT.search(done.stderr)
        effort.add(Effort(int(units[1]) if units else 0, cpu_s))
        if done.returncode and units is None:
            sys.stderr.write(done.stderr[-4000:])
            raise RuntimeError(f"the fuzzer of {name} did not start")
    return effort


def keep_findings(name: str, found: Path) -> list[str]:
    """Put what still goes wrong without a fuzzer around it into the corpus; return the names."""
    names: set[str] = set()
    for path in sorted(found.iterdir()):
        kind = what_is_wrong(name, path)
        if kind:
            names.add(kind)
            (CORPUS / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, CORPUS / name / kind)
    return sorted(names)


def what_is_wrong(name: str, path: Path) -> str:
    """Run one input in a process of its own; return the name of what goes wrong, or nothing."""
    command = [sys.executable, str(HERE / "once.py"), name, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace", env=environment(name))
    if not done.returncode:
        return ""
    report = _REPORT.search(done.stderr)
    if report is None:
        lines = done.stdout.split("\n")[1:]
        return lines[0] or f"exit-{done.returncode}"
    where = _FRAME.search(done.stderr, report.end())
    return "-".join(filter(None, (report[1] or "undefined", where and where[1])))


def total(name: str, effort: Effort) -> Effort:
    """Add to what all runs so far did, and return that."""
    book = WORK / "totals.json"
    known = json.loads(book.read_text(encoding="utf-8")) if book.exists() else {}
    whole = Effort(**known.get(name, {}))
    whole.add(effort)
    known[name] = {"executions": whole.executions, "cpu_s": round(whole.cpu_s, 1)}
    book.write_text(json.dumps(known, indent=1), encoding="utf-8")
    return whole


def main() -> int:
    """Fuzz what was asked for; exit 1 if anything was found."""
    parser = argparse.ArgumentParser(description="Fuzz, guided by coverage.")
    parser.add_argument("--only", action="append", choices=NAMES, help="this one alone; may be given several times")
    parser.add_argument("--minutes", type=float, default=60.0, help="for all of them together (default: 60)")
    given = parser.parse_args()
    chosen = given.only or NAMES
    bad = 0
    for name in chosen:
        found = WORK / f"{name}-found"
        shutil.rmtree(found, ignore_errors=True)
        found.mkdir(parents=True)
        effort = fuzz(name, max(1, int(60 * given.minutes / len(chosen))), found)
        whole = total(name, effort)
        names = keep_findings(name, found)
        boil = [sys.executable, str(HERE / "boiling.py"), name, str(WORK / name), str(CORPUS / name)]
        subprocess.run(boil, check=True)
        bad += len(names)
        sys.stdout.write(
            f"{name}: {effort.executions:,} executions in {effort.cpu_s / 60:.1f} CPU minutes "
            f"(in all {whole.executions:,} in {whole.cpu_s / 60:.1f}), {len(names)} findings {' '.join(names)}\n"
        )
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
