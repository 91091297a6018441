"""Prove a GPU: cases, programs, examples of rules and random programs on it, against the cpu device; every pass there.

Each is run on the GPU, however narrow, and on the host, and must give the same answer, and the same trace where that
follows from the program::

    python tests/device/on_a_gpu.py                    # cases and programs: all protocols, all levels, the shadow log
    python tests/device/on_a_gpu.py --device cuda:0,1  # two GPUs as one
    compute-sanitizer --tool memcheck --error-exitcode 9 python tests/device/on_a_gpu.py --plain --examples --random 200

``--jobs N`` splits the work over processes; ``--plain`` gives each buffer memory of its own, as memory checkers want
it.
"""

from __future__ import annotations

import argparse
import faulthandler
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import hvm4viz as hv
from hvm4viz.device import open_device
from hvm4viz.execution import Execution
from hvm4viz.quiet import quiet_request
from hvm4viz.rules import rule_table
from hvm4viz.settings import Machine
from hvm4viz.term import Tag, pack
from tests.case_files import cases, programs
from tests.differential.disagreements import MIXES, some_machine, some_program
from tests.schedules.explore import is_deterministic

PASSES = 200
"""A run is compared up to there, unless asked otherwise: a pass costs half a millisecond on a GPU."""

INTERACTIONS = 300_000
"""Cases with more are left out, unless asked otherwise."""

REPORT_S = 20.0

PROTOCOLS: tuple[dict[str, Any], ...] = (
    {"dup": "owner"},
    {"dup": "owner", "owner_unit": "block", "defer": "return", "shard": "address"},
    {"dup": "claim", "fork": "auto"},
    {"dup": "owner", "shard": "idle"},
    {"dup": "atomic", "shard": "address"},
    {"dup": "owner", "visibility": "live"},
)
MACHINES = (Machine(blocks=7, fuel=64, heap="16 MiB"), Machine(blocks=96, region_size=1024, fuel=256, heap="16 MiB"))
"""With little fuel: one lane of a GPU takes a microsecond for an interaction."""

LEVELS = ("events", "full", "off", "shadow")


@dataclass(frozen=True, slots=True)
class Item:
    """One comparison."""

    name: str
    program: Any
    machine: Machine
    options: dict[str, Any]


def items(given: argparse.Namespace) -> Iterator[Item]:
    """Return everything that there is to compare, always in the same order."""
    several, levels = "," in given.device, given.levels
    protocols = [each for each in PROTOCOLS if not (several and each.get("visibility") == "live")]
    found: list[tuple[str, Any, dict[str, Any]]] = []
    if given.examples:
        for rule in rule_table():
            for term, _ in rule.examples:
                mode = {"mode": "collapse"} if term.startswith("collapse ") else {}
                found.append((f"{rule.name}: {term}", f"@main = {term.removeprefix('collapse ')}", mode))
    else:
        for case in (*cases(), *programs()):
            if case.error != "parse" and (case.interactions or 0) <= given.interactions:
                mode = {"mode": "collapse", "limit": case.limit} if case.mode == "collapse" else {}
                found.append((case.name, case.source_path, mode))
    turn = 0
    for name, program, options in found:
        for protocol in [protocols[turn % len(protocols)]] if given.examples else protocols:
            machine = replace(MACHINES[turn % len(MACHINES)], **protocol)
            if not several:
                machine = replace(machine, memory=("private", "private", "shared")[turn % 3])
            level = levels[turn // len(protocols) % len(levels)]
            if level == "shadow" and machine.visibility == "live":  # it knows what is forbidden within a pass
                level = "full"
            yield Item(f"{name} on {machine!r} ({level})", program, machine, {**options, "record": level})
            turn += 1
    for number in range(given.random):
        mix = list(MIXES)[number % len(MIXES)]
        text = some_program(Random(f"program {number}").randrange, MIXES[mix], size_max=80)
        machine = some_machine(Random(f"machine {number}").randrange)
        options = {"mode": "collapse", "limit": 20} if number % 3 == 2 else {}
        if machine.visibility == "live" and several:
            machine = replace(machine, visibility="pass")
        yield Item(
            f"program {number} on {machine!r}", text, machine, {**options, "record": levels[number % len(levels)]}
        )


def facts(item: Item, device: Any, passes: int) -> tuple[Any, ...]:
    """Run an item on a device, every pass there; return what must be the same on another."""
    options = dict(item.options)
    level = options.pop("record")
    if level == "shadow":
        options["kernel"], level = hv.kernel().watched("shadow"), "events"
    machine = item.machine if device.name.startswith("cuda") else replace(item.machine, memory="auto")
    program = hv.load(item.program) if isinstance(item.program, Path) else hv.parse(item.program)
    entry = program.book.entry("main")
    request = quiet_request(
        "@main = 0",
        device=device,
        machine=machine,
        record=level,
        max_passes=passes,
        timeout=60.0,
        program=program,
        words=np.array([pack(Tag.REF, entry, 0)], np.uint64),
        alone=True,
        on_cpu=bool(program.book.reachable_prims(entry)),
        **options,
    )
    execution = Execution(request)
    stop = execution.advance()
    assert stop is not None
    run = execution.finish(stop)
    lines = tuple(run.lines) if run.status == "done" else ()
    if not is_deterministic(item.machine):
        return (run.status.value, sorted(lines) if run.status == "done" else ())
    digest = run.trace.digest() if level != "off" and not run.trace.is_cut else ""
    return (run.status.value, lines, run.message if run.status != "timeout" else "", run.stats.passes, digest)


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Compare; print what differs, and totals. Return 1 if anything differs."""
    faulthandler.enable()
    parser = argparse.ArgumentParser(description="Compare a GPU with the host.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--examples", action="store_true", help="examples of rules in place of cases")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random programs besides")
    parser.add_argument("--only", default="", help="items whose name contains this")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=LEVELS, help="what is recorded, in turn")
    parser.add_argument("--plain", action="store_true", help="memory of its own for each buffer")
    parser.add_argument("--passes", type=int, default=PASSES, help="most passes of a run")
    parser.add_argument("--interactions", type=int, default=INTERACTIONS, help="leave cases with more out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin nothing after that")
    given = parser.parse_args()
    if given.jobs > 1 and "--part" not in sys.argv:
        parts = [subprocess.Popen([sys.executable, *sys.argv, "--part", str(part)]) for part in range(given.jobs)]
        return max(each.wait() for each in parts)
    if given.plain:
        import cupy  # type: ignore[import-not-found]

        cupy.cuda.set_allocator(None)
    gpu, host = open_device(given.device, workers=1), open_device("cpu", workers=1)
    counts: Counter[str] = Counter()
    begun = told_at = time.monotonic()
    for number, item in enumerate(items(given)):
        if number % given.jobs != given.part or given.only not in item.name:
            continue
        if time.monotonic() - begun > 60 * given.minutes:
            counts["left out for want of time"] += 1
            continue
        try:
            want, got = facts(item, host, given.passes), facts(item, gpu, given.passes)
        except ValueError as error:
            counts[f"refused: {error}"] += 1
            continue
        unlike = {"timeout"} if is_deterministic(item.machine) else {"timeout", "heap_full", "pass_limit"}
        if want != got and not unlike & {want[0], got[0]}:
            counts["wrong"] += 1
            say(f"WRONG {item.name}\n  host {want}\n  {given.device} {got}")
        counts[str(got[0])] += 1
        if time.monotonic() - told_at > REPORT_S:
            told_at = time.monotonic()
            say(f"part {given.part}: {counts.total():,} so far, {told_at - begun:.0f} s")
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    say(f"part {given.part} on {gpu.name}: {told}, {time.monotonic() - begun:.0f} s")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
