"""Several GPUs as one, on a stand-in for CuPy: who runs which threads, where pages lie; nothing else changes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hvm4viz
from hvm4viz.device import cuda, open_device
from hvm4viz.device.spread import Layout, Spread
from hvm4viz.errors import DeviceUnavailable
from hvm4viz.settings import Machine
from tests.case_files import Case, cases, programs
from tests.device import stand_in_cupy
from tests.device.stand_in_cupy import Array, Pages, stand_in

NAMES = {"shared_table", "wide_map", "queens", "words", "col_dup_of_open"}
CASES = [case for case in (*cases(), *programs()) if case.name in NAMES]
MACHINES = [
    Machine(blocks=40, fuel=16, heap="64 MiB"),
    Machine(blocks=40, fuel=64, dup="claim", shard="address", heap="64 MiB"),
    Machine(blocks=40, fuel=16, defer="return", region_size=1024, heap="64 MiB"),
]


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in(3))
    monkeypatch.setattr(cuda.CudaDevice, "memory", Pages)
    monkeypatch.setattr(cuda, "START_NS", 1000.0)
    monkeypatch.setattr(cuda, "SLOWNESS", 0.5)
    monkeypatch.setattr("hvm4viz.device.way.MOVING_NS", 1000.0)


@pytest.mark.parametrize("record", ["events", "full"])
@pytest.mark.parametrize("machine", MACHINES, ids=["owner", "claim", "return"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_many_gpus_do_what_the_host_does(case: Case, machine: Machine, record: Any) -> None:
    options = {"mode": case.mode, "limit": case.limit} if case.mode == "collapse" else {}
    program = hvm4viz.load(case.source_path)

    alone = hvm4viz.run(program, machine=machine, device="cpu", record=record, max_passes=400, **options)
    run = hvm4viz.run(program, machine=machine, device="cuda:0,2,1", record=record, max_passes=400, **options)

    assert (run.status, run.text, run.heap.digest()) == (alone.status, alone.text, alone.heap.digest())
    assert run.trace.digest() == alone.trace.digest()


def test_each_gpu_runs_its_share_of_the_threads_and_the_first_does_the_rest() -> None:
    program = hvm4viz.load(next(case.source_path for case in programs() if case.name == "wide_map"))

    hvm4viz.run(program, machine=replace(MACHINES[0], blocks=80), device="cuda:2,0")

    steps = [launch for launch in stand_in_cupy.launches if launch[1] == "step_frontier"]
    assert steps
    assert set(steps) == {(2, "step_frontier", 0, 192), (0, "step_frontier", 192, 128)}
    assert {launch[0] for launch in stand_in_cupy.launches if launch[1] != "step_frontier"} == {2}


def test_a_page_lies_with_the_block_that_owns_it() -> None:
    program = hvm4viz.load(next(case.source_path for case in programs() if case.name == "wide_map"))

    run = hvm4viz.run(program, machine=replace(MACHINES[0], region_size=512), device="cuda:0,1", record="events")

    last = run.trace.n_passes - 1
    homes = stand_in_cupy.made[-1].homes
    assert len(homes) > 40
    assert all(gpu == (run.trace.owner(page, last) or 0) * 4 // 128 for page, gpu in homes.items())
    assert set(homes.values()) == {0, 1}


def test_copies_are_cut_where_pages_change_sides() -> None:
    pages = Pages(None, 10 * Pages.page, (0, 1))
    layout = Layout(np.array([0, 0, 1, 1, 0], np.uint32), 2 * Pages.page, 128, 64)
    spread = Spread(pages, lambda at: layout.thread(at) // 64)
    spread.cover(3 * Pages.page)
    spread.cover(10 * Pages.page - 1)
    words = np.random.default_rng(0).integers(0, 256, 9 * Pages.page, np.uint8)
    stream: Any = stand_in_cupy.Stream(non_blocking=True)

    spread[100 : 100 + words.size].set(words, stream=stream)

    assert spread.pieces(100, 9 * Pages.page) == [(100, 4 * 4096), (4 * 4096, 8 * 4096), (8 * 4096, 9 * 4096)]
    assert spread.counts().tolist() == [6, 4]
    assert isinstance(pages.array, Array)
    assert np.array_equal(pages.array.words[100 : 100 + words.size], words)
    back = np.zeros_like(words)
    spread[100 : 100 + words.size].get(out=back, stream=stream)
    assert np.array_equal(back, words)


def test_a_gpu_that_runs_nothing_of_its_share_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["cupy"]

    class Idle(module.RawModule):
        def get_function(self, name: str) -> Any:
            real = super().get_function(name)
            return (lambda *_, **__: None) if stand_in_cupy.Device.current == 1 else real

    monkeypatch.setattr(module, "RawModule", Idle)
    wide = hvm4viz.parse("@go = λ{0: #L{}; λ&n. #B{@go(n - 1), @go(n - 1)}}\n@main = @go(9)")

    run = hvm4viz.run(wide, machine=replace(MACHINES[0], blocks=64), device="cuda:0,1")

    assert run.status == "failed"
    assert "did not run" in run.message


@pytest.mark.parametrize("which", ["3", "0,0", "a", "0,", "-1", "0,1,2,3"])
def test_gpus_that_are_not_there_are_refused(which: str) -> None:
    with pytest.raises(DeviceUnavailable, match="name different GPUs from 0 to 2, such as 'cuda:0' or 'cuda:0,1'"):
        open_device(f"cuda:{which}")


def test_gpus_that_do_not_reach_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "deviceCanAccessPeer", lambda one, _: one == 0)
    with pytest.raises(DeviceUnavailable, match="GPU 1 does not reach the memory of GPU 0"):
        open_device("cuda:0,1")


@pytest.mark.parametrize(("setting", "use"), [({"memory": "shared"}, "private"), ({"visibility": "live"}, "pass")])
def test_what_several_gpus_do_not_have_is_refused(setting: dict[str, Any], use: str) -> None:
    with pytest.raises(ValueError, match=f"several GPUs do not have it; use .*{use}"):
        hvm4viz.run("@main = 1", device="cuda:0,1", machine=Machine(**setting))


@pytest.mark.parametrize("name", ["cpu:1", "sim:0", "auto:1"])
def test_other_kinds_have_no_numbers(name: str) -> None:
    with pytest.raises(DeviceUnavailable, match="only GPUs of kind cuda are numbered"):
        open_device(name)
