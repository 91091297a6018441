"""Plausible records without a kernel: what a run might tell its observers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from hvm4viz.events import DELTA, EVENT, OP, OUTCOMES, REASONS, PassRecord, RunEnd, RunHeader
from hvm4viz.settings import Machine
from hvm4viz.trace import Level, Recorder, Trace

DONE, DEFERRED, CONTENDED, FUEL, PARKED, STALE, STARVED = (
    OUTCOMES.index(name) for name in ("done", "deferred", "contended", "fuel", "parked", "stale", "starved")
)
TAKE, BUSY = REASONS.index("take"), REASONS.index("busy")
RULES = ("app_lam", "dup_lam", "dup_num", "dup_sup", "mat_ctr", "op2_num_num", "use_val")
SOURCE = "@main = #Pair{1, 2}\n"


def header(machine: Machine | None = None, *, source: str = SOURCE, device: str = "cpu") -> RunHeader:
    """Describe a run that uses two regions a block."""
    machine = machine or Machine(blocks=4, threads_per_block=2, region_size=64)
    return RunHeader(
        source=(("main.hvm4", source),),
        entry="main",
        mode="snf",
        limit=None,
        machine=machine.settings(),
        rules=RULES,
        blocks=machine.blocks,
        threads_per_block=machine.threads_per_block,
        region_size=machine.region_size,
        regions=(np.arange(2 * machine.blocks) % machine.blocks).astype(np.uint32),
        device=device,
        kernel="0" * 64,
    )


def event(loc: int, outcome: int = DONE, *, slot: int = 0, reason: int = 0, side: int = 0, thread: int = 0) -> Any:
    """Build one event."""
    return np.array((thread, loc, slot, 1, 2, outcome, reason, side, 0), EVENT)[()]


def one_pass(index: int, events: Any, *, n_regions: int = 8, device: str = "cpu", **changes: object) -> PassRecord:
    """Wrap events in a record with plausible counts."""
    rows = np.array(events, EVENT)
    rules = np.zeros(len(RULES), np.uint64)
    rules[index % len(RULES)] = rows.size
    cells = np.zeros(n_regions, np.uint32)
    cells[: index % n_regions + 1] = index + 1
    remote = np.zeros(n_regions, np.uint32)
    remote[index % n_regions] = index % 3
    fields: dict[str, object] = {
        "index": index,
        "frontier": rows.size,
        "events": rows,
        "interactions": int(rows["interactions"].sum()),
        "rules": rules,
        "cells": cells,
        "given": (),
        "parked": index % 2,
        "remote": remote,
        "longest": int(rows["interactions"].max(initial=0)),
        "device": device,
        "device_ns": 1000 + index,
        "host_ns": 300,
    }
    return PassRecord(**(fields | changes))  # type: ignore[arg-type]


def wide_passes(
    widths: list[int], *, seed: int = 0, n_regions: int = 64, region_size: int = 64
) -> Iterator[PassRecord]:
    """Make passes of the given widths with random events, a tenth of them deferred to hot regions."""
    rng = np.random.default_rng(seed)
    for index, width in enumerate(widths):
        events = np.zeros(width, EVENT)
        events["thread"] = np.sort(rng.integers(0, 8, width))
        events["loc"] = rng.integers(1, n_regions * region_size, width)
        events["interactions"] = rng.integers(0, 300, width)
        events["cells"] = rng.integers(0, 100, width)
        events["outcome"] = rng.choice([DONE, FUEL, DEFERRED], width, p=[0.7, 0.2, 0.1])
        stopped = events["outcome"] == DEFERRED
        events["slot"][stopped] = (
            rng.gamma(2.0, 40.0, int(stopped.sum())).astype(np.uint32) % (n_regions * region_size)
        ) | 1
        events["reason"][stopped] = TAKE
        events["side"][stopped] = rng.integers(0, 2, int(stopped.sum()))
        events["origin"] = rng.integers(0, 5, width)  # a fixed number: files of old formats were made of these
        yield one_pass(index, events, n_regions=n_regions)


def full_passes(widths: list[int]) -> list[PassRecord]:
    """Make passes that changed cells, and did something to slots, too."""
    rng = np.random.default_rng(sum(widths))
    words = np.zeros(4096, np.uint64)
    passes = []
    for each in wide_passes(widths):
        cells = np.unique(rng.integers(1, 4096, 4)).astype(np.uint32)
        deltas = np.empty(cells.size, DELTA)
        deltas["cell"], deltas["before"] = cells, words[cells]
        deltas["after"] = words[cells] = rng.integers(1, 1 << 60, cells.size)
        ops = np.zeros(min(each.events.size, 2), OP)
        ops["op"], ops["slot"] = 2, 17
        passes.append(dataclasses.replace(each, deltas=deltas, ops=ops))
    return passes


class StandIn:
    """A machine that says of itself what a recording at level full asks."""

    words = np.arange(7, dtype=np.uint64)
    has_called = True

    def state(self) -> bytes:
        """Return a state."""
        return b"state of some machine"


def record(
    passes: Iterator[PassRecord] | list[PassRecord],
    *,
    level: Level = "events",
    status: str = "done",
    lines: tuple[str, ...] = ("#Pair{1,2}",),
    head: RunHeader | None = None,
    **options: object,
) -> Trace:
    """Record the passes as one run."""
    recorder = Recorder(level, **options)  # type: ignore[arg-type]
    recorder.begin(head or header())
    for item in passes:
        recorder.on_pass(item)
    recorder.end(RunEnd(status, "", lines, ()))
    return recorder.trace


def worked_example() -> Trace:
    """Record the second worked example of the design: option 1, fresh entries by address."""
    passes = [
        [event(0)],
        [event(8, DEFERRED, slot=1, reason=TAKE, thread=4), event(9, thread=4)],
        [event(8), event(17, thread=8), event(18, DEFERRED, slot=1, reason=TAKE, side=1, thread=9)],
        [event(18)],
    ]
    machine = Machine(blocks=3, threads_per_block=4, region_size=8, shard="address", fork="off")
    return record([one_pass(p, events, n_regions=3) for p, events in enumerate(passes)], head=header(machine))
