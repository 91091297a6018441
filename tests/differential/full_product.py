"""Run every case and program on every machine of the grid, and print what came out.

::

    python tests/differential/full_product.py [--quick] [--only NAME] [--device cpu] [--jobs N] [--verify LEVEL]
        [--minutes N] [--resume FILE] [--<setting> VALUE ...]

Each setting of the grid may be narrowed, as in ``--dup owner --blocks 1 2 3 8 64``. With ``--verify`` each run is
recorded at that level, and its trace must keep the protocol. With ``--minutes`` it stops after that time; with
``--resume`` it goes on behind the runs that the file tells of, whose numbers it adds up, and begins anew once all are
done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, deque
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hvm4viz.settings import Machine
from hvm4viz.trace import Trace
from tests.case_files import Case, cases, programs
from tests.differential.answers import answer, faults
from tests.differential.machines import ALONE, GRID, every_machine, is_affordable, name_of, pairwise_machines

AHEAD = 4
"""Runs that wait for each process, so that none is idle; behind the deadline no more are begun."""

TOO_SLOW = "left out: fuel 1 takes too long"


def main() -> int:
    """Run the product; exit 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description="Run every case and program on every machine of the grid.")
    parser.add_argument("--quick", action="store_true", help="the pairwise selection of machines in place of all")
    parser.add_argument("--only", default="", help="cases and programs whose name contains this")
    parser.add_argument("--device", default="auto", help="device to run on")
    parser.add_argument("--verify", choices=("counts", "events", "full"), help="record at this level and verify")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--resume", type=Path, help="file that keeps how far it came, and the totals")
    for name, values in GRID.items():
        parser.add_argument(f"--{name.replace('_', '-')}", nargs="+", choices=[str(value) for value in values])
    arguments = parser.parse_args()
    narrowed = {name: getattr(arguments, name) or [str(value) for value in values] for name, values in GRID.items()}
    grid = pairwise_machines() if arguments.quick else every_machine()
    machines = [ALONE, *(m for m in grid if all(str(getattr(m, name)) in narrowed[name] for name in GRID))]
    chosen = [case for case in (*cases(), *programs()) if arguments.only in case.name]
    state: dict[str, Any] = {"next": 0, "runs": {}, "wrong": {}, "failed": []}
    if arguments.resume is not None and arguments.resume.exists():
        state = json.loads(arguments.resume.read_text(encoding="utf-8"))
    runs: Counter[str] = Counter(state["runs"])
    wrong: Counter[str] = Counter(state["wrong"])
    failed_cases: set[str] = set(state["failed"])
    begun = time.perf_counter()
    deadline = begun + 60 * arguments.minutes
    with ProcessPoolExecutor(arguments.jobs) as pool:
        # the long ones first, machine by machine, so that no process is left with a whole program at the end
        work = sorted(product(chosen, machines), key=lambda pair: -(pair[0].interactions or 0))
        workers = 1 if arguments.jobs > 1 else None
        each = partial(attempt, device=arguments.device, workers=workers, level=arguments.verify or "off")
        under_way: deque[Future[list[str] | None]] = deque()
        while state["next"] < len(work) and (under_way or time.perf_counter() < deadline):
            while len(under_way) < AHEAD * arguments.jobs and time.perf_counter() < deadline:
                rest = work[state["next"] + len(under_way) :][:1]
                if not rest:
                    break
                under_way.append(pool.submit(each, *rest[0]))
            if not under_way:
                break
            case, machine = work[state["next"]]
            done = under_way.popleft()
            if time.perf_counter() >= deadline and done.cancel():  # it has not begun, nor have those behind it
                break
            state["next"] += 1
            found = done.result()
            key = f"{case.mode}{'' if case.error is None else f', {case.error} error'}"
            if found is None:
                runs[TOO_SLOW] += 1
                continue
            runs[key] += 1
            if found:
                wrong[key] += 1
                failed_cases.add(case.name)
                say(f"FAIL {case.name} on {name_of(machine)}: {found[0]}")
        pool.shutdown(cancel_futures=True)
    if arguments.resume is not None:
        done = {"next": state["next"] % len(work), "runs": runs, "wrong": wrong, "failed": sorted(failed_cases)}
        arguments.resume.write_text(json.dumps(done), encoding="utf-8")
    say(
        f"\n{len(chosen)} cases and programs x {len(machines)} machines, up to {state['next']:,} of {len(work):,}, "
        f"{time.perf_counter() - begun:.0f} s\n"
    )
    say(f"{'':36}{'runs':>8}{'wrong':>8}")
    for key in sorted(runs):
        say(f"{key:36}{runs[key]:8,}{wrong[key]:8,}")
    say(f"{'all':36}{runs.total() - runs[TOO_SLOW]:8,}{wrong.total():8,}")
    if failed_cases:
        say(f"\n{len(failed_cases)} with failures: {', '.join(sorted(failed_cases))}")
    return 1 if failed_cases else 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def attempt(case: Case, machine: Machine, *, device: str, workers: int | None, level: str = "off") -> list[str] | None:
    """Run one case on one machine; a crash is a fault like any other. None: it would take too long."""
    if not is_affordable(case, machine):
        return None
    traces: list[Trace] = []
    options: dict[str, Any] = {"device": device, "workers": workers, "record": level, "timeout": 600.0}
    try:
        got = answer(case.source_path, machine, mode=case.mode, limit=case.limit, on_trace=traces.append, **options)
        offences = [str(found.offence) for found in (trace.verify() for trace in traces) if not found.ok]
    except Exception as error:  # noqa: BLE001
        return [f"{type(error).__name__}: {error}"]
    return faults(case, machine, got) + offences


if __name__ == "__main__":
    sys.exit(main())
