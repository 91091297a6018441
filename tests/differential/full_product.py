"""Run every case and program on every machine of the grid, and print what came out.

::

    python tests/differential/full_product.py [--quick] [--only NAME] [--device cpu]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hvm4viz.settings import Machine
from tests.case_files import Case, cases, programs
from tests.differential.answers import answer, faults
from tests.differential.machines import ALONE, every_machine, is_affordable, name_of, pairwise_machines


def main() -> int:
    """Run the product; exit 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description="Run every case and program on every machine of the grid.")
    parser.add_argument("--quick", action="store_true", help="the pairwise selection of machines in place of all")
    parser.add_argument("--only", default="", help="cases and programs whose name contains this")
    parser.add_argument("--device", default="auto", help="device to run on")
    arguments = parser.parse_args()
    machines = [ALONE, *(pairwise_machines() if arguments.quick else every_machine())]
    chosen = [case for case in (*cases(), *programs()) if arguments.only in case.name]
    runs: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    failed_cases: set[str] = set()
    begun = time.perf_counter()
    for case in chosen:
        found: list[str] = []
        key = f"{case.mode}{'' if case.error is None else f', {case.error} error'}"
        for machine in machines:
            if not is_affordable(case, machine):
                runs["left out: fuel 1 takes too long"] += 1
                continue
            runs[key] += 1
            found += [f"{name_of(machine)}: {fault}" for fault in attempt(case, machine, arguments.device)[:1]]
        if found:
            wrong[key] += len(found)
            failed_cases.add(case.name)
            more = f" (and on {len(found) - 1} more)" if len(found) > 1 else ""
            say(f"FAIL {case.name} on {found[0]}{more}")
    say(f"\n{len(chosen)} cases and programs x {len(machines)} machines, {time.perf_counter() - begun:.0f} s\n")
    say(f"{'':36}{'runs':>8}{'wrong':>8}")
    for key in sorted(runs):
        say(f"{key:36}{runs[key]:8,}{wrong[key]:8,}")
    say(f"{'all':36}{runs.total():8,}{wrong.total():8,}")
    if failed_cases:
        say(f"\n{len(failed_cases)} with failures: {', '.join(sorted(failed_cases))}")
    return 1 if failed_cases else 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def attempt(case: Case, machine: Machine, device: str) -> list[str]:
    """Run one case on one machine; a crash is a fault like any other."""
    try:
        got = answer(case.source_path, machine, mode=case.mode, limit=case.limit, device=device)
    except Exception as error:  # noqa: BLE001
        return [f"{type(error).__name__}: {error}"]
    return faults(case, machine, got)


if __name__ == "__main__":
    sys.exit(main())
