"""What a trace answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.events import OPERATIONS, OUTCOMES
from hvm4viz.term import Tag, pack
from hvm4viz.trace import Trace, recorder
from hvm4viz.trace.origin import name_of
from tests.trace.records import (
    BUSY,
    CONTENDED,
    DEFERRED,
    DONE,
    PARKED,
    STALE,
    STARVED,
    TAKE,
    event,
    one_pass,
    record,
    wide_passes,
    worked_example,
)

WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]


@pytest.fixture(params=[1 << 20, 2000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.setattr(recorder, "CHUNK_BYTES", request.param)
    return record(wide_passes(WIDTHS))


def test_events_of_some_passes(trace: Trace) -> None:
    everything = trace.events()
    for p0, p1 in ((0, 3), (2, 2), (3, 6), (-2, None), (None, None), (5, 99), (6, 2)):
        passes = trace.passes(p0, p1)
        assert np.array_equal(trace.events(p0, p1), everything[np.isin(trace.passes(), np.unique(passes))])
        assert trace.events(p0, p1).size == passes.size
        assert np.array_equal(trace.column("loc", p0, p1), trace.events(p0, p1)["loc"])


def test_events_are_filtered_by_kind_and_region(trace: Trace) -> None:
    everything = trace.events()
    assert np.array_equal(trace.events(kind="deferred"), everything[everything["outcome"] == DEFERRED])
    assert np.array_equal(trace.events(region=5), everything[everything["loc"] // 64 == 5])
    both = trace.events(2, 6, kind="done", region=7)
    assert ((both["outcome"] == DONE) & (both["loc"] // 64 == 7)).all()
    with pytest.raises(ValueError, match="must be one of"):
        trace.events(kind="Deferred")


def test_events_of_one_chunk_are_not_copied() -> None:
    trace = record(wide_passes(WIDTHS))
    assert np.shares_memory(trace.events(2, 5), trace.events())


def test_a_frontier_is_packed_entries(trace: Trace) -> None:
    events = trace.events(3, 4)
    assert trace.frontier(3).dtype == np.uint64
    assert np.array_equal(trace.frontier(3) >> np.uint64(32), events["thread"])
    assert np.array_equal(trace.frontier(3) & np.uint64(0xFFFFFFFF), events["loc"])
    assert np.array_equal(trace.frontier(-1), trace.frontier(7))
    for p in (8, -9):
        with pytest.raises(IndexError, match="passes 0 to 7"):
            trace.frontier(p)


def test_totals_agree(trace: Trace) -> None:
    assert trace.outcomes.sum() == trace.n_events == sum(WIDTHS)
    assert trace.n_deferrals == trace.deferral_pairs()["count"].sum() == trace.events(kind="deferred").size
    assert trace.rules.totals().sum() == trace.rules.dense().sum() == sum(WIDTHS)
    assert np.array_equal(trace.rules.dense()[3], trace.rules.at(3))
    assert np.array_equal(trace.cells.dense()[-1], trace.cells.at(-1))
    assert trace.frontier_sizes.tolist() == WIDTHS
    assert trace.nbytes > 24 * sum(WIDTHS)


def test_a_trace_without_a_pass() -> None:
    trace = record([])
    assert trace.n_passes == trace.n_events == trace.n_deferrals == 0
    assert trace.events().size == trace.deferrals().size == trace.deferral_pairs().size == trace.column("loc").size == 0
    assert trace.outcomes.shape == (0, len(OUTCOMES))
    assert trace.cells.dense().shape == (0, 8)
    with pytest.raises(IndexError, match="no pass"):
        trace.frontier(0)


def test_the_worked_example_of_the_design() -> None:
    trace = worked_example()
    found = trace.deferrals()
    assert found[["opened", "closed", "age", "home", "owner", "side"]].tolist() == [
        (1, 2, 1, 1, 0, 0),
        (2, 3, 1, 2, 0, 1),
    ]
    assert trace.deferral_pairs().tolist() == [(1, 1, 0, 1), (2, 2, 0, 1)]


def deferrals(*passes: list[np.void]) -> list[tuple[int, int, int, bool]]:
    found = record([one_pass(p, events) for p, events in enumerate(passes)]).deferrals()
    return found[["opened", "closed", "slot", "busy"]].tolist()


def hop(slot: int, side: int = 0) -> np.void:
    return event(7, DEFERRED, slot=slot, reason=TAKE, side=side)


def busy(slot: int, side: int = 0) -> np.void:
    return event(7, CONTENDED, slot=slot, reason=BUSY, side=side)


def test_a_deferral_stays_open_while_its_task_waits() -> None:
    parked, stale = event(7, PARKED, slot=9), event(7, STALE, slot=9)
    assert deferrals([hop(9)], [], [parked], [stale], [event(7)]) == [(0, 4, 9, False)]


def test_a_hop_that_meets_a_busy_slot_is_one_deferral() -> None:
    assert deferrals([hop(9)], [busy(9)], [], [event(7)]) == [(0, 3, 9, True)]


def test_polls_that_are_contended_again_are_one_deferral() -> None:
    assert deferrals([busy(9)], [busy(9)], [busy(9)], [event(7)]) == [(0, 3, 9, True)]


def test_starved_at_the_slot_is_still_waiting() -> None:
    starved = event(7, STARVED, slot=9)
    assert deferrals([hop(9)], [starved], [event(7)]) == [(0, 2, 9, False)]


def test_the_next_slot_is_another_deferral() -> None:
    assert deferrals([hop(9)], [hop(11)], [event(7)]) == [(0, 1, 9, False), (1, 2, 11, False)]
    assert deferrals([hop(9)], [hop(9)], [event(7)]) == [(0, 1, 9, False), (1, 2, 9, False)]
    assert deferrals([hop(9)], [busy(9, side=1)], [event(7)]) == [(0, 1, 9, False), (1, 2, 9, False)]


def test_a_deferral_without_an_answer_is_open() -> None:
    assert deferrals([hop(9)], [event(8)]) == [(0, -1, 9, False)]
    assert deferrals([hop(9)], [event(7, PARKED)]) == [(0, -1, 9, False)]


def test_deferrals_are_found_as_one_event_at_a_time_would_find_them(trace: Trace) -> None:
    waiting: dict[int, tuple[int, int]] = {}
    found = []
    for index, (p, row) in enumerate(zip(trace.passes().tolist(), trace.events().tolist(), strict=True)):
        _, loc, _, *_, outcome, _, _, _ = row
        if loc in waiting:
            opened, at = waiting.pop(loc)
            found.append((at, opened, p))
        if outcome == DEFERRED:
            waiting[loc] = (p, index)
    found += [(at, opened, -1) for opened, at in waiting.values()]
    assert trace.deferrals()[["event", "opened", "closed"]].tolist() == sorted(found)


def test_deferrals_of_sparse_addresses() -> None:
    far = [event(2**31, DEFERRED, slot=2**31 + 64, reason=TAKE), event(5)]
    trace = record([one_pass(0, far), one_pass(1, [event(2**31)])])
    assert trace.deferrals()[["opened", "closed", "home", "owner"]].tolist() == [(0, 1, 2**25, 2**25 + 1)]


def test_counts_have_no_single_deferrals() -> None:
    with pytest.raises(TraceError, match="counts"):
        record(wide_passes(WIDTHS), level="counts").deferrals()


def test_meta_names_the_run() -> None:
    meta = record(wide_passes(WIDTHS), status="timeout").meta
    assert meta["status"] == "timeout"
    assert meta["machine"]["region_size"] == 64
    assert meta["files"] == ["main.hvm4"]


def test_counts_become_arrays_of_whole_numbers_unless_others_are_asked_for() -> None:
    trace = hv.run("@main = ! &x = [1 + 1, 2]; #P{x, x}", record="full").trace

    for counts in (trace.rules, trace.cells, trace.remote):
        assert np.asarray(counts).dtype == np.int64
        assert np.asarray(counts, dtype=np.float32).dtype == np.float32
        assert np.array_equal(np.asarray(counts), counts.dense())


def test_every_operation_can_be_asked_for_by_name() -> None:
    trace = hv.run("@main = ! &x = [1 + 1, 2]; #P{x, x}", record="full").trace
    every = trace.ops()

    for code, name in enumerate(OPERATIONS[1:], 1):
        assert len(trace.ops(kind=name)) == np.count_nonzero(every["op"] == code)
        assert (len(trace.events(kind=name)) > 0) == bool(np.any(every["op"] == code))
    assert np.any(every["op"] == 1)
    with pytest.raises(ValueError, match="must be one of"):
        trace.events(kind="nothing")


def test_a_number_of_a_definition_is_named_by_the_book_alone() -> None:
    book = hv.parse("@main = 1\n@other = %log(2)").book
    names = [name_of(pack(Tag.REF, number, 0), book) for number in range(3)]
    assert names == ["@main", "@other", None]
    assert [name_of(pack(Tag.PRI, number, 0), book) for number in (0, len(book.prims))] == [
        f"%{book.prims[0][0]}",
        None,
    ]
    assert name_of(pack(Tag.REF, 0, 0), None) is None


def test_a_view_of_a_trace_is_one_of_that_trace() -> None:
    trace = worked_example()
    assert trace.view().trace is trace


@pytest.mark.parametrize("level", ["off", "counts"])
def test_without_events_nobody_knows_why_a_task_waits(level: Any) -> None:
    with pytest.raises(TraceError, match=f"why a task waits: this trace was recorded at level '{level}'"):
        record(wide_passes(WIDTHS), level=level).why(1, 0)
