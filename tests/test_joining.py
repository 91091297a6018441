"""The join over the grid builds, word for word, what the join of one thread builds."""

from __future__ import annotations

import pytest

import hvm4viz
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.execution import Execution
from hvm4viz.frontier import Frontier
from hvm4viz.quiet import quiet_request
from hvm4viz.settings import Machine, Shard
from tests.case_files import Case, cases, programs
from tests.differential.machines import name_of, protocols

NAMES = {"shared_table", "wide_map", "queens", "tree_sum", "callcc", "dup_fresh_label", "col_dup_of_open", "queue"}
CASES = [case for case in (*cases(), *programs()) if case.name in NAMES]
ORDERED = [p for p in protocols() if p["visibility"] == "pass" and p["dup"] != "atomic" and p["owner_unit"] == "thread"]
SHAPES: list[tuple[int, Shard]] = [(7, "index"), (40, "address"), (40, "idle")]
MACHINES = [
    Machine(blocks=blocks, threads_per_block=4, shard=shard, fuel=16, **protocol)
    for blocks, shard in SHAPES
    for protocol in ORDERED
]


@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_grid_joins_as_one_thread_does(case: Case, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, str, int]] = []
    for on_grid in (False, True):
        monkeypatch.setattr(CpuDevice, "joins_on_grid", on_grid, raising=False)
        program = hvm4viz.load(case.source_path)
        options = {"mode": case.mode, "limit": case.limit} if case.mode == "collapse" else {}
        run = hvm4viz.run(program, machine=machine, max_passes=800, **options)
        seen.append((run.text, run.trace.digest(), run.heap.digest(), run.stats.interactions))

    assert seen[0] == seen[1]


def test_calls_are_laid_out_anew_for_other_buffers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CpuDevice, "joins_on_grid", True, raising=False)
    laid_out: list[int] = []
    real = CpuDevice.batch
    monkeypatch.setattr(CpuDevice, "batch", lambda device, calls: laid_out.append(len(calls)) or real(device, calls))
    made = Execution(quiet_request("@main = [1 + 2, 3 + 4]", machine=Machine(blocks=7, fuel=1), device="cpu"))._machine
    assert isinstance(made, Frontier)
    for _ in range(6):
        made.run_pass()
    assert len(laid_out) == 2  # one for each turn
    made._space.move()
    made._look()
    for _ in range(4):
        made.run_pass()
    assert len(laid_out) == 4
