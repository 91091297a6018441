"""A device that sees other memory than the host and runs every pass itself, on the stand-in for CuPy.

Whatever of a pass the host forgot to bring home, or to send, is missed here.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.device.way import Pace, Way
from hvm4viz.execution import Request, carry_out
from hvm4viz.outcome import Run
from hvm4viz.quiet import quiet_request
from tests.device.stand_in_cupy import stand_in

RANGE = "@range = λ{0: []; λ&n. n <> @range(n - 1)}\n@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}\n"
PROGRAMS = {
    "shared": RANGE + "@main = ! &xs = @range(12); #T{@sum(xs), @sum(xs), xs}",
    "wide": "@t = λ{0: 1; λ&n. #N{@t(n - 1), @t(n - 1)}}\n@main = @t(6)",
    "late": "@main = ! f = λ x; ! g = λ y; #P{[x + 1, y + 2], f(1)(5), g(1)(6)}",
    "cyclic": "@twice = λ&f. λx. f(f(x))\n@main = @twice(@twice)",
    "fault": "@main = #P{1 + 2, #Q{3(4)}}",
    "called": '@main = [%log("a"), %gnf([1 + 1, 2 + 2]), %log("b")]',
    "branches": "@t = λ{0: λ&p. p; λ&n. λ&p. &(n){@t(n - 1, p * 2), @t(n - 1, p * 2 + 1)}}\n@main = @t(4, 1)",
}
MACHINES = {
    "one": {"blocks": 1, "threads_per_block": 1, "fuel": 3},
    "owner": {"blocks": 3, "threads_per_block": 2, "fuel": 2},
    "return": {"blocks": 5, "threads_per_block": 1, "defer": "return", "fuel": 4},
    "claim": {"blocks": 4, "threads_per_block": 4, "dup": "claim", "shard": "address", "fuel": 1},
    "block": {"blocks": 3, "threads_per_block": 4, "owner_unit": "block", "fuel": 2},
    "atomic": {"blocks": 3, "threads_per_block": 2, "dup": "atomic", "fuel": 2},
    "narrow": {"blocks": 2, "threads_per_block": 2, "region_size": 32, "fuel": "auto"},
}


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in())


def request(program: str, machine: str, **options: Any) -> Request:
    settings: Any = {"heap": "4 MiB", "region_size": 64, **MACHINES[machine]}
    mode = "collapse" if program == "branches" else "snf"
    return quiet_request(PROGRAMS[program], machine=hv.Machine(**settings), mode=mode, max_passes=300, **options)


def told(run: Run) -> dict[str, Any]:
    """Everything of a run that does not depend on time."""
    stats, trace = run.stats, run.trace
    return {
        "end": (run.status, run.message, run.lines, run.log),
        "heap": run.heap.digest(),
        "tasks": sorted(map(repr, run.heap.tasks)),
        "stats": (stats.passes, stats.interactions, stats.deferrals, stats.max_frontier, stats.cells_used),
        "digest": trace.digest_or_none(),
        "rows": trace.rows[["frontier", "interactions", "longest", "parked"]].tolist(),
        "tables": [getattr(trace, name).dense().tolist() for name in ("rules", "cells", "remote")],
        "outcomes": trace.outcomes.tolist(),
        "given": trace.given.tolist(),
    }


@pytest.mark.parametrize("record", ["off", "full"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_pass_on_the_device_is_what_it_is_on_the_host(program: str, machine: str, record: str) -> None:
    host = carry_out(request(program, machine, device="cpu", record=record, workers=1))
    away = carry_out(request(program, machine, device="cuda", record=record, alone=True, workers=1))

    assert told(away) == told(host)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("program", ["shared", "wide", "late", "called", "branches"])
def test_wherever_each_pass_runs_it_is_the_same_run(
    program: str, machine: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, places = random.Random(seed), []

    def anywhere(self: Pace, _width: int, **_: object) -> Way:
        places.append(rng.choice(self._ways))
        return places[-1]

    record = ("off", "events", "full")[seed]
    host = carry_out(request(program, machine, device="cpu", record=record, workers=1))
    monkeypatch.setattr(Pace, "way", anywhere)
    moved = carry_out(request(program, machine, device="cuda", record=record, workers=1))

    assert told(moved) == told(host)
    assert len({way.is_away for way in places}) == 2 or len(places) < 8


@pytest.mark.parametrize("machine", ["one", "owner", "return", "claim", "narrow"])
@pytest.mark.parametrize("most", [1, 2, 9])
def test_a_run_stopped_there_goes_on_here(machine: str, most: int) -> None:
    whole = carry_out(request("shared", machine, device="cpu", record="full", workers=1))
    there = carry_out(request("shared", machine, device="cuda", record="full", alone=True))
    run = there.trace.resume(most, device="cpu")

    assert (run.status, run.text, run.trace.digest()) == (whole.status, whole.text, whole.trace.digest())


@pytest.mark.filterwarnings("ignore:the heap is")
@pytest.mark.parametrize("machine", ["owner", "narrow"])
def test_a_full_heap_is_full_there_too(machine: str) -> None:
    settings: Any = {**MACHINES[machine], "region_size": 32, "heap": 8 * 32 * 40}
    source = "@grow = λ&n. n <> @grow(n + 1)\n@main = @grow(0)"
    places: Any = ({"device": "cpu", "workers": 1}, {"device": "cuda", "alone": True})

    runs = [carry_out(quiet_request(source, machine=hv.Machine(**settings), **place)) for place in places]

    assert runs[0].status == "heap_full"
    assert told(runs[0]) == told(runs[1])
