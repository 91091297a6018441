"""The metal device on the stand-in: the whole runtime runs on it, and what goes wrong there is told, never a result."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device import Device, Way, metal, open_device
from hvm4viz.device import openings as openings_module
from hvm4viz.device.base import view
from hvm4viz.device.metal import MetalDevice, MetalKernel
from hvm4viz.device.openings import openings
from hvm4viz.errors import CompileFailed, DeviceFailed, DeviceUnavailable
from hvm4viz.events import PassRecord
from hvm4viz.kernel_text.source import kernel
from hvm4viz.selftest import selftest
from tests.case_files import Case, cases, programs
from tests.device.stand_in.control import Control
from tests.differential.answers import answer, faults
from tests.golden.test_worked_examples import machine, nested_pairs, passes_of, shared_pair

WIDE = "@t = λ{0: 1; λ&n. #N{@t(n - 1), @f(n, 30)}}\n@f = λ&a. λ{0: a; λ&n. @f(a + n, n - 1)}\n@main = @t(60)"
SHARED = "@l = λ{0: []; λ&n. n <> @l(n - 1)}\n@main = ! &x = @l(9); #T{x, x, x}"
ENDLESS = "@f = λ&n. @f(n + 1)\n@main = @f(0)"
COLLAPSE = "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = @nats(0)"


class AloneKernel(MetalKernel):
    def ways(self, name: str) -> tuple[Way, ...]:
        return super().ways(name)[-1:]


class Alone(MetalDevice):
    """The metal device without the host: every pass is a dispatch."""

    def kernel(self, source: str) -> AloneKernel:
        return AloneKernel(self, source, self._host.kernel(source))


@pytest.fixture
def device(stand_in: Control) -> Device:
    stand_in.dispatched.clear()
    return Alone(openings(), workers=1)


# The runtime.


@pytest.mark.parametrize("protocol", [{}, {"owner_unit": "block"}, {"dup": "atomic"}, {"dup": "claim"}], ids=str)
@pytest.mark.parametrize("shard", ["index", "address"])
def test_worked_examples_go_pass_by_pass_as_on_the_cpu(device: Device, shard: str, protocol: dict[str, str]) -> None:
    for heap in (nested_pairs(), shared_pair()):
        here = hv.run_heap(heap, machine=machine(shard, **protocol), device=device)
        there = hv.run_heap(heap, machine=machine(shard, **protocol), device="cpu")

        assert here.status == there.status == "done"
        assert passes_of(here, 4) == passes_of(there, 4)
        assert here.heap.digest() == there.heap.digest()


MACHINES = (
    hv.Machine(blocks=1, threads_per_block=1),
    hv.Machine(blocks=3, threads_per_block=4, region_size=64, fuel=16, shard="address"),
    hv.Machine(blocks=7, threads_per_block=1, dup="claim", fuel=100),
    hv.Machine(blocks=8, threads_per_block=4, defer="return"),
)
SOME = (*cases()[::9], *(program for program in programs() if (program.interactions or 0) < 50_000))


@pytest.mark.parametrize(("number", "case"), list(enumerate(SOME)), ids=[case.name for case in SOME])
def test_case_is_right_on_the_stand_in(device: Device, stand_in: Control, number: int, case: Case) -> None:
    chosen = MACHINES[number % len(MACHINES)]

    found = faults(case, chosen, answer(case.source_path, chosen, mode=case.mode, limit=case.limit, device=device))

    assert not found
    assert stand_in.most_in_flight <= 1


@pytest.mark.parametrize("settings", [{"blocks": 3}, {"dup": "claim", "fuel": 5}, {"shard": "address"}], ids=str)
def test_a_run_has_the_digests_of_the_cpu(device: Device, settings: dict[str, Any]) -> None:
    chosen = hv.Machine(region_size=64, **settings)
    here, there = (hv.run(WIDE, machine=chosen, device=each) for each in (device, "cpu"))

    assert here.trace.digest() == there.trace.digest()
    assert here.heap.digest() == there.heap.digest()
    assert here.trace.meta["devices"] == ["metal (Stand-in)"]


@pytest.mark.parametrize("group", [1, 7, 32, 1024])
def test_the_size_of_a_threadgroup_changes_nothing(stand_in: Control, group: int) -> None:
    stand_in.group = group
    run = hv.run(WIDE, machine=hv.Machine(blocks=5), device=Alone(openings(), workers=1))

    assert run.trace.digest() == hv.run(WIDE, machine=hv.Machine(blocks=5), device="cpu").trace.digest()


def test_at_level_full_it_tells_the_same_changes(device: Device) -> None:
    here, there = (hv.run(SHARED, record="full", device=each, machine=hv.Machine(fuel=3)) for each in (device, "cpu"))

    assert here.trace.n_passes == there.trace.n_passes > 5
    for p in range(there.trace.n_passes + 1):
        assert np.array_equal(here.trace.at(p).words, there.trace.at(p).words)


def test_what_is_written_down_about_the_heap_is_the_same(device: Device) -> None:
    told: list[list[bytes]] = []
    for each in (device, open_device("cpu", workers=1)):
        ops: list[bytes] = []
        hv.run(
            SHARED, kernel=kernel().watched("log"), device=each, on_pass=lambda p, ops=ops: ops.append(p.ops.tobytes())
        )
        told.append(ops)

    assert told[0] == told[1]
    assert any(told[0])


def test_narrow_passes_run_on_the_host_over_the_same_memory(stand_in: Control) -> None:
    run = hv.run(WIDE, device=open_device("metal", workers=1))

    assert run.status == "done"
    assert any(name.startswith("cpu (") for name in run.trace.meta["devices"])
    assert stand_in.dispatched.count("step_frontier") < run.stats.passes
    assert run.trace.digest() == hv.run(WIDE, device="cpu").trace.digest()


def test_a_check_proves_the_device_itself(stand_in: Control) -> None:
    run = hv.run(WIDE, device="metal", workers=1, check=True)

    assert stand_in.dispatched.count("step_frontier") == run.stats.passes
    assert run.trace.meta["devices"] == ["metal (Stand-in)"]


def test_a_pass_that_is_worth_a_dispatch_gets_one(stand_in: Control) -> None:
    device = open_device("metal", workers=1)
    host, gpu = device.kernel(kernel().text).ways("step_frontier")

    assert host.expected_ns(1e9, 4096) > gpu.expected_ns(1e9, 4096)
    assert host.expected_ns(1e9, 10) < gpu.expected_ns(1e9, 10)
    assert host.expected_ns(1e3, 4096) < gpu.expected_ns(1e3, 4096)
    assert stand_in.has_device


def test_evaluator_runs_on_the_host_and_its_frontiers_on_the_device(device: Device, stand_in: Control) -> None:
    run = hv.run('@main = [%gnf([1 + 2, 3]), %log("x")]', device=device, on_log=lambda _: None)

    assert run.text == "[[3,3],[]]"
    assert "step_frontier" in stand_in.dispatched
    assert "step_depth_first" not in stand_in.dispatched
    assert run.trace.digest() == hv.run('@main = [%gnf([1 + 2, 3]), %log("x")]', device="cpu").trace.digest()


def test_the_evaluators_passes_are_said_to_be_the_hosts(stand_in: Control) -> None:
    run = hv.run('@main = %log("x")', device="metal", on_log=lambda _: None)

    assert run.device.name == "metal (Stand-in)"
    assert any(name.startswith("cpu (") and name.endswith(", evaluator") for name in run.trace.meta["devices"])
    assert "step_depth_first" not in stand_in.dispatched


def test_auto_prefers_metal_where_it_is(stand_in: Control) -> None:
    assert open_device("auto").name == "metal (Stand-in)"
    assert stand_in.opened == 1


def test_the_device_is_opened_once_a_process_and_a_text_is_compiled_once(stand_in: Control) -> None:
    for _ in range(3):
        hv.run("@main = 1", device="metal")

    assert stand_in.opened == 1


# What Metal does not have.


def test_live_visibility_is_refused_with_the_reason(device: Device) -> None:
    with pytest.raises(ValueError, match=r"visibility='live'.*acquire and release.*device='cpu'"):
        hv.run("@main = 1", device=device, machine=hv.Machine(visibility="live"))


def test_private_memory_is_refused_with_the_reason(device: Device) -> None:
    with pytest.raises(ValueError, match=r"memory='private'.*shared buffers only"):
        hv.run("@main = 1", device=device, machine=hv.Machine(memory="private"))


# The proof.


def test_the_stand_in_proves_itself(stand_in: Control) -> None:
    report = selftest("metal", workers=1)

    assert report.is_same, str(report)
    assert [row.golden.name for row in report.rows if row.verdict == "refused"] == ["many readers, live"]
    frontiers = sum(row.passes for row in report.rows if row.golden.name != "primitives")
    assert stand_in.dispatched.count("step_frontier") >= frontiers


def test_a_device_that_loses_a_dispatch_proves_nothing(stand_in: Control) -> None:
    openings()
    stand_in.how, stand_in.fails_from = "half", 60

    report = selftest("metal", workers=1)

    assert report.has_failed
    assert any("did not run pass" in row.what for row in report.rows)


@pytest.mark.metal
def test_a_mac_proves_itself() -> None:
    try:
        device = open_device("metal")
    except DeviceUnavailable as error:
        pytest.skip(str(error))

    report = selftest(device)

    assert report.is_same, str(report)


# Faults: each is told in the device's own words, with the trace so far, and never as a result.


@pytest.mark.parametrize("mode", ["snf", "collapse"])
@pytest.mark.parametrize("how", ["nothing", "half", "forget"])
@pytest.mark.parametrize("after", [1, 2, 5, 9])
def test_a_lost_dispatch_is_a_failure(device: Device, stand_in: Control, how: str, after: int, mode: Any) -> None:
    stand_in.how, stand_in.fails_from = how, after + 1  # the first dispatch is the look at the layout
    source = WIDE if mode == "snf" else COLLAPSE

    run = hv.run(source, device=device, machine=hv.Machine(blocks=4, fuel=5), mode=mode, max_passes=200)

    assert run.status == "failed"
    assert run.trace.n_passes == run.stats.passes >= after
    assert f"did not run pass {run.stats.passes} to its end" in run.message
    assert run.results == [] or mode == "collapse"
    assert [str(term.python()) for term in run.results] == [str(n) for n in range(len(run.results))]
    with pytest.raises(DeviceFailed, match="metal") as raised:
        run.raise_for_status()
    assert raised.value.trace is run.trace


@pytest.mark.parametrize(
    ("how", "words"), [("nothing", "took a dispatch and did not run it"), ("refuse", "Cannot create pipeline state")]
)
def test_a_device_that_is_lost_while_it_is_measured_is_a_failure(
    device: Device, stand_in: Control, monkeypatch: pytest.MonkeyPatch, how: str, words: str
) -> None:
    monkeypatch.setattr("hvm4viz.device.opening.PROBE_EVERY", 4)
    assert isinstance(device, MetalDevice)
    device.openings.current.measure()
    for _ in range(512):
        device.openings.current.count()
    stand_in.how, stand_in.fails_probes = how, True

    with pytest.raises(DeviceFailed, match=words):
        device.openings.current.measure()


def test_a_device_that_is_lost_between_two_passes_keeps_the_trace(
    device: Device, stand_in: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hvm4viz.device.opening.PROBE_EVERY", 4)
    assert isinstance(device, MetalDevice)
    device.openings.current._left = 4

    def lose(record: PassRecord) -> None:
        stand_in.fails_probes = record.index >= 5

    run = hv.run(ENDLESS, device=device, machine=hv.Machine(fuel=10), max_passes=50, on_pass=lose)

    assert run.status == "failed"
    assert "took a dispatch and did not run it" in run.message
    assert 6 <= run.trace.n_passes == run.stats.passes < 50


def test_a_refused_dispatch_is_told_in_the_devices_own_words(device: Device, stand_in: Control, tmp_path: Path) -> None:
    stand_in.how, stand_in.fails_from = "refuse", 5
    file = tmp_path / "run.hvt"

    run = hv.run(ENDLESS, device=device, machine=hv.Machine(fuel=10), save=file)

    assert run.status == "failed"
    assert "Cannot create pipeline state" in run.message
    assert hv.open_trace(file).n_passes == run.stats.passes == 4
    with pytest.raises(DeviceFailed) as raised:
        run.raise_for_status()
    assert raised.value.text == "Cannot create pipeline state"


@pytest.mark.parametrize("how", ["nothing", "refuse"])
def test_a_device_that_is_lost_at_the_start_is_no_run(device: Device, stand_in: Control, how: str) -> None:
    stand_in.how, stand_in.fails_from = how, 0

    with pytest.raises(DeviceFailed, match="metal"):
        hv.run("@main = 1", device=device)


def test_a_text_that_does_not_compile_is_told_in_metals_own_words(device: Device, stand_in: Control) -> None:
    stand_in.refused_text = "step_frontier"

    with pytest.raises(CompileFailed, match="with Metal:\nprogram_source:1:1: error: use of undeclared") as failed:
        hv.run("@main = 1", device=device)
    assert failed.value.text.startswith("program_source")


def test_a_heap_without_room_is_told_with_the_bytes(device: Device, stand_in: Control) -> None:
    stand_in.buffer_bytes_max = 1 << 20

    with pytest.raises(DeviceFailed, match=r"cannot reserve 1,073,741,824 bytes: Could not make buffer; .*heap="):
        hv.run("@main = 1", device=device)


def test_no_room_in_the_middle_of_a_run_keeps_the_trace(device: Device, stand_in: Control) -> None:
    grows = "@t = λ{0: 1; λ&n. #N{@t(n - 1), @t(n - 1)}}\n@main = @t(16)"
    stand_in.buffer_bytes_max = 1 << 17
    chosen = hv.Machine(heap="128 KiB", region_size=64)

    run = hv.run(grows, device=device, machine=chosen)

    assert run.status in {"failed", "heap_full"}
    stand_in.buffer_bytes_max = 1 << 12
    run = hv.run(grows, device=device, machine=hv.Machine(heap="4 KiB", region_size=8, blocks=2, threads_per_block=1))
    assert run.status in {"failed", "heap_full"}


def test_failure_is_exit_code_four(
    stand_in: Control, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hvm4viz.cli import main

    monkeypatch.setattr(metal, "MetalDevice", Alone)
    (tmp_path / "p.hvm4").write_text(ENDLESS, encoding="utf-8")
    stand_in.how, stand_in.fails_from = "nothing", 8

    code = main(["run", str(tmp_path / "p.hvm4"), "--device", "metal", "--fuel", "10", "--json"])

    shown = capsys.readouterr()
    assert code == 4
    assert json.loads(shown.out)["status"] == "failed"
    assert "did not run pass 7 to its end" in shown.err


# Not here.


def test_no_device_says_what_metalcompute_said(stand_in: Control) -> None:
    stand_in.has_device = False

    with pytest.raises(DeviceUnavailable, match=r"no usable Metal device \(Cannot create device\).*device='cpu'"):
        open_device("metal")


NOWHERE = [
    ("linux", "x86_64", "", (3, 12), "needs macOS 14 or later on Apple silicon"),
    ("darwin", "x86_64", "14.4", (3, 12), "needs Apple silicon"),
    ("darwin", "arm64", "13.6", (3, 12), "needs macOS 14 or later, this is 13.6"),
    ("darwin", "arm64", "15.1", (3, 14), "no wheels for Python 3.14"),
    ("darwin", "arm64", "15.1", (3, 13), "pip install metalcompute"),
]


@pytest.mark.parametrize(("system", "processor", "release", "python", "reason"), NOWHERE, ids=str)
def test_where_it_cannot_run_the_reason_and_the_next_step_are_told(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str, release: str, python: tuple[int, int], reason: str
) -> None:
    real = importlib.import_module

    def absent(name: str, package: str | None = None) -> object:
        if name == "metalcompute":
            raise ModuleNotFoundError(name)
        return real(name, package)

    monkeypatch.setattr(metal.importlib, "import_module", absent)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(openings_module.platform, "machine", lambda: processor)
    monkeypatch.setattr(openings_module.platform, "mac_ver", lambda: (release, ("", "", ""), ""))
    monkeypatch.setattr(sys, "version_info", python)

    with pytest.raises(DeviceUnavailable, match=f"^metal: .*{reason}"):
        metal.open()


def test_a_module_that_does_not_load_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> object:
        raise ImportError("symbol not found in flat namespace")

    monkeypatch.setattr(metal.importlib, "import_module", broken)

    with pytest.raises(DeviceUnavailable, match="symbol not found") as failed:
        metal.open()
    assert failed.value.text == "symbol not found in flat namespace"


def test_the_package_imports_and_lists_without_it() -> None:
    infos = {info.kind: info for info in hv.devices()}

    assert "metal" in infos
    assert (
        infos["metal"].usable or "use device='cpu'" in infos["metal"].detail or "pip install" in infos["metal"].detail
    )


# Buffers.


def test_buffers_are_compared_by_identity_and_keep_their_memory(device: Device) -> None:
    first, second = device.buffer(8), device.buffer(8)
    table = {(first, second): 1}

    assert table[first, second] == 1
    assert (second, first) not in table
    words = view(first, np.uint32)
    del first
    words[0] = 7
    assert words[0] == 7
