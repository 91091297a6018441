"""A pass in words: the second worked example of the design, as its tables have it."""

from __future__ import annotations

from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.heap import HeapBuilder
from hvm4viz.measure import pass_text
from hvm4viz.term import Tag
from tests.trace.records import CONTENDED, FUEL, STARVED, event, one_pass, record, wide_passes, worked_example


def shared_pair(record: Any, **protocol: Any) -> list[str]:
    """Run ``! x &L= &L{1, 2}; #Pair{x₀, #Pair{3, x₁}}`` over three regions, by address; a line a pass."""
    builder = HeapBuilder(24)
    builder.put(0, Tag.C00 + 2, 77, 8)
    builder.put(1, Tag.SUP, 5, 5).numbers(5, [1, 2])
    builder.put(8, Tag.DP0, 5, 1).put(9, Tag.C00 + 2, 77, 17)
    builder.put(17, Tag.NUM, 0, 3).put(18, Tag.DP1, 5, 1)
    machine = hv.Machine(blocks=3, threads_per_block=4, region_size=8, shard="address", **protocol)
    trace = hv.run_heap(builder.heap(), machine=machine, device="cpu", record=record).trace
    return ["; ".join(pass_text(trace, p)) for p in range(trace.n_passes)]


def test_owner() -> None:
    assert shared_pair("full") == [
        "B0/t0: 0 done",
        "B1/t0: 8 deferred to B0/t0 (take, slot 1); B1/t0: 9 done",
        "B0/t0: 8 takes, publishes, := 1; B2/t0: 17 done; B2/t1: 18 deferred to B0/t0 (take, slot 1)",
        "B0/t0: 18 reads, := 2",
    ]


def test_claim() -> None:
    assert shared_pair("full", dup="claim")[1:] == [
        "B1/t0: 8 deferred (claim, slot 1); B1/t0: 9 done",
        "B1/t0: poll of 8 takes, publishes, := 1; B2/t0: 17 done; B2/t1: 18 deferred (claim, slot 1)",
        "B2/t1: poll of 18 reads, := 2",
    ]


def test_at_events_what_was_done_to_slots_is_not_known() -> None:
    assert shared_pair("events", dup="atomic") == [
        "B0/t0: 0 done",
        "B1/t0: 8 done; B1/t0: 9 done",
        "B2/t0: 17 done; B2/t1: 18 done",
    ]


def test_other_outcomes() -> None:
    events = [event(8, CONTENDED, slot=1, reason=4), event(3, FUEL, thread=3), event(4, STARVED, slot=1, thread=3)]
    assert pass_text(record([one_pass(0, events)]), 0) == [
        "B0/t0: 8 contended (busy, slot 1)",
        "B1/t1: 3 fuel",
        "B1/t1: 4 starved",
    ]


def test_what_is_not_there() -> None:
    with pytest.raises(IndexError, match="pass 4"):
        pass_text(worked_example(), 4)
    with pytest.raises(TraceError, match="record='events'"):
        pass_text(record(wide_passes([3]), level="counts"), 0)
