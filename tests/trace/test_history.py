"""The life of a cell, and who wrote it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.events import DELTA, OPERATIONS, OUTCOMES
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag, has_sub
from hvm4viz.trace import Trace
from tests.trace.records import event, one_pass, record
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module", params=["shared_table", "automaton", "sat"])
def trace(request: pytest.FixtureRequest) -> Trace:
    program = hv.load(PROGRAMS / f"{request.param}.hvm4")
    return hv.run(program, record="full", max_passes=60, progress=False, on_log=lambda _: None).trace


def some_cells(trace: Trace) -> list[int]:
    cells, counts = np.unique(trace.deltas()["cell"], return_counts=True)
    often = cells[np.argsort(-counts, kind="stable")[:20]]
    slots = np.unique(trace.ops()["slot"])[:20]
    return np.unique(np.concatenate([often, cells[::97][:40], slots])).tolist()


def test_the_words_of_a_cell_are_those_of_the_heaps(trace: Trace) -> None:
    heaps = [trace.at(p).words for p in range(trace.n_passes + 1)]
    for loc in some_cells(trace):
        history = trace.cell(loc)
        assert [history.at(p) for p in range(trace.n_passes + 1)] == [
            int(words[loc]) if loc < words.size else 0 for words in heaps
        ]
        words = [0, *map(history.at, range(trace.n_passes + 1))]
        assert len(history) == sum(a != b for a, b in pairwise(words))
        for before, after in zip(history, list(history)[1:], strict=False):
            assert before.after == after.before


def test_writers_are_tasks_that_ran_in_that_pass(trace: Trace) -> None:
    known = 0
    for loc in some_cells(trace):
        for write in trace.cell(loc):
            if write.event is None:
                continue
            known += 1
            event = trace.events()[write.event]
            assert trace.passes()[write.event] == write.pass_index
            assert (int(event["thread"]), int(event["loc"])) == (write.thread, write.loc)
    assert known > 10


def test_new_cells_are_made_by_the_owner_of_their_slice() -> None:
    machine = hv.Machine(blocks=3, threads_per_block=4, region_size=256, fork="off")
    trace = hv.run(hv.load(PROGRAMS / "queens.hvm4"), machine=machine, record="full", progress=False).trace
    for delta in trace.deltas()[::211]:
        (made, *_) = trace.cell(int(delta["cell"]))
        if made.pass_index < 0 or made.before:
            continue
        owner = trace.at(made.pass_index + 1).owner(int(delta["cell"]))
        assert made.thread in (owner, None)


def test_what_was_done_to_a_slot_is_told_of_its_cell() -> None:
    heap = (
        HeapBuilder(24)
        .put(0, Tag.C00 + 2, 7, 8)
        .put(8, Tag.DP0, 5, 1)
        .put(9, Tag.DP1, 5, 1)
        .put(1, Tag.SUP, 5, 16)
        .numbers(16, [1, 2])
        .heap()
    )
    machine = hv.Machine(blocks=3, threads_per_block=4, region_size=8, shard="address")
    trace = hv.run_heap(heap, machine=machine, record="full").trace
    history = trace.cell(1)
    assert history.writes[0].pass_index == -1
    last = history.writes[-1]
    assert (last.op, has_sub(last.after), last.text) == ("publish", True, "SUB 2")
    assert last.loc in (8, 9)
    (root, done) = trace.cell(8)
    assert (root.text, done.text, done.loc) == ("DP0 label 5 at 1", "1", 8)
    assert OUTCOMES[trace.events()["outcome"][done.event]] == "done"  # type: ignore[index]


def test_a_value_has_the_place_of_the_closure_before_it() -> None:
    trace = hv.run("@double = λn. n * 2\n@main = [@double(4), @double(5)]", record="full").trace
    cells = np.unique(trace.deltas()["cell"]).tolist()
    values = [write for loc in cells for write in trace.cell(loc) if write.text in ("8", "10")]
    assert len(values) == 2
    for write in values:
        assert write.definition == "main"
        assert write.span is not None
        assert write.span.text in ("@double(4)", "@double(5)")


def test_the_only_rule_of_a_pass_is_that_of_its_tasks() -> None:
    trace = hv.run("@double = λn. n * 2\n@main = [@double(4), @double(5)]", record="full", progress=False).trace
    rules = set()
    for loc in np.unique(trace.deltas()["cell"]).tolist():
        for write in trace.cell(loc):
            if write.rule:
                assert [trace.header.rules[i] for i in np.flatnonzero(trace.rules.at(write.pass_index))] == [write.rule]
                rules.add(write.rule)
            elif write.event is not None:
                event = trace.events()[write.event]
                assert not event["interactions"] or np.count_nonzero(trace.rules.at(write.pass_index)) > 1
    machine = hv.Machine(blocks=1, threads_per_block=1, fuel=1)
    slow = hv.run("@main = [1 + 2, 3 + 4]", record="full", machine=machine, progress=False).trace
    rules |= {write.rule for loc in range(1, 12) for write in slow.cell(loc)}
    assert "OP2-NUM-NUM" in rules


def test_a_cell_that_nothing_was_written_to() -> None:
    trace = hv.run("@main = 1", record="full").trace
    history = trace.cell(4000)
    assert len(history) == 0
    assert history.at(0) == history.at(trace.n_passes) == 0
    assert history.last(1) is None
    for p in (-1, trace.n_passes + 1):
        with pytest.raises(IndexError, match="cell 4000 is known from pass 0"):
            history.at(p)
    with pytest.raises(IndexError, match="the trace has cells 0 to"):
        trace.cell(10**9)


def test_operations_name_their_tasks(trace: Trace) -> None:
    ops = trace.ops()
    assert np.array_equal(trace.events()["loc"][ops["event"]], ops["loc"])
    assert np.array_equal(trace.passes()[ops["event"]], ops["pass"])
    takes = trace.ops(kind="take")
    assert np.array_equal(takes, ops[ops["op"] == OPERATIONS.index("take")])
    some = trace.ops(5, 17)
    assert np.array_equal(some, ops[(ops["pass"] >= 5) & (ops["pass"] < 17)])
    if takes.size:
        slot = int(takes["slot"][0])
        assert np.array_equal(trace.ops(slot=slot), ops[ops["slot"] == slot])
        assert np.array_equal(trace.events(kind="take"), trace.events()[np.unique(takes["event"])])
    with pytest.raises(ValueError, match="must be one of read, take"):
        trace.ops(kind="steal")


def test_kinds_of_events_that_need_full() -> None:
    trace = hv.run("@main = 1").trace
    with pytest.raises(TraceError, match="record='full'"):
        trace.events(kind="publish")
    with pytest.raises(ValueError, match=r"must be one of unrun, done.*publish.*region"):
        trace.events(kind="published")


def test_regions_given_are_a_kind_of_event() -> None:
    trace = hv.run(hv.load(PROGRAMS / "tree_sum.hvm4"), progress=False).trace
    assert np.array_equal(trace.events(kind="region"), trace.given)
    assert trace.given.size > 0
    first = int(trace.given["pass"][0])
    assert (trace.events(first, first + 1, kind="region")["pass"] == first).all()
    region = int(trace.given["region"][0])
    assert trace.events(kind="region", region=region)["region"].tolist() == [region]


def test_a_task_that_finished_its_root_wrote_it_and_a_new_cell_is_its_maker_s() -> None:
    def writer(*events: np.void, before: int) -> tuple[int | None, int | None]:
        deltas = np.array([(8, before, 5)], DELTA)
        (write,) = record([one_pass(0, list(events), deltas=deltas)], level="full").cell(8)
        return write.thread, write.loc

    done, maker = event(8, thread=1), event(70, thread=0)
    other, idle = event(71, thread=0), event(72, thread=5)
    idle["cells"] = 0
    assert writer(done, idle, before=3) == (1, 8)
    assert writer(maker, idle, before=3) == (None, None)  # something else took it
    assert writer(maker, idle, before=0) == (0, 70)  # it lies in a slice of thread 0
    assert writer(maker, other, before=0) == (0, None)
    assert writer(done, maker, before=0) == (0, 70)  # what was laid out just now was no task's root
    idle["cells"] = 1
    done["thread"] = 6
    assert writer(done, idle, before=0) == (None, None)  # neither of them owns the slice
