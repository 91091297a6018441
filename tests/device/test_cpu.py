"""Memory of the cpu device: what a run leaves is used again, but never while somebody reads it."""

from __future__ import annotations

import gc
import threading
from typing import Literal

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device import cpu
from hvm4viz.device.base import view
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.rules import kernel_folder

COUNTS = (kernel_folder() / "dialect.h").read_text(
    encoding="utf-8"
) + "ENTRY(count)(BUFFER(uint, out, 0), GRID_INDEX) { GRID_INDEX_BODY out[index] += 1u; }\n"
GROWS = "@f = λ{0: []; λ&n. [n] <> @f(n - 1)}\n@main = @f(2000)"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_kept", [])


def test_a_kept_buffer_comes_back_cleared_and_only_once() -> None:
    device = CpuDevice(1)
    buffer = device.buffer(1 << 16)
    view(buffer, np.uint8)[: 1 << 12] = 7
    address = buffer.address
    device.keep(buffer, 1 << 12)
    del buffer

    again, other = device.buffer(1 << 16), device.buffer(1 << 16)

    assert again.address == address
    assert other.address != address
    assert not view(again, np.uint8).any()


def test_a_buffer_that_is_read_is_left_alone() -> None:
    device = CpuDevice(1)
    buffer = device.buffer(1 << 16)
    words = view(buffer, np.uint64)
    words[:4] = 5
    device.keep(buffer, 32)
    del buffer

    other = device.buffer(1 << 16)

    assert words[:5].tolist() == [5, 5, 5, 5, 0]
    assert not view(other, np.uint64).any()


def test_workers_clear_a_large_buffer_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "CLEARED_ALONE", 1 << 10)
    device = CpuDevice(3)
    buffer = device.buffer(1 << 16)
    address, used = buffer.address, 10_000  # no multiple of three
    view(buffer, np.uint8)[:used] = 7
    device.keep(buffer, used)
    del buffer

    again = device.buffer(1 << 16)

    assert again.address == address
    assert not view(again, np.uint8).any()
    device.keep(again, used)
    del again
    assert device.buffer(1 << 16).address == address  # no worker holds on to it


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("count", [2, 3, 32, 1000, 100_003])
def test_workers_run_each_thread_of_a_grid_once(workers: int, count: int) -> None:
    device = CpuDevice(workers)
    buffer = device.buffer(4 * count + 4)

    device.kernel(COUNTS).function("count")(count, buffer).wait()

    assert view(buffer, np.uint32).tolist() == [1] * count + [0]


@pytest.mark.parametrize("late", ["all", "none"])
def test_a_worker_that_never_begins_leaves_its_part_to_others(late: str) -> None:
    device = CpuDevice(2)
    buffer, pool = device.buffer(400), device._pool
    assert pool is not None
    gate = threading.Event()
    if late == "all":
        pool.submit(gate.wait, 60.0)  # the only thread besides the calling one is busy

    device.kernel(COUNTS).function("count")(100, buffer).wait()

    gate.set()
    assert view(buffer, np.uint32).tolist() == [1] * 100


def test_other_sizes_and_large_ones_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "KEPT_BYTES", 100)
    device = CpuDevice(1)
    device.keep(device.buffer(1 << 16), 101)
    assert cpu._kept == []
    device.keep(device.buffer(1 << 16), 100)
    device.buffer(1 << 17)
    assert len(cpu._kept) == 1


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("mode", ["snf", "collapse"])
@pytest.mark.parametrize("record", ["off", "full"])
def test_runs_in_turn_use_one_heap_and_say_the_same(record: str, mode: str, threads: int) -> None:
    machine = hv.Machine(blocks=1, threads_per_block=threads)
    told: list[tuple[str, str]] = []
    addresses: set[int] = set()
    gc.disable()  # a finished run must not need the collector to let go
    try:
        for _ in range(4):
            run = hv.run(GROWS, device="cpu", record=record, mode=mode, machine=machine)  # type: ignore[arg-type]
            told.append((run.text, run.heap.digest()))
            addresses.add(run.heap.words.ctypes.data)
            del run
    finally:
        gc.enable()
    assert len(set(told)) == 1
    assert len(addresses) == 1


def test_a_run_that_is_kept_keeps_its_heap() -> None:
    first = hv.run(GROWS, device="cpu")
    digest = first.heap.digest()
    second = hv.run("@main = [1, 2, 3]", device="cpu")
    assert second.heap.digest() != digest
    assert first.heap.digest() == digest
    assert hv.run(GROWS, device="cpu").heap.digest() == digest


def test_a_stopped_run_goes_on_after_others() -> None:
    stopped = hv.run(GROWS, device="cpu", machine=hv.Machine(fuel=100), max_passes=5)
    hv.run("@main = [1, 2, 3]", device="cpu")
    whole = hv.run(GROWS, device="cpu", machine=hv.Machine(fuel=100))
    assert stopped.resume().trace.digest() == whole.trace.digest()


@pytest.mark.parametrize("mode", ["snf", "collapse"])
def test_the_text_for_one_thread_does_what_the_one_for_all_does(
    mode: Literal["snf", "collapse"], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"{GROWS.replace('2000', '40')}, ! x &L = &L{{#P{{2 + 3, &A{{1, 4}}}}, 7}}; #Q{{x₀, x₁}}"
    source = source.replace("@main = ", "@main = #All{") + "}"
    machine = hv.Machine(blocks=1, threads_per_block=1, region_size=64, fuel=7, dup="claim")

    def run() -> hv.Run:
        return hv.run(source, mode=mode, machine=machine, device="cpu", record="full", progress=False)

    own = run()
    monkeypatch.setattr(CpuDevice, "tailors", False)
    shared = run()

    assert own.lines == shared.lines != []
    assert own.trace.digest() == shared.trace.digest()
