"""The heap of every pass, stepped forward and backward, against untraced runs that were stopped there.

``python -m tests.trace.time_travel`` goes through every program of the notebooks and every machine of the list below,
``python -m tests.trace.time_travel 20 queens quicksort`` through the programs named, 20 random passes of each long run.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hvm4viz as hv

PROGRAMS = Path(__file__).parents[2] / "notebooks" / "programs"
MACHINES = {
    "default": hv.Machine(),
    "alone": hv.Machine(blocks=1, threads_per_block=1),
    "claim": hv.Machine(blocks=7, threads_per_block=2, region_size=64, dup="claim", shard="address", fork="off"),
    "return": hv.Machine(blocks=16, threads_per_block=1, region_size=128, defer="return", fuel=100),
    "narrow": hv.Machine(blocks=3, threads_per_block=4, region_size=256, shard="address", fuel=64),
}
PASSES_MAX = {"find_function": 20}
"""Programs that outgrow any heap here are looked at only so far."""

SHORT = 60
"""Up to so many passes, every one is compared."""


def chosen(n_passes: int, most: int, seed: int = 0) -> list[int]:
    """Choose the passes to compare: all of a short run, the first, the last and some random ones of a long one."""
    if n_passes <= SHORT:
        return list(range(n_passes + 1))
    rng = random.Random(seed)
    return sorted({0, 1, n_passes - 1, n_passes, *rng.sample(range(n_passes + 1), min(most, n_passes))})


def grown(words: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    out = np.zeros(size, np.uint64)
    out[: min(words.size, size)] = words[:size]
    return out


def check(program: hv.Program, machine: hv.Machine, *, passes_max: int = 100_000, most: int = 100) -> int:
    """Compare the heaps of one program on one machine; return how many passes were compared."""
    options: dict[str, Any] = {"machine": machine, "progress": False, "on_log": lambda _: None}
    full = hv.run(program, record="full", max_passes=passes_max, trace_limit="8 GiB", **options)
    trace = full.trace
    assert not trace.dropped
    assert trace.at(-1).digest() == full.heap.digest()
    passes = chosen(trace.n_passes, most)
    right: dict[int, hv.Heap] = {}
    for p in passes:
        stopped = hv.run(program, record="off", max_passes=p, **options)
        right[p] = stopped.heap
        assert trace.at(p).digest() == stopped.heap.digest(), f"at({p})"
        assert trace.at(p).stamps == stopped.heap.stamps
    words = trace.at(0).words.copy()
    for p in range(trace.n_passes + 1):
        if p in right:
            assert np.array_equal(grown(words, right[p].words.size), right[p].words), f"forward to {p}"
        if p < trace.n_passes:
            deltas = trace.deltas(p, p + 1)
            assert (np.diff(deltas["cell"].astype(np.int64)) > 0).all()
            assert (deltas["before"] != deltas["after"]).all()
            if deltas["cell"].max(initial=0) >= words.size:
                words = grown(words, int(deltas["cell"].max()) + 1)
            assert np.array_equal(words[deltas["cell"]], deltas["before"])
            words[deltas["cell"]] = deltas["after"]
    words = trace.at(trace.n_passes).words.copy()
    for p in range(trace.n_passes, -1, -1):
        if p in right:
            size = right[p].words.size
            assert np.array_equal(words[:size], right[p].words), f"backward to {p}"
            assert not words[size:].any()
        if p > 0:
            deltas = trace.deltas(p - 1, p)
            words[deltas["cell"]] = deltas["before"]
    return len(passes)


def main() -> None:
    total, begun = 0, time.perf_counter()
    most, names = int((sys.argv[1:] or ["100"])[0]), sys.argv[2:]
    for path in sorted(PROGRAMS.glob("*.hvm4")):
        if names and path.stem not in names:
            continue
        program = hv.load(path)
        for name, machine in MACHINES.items():
            compared = check(program, machine, passes_max=PASSES_MAX.get(path.stem, 100_000), most=most)
            total += compared
            sys.stdout.write(f"{path.stem:18}{name:10}{compared:6} passes alike, {time.perf_counter() - begun:.0f} s\n")
            sys.stdout.flush()
    sys.stdout.write(f"{total:,} passes alike, forward, backward and at once\n")


if __name__ == "__main__":
    main()
