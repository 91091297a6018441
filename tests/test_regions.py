from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from hvm4viz.kernel_text import abi
from hvm4viz.limits import FIELDS_MAX
from hvm4viz.regions import Regions
from hvm4viz.settings import Machine


def regions(machine: Machine, limit: int, in_use: int) -> Regions:
    return Regions(machine, np.zeros(limit, np.uint32), np.zeros(limit, np.uint32), in_use)


def hungry(machine: Machine, wants: dict[int, tuple[int, int]]) -> np.ndarray:
    states = np.zeros(machine.threads, abi.THREAD_STATE)
    for thread, (need, node) in wants.items():
        states["need"][thread], states["need_node"][thread] = need, node
    return states


def test_regions_are_dealt_round_and_chained_by_block() -> None:
    table = regions(Machine(blocks=3, region_size=64), limit=10, in_use=7)

    assert table.owner[:7].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert [int(table.chain[r]) for r in (0, 3)] == [3, 6]
    assert int(table.chain[6]) == abi.NO_REGION


def test_starved_blocks_are_fed_in_thread_order_and_twice_as_much_each_time() -> None:
    machine = Machine(blocks=4, threads_per_block=2, region_size=64)
    table = regions(machine, limit=400, in_use=4)
    states = hungry(machine, {6: (4, 4), 1: (4, 4)})

    counts = []
    for _ in range(4):
        given, full = table.feed(states)
        assert not full
        assert [block for _, block in given] == sorted(block for _, block in given)
        counts.append(len(given) // 2)
    assert counts == [1, 2, 4, 8]


def test_need_is_met_whatever_the_fragmentation() -> None:
    machine = Machine(blocks=1, threads_per_block=4, region_size=64)  # slices of 16
    table = regions(machine, limit=100, in_use=1)

    given, full = table.feed(hungry(machine, {0: (40, 10)}))

    assert not full
    assert len(given) >= 6  # a slice surely holds 16 - 10 + 1 = 7 of the 40 cells


def test_whatever_is_wanted_all_are_fed_or_none() -> None:
    rng = np.random.default_rng(1)
    n_full = 0
    for _ in range(300):
        blocks, lanes = int(rng.integers(1, 6)), int(rng.choice([1, 2, 4]))
        machine = Machine(blocks=blocks, threads_per_block=lanes, region_size=64)
        table = regions(machine, limit=blocks + int(rng.integers(0, 60)), in_use=blocks)
        grant = [1] * blocks
        while True:
            wants = {
                t: (int(rng.integers(1, 200)), int(rng.integers(1, 17)))
                for t in range(machine.threads)
                if rng.random() < 0.4
            }
            before, chain, owner = table.in_use, table.chain.copy(), table.owner.copy()
            free, slice_cells = table.limit - before, 64 // lanes
            least: dict[int, int] = {}
            for thread, (need, node) in wants.items():
                least[thread // lanes] = max(least.get(thread // lanes, 0), -(-need // (slice_cells - node + 1)))

            given, full = table.feed(hungry(machine, wants))

            counts = [sum(block == b for _, block in given) for b in range(blocks)]
            if full:
                quarter = free // (4 * len(least))
                assert sum(max(need, min(grant[block], quarter)) for block, need in least.items()) > free
                assert f"all {table.limit:,} regions ({table.limit * 64:,} cells)" in full
                assert (given, table.in_use) == ([], before)
                assert np.array_equal(table.chain, chain)
                assert np.array_equal(table.owner, owner)
                n_full += 1
                break
            assert [region for region, _ in given] == list(range(before, table.in_use))
            assert table.in_use <= table.limit
            for block in range(blocks):
                if block not in least:
                    assert counts[block] == 0
                    continue
                quarter = free // (4 * len(least))
                assert counts[block] >= least[block]
                assert counts[block] <= max(least[block], min(grant[block], quarter))
                grant[block] *= 2
                assert _chain(table, block) == [r for r in range(table.in_use) if table.owner[r] == block]
    assert n_full == 300


def _chain(table: Regions, block: int) -> list[int]:
    """Follow the regions of a block, from its first one on."""
    at, found = block, []
    while at != abi.NO_REGION:
        found.append(at)
        at = int(table.chain[at])
    return found


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("node", [9, 16, 17, 33])
def test_the_region_size_that_is_told_holds_the_node_and_every_constructor(lanes: int, node: int) -> None:
    machine = Machine(blocks=1, threads_per_block=lanes, region_size=8 * lanes)
    _, full = regions(machine, limit=9, in_use=1).feed(hungry(machine, {0: (node, node)}))

    size = int(full.rpartition("region_size=")[2].partition(",")[0])

    assert f"a node of {node} cells does not fit: its cells lie together, and each thread has 8 of a region" in full
    assert f"(region_size={8 * lanes} over threads_per_block={lanes})" in full
    assert f"which gives each {size // lanes}" in full
    assert size // lanes >= max(node, FIELDS_MAX)
    larger = Machine(blocks=1, threads_per_block=lanes, region_size=size)
    assert regions(larger, limit=99, in_use=1).feed(hungry(larger, {0: (node, node)}))[1] == ""
    smaller = Machine(blocks=1, threads_per_block=lanes, region_size=size // 2)
    assert (
        size // 2 // lanes < FIELDS_MAX
        or "does not fit" in regions(smaller, limit=9, in_use=1).feed(hungry(smaller, {0: (node, node)}))[1]
    )


@pytest.mark.parametrize(
    ("limit", "heap"),
    [
        (1 << 21, "2 GiB"),
        ((1 << 21) + 1, "2049 MiB"),
        ((1 << 21) + (1 << 10), "2049 MiB"),
        ((1 << 21) + (1 << 10) + 1, "2050 MiB"),
        (3 << 20, "3 GiB"),
        (1 << 22, "4 GiB"),
        ((1 << 25) + 1, "32 GiB"),
        ((1 << 26) - 1, "32 GiB"),
    ],
)
def test_twice_the_heap_is_proposed_in_whole_mebibytes_or_gibibytes(limit: int, heap: str) -> None:
    table = regions(Machine(blocks=1, threads_per_block=1, region_size=64), limit=limit, in_use=1)

    assert table.full_message("block 0").endswith(f"re-run with heap='{heap}', unless the program never ends")


def test_nothing_larger_than_the_largest_heap_is_proposed() -> None:
    table = regions(Machine(blocks=1, threads_per_block=1, region_size=64), limit=1 << 26, in_use=1)

    assert "there is no larger heap" in table.full_message("block 0")
    assert "re-run" not in table.full_message("block 0")


@pytest.mark.parametrize("limit", [1, 1 << 11, (1 << 21) - 1])
def test_the_usual_heap_is_proposed_where_there_was_less(limit: int) -> None:
    table = regions(Machine(blocks=1, threads_per_block=1, region_size=64), limit=limit, in_use=1)

    assert table.full_message("block 0").endswith(
        "re-run with heap='1 GiB' or leave it out (the default); if that fills too, the program probably never ends"
    )


def test_regions_of_a_heap_that_was_worked_on_count_as_full() -> None:
    table = regions(Machine(blocks=2, region_size=64), limit=9, in_use=5)
    assert [table.start(block) for block in (0, 1)] == [(4, False), (3, False)]
    table.assign(2, is_fresh=False)
    assert [table.start(block) for block in (0, 1)] == [(4, True), (3, True)]


def test_last_region_is_given_and_then_the_heap_is_full() -> None:
    machine = Machine(blocks=1, threads_per_block=1, region_size=64)
    table = regions(machine, limit=2, in_use=1)

    given, full = table.feed(hungry(machine, {0: (4, 4)}))
    assert (given, full) == ([(1, 0)], "")
    given, full = table.feed(hungry(machine, {0: (4, 4)}))
    assert given == []
    assert "all 2 regions (128 cells)" in full


def test_node_longer_than_a_slice_is_told() -> None:
    machine = Machine(blocks=1, threads_per_block=4, region_size=16)
    _, full = regions(machine, limit=9, in_use=1).feed(hungry(machine, {0: (9, 9)}))

    assert "each thread has 4 of a region" in full
    assert "region_size=64" in full


def test_assigning_again_tells_what_changed_hands() -> None:
    table = regions(Machine(blocks=2, region_size=64), limit=9, in_use=4)

    assert table.assign(1, is_fresh=False) == [(1, 0), (3, 0)]
    assert table.assign(6, is_fresh=False) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]


class OneByOne:
    """The policy, a region at a time."""

    def __init__(self, machine: Machine, limit: int, in_use: int, blocks: int) -> None:
        self.machine, self.limit, self.blocks = machine, limit, blocks
        self.owner, self.chain = [0] * limit, [abi.NO_REGION] * limit
        self.in_use = 0
        self.tail, self.grant = [abi.NO_REGION] * blocks, [1] * blocks
        for region in range(min(max(in_use, blocks), limit)):
            self.give(region % blocks)

    def give(self, block: int) -> tuple[int, int]:
        region = self.in_use
        self.owner[region] = block
        if self.tail[block] != abi.NO_REGION:
            self.chain[self.tail[block]] = region
        self.tail[block] = region
        self.in_use += 1
        return region, block

    def feed(self, states: np.ndarray) -> list[tuple[int, int]]:
        tpb = len(states) // self.blocks
        wanted: dict[int, int] = {}
        for thread, (need, node) in enumerate(states[["need", "need_node"]].tolist()):
            if need:
                least = -(-need // (self.machine.region_size // tpb - node + 1))
                wanted[thread // tpb] = max(wanted.get(thread // tpb, 0), least)
        free, counts = self.limit - self.in_use, dict[int, int]()
        for block, need in wanted.items():
            if need > free:
                return []
            counts[block] = max(need, min(self.grant[block], free // (4 * len(wanted))))
            free -= counts[block]
        given: list[tuple[int, int]] = []
        for block, count in counts.items():
            self.grant[block] = min(2 * self.grant[block], 1 << 20)
            given += [self.give(block) for _ in range(count)]
        return given


@pytest.mark.parametrize("seed", range(60))
def test_many_blocks_at_once_get_what_they_get_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks, lanes = int(rng.integers(1, 40)), int(rng.choice([1, 4]))
    machine = Machine(blocks=blocks, threads_per_block=lanes, region_size=64)
    limit = int(rng.integers(1, 30 * blocks))
    in_use = int(rng.integers(1, limit + 1))
    table, slow = regions(machine, limit, in_use), OneByOne(machine, limit, in_use, blocks)
    for _ in range(30):
        assert (table.owner[: table.in_use].tolist(), table.chain.tolist()) == (slow.owner[: slow.in_use], slow.chain)
        assert table.starts().tolist() == slow.tail
        hungry_ones = {
            t: (int(rng.integers(1, 90)), int(rng.integers(1, 17)))
            for t in range(machine.threads)
            if rng.random() < rng.choice([0.05, 0.9])
        }
        states = hungry(machine, hungry_ones)

        given, full = table.feed(states)

        assert given == slow.feed(states)
        assert bool(full) == (not given and bool(hungry_ones))
        if full:
            break
        if rng.random() < 0.3 and table.in_use < table.limit:
            assert table.give(0) == slow.give(0)


@pytest.mark.parametrize("seed", range(20))
def test_dealing_anew_tells_of_each_region_that_changed_hands(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = Machine(blocks=int(rng.integers(1, 9)), region_size=64)
    table = regions(machine, limit=60, in_use=int(rng.integers(1, 20)))
    for _ in range(6):
        blocks, known = int(rng.choice([1, machine.blocks])), table.in_use
        before = table.owner[:known].tolist()

        changed = table.assign(blocks, is_fresh=False)

        slow = OneByOne(machine, 60, known, blocks)
        assert (table.owner[: table.in_use].tolist(), table.chain.tolist()) == (slow.owner[: slow.in_use], slow.chain)
        old = [(r, r % blocks) for r in range(known) if before[r] != r % blocks]
        assert changed == old + [(r, r % blocks) for r in range(known, table.in_use)]
        table.feed(hungry(Machine(blocks=blocks, region_size=64), {0: (70, 5)}))


def test_feeding_many_blocks_is_no_loop_over_them() -> None:
    blocks = 1 << 14
    machine = Machine(blocks=blocks, region_size=64)
    table = regions(machine, limit=64 * blocks, in_use=blocks)
    states = hungry(machine, {})
    states["need"], states["need_node"] = 4, 4
    lines = 0

    def count(*_: object) -> Any:
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()  # coverage's
    sys.settrace(count)
    try:
        given, full = table.feed(states)
    finally:
        sys.settrace(before)

    assert (len(given), full) == (blocks, "")
    assert lines < 500


def test_grants_stop_doubling_at_a_million() -> None:
    machine = Machine(blocks=1, threads_per_block=1, region_size=64)
    table = regions(machine, limit=10, in_use=1)
    table._grant[:] = (1 << 20) - 1
    for _ in range(2):
        table.feed(hungry(machine, {0: (4, 4)}))
        assert table._grant.tolist() == [1 << 20]
