from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz import execution
from hvm4viz.device.base import Buffer, Kernel
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.errors import DeviceFailed
from hvm4viz.evaluate import Evaluator
from hvm4viz.frontier import Frontier
from hvm4viz.kernel_text import abi
from hvm4viz.quiet import quiet_request
from hvm4viz.stops import Fault, Stop
from hvm4viz.term import Tag, pack

ENDLESS = "@f = λ&n. @f(n + 1)\n@main = @f(0)"


class Failing(CpuDevice):
    """A device whose dispatches fail, or do nothing, from the Nth on."""

    def __init__(self, after: int, *, is_silent: bool, fails: tuple[str, ...] = ("step", "join")) -> None:
        super().__init__(1)
        self.fails = fails
        self.after = after
        self.is_silent = is_silent

    def kernel(self, source: str):  # noqa: ANN201  # pyright: ignore[reportIncompatibleMethodOverride]
        device, real = self, super().kernel(source)

        class Failed(Kernel):
            def function(self, name: str):  # noqa: ANN202
                function = real.function(name)
                if not name.startswith(device.fails):
                    return function

                def call(count: int, *buffers: Buffer):  # noqa: ANN202
                    device.after -= 1
                    if device.after >= 0:
                        return function(count, *buffers)
                    if device.is_silent:
                        return real.function("layout_sizes")(0, buffers[0])
                    raise DeviceFailed("the device was lost")

                return call

        return Failed()


@pytest.mark.parametrize("after", [1, 2, 3, 8])
@pytest.mark.parametrize("is_silent", [False, True], ids=["lost", "did nothing"])
@pytest.mark.parametrize("fails", [("step", "join"), ("step",)], ids="+".join)
def test_failing_device_is_never_a_result(
    after: int,
    is_silent: bool,  # noqa: FBT001
    fails: tuple[str, ...],
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.hvt"
    device = Failing(after, is_silent=is_silent, fails=fails)

    run = hv.run(ENDLESS, device=device, machine=hv.Machine(fuel=10), max_passes=50, save=path)

    assert run.status == "failed"
    assert (
        ("the device was lost" in run.message)
        or ("status word" in run.message)
        or ("left no word of having run" in run.message)
    )
    assert run.results == []
    assert hv.open_trace(path).n_passes == run.trace.n_passes == run.stats.passes < 50


@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize("is_silent", [False, True], ids=["lost", "did nothing"])
def test_no_result_is_told_of_a_pass_that_did_not_run(after: int, is_silent: bool) -> None:  # noqa: FBT001
    device = Failing(after, is_silent=is_silent, fails=("step",))
    told: list[str] = []

    run = hv.run(
        "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = @nats(0)",
        device=device,
        limit=9,
        on_result=lambda t: told.append(t.text),
    )

    assert run.status == "failed"
    assert (
        "the device was lost" if not is_silent else f"did not run pass {run.stats.passes} to its end"
    ) in run.message
    assert len(told) <= run.stats.passes == after
    assert told == [str(n) for n in range(len(told))]


def test_exception_of_an_observer_keeps_the_trace_file(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"

    def stumble(record: object) -> None:
        if record.index == 4:  # pyright: ignore[reportAttributeAccessIssue]
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        hv.run(ENDLESS, save=path, machine=hv.Machine(fuel=10), on_pass=stumble)
    assert hv.open_trace(path).n_passes == 5


def test_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"
    path.write_text("mine")

    with pytest.raises(hv.Hvm4vizError):
        hv.run("@main = 1", save=path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("settings", [{}, {"blocks": 1}, {"dup": "claim"}, {"dup": "atomic"}, {"owner_unit": "block"}])
def test_statistics_are_the_sums_of_what_the_trace_tells(settings: dict[str, Any]) -> None:
    source = "@tree = λ{0: 1; λ&n. ! &t = @tree(n - 1); #B{t, t + n}} @main = @tree(5)"
    machine = hv.Machine(**{"blocks": 4, "threads_per_block": 2, "region_size": 64, "fuel": 3, **settings})

    run = hv.run(source, machine=machine, device="cpu", record="events")

    trace, stats = run.trace, run.stats
    rows = trace.rows
    assert run.status == "done"
    assert stats.passes == trace.n_passes == len(rows)
    assert stats.interactions == int(rows["interactions"].sum())
    assert stats.deferrals == trace.n_deferrals
    assert stats.max_frontier == int(rows["frontier"].max())
    assert stats.mean_frontier == pytest.approx(float(rows["frontier"].mean()))
    assert stats.parallelism == pytest.approx(stats.interactions / int(rows["longest"].sum()))
    assert stats.cells_used == int(trace.cells.at(trace.n_passes - 1).sum())
    assert stats.device_s == pytest.approx(int(rows["device_ns"].sum()) / 1e9)
    assert 0 < stats.device_s < stats.wall_s


TREE = "@tree = λ{0: 1; λ&n. ! &t = @tree(n - 1); #B{t, t + n}} @main = @tree(5)"


def test_what_a_trace_adds_up_to_is_what_its_run_told() -> None:
    machine = hv.Machine(blocks=4, threads_per_block=2, region_size=64, fuel=3)
    for source in (TREE, "@main = 1"):
        run = hv.run(source, machine=machine, device="cpu")
        stats = execution.Totals.of_trace(run.trace).finish(run.stats.wall_s, run.stats.cells_used)
        assert stats == run.stats
    empty = execution.Totals().finish(0.5, 7)
    assert (empty.mean_frontier, empty.parallelism, empty.device_s, empty.wall_s, empty.cells_used) == (0, 0, 0, 0.5, 7)


def test_a_copy_of_totals_goes_its_own_way() -> None:
    run = hv.run(TREE, machine=hv.Machine(blocks=4, fuel=3), device="cpu")
    totals = execution.Totals.of_trace(run.trace)
    copy = totals.copy()
    told: Any = SimpleNamespace(passes=1, interactions=10, deferred=2, frontier=1000, longest=7, device_ns=10**9)
    copy.on_pass(told)
    one, two = totals.finish(1.0, 5), copy.finish(1.0, 5)
    assert (one.passes, one.interactions) == (run.stats.passes, run.stats.interactions)
    assert (two.passes, two.interactions, two.deferrals) == (one.passes + 1, one.interactions + 10, one.deferrals + 2)
    assert two.max_frontier == 1000
    assert two.mean_frontier == pytest.approx((one.mean_frontier * one.passes + 1000) / two.passes)
    assert two.device_s == pytest.approx(one.device_s + 1)
    assert two.parallelism == pytest.approx(two.interactions / (int(run.trace.longest.sum()) + 7))


def test_the_time_of_a_run_is_within_that_of_the_call() -> None:
    begun = time.perf_counter()
    run = hv.run(TREE, machine=hv.Machine(blocks=4, fuel=3), device="cpu")
    assert 0 < run.stats.wall_s <= time.perf_counter() - begun
    on = hv.run(TREE, machine=hv.Machine(blocks=4, fuel=3), device="cpu", max_passes=5)
    assert on.resume().stats.wall_s > on.stats.wall_s > 0


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (False, False)])
def test_progress_is_told_when_it_is_asked_for(
    progress: bool,  # noqa: FBT001
    shown: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    line: Any = SimpleNamespace(
        begin=lambda _: told.append("begin"), on_pass=lambda _: told.append("pass"), end=lambda _: told.append("end")
    )
    monkeypatch.setattr(execution, "progress_for", lambda asked, _: line if asked else None)
    run = hv.run("@main = 1 + 2", progress=progress)
    assert told == (["begin"] + ["pass"] * run.stats.passes + ["end"] if shown else [])


@pytest.mark.parametrize("main", ["%gnf(%seen(1))", "%gnf(@one)", "#P{%other(3), %gnf(#Q{1, %seen(2)})}"])
def test_a_primitive_where_none_can_be_called_is_named(main: str) -> None:
    hv.primitive("other", arity=1)(lambda term: term)
    hv.primitive("seen", arity=1)(lambda term: term)
    run = hv.run(f"@one = %seen(1)\n@main = {main}")
    assert run.status == "primitive"
    assert "%seen was met inside %gnf in @" in run.message


def test_a_cell_that_is_no_primitive_has_no_name() -> None:
    hv.primitive("other", arity=1)(lambda term: term)
    made = execution.Execution(quiet_request("@main = #P{%log(1), %other(2), %gnf(3), %nf(4)}", device="cpu"))
    names = [made._primitive(place) for place in range(-1, made._book.words.size + 2)]
    assert {"log", "other", "gnf", "nf"} <= set(names)
    assert (names[0], names[1], names[-1], names[-2]) == ("?", "?", "?", "?")


def test_a_full_heap_below_the_default_proposes_the_default() -> None:
    machine = hv.Machine(blocks=2, region_size=4096, heap="1 MiB")

    run = hv.run("@grow = λ&n. n <> @grow(n + 1) @main = @grow(0)", machine=machine, device="cpu", record="off")

    assert run.status == "heap_full"
    assert "all 32 regions (131,072 cells) are in use; re-run with heap='1 GiB'" in run.message


def test_an_error_in_a_heap_without_a_program_has_no_place_in_a_source() -> None:
    heap = hv.HeapBuilder(16).put(0, Tag.APP, 0, 8).numbers(8, [3, 4]).heap()
    run = hv.run_heap(heap, machine=hv.Machine(blocks=1, region_size=16), device="cpu")
    assert run.status == "error"
    assert " in @" not in run.message
    assert run.message.endswith("and so is a case with fields, #A: λx. b); pass 0, cell 0")


@pytest.mark.parametrize(
    ("hand", "frame", "is_value", "says"),
    [
        (pack(Tag.LAM, 0, 5), abi.F_DP0, True, " on the rule DUP-LAM"),
        (pack(Tag.LAM, 0, 5), abi.F_DP0, False, ""),  # it was about to be entered
        (pack(Tag.LAM, 0, 5), abi.F_APP, True, ""),  # that takes no cells
        (pack(Tag.SUP, 1, 5), abi.F_APP, True, " on the rule APP-SUP"),
        (pack(Tag.SUP, 1, 5), abi.F_OPL, True, " on the rule OP2-SUP"),
        (pack(Tag.C00, 1, 5), abi.F_DP1, True, " on the rule DUP-NOD"),
        (pack(Tag.C16, 1, 5), abi.F_DP1, True, " on the rule DUP-NOD"),
        ("a lambda", abi.F_DP0, True, " on the rule DUP-LAM"),
        ("an application", abi.F_DP0, True, " on the rule DUP-STK"),
    ],
)
def test_the_rule_that_had_no_room_is_named(hand: int | str, frame: int, is_value: bool, says: str) -> None:  # noqa: FBT001
    made = execution.Execution(quiet_request("@main = ! &x = λy. #P{y, 2}; x", device="cpu"))
    tags = (made._book.code >> np.uint64(56) & np.uint64(0x7F)).tolist()
    if isinstance(hand, str):  # a closure of it
        hand = pack(Tag.ALO, tags.index(Tag.LAM if hand == "a lambda" else Tag.APP), 0)

    assert made._starved_rule(Fault(0, 0, 0, hand, frame, is_value)) == says


def test_memory_is_given_back_unless_anything_may_have_been_written_there() -> None:
    class Keeping(CpuDevice):
        kept = 0

        def keep(self, buffer: Buffer, nbytes: int) -> None:
            del buffer, nbytes
            self.kept += 1

    for status, kept in (("done", 1), ("error", 1), ("failed", 0)):
        device = Keeping(1)
        made = execution.Execution(quiet_request("@main = 1", device=device))
        made.advance()
        assert made.finish(Stop(status, "mine")).status == status
        assert device.kept == kept


def test_a_result_is_told_once_its_pass_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"
    source = "@main = &A{1 + 1, &B{2, 3 + 4}}"
    options: Any = {"mode": "collapse", "save": path, "device": "cpu", "record": "events"}
    made = execution.Execution(quiet_request(source, machine=hv.Machine(fuel=1), **options))
    enumeration, told = made.enumeration, []
    assert enumeration is not None
    while (stop := made.advance(lambda: bool(enumeration.found))) is None:
        for term in made.new_results():
            told.append(term.text)
            assert hv.open_trace(path).n_passes == made.store.passes
    assert made.finish(stop).lines == ["2", "2", "7"]
    assert told


@pytest.mark.parametrize(("most", "says"), [(1, "1 pass,"), (2, "2 passes,")])
@pytest.mark.parametrize("status", ["done", "failed"])
def test_a_run_whose_device_is_lost_at_its_end_has_no_heap(
    status: str, most: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = hv.Machine(blocks=2, region_size=64, fuel=1)
    made = execution.Execution(quiet_request(ENDLESS, machine=machine, device="cpu", max_passes=most))
    made.advance()
    monkeypatch.setattr(made.engine, "image", fail)

    run = made.finish(Stop(status, "mine"))

    assert run.status == "failed"
    first = "mine" if status == "failed" else "the device was lost"
    assert run.message.startswith(f"{first}; the device was lost after {says} and the heap with it")
    assert (run.heap.words.size, run.heap.region_size, run.heap.threads_per_block) == (0, 64, machine.threads_per_block)
    assert (run.results, run.stats.cells_used) == ([], 0)


def fail(*_: object, **__: object) -> None:
    raise DeviceFailed("the device was lost")


def test_a_device_lost_before_a_run_goes_on_ends_it_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = hv.run(ENDLESS, machine=hv.Machine(fuel=1), device="cpu", max_passes=3, record="full")
    for engine in (Evaluator, Frontier):
        monkeypatch.setattr(engine, "go_on", fail)

    again = run.trace.resume(3, device="cpu")

    assert (again.status, again.message) == ("failed", "the device was lost")
    assert again.trace.n_passes == 3


@pytest.mark.parametrize(("message", "whole"), [("mine", "mine; the disk is full"), ("", "the disk is full")])
def test_what_a_recording_lost_stands_behind_how_the_run_ended(message: str, whole: str) -> None:
    made = execution.Execution(quiet_request("@main = 1", device="cpu"))
    made._recorder.failure = "the disk is full"  # pyright: ignore[reportAttributeAccessIssue]
    assert made.finish(Stop("timeout", message)).message == whole


def test_a_cycle_that_a_file_keeps_closed_is_said_to_be_so() -> None:
    made = execution.Execution(quiet_request("@main = 1", device="cpu"))
    assert made._message(Stop("stalled", "mine")) == "mine"
    made.store.closed = frozenset({3})
    assert made._message(Stop("done", "mine")) == "mine"
    assert made._message(Stop("stalled", "mine")).startswith("mine; to evaluate it once more, ")
    assert made._message(Stop("stalled", "mine")).endswith("resume(0)")
