"""What runs inside a sanitized process: cases, rules' examples and generated programs, one line of JSON for each.

Started by ``run.py``, which sets the environment that a sanitizer needs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hvm4viz
from hvm4viz.errors import ProgramError
from hvm4viz.rules import rule_table
from hvm4viz.settings import Machine
from tests.case_files import cases, programs
from tests.differential.disagreements import MIXES, some_machine, some_program
from tests.differential.machines import is_affordable, name_of, pairwise_machines
from tests.sanitizers.devices import PoisonedDevice, ThreadedDevice

LEVELS = ("events", "full", "off", "events")
INTERACTIONS_MAX = 200_000
"""Longer cases are left out: a sanitizer makes them ten times as long."""

LIMITS: dict[str, Any] = {"timeout": 20.0, "max_passes": 3000, "progress": False, "on_log": lambda _line: None}


@dataclass(frozen=True, slots=True)
class Item:
    """One run: what is run, on which machine, how."""

    name: str
    program: str | Path
    machine: Machine
    options: dict[str, Any]


def items(only: str, generated: int, machines_each: int, first: int = 0) -> list[Item]:
    """Return everything that there is to run, always in the same order."""
    machines = [machine for machine in pairwise_machines() if machine.threads > 1]
    found: list[Item] = []
    chosen = [case for case in (*cases(), *programs()) if case.error != "parse" and only in case.name]
    for number, case in enumerate(chosen):
        if (case.interactions or 0) > INTERACTIONS_MAX:
            continue
        affordable = [machine for machine in machines if is_affordable(case, machine)]
        each = min(machines_each, len(affordable))
        options: dict[str, Any] = {"mode": case.mode, "limit": case.limit} if case.mode == "collapse" else {}
        for turn in range(each):
            machine = affordable[(number * each + turn) % len(affordable)]
            found.append(Item(f"{case.name} on {name_of(machine)}", case.source_path, machine, options))
    examples = [(rule.name, term) for rule in rule_table() for term, _ in rule.examples if only in rule.name]
    for number, (name, term) in enumerate(examples):
        machine = machines[number % len(machines)]
        options = {"mode": "collapse"} if term.startswith("collapse ") else {}
        text = f"@main = {term.removeprefix('collapse ')}"
        found.append(Item(f"example of {name} on {name_of(machine)}", text, machine, options))
    for number in range(first, first + generated):
        mix = list(MIXES)[number % len(MIXES)]
        text = some_program(Random(f"program {number}").randrange, MIXES[mix], size_max=80)
        machine = some_machine(Random(f"machine {number}").randrange)
        options = {"mode": "collapse", "limit": 20} if number % 3 == 2 else {}
        found.append(Item(f"program {number} on {name_of(machine)}", text, machine, options))
    return found


def main() -> None:
    """Run every nth item, and tell of each when it begins and how it ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("tsan", "asan"))
    parser.add_argument("--only", default="")
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--machines", type=int, default=1)
    parser.add_argument("--until", type=float, default=inf, help="time of day at which nothing new is begun")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--plant", action="append", default=[])
    parser.add_argument("--source", help="run this text on the first machine of many threads, nothing else")
    given = parser.parse_args()
    os.environ.pop("LD_PRELOAD", None)  # it is loaded; a compiler under a sanitizer takes minutes
    device = (ThreadedDevice if given.kind == "tsan" else PoisonedDevice)(tuple(given.plant))
    if given.source is not None:
        machine = Machine(blocks=8, threads_per_block=1, region_size=64, fuel=8)
        chosen = [Item("the source", given.source, machine, {})]
    else:
        chosen = items(given.only, given.programs, given.machines, given.first)
    for number in range(given.start, len(chosen), given.step):
        item = chosen[number]
        if number > given.start and time.time() > given.until:  # however short the time, it goes on
            tell(stopped=number)
            break
        tell(number=number, name=item.name)
        device.is_on_grid = number % 4 == 3
        tell(number=number, status=run(item, device, LEVELS[number % len(LEVELS)]))


def run(item: Item, device: Any, level: str) -> str:
    """Run one item; return the status."""
    try:
        parsed = hvm4viz.parse(item.program) if isinstance(item.program, str) else hvm4viz.load(item.program)
    except ProgramError:
        return "no program"
    heap: dict[str, Any] = item.machine.settings() | {"heap": "64 MiB"}
    options: dict[str, Any] = LIMITS | item.options | {"record": level}
    return str(hvm4viz.run(parsed, machine=Machine(**heap), device=device, **options).status.value)


def tell(**facts: object) -> None:
    """Write one line at once: the next thing may be the end of the process."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
