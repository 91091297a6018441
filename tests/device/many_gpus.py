"""Measure GPUs that work as one: the same wide program on one and on several, and what crosses between them.

Prints for each device the time of a run (median), interactions a second, how many pages of the heap lie on which GPU,
and whether the trace is the same; then what of the run crosses between so many parts of the machine::

    python tests/device/many_gpus.py --devices cuda:0 cuda:0,1 --depth 20
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import hvm4viz as hv
from hvm4viz.device import open_device
from hvm4viz.settings import Machine

PROGRAMS = {
    # a tree that grows and is summed: every leaf a task, nothing shared
    "tree": "@tree = λ{{0: #L{{1}}; λ&n. #N{{@tree(n - 1), @tree(n - 1)}}}}\n"
    "@go = λ{{0: @one; λ&n. #B{{@go(n - 1), @go(n - 1)}}}}\n@one = @loop(200)\n"
    "@loop = λ{{0: 1; λ&n. @loop(n - 1)}}\n@main = @go({depth})",
    # the same, with a table that all leaves read: deferrals to its owner
    "table": "@go = λ{{0: λt. @use(t); λ&n. λ&t. #B{{@go(n - 1, t), @go(n - 1, t)}}}}\n"
    "@use = λ&t. @loop(t(5)) + t(3)\n@loop = λ{{0: 1; λ&n. @loop(n - 1)}}\n"
    "@main = @go({depth}, λ&x. x * 40)",
}


def crossings(trace: Any, parts: int) -> int:
    """Return how many deferrals send a task to another part of the machine."""
    header, owner = trace.header, np.zeros(trace.n_regions, np.int64)
    owner[: header.regions.size] = header.regions
    owner[trace.given["region"]] = trace.given["block"]
    deferred = trace.deferrals()
    here = deferred["thread"].astype(np.int64) // header.threads_per_block * parts // header.blocks
    there = owner[deferred["slot"] // header.region_size] * parts // header.blocks
    return int(np.count_nonzero(here != there))


def main() -> int:
    """Measure and print. Return 1 if traces differ."""
    parser = argparse.ArgumentParser(description="Measure GPUs that work as one.")
    parser.add_argument("--devices", nargs="+", default=["cuda:0", "cuda:0,1"])
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--blocks", type=int, default=1024)
    parser.add_argument("--threads-per-block", type=int, default=64)
    parser.add_argument("--region-size", type=int, default=1 << 15)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    machine = Machine(
        blocks=given.blocks, threads_per_block=given.threads_per_block, region_size=given.region_size, heap="16 GiB"
    )
    wrong = False
    for name, text in PROGRAMS.items():
        program = hv.parse(text.format(depth=given.depth))
        digests: dict[str, str] = {}
        for kind in given.devices:
            device = open_device(kind)
            times: list[float] = []
            rate, pages = 0.0, ""

            def look(record: Any, device: Any = device) -> None:
                nonlocal pages
                if record.device.startswith("cuda") and (spread := device.spread()) is not None:
                    pages = f", pages by GPU {spread.counts().tolist()}"

            run = hv.run(program, machine=machine, device=device, on_pass=look, progress=False)
            digests[kind] = run.trace.digest()
            where = ", ".join(sorted(set(run.trace.devices)))
            for _ in range(given.rounds):
                begun = time.perf_counter()
                counted = hv.run(program, machine=machine, device=device, record="counts", progress=False)
                times.append(time.perf_counter() - begun)
                rate = max(rate, counted.stats.interactions / counted.stats.device_s)
            sys.stdout.write(
                f"{name} on {device.name}: {run.status}, {run.stats.interactions:,} interactions in "
                f"{run.stats.passes} passes, {median(times):.3f} s, {rate / 1e6:,.0f} M/s at best in dispatches, "
                f"{run.stats.deferrals:,} deferrals, {int(run.trace.remote.counts.sum()):,} remote writes, "
                f"on {where}{pages}; {crossings(run.trace, 2):,} deferrals cross between two halves of the blocks\n"
            )
            sys.stdout.flush()
        same = len(set(digests.values())) == 1
        wrong |= not same
        sys.stdout.write(f"{name}: traces {'the same' if same else f'DIFFER: {digests}'}\n")
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
