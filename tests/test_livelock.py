"""Nested duplications end in a number of passes linear in their depth, however their slots are spread over owners.

A chain is laid out by hand: slot i holds one end of slot i + 1, the last one a number. The head of the chain is reduced
on the thread of block 0. Where protocol.md section 7 gives a number it stands here as it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag, pack

REGION = 16
PAIR, LABEL = 77, 1
SEVEN = pack(Tag.NUM, 0, 7)
FIELDS_MAX = 15
LENGTHS = (10, 11, 100, 1000)

Owners = Callable[[int], list[int]]
Passes = Callable[[int], int]

ALTERNATING: Owners = lambda n: [i % 2 for i in range(n)]  # noqa: E731
FOREIGN: Owners = lambda n: [1] * n  # noqa: E731
PROTOCOLS: dict[str, dict[str, Any]] = {
    "migrate": {},
    "return": {"defer": "return"},
    "block, migrate": {"owner_unit": "block"},
    "block, return": {"owner_unit": "block", "defer": "return"},
    "atomic": {"dup": "atomic"},
    "claim": {"dup": "claim"},
}

ALONE: dict[tuple[str, str], Passes] = {
    ("migrate", "alternating"): lambda n: 2 * n - 1,
    ("migrate", "foreign"): lambda _: 2,
    # down a hop a slot; up only foreign slots cost: there and home. One more where the task publishes at home, too,
    # for it had hopped there
    ("return", "alternating"): lambda n: 2 * n - 1 + n % 2,
    ("return", "foreign"): lambda n: 2 * n,
    ("block, migrate", "alternating"): lambda n: 2 * n - 1,
    ("block, migrate", "foreign"): lambda _: 2,
    ("block, return", "alternating"): lambda n: 2 * n - 1 + n % 2,
    ("block, return", "foreign"): lambda n: 2 * n,
    ("atomic", "alternating"): lambda _: 1,
    ("atomic", "foreign"): lambda _: 1,
    ("claim", "alternating"): lambda n: n // 2 + 1,
    ("claim", "foreign"): lambda n: n + 1,
}
"""Passes when one task goes down a chain and nothing else is there to do."""

TOGETHER: dict[tuple[str, str], Passes] = {
    ("migrate", "alternating"): lambda n: 2 * n,
    ("migrate", "foreign"): lambda _: 2,
    ("return", "alternating"): lambda n: 3 * n - 1,
    ("return", "foreign"): lambda n: 2 * n + 2,
    ("claim", "alternating"): lambda n: n + 1,
    ("claim", "foreign"): lambda n: n + 2,
}
"""Passes when the other end of every slot comes in the same pass as the head, from the thread that does not own it."""

OWNERS: dict[str, Owners] = {"alternating": ALTERNATING, "foreign": FOREIGN}


@dataclass
class Chain:
    """A heap with a chain of slots, each at the owner that was asked for.

    Attributes
    ----------
    heads : int
        Passes until the ends are reached: the depth of the tree above them.
    ends : list of int
        Cells that must hold the number in the end.
    """

    owners: list[int]
    ends: list[int] = field(default_factory=list[int])
    heads: int = 0
    _next: list[int] = field(default_factory=lambda: [2, 3])
    _cells: dict[int, tuple[int, int, int]] = field(default_factory=dict[int, tuple[int, int, int]])

    def __post_init__(self) -> None:
        self.slots = [self.region(owner) for owner in self.owners]
        for slot, after in zip(self.slots, self.slots[1:], strict=False):
            self._cells[slot] = (Tag.DP0, LABEL, after)
        self._cells[self.slots[-1]] = (Tag.NUM, 0, 7)

    def region(self, owner: int) -> int:
        """The first cell of a new region of one of the two blocks."""
        region = self._next[owner]
        self._next[owner] += 2
        return region * REGION

    def alone(self) -> Chain:
        """Want the head of the chain, nothing else."""
        self._cells[0] = (Tag.DP0, LABEL, self.slots[0])
        self.ends = [0]
        return self

    def together(self, comers: list[int]) -> Chain:
        """Want the head and, in the same pass, the other end of every slot, each from a thread."""
        ends = {0: [(Tag.DP0, LABEL, self.slots[0])], 1: []}
        for slot, thread in zip(self.slots, comers, strict=True):
            ends[thread].append((Tag.DP1, LABEL, slot))
        level = [self._node(group, owner, is_end=True) for owner in ends for group in groups(ends[owner])]
        self.heads = 1
        while len(level) > 1:
            level = [self._node(group, 0) for group in groups(level)]
            self.heads += 1
        (self._cells[0],) = level
        return self

    def _node(self, fields: list[tuple[int, int, int]], owner: int, *, is_end: bool = False) -> tuple[int, int, int]:
        at = self.region(owner)
        self._cells |= {at + i: word for i, word in enumerate(fields)}
        self.ends += [at + i for i in range(len(fields))] if is_end else []
        return Tag.C00 + len(fields), PAIR, at

    def heap(self) -> hv.Heap:
        builder = HeapBuilder(REGION * max(self._next))
        for cell, word in self._cells.items():
            builder.put(cell, *word)
        return builder.heap()


def groups(words: list[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    return [words[i : i + FIELDS_MAX] for i in range(0, len(words), FIELDS_MAX)]


def passes(chain: Chain, protocol: str, **more: Any) -> int:
    """Run to the end, check every end and the count of interactions; return the passes since the ends were reached."""
    settings: dict[str, Any] = {"blocks": 2, "threads_per_block": 1, "region_size": REGION, "shard": "address"}
    machine = hv.Machine(**settings, **PROTOCOLS[protocol], **more)
    run = hv.run_heap(chain.heap(), machine=machine, device="cpu", max_passes=20 * len(chain.owners))
    assert run.status == "done"
    assert [int(run.heap.words[cell]) for cell in chain.ends] == [SEVEN] * len(chain.ends)
    assert run.stats.interactions == len(chain.owners)
    return run.stats.passes - chain.heads


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("protocol", "spread"), list(ALONE))
def test_one_task_needs_the_passes_that_the_protocol_says(protocol: str, spread: str, n: int) -> None:
    assert passes(Chain(OWNERS[spread](n)).alone(), protocol) == ALONE[protocol, spread](n)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("protocol", "spread"), list(TOGETHER))
def test_all_other_sides_cost_few_passes_more(protocol: str, spread: str, n: int) -> None:
    owners = OWNERS[spread](n)

    took = passes(Chain(owners).together([1 - owner for owner in owners]), protocol)

    assert took == TOGETHER[protocol, spread](n)


@pytest.mark.parametrize("visibility", ["pass", "live"])
@pytest.mark.parametrize("spread", list(OWNERS))
@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_whoever_comes_first_the_passes_stay_linear(protocol: str, spread: str, visibility: str) -> None:
    for n in LENGTHS:
        owners = OWNERS[spread](n)
        for comers in (owners, [1 - owner for owner in owners], [0] * n):
            assert passes(Chain(owners).together(comers), protocol, visibility=visibility) <= 3 * n + 2


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_one_interaction_a_pass_adds_hardly_more_than_one_pass_a_slot(protocol: str) -> None:
    for n in LENGTHS:
        owners = ALTERNATING(n)
        for chain in (Chain(owners).alone, lambda owners=owners: Chain(owners).together([1 - o for o in owners])):
            took = passes(chain(), protocol)
            assert passes(chain(), protocol, fuel=1) <= took + n + n // 64 + 1  # going down is bounded, too
