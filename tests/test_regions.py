from __future__ import annotations

import numpy as np

from hvm4viz.kernel_text import abi
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

    assert "does not fit a slice of 4" in full
    assert "region_size=64" in full


def test_assigning_again_tells_what_changed_hands() -> None:
    table = regions(Machine(blocks=2, region_size=64), limit=9, in_use=4)

    assert table.assign(1, is_fresh=False) == [(1, 0), (3, 0)]
    assert table.assign(6, is_fresh=False) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
