"""The night's effort in one command: each part for its share of the time, from where it last stopped.

::

    python tests/nightly.py --minutes 360 --resume nightly.json [--only PART]...
    python tests/nightly.py --list

Each part is a process of its own, and stops at its time, or behind the input that it was at then; one that does not is
killed, and has failed. What the parts keep lies beside FILE; their numbers are totals over all runs with that file, and
stand in the table that is printed at the end. Exit code 1 if anything failed, now or in an earlier run: what was mended
is forgotten with the part's files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
EXAMPLES: Final = 200
"""Programs that each property is tried on between two looks at the clock."""

MUTANTS_NOTICED: Final = 0.9

MODULES: Final = ("parser", "trace", "escaping", "passes")
"""Modules that are mutated, one a night: to see which of its tests reach what takes longer than a short night has."""

GRACE_MIN: Final = 20.0
"""Minutes that a part may take beyond its share: for what it compiles, and the input that it is at."""


_NO_TESTS: Final = 5
"""Exit code of pytest where every test is left out."""


@dataclass
class Tally:
    """What a part did, in all runs: inputs tried, failures, minutes, where it goes on, and what there is to say.

    ``broken`` are the failures of the part itself: it could not run, or did not end as it should.
    """

    tried: int = 0
    failures: int = 0
    broken: int = 0
    minutes: float = 0.0
    next: int = 0
    note: str = ""


@dataclass(frozen=True)
class Part:
    """One part of the night.

    Attributes
    ----------
    promise : str
        Which of the promises of ``tests/README.md`` it would refute.
    does : str
    run : callable
        Given what was done so far, a file to go on from, and minutes: does more, and adds it up.
    """

    promise: str
    does: str
    run: Callable[[Tally, Path, float], None] = field(repr=False)


def call(*command: str, minutes: float, env: dict[str, str] | None = None) -> tuple[str, int]:
    """Run a command of a part; return what it printed, which is shown too if it failed, and its exit code."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=60 * (minutes + GRACE_MIN))
        except BaseException as stop:
            os.killpg(process.pid, signal.SIGKILL)  # what it started, too
            said, _ = process.communicate()
            if not isinstance(stop, subprocess.TimeoutExpired):
                raise
    if process.returncode:
        sys.stdout.write(said[-8000:])
    return said, process.returncode


def account(tally: Tally, said: str, code: int, found: int) -> None:
    """Count it as a failure if a command failed and found nothing: an error of its own ends a script with 1, too."""
    tally.note = ""
    if code and not (code == 1 and found):
        last = (said.strip().splitlines() or ["no word"])[-1][:80]
        tally.note = "did not stop at its time" if code == -signal.SIGKILL else f"ended with code {code}: {last}"
        tally.broken += 1


def script(path: str, *options: str, counts: Callable[[Any], tuple[int, int]]) -> Callable[[Tally, Path, float], None]:
    """Make a part of a script that takes ``--minutes`` and ``--resume``; ``counts`` reads its file: tried, failures."""

    def run(tally: Tally, kept: Path, minutes: float) -> None:
        options_now = (*options, "--minutes", f"{minutes:.3f}", "--resume", str(kept))
        said, code = call(str(HERE / path), *options_now, minutes=minutes)
        found = 0
        if kept.exists():
            tally.tried, found = counts(kept.read_text(encoding="utf-8"))
        account(tally, said, code if kept.exists() else code or 2, found)
        tally.failures = found + tally.broken
        if not kept.exists():
            tally.note = f"did not run: {tally.note}"

    return run


def _schedules(text: str) -> tuple[int, int]:
    totals = json.loads(text)["totals"]
    return sum(count for name, count in totals.items() if name != "wrong"), totals.get("wrong", 0)


def _programs(text: str) -> tuple[int, int]:
    totals = json.loads(text)["totals"]
    return totals.get("agree", 0) + totals.get("disagree", 0), totals.get("disagree", 0)


def _product(text: str) -> tuple[int, int]:
    state = json.loads(text)
    return sum(n for name, n in state["runs"].items() if "left out" not in name), sum(state["wrong"].values())


def _sanitized(text: str) -> tuple[int, int]:
    states = json.loads(text).values()
    return sum(sum(each["statuses"].values()) for each in states), sum(each["reports"] for each in states)


def mutate(tally: Tally, kept: Path, minutes: float) -> None:
    """Try mutants of the module whose turn it is; too many that nobody notices are a failure."""
    module = MODULES[tally.next % len(MODULES)]
    tally.next += 1
    options = ("--only", module, "--minutes", f"{minutes:.3f}", "--resume", str(kept))
    said, code = call(str(HERE / "mutation" / "run.py"), *options, minutes=minutes + GRACE_MIN)
    has_told = re.search(rf"^\s*{module}\b.*\d%", said, re.MULTILINE) is not None
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    verdicts = [verdict for _, verdict in map(json.loads, lines) if verdict != "invalid"]
    missed = sum(verdict in ("survived", "unreached") for verdict in verdicts)
    tally.tried = len(verdicts)
    account(tally, said, code, found=has_told)
    tally.failures = tally.broken + (missed if missed > (1 - MUTANTS_NOTICED) * len(verdicts) else 0)
    tally.note = tally.note or f"{missed:,} not noticed"


def fuzz(tally: Tally, _: Path, minutes: float) -> None:
    """Fuzz; the fuzzers keep their own files."""
    said, code = call(str(HERE / "fuzz" / "run.py"), "--minutes", f"{minutes:.3f}", minutes=minutes)
    rows = re.findall(r"^\w+: ([\d,]+) executions .* (\d+) findings", said, re.MULTILINE)
    found = sum(int(findings) for _, findings in rows)
    tally.tried += sum(int(executions.replace(",", "")) for executions, _ in rows)
    broken = tally.broken
    account(tally, said, code, found)
    tally.failures += found + tally.broken - broken
    if not rows:
        tally.note = "did not run: pip install -e '.[dev,fuzz]'"


def pytest(tally: Tally, *options: str, minutes: float = 0.0, env: dict[str, str] | None = None, each: int = 1) -> None:
    """Run tests once; each that passed stands for so many inputs. A test that is left out here counts for none."""
    said, code = call("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, minutes=minutes, env=env)
    found = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|errors?)\b", said.strip().split("\n")[-1])}
    wrong, broken = sum(n for what, n in found.items() if what != "passed"), tally.broken
    tally.tried += each * found.get("passed", 0) + wrong
    account(tally, said, 0 if code == _NO_TESTS else code, wrong)
    tally.failures += wrong + tally.broken - broken


def in_turn(*options: str, where: tuple[str, ...], mark: str) -> Callable[[Tally, Path, float], None]:
    """Make a part of tests in files that have a word in them, one after the other, again and again."""

    def run(tally: Tally, _: Path, minutes: float) -> None:
        end = time.monotonic() + 60 * minutes
        found = [path for name in where for path in sorted((ROOT / name).rglob("test_*.py"))]
        files = [str(path.relative_to(ROOT)) for path in found if mark in path.read_text(encoding="utf-8")]
        said, code = call("-m", "pytest", "-q", "--collect-only", *options, *files, minutes=minutes)
        tests = [line for line in said.splitlines() if re.match(r"\S+\.py::", line)]
        if not tests:
            account(tally, said, code or 2, 0)
            tally.failures += 1
            return
        begun = tally.next
        while tally.next < begun + len(tests):  # however short the time, it goes on
            pytest(tally, *options, tests[tally.next % len(tests)], minutes=max(end - time.monotonic(), 0.0) / 60)
            tally.next += 1
            if time.monotonic() >= end:
                break

    return run


def properties(tally: Tally, _: Path, minutes: float) -> None:
    """Try properties on other programs each time."""
    end = time.monotonic() + 60 * minutes
    while True:  # however short the time, it goes on
        seed, examples = f"--hypothesis-seed={tally.next}", {"HVM4VIZ_TEST_EXAMPLES": str(EXAMPLES)}
        what = "names or labels or regions or geometry or resumed"
        pytest(
            tally, seed, "-k", what, "tests/differential/test_properties.py",
            minutes=max(end - time.monotonic(), 0.0) / 60, env=examples, each=EXAMPLES,
        )  # fmt: skip
        tally.next += 1
        if time.monotonic() >= end:
            break


PARTS: Final[dict[str, Part]] = {
    "schedules": Part(
        "P1", "random programs under random schedules",
        script("schedules/random_schedules.py", "--programs", "1000000000", counts=_schedules),
    ),
    "case schedules": Part(
        "P1", "every case under random schedules",
        script("schedules/random_schedules.py", "--cases", "--seeds", "20", counts=_schedules),
    ),
    "product": Part(
        "P1, P2", "every case on every machine, verified",
        script("differential/full_product.py", "--verify", "full", counts=_product),
    ),
    "programs": Part(
        "P2", "random programs against the oracle", script("differential/random_programs.py", counts=_programs)
    ),
    "properties": Part("P1, P2", "names, labels, regions and stops that must not matter", properties),
    "sanitizers": Part("P1, P6", "races and wrong accesses", script("sanitizers/run.py", counts=_sanitized)),
    "kills": Part(
        "P3, P10", "kills and faults", in_turn("-m", "slow", where=("tests/faults", "tests/trace"), mark="kill")
    ),
    "fuzzers": Part("P7, P8", "programs, traces and heaps, guided by coverage", fuzz),
    "slow": Part("all", "the slow tests", in_turn("-m", "slow", where=("tests",), mark="mark.slow")),
    "mutation": Part("the tests", "small faults that a test must notice", mutate),
}  # fmt: skip
"""The parts, in order."""


def main(arguments: list[str] | None = None, parts: dict[str, Part] | None = None) -> int:
    """Run the parts; exit 1 if anything failed."""
    known = PARTS if parts is None else parts
    parser = argparse.ArgumentParser(description="Run the night's effort, from where it last stopped.")
    parser.add_argument("--minutes", type=float, default=360.0, help="for all parts together (default: 360)")
    parser.add_argument("--resume", type=Path, help="file that keeps the totals; what parts keep lies beside it")
    parser.add_argument("--only", action="append", choices=tuple(known), help="this part; several times for several")
    parser.add_argument("--list", action="store_true", help="show the parts, and run none")
    given = parser.parse_args(arguments)
    chosen = given.only or list(known)
    if given.list:
        for name in chosen:
            sys.stdout.write(f"{name:16}{known[name].promise:12}{known[name].does}\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        keep: Path = (given.resume or Path(folder) / "nightly.json").resolve()
        tallies = read(keep)
        end = time.monotonic() + 60 * given.minutes
        for number, name in enumerate(chosen):
            begun = time.monotonic()
            share = max(end - begun, 0.0) / 60 / (len(chosen) - number)  # what one leaves over, the next ones have
            sys.stdout.write(f"{name}: {share:.1f} minutes\n")
            sys.stdout.flush()
            tally = tallies.setdefault(name, Tally())
            try:
                known[name].run(tally, keep.with_name(f"{keep.stem}-{name.replace(' ', '-')}.json"), share)
            except Exception as error:  # noqa: BLE001  (the other parts have their night)
                tally.note = f"{type(error).__name__}: {error}"[:100]
                tally.broken, tally.failures = tally.broken + 1, tally.failures + 1
            tally.minutes += (time.monotonic() - begun) / 60
            fresh = keep.with_suffix(".part")
            fresh.write_text(json.dumps({each: vars(kept) for each, kept in tallies.items()}, indent=1), "utf-8")
            fresh.replace(keep)
    sys.stdout.write(f"\n{table({name: tallies[name] for name in chosen}, known)}\n")
    return 1 if any(tallies[name].failures for name in chosen) else 0


def read(path: Path) -> dict[str, Tally]:
    """Return the totals that a file keeps."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: Tally(**facts) for name, facts in kept.items()}


def table(tallies: dict[str, Tally], parts: dict[str, Part]) -> str:
    """Lay out what was done."""
    lines = [f"{'part':16}{'promise':12}{'inputs tried':>14}{'failures':>10}{'minutes':>9}"]
    for name, tally in tallies.items():
        row = (
            f"{name:16}{parts[name].promise:12}{tally.tried:14,}{tally.failures:10,}{tally.minutes:9.1f}  {tally.note}"
        )
        lines.append(row.rstrip())
    total = (sum(t.tried for t in tallies.values()), sum(t.failures for t in tallies.values()))
    return "\n".join([*lines, f"{'all':28}{total[0]:14,}{total[1]:10,}"])


if __name__ == "__main__":
    sys.exit(main())
