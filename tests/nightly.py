"""The night's effort in one command: each part for its share of the time, from where it last stopped.

::

    python tests/nightly.py --minutes 360 --resume nightly.json [--only PART]...
    python tests/nightly.py --list

Each part is a process of its own. What the parts keep lies beside FILE; their numbers are totals over all runs with
that file, and stand in the table that is printed at the end. Exit code 1 if anything failed, now or in an earlier run:
what was mended is forgotten with the part's files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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


@dataclass
class Tally:
    """What a part did, in all runs: inputs tried, failures, minutes, where it goes on, and what there is to say."""

    tried: int = 0
    failures: int = 0
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


def call(tally: Tally, *command: str, env: dict[str, str] | None = None) -> str:
    """Run a command of a part; return what it printed, which is shown too if it failed."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    tally.note = "" if done.returncode in (0, 1) else f"ended with code {done.returncode}"
    if done.returncode:
        sys.stdout.write(done.stdout[-8000:])
    return done.stdout


def script(path: str, *options: str, counts: Callable[[Any], tuple[int, int]]) -> Callable[[Tally, Path, float], None]:
    """Make a part of a script that takes ``--minutes`` and ``--resume``; ``counts`` reads its file: tried, failures."""

    def run(tally: Tally, kept: Path, minutes: float) -> None:
        said = call(tally, str(HERE / path), *options, "--minutes", f"{minutes:.3f}", "--resume", str(kept))
        if not kept.exists():
            tally.note = f"did not run: {(said.strip().splitlines() or ['no word'])[-1][:80]}"
            tally.failures = max(tally.failures, 1)
            return
        text = kept.read_text(encoding="utf-8")
        tally.tried, tally.failures = counts(text)
        if tally.note:
            tally.failures += 1

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
    """Try mutants; too many that nobody notices are a failure."""
    call(tally, str(HERE / "mutation" / "run.py"), "--minutes", f"{minutes / 4:.3f}", "--resume", str(kept))
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    verdicts = [verdict for _, verdict in map(json.loads, lines) if verdict != "invalid"]
    missed = sum(verdict in ("survived", "unreached") for verdict in verdicts)
    tally.tried = len(verdicts)
    tally.failures = missed if missed > (1 - MUTANTS_NOTICED) * len(verdicts) else 0
    tally.note = tally.note or f"{missed:,} not noticed"


def fuzz(tally: Tally, _: Path, minutes: float) -> None:
    """Fuzz; the fuzzers keep their own files."""
    said = call(tally, str(HERE / "fuzz" / "run.py"), "--minutes", f"{minutes:.3f}")
    rows = re.findall(r"^\w+: ([\d,]+) executions .* (\d+) findings", said, re.MULTILINE)
    tally.tried += sum(int(executions.replace(",", "")) for executions, _ in rows)
    tally.failures += sum(int(findings) for _, findings in rows)
    if not rows:
        tally.note, tally.failures = "did not run: pip install -e '.[dev,fuzz]'", tally.failures + 1


def pytest(tally: Tally, *options: str, env: dict[str, str] | None = None, each: int = 1) -> None:
    """Run tests once; each that passed stands for so many inputs."""
    said = call(tally, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, env=env)
    found = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|errors?)\b", said.strip().split("\n")[-1])}
    broken = sum(n for what, n in found.items() if what != "passed")
    tally.tried += each * found.get("passed", 0) + broken
    tally.failures += broken or bool(tally.note and "code 5" not in tally.note)
    tally.note = "" if "code 5" in tally.note else tally.note


def in_turn(*options: str, where: tuple[str, ...], mark: str) -> Callable[[Tally, Path, float], None]:
    """Make a part of test files, one after the other, again and again."""

    def run(tally: Tally, _: Path, minutes: float) -> None:
        found = [path for name in where for path in sorted((ROOT / name).rglob("test_*.py"))]
        files = [path for path in found if mark in path.read_text(encoding="utf-8")]
        end, begun = time.monotonic() + 60 * minutes, tally.next
        while time.monotonic() < end and tally.next < begun + len(files):
            pytest(tally, *options, str(files[tally.next % len(files)]))
            tally.next += 1

    return run


def properties(tally: Tally, _: Path, minutes: float) -> None:
    """Try properties on other programs each time."""
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        seed, examples = f"--hypothesis-seed={tally.next}", {"HVM4VIZ_TEST_EXAMPLES": str(EXAMPLES)}
        what = "names or labels or regions or geometry or resumed"
        pytest(tally, seed, "-k", what, "tests/differential/test_properties.py", env=examples, each=EXAMPLES)
        tally.next += 1


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
            known[name].run(tally, keep.with_name(f"{keep.stem}-{name.replace(' ', '-')}.json"), share)
            tally.minutes += (time.monotonic() - begun) / 60
            keep.write_text(
                json.dumps({each: vars(kept) for each, kept in tallies.items()}, indent=1), encoding="utf-8"
            )
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
