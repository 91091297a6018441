"""What recording costs, what a recording weighs, and how fast it answers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hvm4viz.bench.programs import Sample
from hvm4viz.events import DELTA, EVENT, OUTCOMES, REASONS, PassRecord, RunEnd, RunHeader
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.trace import Trace

LEVELS: Final = ("off", "counts", "events", "full")
_ORDERS: Final = ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))
"""Orders of the levels in which each comes behind each other one once: a Williams design."""

QUESTIONS: Final = 20
"""How often each question is asked, from passes chosen at random."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a made-up recording: passes, entries a pass, cells of the heap, changed cells a pass."""

    passes: int = 10_000
    entries: int = 1_000
    cells: int = 1_000_000
    changed: int = 100


@dataclass(frozen=True, slots=True)
class Recording:
    """What the recording of one program costs and answers; times are medians.

    Attributes
    ----------
    program : str
    passes, events, cells : int
        Its size; ``cells`` in use at the end.
    wall_s : dict of str to float
        Seconds of a run, by level; empty for a made-up recording.
    ratio : dict of str to float
        Time at a level over that at ``off`` in the same round, by level: rounds meet a machine of one speed.
    events_bytes, full_bytes : float
        Bytes of the file for an event, at level ``events`` and at level ``full``.
    open_s : float
        Opening the file.
    heap_s : float
        The heap at a pass chosen at random.
    step_s : float
        The heap at the pass after the one asked for last.
    next_s : float
        The next deferral from a pass chosen at random.
    find_s : float
        A search through all tasks for something that is not there.
    """

    program: str
    passes: int
    events: int
    cells: int
    wall_s: dict[str, float]
    ratio: dict[str, float]
    events_bytes: float
    full_bytes: float
    open_s: float
    heap_s: float
    step_s: float
    next_s: float
    find_s: float


def measure_recordings(
    samples: Sequence[Sample],
    *,
    machine: Machine | None = None,
    rounds: int = 5,
    device: str | Device = "auto",
    on_program: Callable[[str], None] = lambda _: None,
) -> list[Recording]:
    """Measure the recordings of programs: runs at every level in turn, so that all meet the same machine.

    Parameters
    ----------
    samples : sequence of Sample
    machine : Machine, optional
    rounds : int
        Runs at each level.
    device : str or Device
    on_program : callable
        Told of each program before it is measured.
    """
    from hvm4viz.run import run

    if rounds < 1:
        raise ValueError(f"rounds={rounds}: must be 1 or more")
    found: list[Recording] = []
    for sample in samples:
        on_program(sample.name)
        wall: dict[str, list[float]] = {level: [] for level in LEVELS}
        traces: dict[str, Trace] = {}
        for turn in range(rounds):
            for level in (LEVELS[i] for i in _ORDERS[turn % len(_ORDERS)]):
                begun = time.perf_counter()
                done = run(
                    sample.program,
                    mode=sample.mode,
                    limit=sample.limit,
                    machine=machine,
                    device=device,
                    record=level,  # type: ignore[arg-type]
                    progress=False,
                    on_log=_no_line,
                )
                wall[level].append(time.perf_counter() - begun)
                traces[level] = done.trace
                del done  # or its memory is given back in the time of the next run
        middle = {level: median(times) for level, times in wall.items()}
        ratio = {
            level: median(mine / off for mine, off in zip(times, wall["off"], strict=True))
            for level, times in wall.items()
        }
        found.append(_answers(sample.name, traces["events"], traces["full"], middle, ratio))
    return found


def _no_line(line: str) -> None:
    del line


def measure_made_up(size: Size) -> Recording:
    """Measure a made-up recording of a given size: random entries, a tenth of them deferred, random cells changed."""
    return _answers(
        f"made up: {size.passes:,} passes of {size.entries:,} entries, {size.cells:,} cells",
        made_up(size, "events"),
        made_up(size, "full"),
        {},
        {},
    )


def _answers(name: str, events: Trace, full: Trace, wall_s: dict[str, float], ratio: dict[str, float]) -> Recording:
    """Save both recordings, and ask the file of the full one."""
    from hvm4viz.trace import open_trace

    with tempfile.TemporaryDirectory(prefix="hvm4viz-") as folder:
        sizes = [t.save(Path(folder) / f"{t.level}.hvt").stat().st_size for t in (events, full)]
        path = Path(folder) / "full.hvt"
        opened = open_trace(path)
        n, n_events = opened.n_passes, max(opened.n_events, 1)
        passes: list[int] = np.random.default_rng(0).integers(0, n, QUESTIONS).tolist() if n else []
        opened.find("outcome:deferred")
        heaps = min(opened.events_until, n)
        return Recording(
            program=name,
            passes=n,
            events=opened.n_events,
            cells=opened.n_cells,
            wall_s=wall_s,
            ratio=ratio,
            events_bytes=sizes[0] / n_events,
            full_bytes=sizes[1] / n_events,
            open_s=median(_seconds(lambda: open_trace(path)) for _ in range(3)),
            heap_s=_middle(opened.at, [min(p, heaps) for p in passes]),
            step_s=_middle(opened.at, range(max(heaps - QUESTIONS, 0), heaps)),
            next_s=_middle(lambda p: opened.find("outcome:deferred", start=p), passes),
            find_s=median(_seconds(lambda: opened.find("interactions:>4294967294")) for _ in range(3)),
        )


def _seconds(ask: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    ask()
    return time.perf_counter() - begun


def _middle(ask: Callable[[int], Any], passes: Sequence[int]) -> float:
    return median([_seconds(lambda p=p: ask(p)) for p in passes] or [0.0])


def made_up(size: Size, level: Any) -> Trace:
    """Make a trace up: random entries, a tenth of them deferred to the next pass, at level ``full`` random changes."""
    from hvm4viz.trace import Recorder

    machine = Machine()
    n_regions = max(-(-size.cells // machine.region_size), machine.blocks)
    header = RunHeader(
        source=(), entry="", mode="snf", limit=None, machine=machine.settings(), rules=("made up",),
        blocks=machine.blocks, threads_per_block=machine.threads_per_block, region_size=machine.region_size,
        regions=(np.arange(n_regions) % machine.blocks).astype(np.uint32), device="none", kernel="",
    )  # fmt: skip
    recorder = Recorder(level, "16 GiB")
    recorder.begin(header)
    rng = np.random.default_rng(0)
    words = np.zeros(size.cells, np.uint64)
    record = _pass(size, machine, n_regions)
    for index in range(size.passes):
        waiting = record.events["loc"][::10].copy()
        record.events["loc"] = rng.integers(1, size.cells, size.entries)
        again = record.events["loc"][1::10]
        again[:] = waiting[: again.size]
        deltas = np.empty(0, DELTA)
        if level == "full":
            cells = np.unique(rng.integers(1, size.cells, size.changed))
            deltas = np.empty(cells.size, DELTA)
            deltas["cell"], deltas["before"] = cells, words[cells]
            deltas["after"] = words[cells] = rng.integers(1, 1 << 62, cells.size).astype(np.uint64)
        recorder.on_pass(replace(record, index=index, deltas=deltas))
    recorder.end(RunEnd("done", "", (), ()))
    return recorder.trace


def _pass(size: Size, machine: Machine, n_regions: int) -> PassRecord:
    events = np.zeros(size.entries, EVENT)
    events["thread"] = np.sort(np.arange(size.entries) % machine.threads)
    events["outcome"] = OUTCOMES.index("done")
    stopped = slice(0, None, 10)
    events["outcome"][stopped], events["reason"][stopped] = OUTCOMES.index("deferred"), REASONS.index("take")
    events["slot"][stopped] = 1 + np.arange(events[stopped].size) % max(size.cells - 1, 1)
    cells = np.full(n_regions, machine.region_size, np.uint32)
    nothing = np.zeros(n_regions, np.uint32)
    return PassRecord(
        index=0, frontier=size.entries, events=events, interactions=0, rules=np.zeros(1, np.uint64), cells=cells,
        given=(), parked=0, remote=nothing, longest=0, device="none", device_ns=0, host_ns=0,
    )  # fmt: skip


def as_markdown(found: Sequence[Recording]) -> str:
    """Write the measurements as two tables: what recording costs, and what a recording answers."""
    costs = [["program", "passes", "events", *(f"`{level}`" for level in LEVELS)], ["---"] * (3 + len(LEVELS))]
    for each in found:
        if each.wall_s:
            times = [f"{1000 * each.wall_s['off']:.3g} ms", *(f"× {each.ratio[level]:.2f}" for level in LEVELS[1:])]
            costs.append([f"`{each.program}`", f"{each.passes:,}", f"{each.events:,}", *times])
    ratios = [[each.ratio[level] for level in LEVELS[1:]] for each in found if each.wall_s]
    if len(ratios) > 1:
        costs.append(["median", "", "", "", *(f"× {median(column):.2f}" for column in zip(*ratios, strict=True))])
    names = (
        "program", "cells", "bytes an event", "at `full`", "open", "a heap", "the next heap", "next deferral", "search",
    )  # fmt: skip
    answers = [list(names), ["---"] * len(names)]
    for each in found:
        times = (each.open_s, each.heap_s, each.step_s, each.next_s, each.find_s)
        program = f"`{each.program}`" if each.wall_s else each.program
        sizes = (f"{each.events_bytes:.2f}", f"{each.full_bytes:,.0f}")
        answers.append([program, f"{each.cells:,}", *sizes, *(f"{1000 * seconds:.3g} ms" for seconds in times)])
    tables = [rows for rows in (costs, answers) if len(rows) > 2]
    return "\n\n".join("\n".join(f"| {' | '.join(row)} |" for row in rows) for rows in tables)
