"""The columns of a recording: any passes of them, however they are cut into chunks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hvm4viz.errors import TraceError
from hvm4viz.events import DELTA, EVENT, OP, OPERATIONS, OUTCOMES, RunEnd
from hvm4viz.settings import Machine
from hvm4viz.trace import Recorder, Trace, recorder
from hvm4viz.trace.columns import ALL_TABLES
from tests.trace.records import CONTENDED, DEFERRED, TAKE, StandIn, event, full_passes, header, one_pass, record

WIDTHS = [3, 1, 4, 0, 5, 2, 6, 5, 3]


@pytest.fixture(params=[1, 2, 4, 99], ids=lambda n: f"chunks of {n}")
def trace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.setattr(recorder, "CHUNK_PASSES", request.param)
    passes = full_passes(WIDTHS)
    for p, told in enumerate(passes):
        ops = np.zeros(min(2, told.events.size), OP)
        ops["event"], ops["slot"] = np.arange(ops.size)[::-1], 17 + p
        ops["op"] = [1 + (p + at) % (len(OPERATIONS) - 1) for at in range(ops.size)]
        given = ((64 + p, p % 4),) if p % 3 else ((64 + p, 1), (0, p % 4))
        passes[p] = dataclasses.replace(told, ops=ops, given=given)
    head = dataclasses.replace(header(), regions=(np.arange(64) % 4).astype(np.uint32))
    return record(passes, level="full", head=head)


SPANS = [(p0, p1) for p0 in (None, *range(-10, 11)) for p1 in (None, *range(-10, 11))]


@pytest.mark.parametrize("table", ["events", "ops", "deltas", "given", "outcomes"])
def test_any_passes_of_a_table_are_those_of_each_pass(trace: Trace, table: str) -> None:
    single = [trace.long_table(table, p, p + 1).tobytes() for p in range(len(WIDTHS))]
    whole = trace.long_table(table)
    assert whole.dtype == ALL_TABLES[table]
    assert b"".join(single) == whole.tobytes()

    for p0, p1 in SPANS:
        assert trace.long_table(table, p0, p1).tobytes() == b"".join(single[p0:p1])


def test_any_passes_of_a_column_have_its_values_and_their_numbers(trace: Trace) -> None:
    for p0, p1 in SPANS:
        events = trace.events(p0, p1)
        for name in ("loc", "thread", "outcome"):
            assert np.array_equal(trace.column(name, p0, p1), events[name])
            assert trace.column(name, p0, p1).dtype == EVENT[name]
        assert trace.passes(p0, p1).tolist() == [p for p in range(9)[p0:p1] for _ in range(WIDTHS[p])]


def test_a_column_of_one_chunk_is_no_copy() -> None:
    trace = record(full_passes(WIDTHS))
    for p0, p1 in ((None, None), (2, 7)):
        assert np.shares_memory(trace.column("loc", p0, p1), trace.events())


def test_any_passes_sliced_are_these_passes(trace: Trace) -> None:
    for p0, p1 in SPANS:
        part = trace.slice(p0, p1)
        assert [part.long_table(name).tobytes() for name in ("events", "ops", "deltas", "rules", "remote")] == [
            trace.long_table(name, p0, p1).tobytes() for name in ("events", "ops", "deltas", "rules", "remote")
        ]
        assert np.array_equal(part.rows, trace.rows[p0:p1])
        cells = trace.cells.dense()[p0:p1]
        assert part.cells.dense().tolist() == cells[:, : part.n_regions].tolist()
        assert not cells[:, part.n_regions :].any()


def test_events_by_what_their_tasks_did_to_slots(trace: Trace) -> None:
    for kind in OPERATIONS[1:]:
        code = OPERATIONS.index(kind)
        for p0, p1 in ((None, None), (0, 4), (3, 4), (2, 9), (5, 2), (-4, -1)):
            expected = []
            for p in range(9)[p0:p1]:
                ops = trace.long_table("ops", p, p + 1)
                did = np.unique(ops["event"][ops["op"] == code])
                expected += trace.events(p, p + 1)[did].tolist()
            assert trace.events(p0, p1, kind=kind).tolist() == expected
    for kind in (OPERATIONS[0], "nothing"):
        if kind not in OUTCOMES:
            with pytest.raises(ValueError, match="must be one of"):
                trace.events(kind=kind)
    with pytest.raises(TraceError, match="record='full'"):
        record(full_passes([2])).events(kind=OPERATIONS[1])


def test_regions_given_by_pass_and_region(trace: Trace) -> None:
    given = [(p, *pair) for p in range(9) for pair in ([(64 + p, p % 4)] if p % 3 else [(64 + p, 1), (0, p % 4)])]
    assert trace.given.tolist() == given
    for p0, p1 in SPANS:
        found = [each for each in given if each[0] in range(9)[p0:p1]]
        assert trace.events(p0, p1, kind="region").tolist() == found
        assert trace.events(p0, p1, kind="region", region=0).tolist() == [each for each in found if each[1] == 0]
    for p in range(9):
        earlier = [each for each in given if each[0] < p]
        for region in (0, 1, 7, 63, *range(64, 75)):
            owners = [block for _, number, block in earlier if number == region]
            at_first = region % 4 if region < 64 else None
            assert trace.owner(region, p) == (owners[-1] if owners else at_first)
    assert trace.owner(-1, 0) is None
    assert [trace.owner(0, p - 9) for p in range(9)] == [trace.owner(0, p) for p in range(9)]
    for p in (9, -10):
        with pytest.raises(IndexError, match="passes 0 to 8"):
            trace.owner(0, p)


def test_sizes_are_those_of_the_passes(trace: Trace) -> None:
    last = full_passes(WIDTHS)[-1]
    assert trace.n_cells == int(last.cells.sum()) > 0
    assert trace.n_deltas == trace.long_table("deltas").size
    assert record([]).n_cells == record([]).n_deltas == record(full_passes([2])).n_deltas == 0
    assert record([one_pass(p, [event(1)]) for p in range(3)]).n_cells == 3 * 3


@pytest.mark.parametrize(
    "change",
    [
        {"given": ((11, 0),)},
        {"cells": np.arange(12, dtype=np.uint32)},
        {"remote": np.arange(12, dtype=np.uint32)},
        {"events": np.array([event(11 * 64 + 63)], EVENT)},
        {"events": np.array([event(5, DEFERRED, slot=11 * 64, reason=TAKE)], EVENT)},
        {"deltas": np.array([(11 * 64 + 63, 0, 1)], DELTA)},
        {"ops": np.array([(0, 11 * 64, 1, 0)], OP)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_regions_go_up_to_the_highest_that_anything_names(change: dict[str, Any]) -> None:
    quiet: dict[str, Any] = {"cells": np.zeros(8, np.uint32), "remote": np.zeros(8, np.uint32)}
    told = one_pass(0, [event(1)], **quiet)
    for place in range(3):
        passes = [dataclasses.replace(told, index=p, **(change if p == place else {})) for p in range(3)]
        if "cells" in change:  # the table of all regions never gets shorter
            passes[place + 1 :] = [dataclasses.replace(each, **change) for each in passes[place + 1 :]]
        assert record(passes, level="full").n_regions == 12
    if "events" in change and change["events"]["outcome"][0] == DEFERRED:  # counted by pairs of regions, below
        assert record([dataclasses.replace(told, **change)], level="counts").n_regions == 12
    assert record([told]).n_regions == 8


def test_nothing_is_named_by_what_names_nothing() -> None:
    head = dataclasses.replace(header(), blocks=1, region_size=1, regions=np.zeros(1, np.uint32))
    nothing = np.zeros(1, np.uint32)
    for level in ("counts", "events", "full"):
        assert record([one_pass(0, [], n_regions=1, remote=nothing)], level=level, head=head).n_regions == 1


def test_a_trace_of_no_run_says_so() -> None:
    trace = Recorder("off").trace
    assert (trace.n_passes, trace.n_regions, trace.region_size, trace.state) == (0, 0, 1, "interrupted")
    assert trace.meta["files"] == []
    assert trace.header.regions.size == 0
    assert (trace.header.blocks, trace.header.threads_per_block, trace.header.limit) == (1, 1, None)


def test_a_recording_says_of_itself_how_much_it_holds() -> None:
    passes = [one_pass(p, [event(1)] * (3 if p < 2 else 1)) for p in range(3)]
    whole, cut = record(passes), record(passes, limit_bytes=2 * 192 + 6 * EVENT.itemsize)
    counts, early = record(passes, level="counts"), whole.slice(0, 1)
    assert (whole.complete, cut.complete, early.complete) == (True, True, False)
    assert (whole.is_cut, cut.is_cut, counts.is_cut, record([], level="off").is_cut) == (False, True, False, False)
    assert (whole.events_until, cut.events_until, counts.events_until) == (3, 2, 0)
    assert (whole.dropped, cut.dropped, counts.dropped) == (0, 1, 7)
    assert repr(whole) == f"<Trace of 3 passes, 7 events, level events, complete, {whole.nbytes:,} bytes>"
    assert repr(cut).endswith(", complete, " + f"{cut.nbytes:,} bytes, events of passes from 2 on not kept>")
    assert whole.nbytes == sum(chunk.nbytes for chunk in whole.chunks) > 0
    for level in ("counts", "events", "full"):
        told = record(passes, level=level).schema  # type: ignore[arg-type]
        assert told.names[0] == "pass"
        assert ("deltas" in told.names) == (level == "full")
        assert str(told.field("events").type.value_type.field("thread").type) == "uint16"


def test_columns_of_one_value_a_pass(trace: Trace) -> None:
    told = full_passes(WIDTHS)
    for name in ("parked", "device_ns", "host_ns", "interactions", "longest"):
        assert getattr(trace, name).tolist() == [getattr(each, name) for each in told]
    assert trace.frontier_sizes.tolist() == WIDTHS
    for name, code in (("deferral", DEFERRED), ("contention", CONTENDED)):
        counts = [int((each.events["outcome"] == code).sum()) for each in told]
        assert getattr(trace, f"{name}_sizes").tolist() == counts
        assert getattr(trace, f"n_{name}s") == sum(counts)


def test_facts_of_run_and_recording() -> None:
    head = dataclasses.replace(header(Machine(blocks=2)), limit=7, entry="other", mode="collapse")
    trace = record([one_pass(0, [event(1)], device="gpu")], head=head, lines=(), status="error")
    meta = trace.meta
    assert (meta["limit"], meta["entry"], meta["mode"], meta["level"]) == (7, "other", "collapse", "events")
    assert (meta["status"], meta["state"], meta["message"], meta["note"]) == ("error", "complete", "", "")
    assert (meta["device"], meta["devices"], meta["kernel"]) == ("cpu", ["cpu", "gpu"], "0" * 64)
    assert meta["machine"] == Machine(blocks=2).settings()
    assert meta["files"] == ["main.hvm4"]
    assert Recorder().trace.meta["status"] is None


# A recording that goes on behind another one.


@pytest.mark.parametrize("level", ["off", "counts", "events", "full"])
@pytest.mark.parametrize("limit", [1500, 2300, "512 MiB"])
def test_going_on_behind_a_recording_is_recording_all(level: Any, limit: Any) -> None:
    machine: Any = StandIn()
    devices = ["cpu", "metal", "metal", "cpu", "gpu", "cpu", "metal", "cpu", "cpu"]
    passes = [dataclasses.replace(told, device=devices[p]) for p, told in enumerate(full_passes(WIDTHS))]
    end = RunEnd("done", "", ("1",), ())

    def recorded(parts: list[Any], prior: Trace | None = None) -> Trace:
        kept = Recorder(level, limit, prior=prior)
        kept.watch(machine)
        kept.begin(header())
        for told in parts:
            kept.on_pass(told)
        kept.end(end)
        return kept.trace

    whole = recorded(passes)
    for split in range(10):
        trace = recorded(passes[split:], recorded(passes[:split]))
        assert trace.n_passes == whole.n_passes
        assert trace.events_until == whole.events_until
        assert trace.devices == whole.devices
        assert trace.digest_or_none() == whole.digest_or_none()
        assert np.array_equal(trace.rows, whole.rows)
        for name in whole.chunks[0].tables if whole.chunks else ():
            assert trace.long_table(name).tobytes() == whole.long_table(name).tobytes()


def test_a_trace_asked_for_while_it_is_recorded_has_every_pass_so_far() -> None:
    kept = Recorder()
    kept.begin(header())
    assert kept.trace.n_passes == 0
    for told in full_passes(WIDTHS):
        kept.on_pass(told)
        assert kept.trace.n_passes == told.index + 1
        assert kept.trace is kept.trace
        assert kept.trace.end is None
    kept.end(RunEnd("done", "", (), ()))
    assert kept.trace.n_passes == len(WIDTHS)
    assert kept.trace.end is not None
