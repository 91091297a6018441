"""Run random programs, and every case and program, under random schedules, and compare.

Under a protocol with a deterministic trace a random program must give one digest: on the cpu with one worker and with
two, and under every seed of the sim device. Cases must give what is expected of them under every protocol. A schedule
of a random program is run twice, to expose what is not in the seed::

    python tests/schedules/random_schedules.py --programs 1000 --seeds 20
    python tests/schedules/random_schedules.py --cases --seeds 200
    python tests/schedules/random_schedules.py --programs 1000000 --minutes 60 --resume nightly.json

Program number n is the same wherever it is made; with ``--resume`` the search goes on from where the file says that it
last stopped, and the file keeps the totals.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hvm4viz as hv
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.device.sim import Seeded, SimDevice
from hvm4viz.settings import Machine
from tests.case_files import Case, Mode, cases, programs
from tests.differential.answers import answer, faults
from tests.differential.disagreements import MIXES, some_machine, some_program
from tests.differential.machines import is_affordable, protocols
from tests.schedules.explore import is_deterministic

REPORT_EVERY = 100
FUEL = 1000
"""Fuel in place of "auto": a program that never ends is to end its passes."""

MODES: tuple[Mode, ...] = ("snf", "collapse")

PASSES_MAX = 100
CASE_INTERACTIONS_MAX = 300_000
"""Cases with more are run under a tenth of the seeds."""

DETERMINISTIC = tuple(row for row in protocols() if is_deterministic(Machine(**row)))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What must be the same again."""

    status: str
    lines: tuple[str, ...]
    interactions: int
    passes: int
    heap: str
    digest: str


@cache
def sim() -> SimDevice:
    """One device for all: its schedule is changed."""
    return SimDevice(Seeded(0))


@cache
def cpu(workers: int) -> CpuDevice:
    """One cpu device for each number of workers."""
    return CpuDevice(workers)


def main() -> int:
    """Run the search; exit 1 if anything differed."""
    options = read_options()
    faulthandler.enable()
    state: dict[str, Any] = {"next": options.first, "totals": {}, "failed": []}
    if options.resume is not None and options.resume.exists():
        state = json.loads(options.resume.read_text(encoding="utf-8"))
    totals: Counter[str] = Counter(state["totals"])
    deadline = time.monotonic() + 60 * options.minutes
    first = state["next"]
    chosen = [case for case in (*cases(), *programs()) if options.only in case.name] if options.cases else []
    last = first + (len(chosen) if options.cases else options.programs)
    for number in range(first, last):
        if time.monotonic() > deadline:
            break
        if options.cases:
            said = examine_case(chosen[number % len(chosen)], options.seeds, totals)
        else:
            said = examine_program(number, options.seeds, totals, size=options.size)
        state["next"] = number + 1
        for line in said:
            state["failed"].append(number)
            say(line)
        if (number + 1 - first) % REPORT_EVERY == 0:
            say(f"{number + 1 - first:,} done: {summary(totals)}")
    say(f"{'cases' if options.cases else 'programs'} {first:,} to {state['next'] - 1:,}: {summary(totals)}")
    if options.resume is not None:
        options.resume.write_text(json.dumps(state | {"totals": dict(totals)}), encoding="utf-8")
    return 1 if totals["wrong"] else 0


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare runs under random schedules.")
    parser.add_argument("--programs", type=int, default=1000, help="random programs")
    parser.add_argument("--cases", action="store_true", help="cases and programs in place of random programs")
    parser.add_argument("--only", default="", help="cases and programs whose name contains this")
    parser.add_argument("--seeds", type=int, default=20, help="schedules of each")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--size", type=int, default=80, help="most nodes of a program, about")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--resume", type=Path, help="file that keeps the next number and the totals")
    return parser.parse_args()


def examine_program(number: int, seeds: int, totals: Counter[str], *, size: int) -> list[str]:
    """Compare one random program on the cpu and under seeds; describe what differs."""
    mix = list(MIXES)[number % len(MIXES)]
    source = some_program(Random(f"program {number}").randrange, MIXES[mix], size_max=size)
    chosen = Random(f"machine {number}").randrange
    machine = replace(some_machine(chosen), **DETERMINISTIC[chosen(len(DETERMINISTIC))])
    if machine.fuel == "auto":
        machine = replace(machine, fuel=FUEL)
    mode = MODES[number // len(MIXES) % len(MODES)]
    said: list[str] = []
    first = fingerprint(source, machine, mode, cpu(1))
    for name, other in (
        ("two workers of the cpu", fingerprint(source, machine, mode, cpu(2))),
        *((f"seed {seed}", under(seed, source, machine, mode)) for seed in range(seeds)),
    ):
        totals["schedules"] += 1
        if other != first:
            totals["wrong"] += 1
            said.append(f"program {number} ({mix}, {mode}): {name}: {difference(first, other)} on {machine}\n{source}")
            break
    totals[first.status] += 1
    return said


def under(seed: int, source: str, machine: Machine, mode: Mode) -> Fingerprint | str:
    """Run a program under a seed, twice."""
    sim().schedule = Seeded(seed)
    one, again = (fingerprint(source, machine, mode, sim()) for _ in range(2))
    return one if one == again else f"the same seed again: {difference(one, again)}"


def fingerprint(source: str, machine: Machine, mode: Mode, device: Any) -> Fingerprint:
    """Run a program and keep what must be the same again."""
    run = hv.run(
        source,
        mode=mode,
        machine=machine,
        device=device,
        max_passes=PASSES_MAX,
        progress=False,
        on_log=no_line,
        record="events",
    )
    return Fingerprint(
        status=str(run.status),
        lines=tuple(run.lines),
        interactions=run.stats.interactions,
        passes=run.stats.passes,
        heap=run.heap.digest(),
        digest=run.trace.digest(),
    )


def no_line(line: str) -> None:
    """Drop a line of the log."""
    del line


def difference(one: Fingerprint, other: Fingerprint | str) -> str:
    """Name the first thing that differs."""
    if isinstance(other, str):
        return other
    fields = ("status", "lines", "interactions", "passes", "digest", "heap")
    name = next((field for field in fields if getattr(one, field) != getattr(other, field)), "nothing")
    return f"{name} {str(getattr(other, name, ''))[:200]}, not {str(getattr(one, name, ''))[:200]}"


def examine_case(case: Case, seeds: int, totals: Counter[str]) -> list[str]:
    """Run a case under seeds, under every protocol in turn; describe what is not as expected."""
    count = seeds if (case.interactions or 0) <= CASE_INTERACTIONS_MAX else -(-seeds // 10)
    said: list[str] = []
    for seed in range(count):
        chosen = Random(f"{case.name} {seed}").randrange
        machine = replace(some_machine(chosen), **protocols()[seed % len(protocols())])
        if not is_affordable(case, machine):
            machine = replace(machine, fuel="auto")
        sim().schedule = Seeded(seed)
        totals["schedules"] += 1
        options = {"mode": case.mode, "limit": case.limit, "device": sim(), "timeout": 600.0}
        found = faults(case, machine, answer(case.source_path, machine, **options))
        totals["wrong" if found else "right"] += 1
        said += [f"{case.name}: seed {seed}: {fault} on {machine}" for fault in found]
    return said


def summary(totals: Counter[str]) -> str:
    """The totals in words."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(totals.items()))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
