"""The cuda device, on a stand-in for CuPy: what moves between host and GPU, and when."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from typing import Any

import pytest

import hvm4viz
from hvm4viz.device import cpu, cuda, open_device
from hvm4viz.errors import CompileFailed, DeviceFailed, DeviceUnavailable
from hvm4viz.settings import Machine
from tests.case_files import Case, cases, programs
from tests.device.stand_in_cupy import stand_in

NAMES = {"shared_table", "wide_map", "queens", "words", "callcc", "logging", "col_dup_of_open", "un_late"}
CASES = [case for case in (*cases(), *programs()) if case.name in NAMES]
MACHINES = [
    Machine(blocks=7, fuel=16, heap="64 MiB"),
    Machine(blocks=7, fuel=64, dup="claim", shard="address", heap="64 MiB"),
    Machine(blocks=40, fuel=16, defer="return", region_size=64, heap="64 MiB"),
]


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    monkeypatch.setattr(cuda, "START_NS", 1000.0)  # so that runs of a few milliseconds move there, and back
    monkeypatch.setattr(cuda, "SLOWNESS", 0.5)
    monkeypatch.setattr("hvm4viz.device.way.MOVING_NS", 1000.0)


@pytest.mark.parametrize("memory", ["private", "shared"])
@pytest.mark.parametrize("record", ["off", "events", "full"])
@pytest.mark.parametrize("machine", MACHINES, ids=["owner", "claim", "return"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_gpu_does_what_the_host_does(case: Case, machine: Machine, record: Any, memory: Any) -> None:
    options = {"mode": case.mode, "limit": case.limit} if case.mode == "collapse" else {}
    program, passes = hvm4viz.load(case.source_path), 400

    alone = hvm4viz.run(program, machine=machine, device="cpu", record=record, max_passes=passes, **options)
    moved = replace(machine, memory=memory)
    run = hvm4viz.run(program, machine=moved, device="cuda", record=record, max_passes=passes, **options)

    assert (run.status, run.text, run.heap.digest()) == (alone.status, alone.text, alone.heap.digest())
    assert run.stats.interactions == alone.stats.interactions
    if record != "off":
        assert run.trace.digest() == alone.trace.digest()


@pytest.mark.parametrize(("name", "goes"), [("wide_map", True), ("map_fold", False)])
def test_a_wide_run_goes_to_the_gpu_and_a_narrow_one_stays(name: str, goes: bool) -> None:  # noqa: FBT001
    program = hvm4viz.load(next(case.source_path for case in programs() if case.name == name))
    seen: list[str] = []

    hvm4viz.run(
        program,
        machine=Machine(blocks=40, heap="64 MiB"),
        device="cuda",
        on_pass=lambda record: seen.append(record.device.split()[0]),
    )

    assert ("cuda" in seen) is goes


def test_nothing_of_a_run_is_left_once_nobody_has_it() -> None:
    program = hvm4viz.load(next(case.source_path for case in programs() if case.name == "wide_map"))
    for record in ("events", "full"):
        hvm4viz.run(program, machine=MACHINES[0], device="cuda", record=record)

    gc.collect()
    for_others = [buffer for buffer, _ in cpu._kept if isinstance(buffer, cuda.CudaBuffer)]
    assert not any(buffer.twin or buffer.is_away for buffer in for_others), "the host's side alone serves the next run"
    del for_others
    cpu._kept.clear()

    assert not [each for each in gc.get_objects() if isinstance(each, cuda.CudaBuffer)]


def test_without_cupy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)

    with pytest.raises(DeviceUnavailable, match=r"pip install 'hvm4viz\[cuda\]'"):
        open_device("cuda")


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    module = stand_in()
    monkeypatch.setattr(module.cuda.runtime, "getDeviceCount", lambda: 0)
    monkeypatch.setitem(sys.modules, "cupy", module)

    with pytest.raises(DeviceUnavailable, match="no NVIDIA GPU"):
        open_device("cuda")


def test_a_kernel_that_does_not_compile_is_refused_with_the_compilers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    module = stand_in()

    class Broken(module.RawModule):
        def compile(self) -> None:
            raise RuntimeError("kernel.cu(7): error: expected a ';'")

    monkeypatch.setattr(module, "RawModule", Broken)
    monkeypatch.setitem(sys.modules, "cupy", module)

    with pytest.raises(CompileFailed, match="expected a ';'"):
        hvm4viz.run("@main = 1", device="cuda")


def test_a_lost_gpu_ends_the_run_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = stand_in()
    monkeypatch.setitem(sys.modules, "cupy", module)
    gone = module.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    class Lost(module.cuda.Stream):
        def synchronize(self) -> None:
            raise gone

    case = next(case for case in programs() if case.name == "wide_map")
    monkeypatch.setattr(module.cuda, "Stream", Lost)
    with pytest.raises(DeviceFailed, match="illegal memory access"):
        hvm4viz.run(
            hvm4viz.load(case.source_path), machine=Machine(blocks=40, heap="64 MiB"), device="cuda"
        ).raise_for_status()


def test_a_dispatch_that_runs_nothing_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    module = stand_in()

    class Idle(module.RawModule):
        def get_function(self, name: str) -> object:
            real = super().get_function(name)
            return (lambda *_, **__: None) if name == "step_frontier" else real

    monkeypatch.setattr(module, "RawModule", Idle)
    monkeypatch.setitem(sys.modules, "cupy", module)
    case = next(case for case in programs() if case.name == "wide_map")

    run = hvm4viz.run(hvm4viz.load(case.source_path), machine=Machine(blocks=40, heap="64 MiB"), device="cuda")

    assert run.status == "failed"
    assert "did not run" in run.message


def test_no_room_on_the_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    module = stand_in()

    def full(*_: object) -> None:
        raise module.cuda.memory.OutOfMemoryError("Out of memory allocating 1,073,741,824 bytes")

    monkeypatch.setattr(module, "zeros", full)
    monkeypatch.setattr(module, "empty", full)
    monkeypatch.setitem(sys.modules, "cupy", module)

    with pytest.raises(DeviceFailed, match="Out of memory"):
        hvm4viz.run("@main = 1", device="cuda", machine=Machine(blocks=40, heap="64 MiB"))
