"""Going on: a run that was stopped and resumed is the run that never stopped."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.heap import HeapBuilder
from hvm4viz.primitives import primitive
from hvm4viz.state import State
from hvm4viz.term import Tag
from hvm4viz.trace import keyframes, open_trace
from tests.trace.time_travel import MACHINES, PROGRAMS

QUIET: dict[str, Any] = {"progress": False, "on_log": lambda _: None}
CALLS: list[int] = []


@primitive("noted", arity=1)
def noted(n: hv.Term) -> int:
    """Note that it was called."""
    CALLS.append(n.python())
    return n.python() + 1


@primitive("interrupted_once", arity=1)
def interrupted_once(n: hv.Term) -> int:
    """Be interrupted by a person, the first time."""
    CALLS.append(n.python())
    if len(CALLS) == 1:
        raise KeyboardInterrupt
    return n.python()


@primitive("wide", arity=1)
def wide(n: hv.Term) -> list[int]:
    """Give back a long list."""
    CALLS.append(n.python())
    return list(range(n.python()))


def same(resumed: hv.Run, whole: hv.Run) -> bool:
    """Tell whether a run is, in all that it tells, one that never stopped."""
    assert resumed.status == whole.status
    assert resumed.lines == whole.lines
    assert resumed.log == whole.log
    assert resumed.heap.digest() == whole.heap.digest()
    for name in ("passes", "interactions", "deferrals", "max_frontier", "mean_frontier", "parallelism", "cells_used"):
        assert getattr(resumed.stats, name) == getattr(whole.stats, name), name
    if whole.trace.level != "off":
        assert np.array_equal(resumed.trace.outcomes, whole.trace.outcomes)
        assert np.array_equal(resumed.trace.given, whole.trace.given)
        assert np.array_equal(resumed.trace.cells.dense(), whole.trace.cells.dense())
        assert np.array_equal(resumed.trace.rules.dense(), whole.trace.rules.dense())
    assert resumed.trace.digest_or_none() == whole.trace.digest_or_none()
    if whole.trace.level == "full":
        assert np.array_equal(resumed.trace.deltas(), whole.trace.deltas())
        assert np.array_equal(resumed.trace.ops(), whole.trace.ops())
    return True


SNF = ["queens", "words", "automaton", "sat", "interpreter"]


@pytest.mark.parametrize("program", SNF)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_run_resumed_in_memory(program: str, machine: str) -> None:
    parsed, options = hv.load(PROGRAMS / f"{program}.hvm4"), {"machine": MACHINES[machine], "max_passes": 400, **QUIET}
    whole = hv.run(parsed, record="full", **options)
    for p in {0, 1, whole.stats.passes // 3, whole.stats.passes - 1}:
        stopped = hv.run(parsed, record="full", **{**options, "max_passes": p})
        assert stopped.status == "pass_limit"
        heap, digest = stopped.heap.digest(), stopped.trace.digest()
        resumed = stopped.resume(max_passes=400, **QUIET)
        assert same(resumed, whole)
        assert (stopped.heap.digest(), stopped.trace.digest()) == (heap, digest)  # the first run stays what it is


@pytest.mark.parametrize("level", ["off", "counts", "events", "full"])
def test_every_level_is_resumed(level: Any) -> None:
    parsed = hv.load(PROGRAMS / "queens.hvm4")
    whole = hv.run(parsed, record=level, **QUIET)
    stopped = hv.run(parsed, record=level, max_passes=20, **QUIET)
    assert same(stopped.resume(progress=False), whole)
    assert same(stopped.resume(progress=False), whole)  # as often as one likes


def test_a_run_stopped_again_and_again() -> None:
    parsed = hv.load(PROGRAMS / "sat.hvm4")
    whole = hv.run(parsed, record="full", **QUIET)
    run = hv.run(parsed, record="full", max_passes=0, **QUIET)
    for limit in itertools.count(7, 7):
        if run.status == "done":
            break
        run = run.resume(max_passes=limit, progress=False)
    assert same(run, whole)


@pytest.mark.parametrize("program", SNF)
@pytest.mark.parametrize("machine", ["default", "alone", "claim"])
def test_a_trace_resumed_from_any_pass(program: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 10)
    monkeypatch.setattr(keyframes, "EVERY_BYTES", 10_000)
    parsed, options = hv.load(PROGRAMS / f"{program}.hvm4"), {"machine": MACHINES[machine], "max_passes": 300, **QUIET}
    whole = hv.run(parsed, record="full", **options)
    for p in {0, 3, whole.stats.passes // 2, whole.stats.passes - 1}:
        assert same(whole.trace.resume(p, max_passes=300, **QUIET), whole)


def test_a_file_resumed_by_a_process_that_only_has_the_file(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "double.hvm4"
    library.parent.mkdir()
    library.write_text('@double = λn. n * 2\n#include "../base.hvm4"\n')
    (tmp_path / "base.hvm4").write_text("@list = λ{0: [] ; λ&n. n <> @list(n - 1)}\n")
    main = tmp_path / "main.hvm4"
    main.write_text('#include "lib/double.hvm4"\n@main = @list(@double(20))\n')
    program = hv.load(main, root=tmp_path)
    whole = hv.run(program, record="full", save=tmp_path / "whole.hvt", **QUIET)
    hv.run(program, record="full", max_passes=2, save=tmp_path / "run.hvt", **QUIET)
    for path in (main, library, tmp_path / "base.hvm4"):
        path.unlink()
    opened = open_trace(tmp_path / "run.hvt")
    assert opened.program is not None
    assert np.array_equal(opened.program.book.code, program.book.code)
    for p in range(3):
        assert same(opened.resume(p, **QUIET), whole)
    assert same(open_trace(tmp_path / "whole.hvt").resume(1, **QUIET), whole)


def test_merged_programs_are_read_again_as_they_were(tmp_path: Path) -> None:
    program = hv.parse("@f = λn. n + 1").merge(hv.parse("@g = λn. @f(n)"), hv.parse("@main = [@g(1), @g(2)]"))
    run = hv.run(program, record="full", max_passes=1, save=tmp_path / "run.hvt", **QUIET)
    assert run.trace.header.units == (0, 1, 2)
    assert same(open_trace(tmp_path / "run.hvt").resume(1, **QUIET), run.resume(**QUIET))


def test_a_file_goes_on_in_a_new_file(tmp_path: Path) -> None:
    parsed = hv.load(PROGRAMS / "queens.hvm4")
    whole = hv.run(parsed, record="full", save=tmp_path / "whole.hvt", **QUIET)
    stopped = hv.run(parsed, record="full", max_passes=30, save=tmp_path / "first.hvt", **QUIET)
    resumed = stopped.resume(save=tmp_path / "second.hvt", progress=False)
    opened = open_trace(tmp_path / "second.hvt")
    assert opened.complete
    assert opened.digest() == resumed.trace.digest() == whole.trace.digest()
    assert np.array_equal(opened.deltas(), whole.trace.deltas())
    assert open_trace(tmp_path / "first.hvt").n_passes == 30


@pytest.mark.parametrize("how", ["timeout", "on_pass", "interrupt"])
def test_whoever_stopped_it(how: str) -> None:
    parsed = hv.load(PROGRAMS / "queens.hvm4")
    whole = hv.run(parsed, **QUIET)
    if how == "timeout":
        stopped = hv.run(parsed, timeout=0, **QUIET)
        assert stopped.status == "timeout"
    else:
        stopped = hv.run(parsed, on_pass=lambda record: record.index < 25, **QUIET)
        assert stopped.status == "interrupted"
    assert same(stopped.resume(progress=False), whole)


# Collapsing.

BRANCHES = "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = [@nats(0), 7]"


@pytest.mark.parametrize("machine", ["default", "alone", "claim"])
def test_results_go_on_where_they_stopped(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 3)
    options: dict[str, Any] = {"mode": "collapse", "limit": 30, "machine": MACHINES[machine], **QUIET}
    whole = hv.run(BRANCHES, record="full", **options)
    assert len(whole.lines) == 30
    for p in range(0, whole.stats.passes, max(whole.stats.passes // 6, 1)):
        stopped = hv.run(BRANCHES, record="full", max_passes=p, **options)
        came: list[hv.Term] = []
        resumed = stopped.resume(progress=False, on_result=came.append)
        assert same(resumed, whole)
        assert stopped.lines + [term.text for term in came] == whole.lines
        assert [term.python() for term in resumed.results] == [term.python() for term in whole.results]
        assert same(whole.trace.resume(p, **QUIET), whole)


def test_results_that_were_not_asked_for_to_the_end() -> None:
    found = hv.results(BRANCHES, limit=20)
    first = [next(found).text for _ in range(5)]
    stopped = found.run
    assert stopped.status == "interrupted"
    resumed = stopped.resume(progress=False)
    assert resumed.lines == hv.run(BRANCHES, mode="collapse", limit=20, **QUIET).lines
    assert resumed.lines[:5] == first


# Primitives.

LOGS = """
@count = λ{0: []; λ&n. %log("n") <> @count(n - 1)}
@main = [@count(4), %gnf([1 + 1, 2 + 2, &L{3, 4}]), %log("between"), %nf(5 + 5), %gnf(6 + 6), %log("end")]
"""


@pytest.mark.parametrize("machine", ["default", "claim", "alone"])
def test_primitives_are_resumed_wherever_they_are(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 2)
    whole = hv.run(LOGS, record="full", machine=MACHINES[machine], **QUIET)
    assert whole.status == "done"
    assert len(whole.log) == 6
    for p in range(whole.stats.passes):
        stopped = hv.run(LOGS, record="full", max_passes=p, machine=MACHINES[machine], **QUIET)
        lines: list[str] = []
        resumed = stopped.resume(progress=False, on_log=lines.append)
        assert same(resumed, whole)
        assert stopped.log + lines == whole.log
        assert same(whole.trace.resume(p, **QUIET), whole)


def test_a_python_primitive_is_called_once() -> None:
    source = "@main = [%noted(1), %noted(%noted(2)), %gnf([1 + 1]), %noted(5)]"
    CALLS.clear()
    whole = hv.run(source, record="full", **QUIET)
    called = list(CALLS)
    assert sorted(called) == [1, 2, 3, 5]
    assert (np.diff(whole.trace.state_passes) > 0).all()
    assert whole.trace.state_passes.size >= 5  # after each call
    for p in range(whole.stats.passes):
        CALLS.clear()
        stopped = hv.run(source, record="full", max_passes=p, **QUIET)
        assert same(stopped.resume(**QUIET), whole)
        assert called == CALLS
        CALLS.clear()
        assert same(whole.trace.resume(p, **QUIET), whole)
        assert called[len(called) - len(CALLS) :] == CALLS  # those before pass p are not called again
        assert len(CALLS) == len(called) - len(stopped_calls(source, p))


def stopped_calls(source: str, p: int) -> list[int]:
    kept = list(CALLS)
    CALLS.clear()
    hv.run(source, max_passes=p, **QUIET)
    found = list(CALLS)
    CALLS[:] = kept
    return found


def test_a_primitive_that_a_person_interrupted_is_called_again() -> None:
    CALLS.clear()
    stopped = hv.run('@main = [%log("a"), %interrupted_once(7), %log("b")]', record="full", **QUIET)
    assert stopped.status == "interrupted"
    assert stopped.log == ["a"]
    resumed = stopped.resume(progress=False, on_log=lambda _: None)
    assert (resumed.status, resumed.log, CALLS) == ("done", ["a", "b"], [7, 7])
    assert resumed.trace.at(stopped.stats.passes).digest() == stopped.heap.digest()


# A full heap.

TREE = "@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(9)"


@pytest.mark.parametrize("machine", ["default", "alone", "claim", "narrow"])
def test_a_full_heap_goes_on_with_a_larger_one(machine: str, tmp_path: Path) -> None:
    small = dataclasses.replace(MACHINES[machine], region_size=256, heap=13 * 256 * 8 if machine != "claim" else 48_000)
    stopped = hv.run(TREE, record="full", machine=small, save=tmp_path / "run.hvt", **QUIET)
    assert stopped.status == "heap_full"
    with pytest.raises(ValueError, match=r"resume\(heap=\.\.\.\)"):
        stopped.resume()
    with pytest.raises(ValueError, match="give a larger one"):
        stopped.resume(heap=small.heap)
    resumed = stopped.resume(heap="64 MiB", progress=False)
    whole = hv.run(TREE, record="full", machine=dataclasses.replace(small, heap="64 MiB"), **QUIET)
    assert (resumed.status, resumed.lines) == ("done", whole.lines)
    assert resumed.stats.interactions == whole.stats.interactions
    for p in range(resumed.trace.n_passes + 1):
        assert resumed.trace.at(p).digest()
    assert resumed.trace.at(-1).digest() == resumed.heap.digest()
    again = open_trace(tmp_path / "run.hvt").resume(stopped.stats.passes, heap="64 MiB", **QUIET)
    assert same(again, resumed)


@pytest.mark.parametrize(("blocks", "regions"), [(1, 1), (1, 2), (2, 2), (2, 3), (7, 8)])
def test_where_the_cap_shaped_nothing_the_digest_is_that_of_the_larger_heap(blocks: int, regions: int) -> None:
    machine = hv.Machine(blocks=blocks, threads_per_block=1, region_size=64)
    small, large = (dataclasses.replace(machine, heap=n * 64 * 8) for n in (regions, 4000))
    stopped = hv.run(TREE, machine=small, record="full", **QUIET)
    assert stopped.status == "heap_full"
    resumed = stopped.resume(heap=large.heap, progress=False)
    whole = hv.run(TREE, machine=large, record="full", **QUIET)
    assert resumed.lines == whole.lines
    assert resumed.trace.digest() == whole.trace.digest()


def test_a_heap_that_is_full_again_can_go_on_again() -> None:
    machine = hv.Machine(blocks=2, threads_per_block=2, region_size=64, heap=8 * 64 * 8)
    run = hv.run(TREE, machine=machine, **QUIET)
    stops = 0
    while run.status == "heap_full":
        stops += 1
        run = run.resume(heap=(8 + 16 * stops) * 64 * 8, progress=False)
    assert stops > 3
    assert run.lines == hv.run(TREE, **QUIET).lines


@pytest.mark.parametrize("cells", [2048, 3000, 4096])
def test_a_heap_that_fills_up_under_a_primitive(cells: int) -> None:
    text = "x" * 150
    source = f'@main = [%log("{text}"), %log("{text}"), %gnf([1 + 1, 2 + 2]), %log("{text}")]'
    machine = hv.Machine(blocks=1, threads_per_block=1, region_size=256, heap=cells // 256 * 256 * 8)
    large = dataclasses.replace(machine, heap="16 MiB")
    whole = hv.run(source, machine=large, **QUIET)
    stopped = hv.run(source, machine=machine, **QUIET)
    if stopped.status == "heap_full":
        resumed = stopped.resume(heap="16 MiB", progress=False, on_log=lambda _: None)
        assert (resumed.lines, resumed.log, resumed.trace.digest()) == (whole.lines, whole.log, whole.trace.digest())


def test_the_value_of_a_python_primitive_is_not_asked_for_twice() -> None:
    machine = hv.Machine(blocks=1, threads_per_block=1, region_size=256, heap=4 * 256 * 8)
    CALLS.clear()
    stopped = hv.run("@main = %wide(2000)", machine=machine, record="full", **QUIET)
    assert stopped.status == "heap_full"
    with pytest.raises(ValueError, match="value of a Python primitive"):
        stopped.resume(heap="16 MiB")
    with pytest.raises(ValueError, match="value of a Python primitive"):
        stopped.trace.resume(stopped.stats.passes, heap="16 MiB")
    assert CALLS == [2000]


# What cannot go on.


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("@main = 1", "ended as 'done': nothing is left to do"),
        ("@main = 1(2)", "ended as 'error': correct the program"),
        ('@main = %gnf(%log("x"))', "ended as 'primitive': correct the program"),
    ],
)
def test_a_run_that_has_ended_does_not_go_on(source: str, says: str) -> None:
    run = hv.run(source, record="full", **QUIET)
    with pytest.raises(ValueError, match=says):
        run.resume()
    with pytest.raises(ValueError, match="resume from one before"):
        run.trace.resume(-1)


def test_a_trace_below_full_does_not_go_on() -> None:
    trace = hv.run("@main = 1").trace
    with pytest.raises(TraceError, match="record='full'"):
        trace.resume(0)


def test_another_kernel_or_program_is_refused() -> None:
    run = hv.run(hv.load(PROGRAMS / "queens.hvm4"), record="full", max_passes=5, **QUIET)
    text = next(rule.text for rule in hv.kernel().rules if rule.name == "DUP-NOD")
    edited = hv.kernel().replace("DUP-NOD", text + "// edited\n")
    with pytest.raises(TraceError, match=r"resume\(\.\.\., kernel=\.\.\.\)"):
        run.trace.resume(3, kernel=edited)
    strange = run.trace.slice(0, 5)
    strange.header = dataclasses.replace(strange.header, source=(("main", "@main = %nobody_has_this(1)"),))
    strange.__dict__.pop("program", None)
    with pytest.raises(TraceError, match="cannot be parsed here"):
        strange.resume(3)


def test_an_edited_kernel_is_resumed_with_itself() -> None:
    text = next(rule.text for rule in hv.kernel().rules if rule.name == "DUP-NOD")
    edited = hv.kernel().replace("DUP-NOD", text + "// edited\n")
    parsed = hv.load(PROGRAMS / "queens.hvm4")
    whole = hv.run(parsed, record="full", kernel=edited, **QUIET)
    stopped = hv.run(parsed, record="full", kernel=edited, max_passes=9, **QUIET)
    assert same(stopped.resume(progress=False), whole)
    assert same(whole.trace.resume(9, kernel=edited, **QUIET), whole)


@pytest.mark.parametrize("settings", [{"dup": "atomic"}, {"owner_unit": "block"}])
def test_without_deterministic_passes_only_known_states_are_resumed(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 4)
    parsed = hv.load(PROGRAMS / "queens.hvm4")
    machine = hv.Machine(**settings, fuel=100)
    stopped = hv.run(parsed, machine=machine, record="full", max_passes=31, **QUIET)
    lines = hv.run(parsed, **QUIET).lines
    known = stopped.trace.state_passes.tolist()
    assert known[0] == 0
    assert known[-1] == 31
    assert len(known) > 3
    for p in known:
        assert stopped.trace.resume(p, **QUIET).lines == lines
    strange = next(p for p in range(31) if p not in known)
    with pytest.raises(TraceError, match=rf"pass {strange}: .*not deterministic.*: 0, "):
        stopped.trace.resume(strange)
    assert stopped.resume(progress=False).lines == lines


def test_a_cut_trace_is_resumed_as_far_as_it_is_known() -> None:
    parsed = hv.load(PROGRAMS / "shared_table.hvm4")
    cut = hv.run(parsed, record="full", trace_limit="1 MiB", max_passes=300, **QUIET)
    until = cut.trace.events_until
    assert until < 300
    assert cut.trace.resume(until, **QUIET).lines == hv.run(parsed, **QUIET).lines
    with pytest.raises(TraceError, match="were not kept"):
        cut.trace.resume(until + 1)
    assert cut.resume(progress=False).lines == hv.run(parsed, **QUIET).lines  # the machine itself still knows


@pytest.mark.parametrize("level", ["events", "full"])
def test_the_limit_of_a_recording_goes_on_where_it_stopped(level: Any) -> None:
    parsed = hv.load(PROGRAMS / "shared_table.hvm4")
    options: dict[str, Any] = {"record": level, "trace_limit": "300 KiB" if level == "events" else "2 MiB", **QUIET}
    whole = hv.run(parsed, max_passes=700, **options)
    assert 0 < whole.trace.events_until < 700
    for p in (whole.trace.events_until - 30, whole.trace.events_until + 30):
        resumed = hv.run(parsed, max_passes=p, **options).resume(max_passes=700, progress=False)
        assert abs(resumed.trace.events_until - whole.trace.events_until) <= (0 if level == "events" else 5)
        assert np.array_equal(resumed.trace.outcomes, whole.trace.outcomes)
    wide_open = hv.run(parsed, max_passes=100, **{**options, "trace_limit": "1 GiB"}).resume(
        max_passes=700, progress=False
    )
    assert not wide_open.trace.is_cut


def test_a_heap_laid_out_by_hand_is_resumed() -> None:
    heap = (
        HeapBuilder(24)
        .put(0, Tag.C00 + 2, 7, 8)
        .put(8, Tag.DP0, 5, 1)
        .put(9, Tag.C00 + 2, 7, 17)
        .put(1, Tag.SUP, 5, 5)
        .numbers(5, [1, 2])
        .put(17, Tag.NUM, 0, 3)
        .put(18, Tag.DP1, 5, 1)
        .heap()
    )
    machine = hv.Machine(blocks=3, threads_per_block=4, region_size=8, shard="address")
    whole = hv.run_heap(heap, machine=machine, record="full")
    for p in range(whole.stats.passes):
        stopped = hv.run_heap(heap, machine=machine, record="full", max_passes=p)
        assert same(stopped.resume(progress=False), whole)
        assert same(whole.trace.resume(p, progress=False), whole)


def test_a_state_survives_its_bytes() -> None:
    run = hv.run(hv.load(PROGRAMS / "queens.hvm4"), record="full", max_passes=20, **QUIET)
    state = State.from_bytes(run.trace.final_state)
    assert state.to_bytes() == run.trace.final_state
    assert state.facts["store"]["passes"] == 20
