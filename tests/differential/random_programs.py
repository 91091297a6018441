"""Compare kernel and oracle on random programs and machines, and print the smallest program for each disagreement.

::

    python tests/differential/random_programs.py --count 20000 --seed 0
    python tests/differential/random_programs.py --minutes 60 --resume nightly.json

Program number n is the same wherever it is made. With ``--resume`` the search goes on from where the file says that it
last stopped, and the file keeps the totals.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hvm4viz.settings import Machine
from tests.differential.disagreements import MIXES, Trial, disagreement, some_machine, some_program
from tests.differential.shrinking import Choices, recorded, replayed, shrunk

REPORT_EVERY = 1000


def main() -> int:
    """Run the search; exit 1 if anything disagreed."""
    options = read_options()
    faulthandler.enable()
    state: dict[str, Any] = {"seed": options.seed, "totals": {}, "failed": []}
    if options.resume is not None and options.resume.exists():
        state = json.loads(options.resume.read_text(encoding="utf-8"))
    totals: Counter[str] = Counter(state["totals"])
    deadline = time.monotonic() + 60 * options.minutes
    first = state["seed"]
    for number in range(first, first + options.count):
        if time.monotonic() > deadline:
            break
        mix = list(options.mixes)[number % len(options.mixes)]
        fault = examine(number, mix, options.mode, options.size, totals)
        state["seed"] = number + 1
        if fault:
            state["failed"].append(number)
            say(fault)
        if state["seed"] % REPORT_EVERY == 0:
            say(f"{state['seed'] - first:,} done: {summary(totals)}")
    say(f"programs {first:,} to {state['seed'] - 1:,}: {summary(totals)}")
    if options.resume is not None:
        options.resume.write_text(json.dumps(state | {"totals": dict(totals)}), encoding="utf-8")
    return 1 if totals["disagree"] else 0


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare kernel and oracle on random programs and machines.")
    parser.add_argument("--count", type=int, default=1_000_000_000, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--mode", choices=("snf", "collapse", "both"), default="both", help="how to evaluate")
    parser.add_argument("--mixes", nargs="+", choices=tuple(MIXES), default=tuple(MIXES), help="features, in turn")
    parser.add_argument("--size", type=int, default=80, help="most nodes of a program, about")
    parser.add_argument("--resume", type=Path, help="file that keeps the next number and the totals")
    options = parser.parse_args()
    if options.count == parser.get_default("count") and options.minutes == parser.get_default("minutes"):
        parser.error("say --count or --minutes")
    return options


def examine(number: int, mix: str, modes: str, size: int, totals: Counter[str], *, tries_max: int = 3000) -> str:
    """Compare one program in each mode; describe the first disagreement, shrunk."""
    choices: Choices = []
    some_program(recorded(Random(f"program {number}"), choices), MIXES[mix], size_max=size)
    machine = some_machine(Random(f"machine {number}").randrange)
    for mode in ("snf", "collapse") if modes == "both" else (modes,):

        def compared(choices: Choices, mode: Any = mode) -> str | None:
            source = some_program(replayed(choices), MIXES[mix], size_max=size)
            try:
                return disagreement(Trial(source, machine, mode))
            except Exception as error:  # noqa: BLE001
                return f"{type(error).__name__}: {error}"

        said = compared(choices)
        totals["endless" if said is None else "disagree" if said else "agree"] += 1
        if said:
            small = shrunk(choices, lambda choices: bool(compared(choices)), tries_max=tries_max)
            source = some_program(replayed(small), MIXES[mix], size_max=size)
            again = compared(small) or f"agrees when asked again; first it {said}"
            return f"program {number} ({mix}, {mode}) on {described(machine)} {again}\n{source}"
    return ""


def described(machine: Machine) -> str:
    """The settings that are not the default, as one would write them."""
    plain = Machine().settings()
    return f"Machine({', '.join(f'{key}={v!r}' for key, v in machine.settings().items() if v != plain[key])})"


def summary(totals: Counter[str]) -> str:
    """The totals in words."""
    return f"{totals['agree']:,} agree, {totals['disagree']:,} disagree, {totals['endless']:,} found no end"


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
