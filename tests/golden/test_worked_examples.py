"""The two worked examples of the frontier machine's design, pass by pass."""

from __future__ import annotations

import pytest

import hvm4viz as hv
from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag, val_of

PAIR = 77
Pass = list[tuple[str, int, str, str, int]]


def passes_of(run: hv.Run, threads_per_block: int) -> list[Pass]:
    out: list[Pass] = []
    for p in range(run.trace.n_passes):
        rows: Pass = []
        for event in run.trace.events(p, p + 1):
            block, lane = divmod(int(event["thread"]), threads_per_block)
            outcome, reason = OUTCOMES[event["outcome"]], REASONS[event["reason"]]
            rows.append((f"B{block}/t{lane}", int(event["loc"]), outcome, reason, int(event["slot"])))
        out.append(rows)
    return out


def frontiers(run: hv.Run) -> list[list[int]]:
    return [[int(entry) & 0xFFFFFFFF for entry in run.trace.frontier(p)] for p in range(run.trace.n_passes)]


def nested_pairs() -> hv.Heap:
    """Lay out ``#Pair{#Pair{1, 2}, #Pair{3, 4}}``."""
    builder = HeapBuilder(8)
    builder.put(0, Tag.C00 + 2, PAIR, 1)
    builder.put(1, Tag.C00 + 2, PAIR, 3).put(2, Tag.C00 + 2, PAIR, 5)
    builder.numbers(3, [1, 2]).numbers(5, [3, 4])
    return builder.heap()


def test_nested_pairs_walk_breadth_first() -> None:
    machine = hv.Machine(blocks=3, threads_per_block=4, region_size=8, shard="address")

    run = hv.run_heap(nested_pairs(), machine=machine, device="cpu")

    assert run.status == "done"
    assert frontiers(run) == [[0], [1, 2], [3, 4, 5, 6]]
    assert run.stats.deferrals == 0


def shared_pair() -> hv.Heap:
    """Lay out ``! x &L= &L{1, 2}; #Pair{x₀, #Pair{3, x₁}}`` over three regions."""
    builder = HeapBuilder(24)
    builder.put(0, Tag.C00 + 2, PAIR, 8)
    builder.put(1, Tag.SUP, 5, 5).numbers(5, [1, 2])
    builder.put(8, Tag.DP0, 5, 1).put(9, Tag.C00 + 2, PAIR, 17)
    builder.put(17, Tag.NUM, 0, 3).put(18, Tag.DP1, 5, 1)
    return builder.heap()


def machine(shard: str, **protocol: str) -> hv.Machine:
    return hv.Machine(blocks=3, threads_per_block=4, region_size=8, shard=shard, **protocol)  # pyright: ignore[reportArgumentType]


def test_foreign_ends_are_deferred_to_the_slots_owner() -> None:
    run = hv.run_heap(shared_pair(), machine=machine("address"), device="cpu")

    assert passes_of(run, 4) == [
        [("B0/t0", 0, "done", "", 0)],
        [("B1/t0", 8, "deferred", "take", 1), ("B1/t0", 9, "done", "", 0)],
        [("B0/t0", 8, "done", "", 0), ("B2/t0", 17, "done", "", 0), ("B2/t1", 18, "deferred", "take", 1)],
        [("B0/t0", 18, "done", "", 0)],
    ]
    assert [val_of(int(run.heap.words[loc])) for loc in (8, 18)] == [1, 2]
    deferrals = run.trace.deferrals()
    assert [int(age) for age in deferrals["age"]] == [1, 1]
    assert run.trace.remote.dense().nonzero()[1].tolist() == [1, 2]  # cells 8 and 18, written from block 0
    assert run.stats.interactions == 1


def test_dealt_by_index_nobody_waits() -> None:
    run = hv.run_heap(shared_pair(), machine=machine("index"), device="cpu")

    assert passes_of(run, 4) == [
        [("B0/t0", 0, "done", "", 0)],
        [("B0/t0", 8, "done", "", 0), ("B0/t1", 9, "done", "", 0)],
        [("B0/t0", 17, "done", "", 0), ("B0/t1", 18, "done", "", 0)],
    ]
    assert run.stats.deferrals == 0


def test_unit_block_deals_inside_the_owner_block() -> None:
    run = hv.run_heap(shared_pair(), machine=machine("address", owner_unit="block"), device="cpu")

    assert passes_of(run, 4) == [
        [("B0/t0", 0, "done", "", 0)],
        [("B1/t0", 8, "deferred", "take", 1), ("B1/t1", 9, "done", "", 0)],
        [("B0/t0", 8, "done", "", 0), ("B2/t0", 17, "done", "", 0), ("B2/t1", 18, "deferred", "take", 1)],
        [("B0/t0", 18, "done", "", 0)],
    ]


def test_option_two_lets_anybody_take() -> None:
    run = hv.run_heap(shared_pair(), machine=machine("address", dup="atomic"), device="cpu")

    assert passes_of(run, 4) == [
        [("B0/t0", 0, "done", "", 0)],
        [("B1/t0", 8, "done", "", 0), ("B1/t0", 9, "done", "", 0)],
        [("B2/t0", 17, "done", "", 0), ("B2/t1", 18, "done", "", 0)],
    ]
    assert run.trace.remote.dense().sum() == 0


def test_option_three_waits_where_it_stands() -> None:
    run = hv.run_heap(shared_pair(), machine=machine("address", dup="claim"), device="cpu")

    assert passes_of(run, 4) == [
        [("B0/t0", 0, "done", "", 0)],
        [("B1/t0", 8, "deferred", "claim", 1), ("B1/t0", 9, "done", "", 0)],
        [("B1/t0", 8, "done", "", 0), ("B2/t0", 17, "done", "", 0), ("B2/t1", 18, "deferred", "claim", 1)],
        [("B2/t1", 18, "done", "", 0)],
    ]
    assert [int(age) for age in run.trace.deferrals()["age"]] == [1, 1]
    assert run.trace.remote.dense().sum() == 0


@pytest.mark.parametrize("protocol", [{}, {"owner_unit": "block"}, {"dup": "atomic"}, {"dup": "claim"}], ids=str)
def test_by_index_every_protocol_does_the_same(protocol: dict[str, str]) -> None:
    run = hv.run_heap(shared_pair(), machine=machine("index", **protocol), device="cpu")

    assert [len(rows) for rows in passes_of(run, 4)] == [1, 2, 2]
    assert run.stats.deferrals == 0
    assert [val_of(int(run.heap.words[loc])) for loc in (8, 18)] == [1, 2]
