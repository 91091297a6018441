"""A poll that had to wait untouched meets the wake of the same task in one pass (option 3)."""

from __future__ import annotations

import hvm4viz as hv
from hvm4viz.events import ORIGINS, OUTCOMES
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag

Word = tuple[int, int, int]

REGION = 64
FUEL = 30
WAITERS = 20
PAIR = 77


class Layout:
    """Cells by owner block: each allocates in regions of its own."""

    def __init__(self, blocks: int) -> None:
        self.words: dict[int, Word] = {}
        self._blocks = blocks
        self._next = [block * REGION for block in range(blocks)]
        self._next[0] = 8  # the root lies in cell 0

    def place(self, block: int, words: list[Word], *, room: int = 0) -> int:
        """Lay words side by side; return where."""
        size = max(len(words), room)
        if self._next[block] % REGION + size > REGION:
            self._next[block] = (self._next[block] // REGION + self._blocks) * REGION
        at = self._next[block]
        self._next[block] += size
        if self._next[block] % REGION == 0:
            self._next[block] += (self._blocks - 1) * REGION
        self.words |= {at + i: word for i, word in enumerate(words)}
        return at

    def slot(self, block: int, term: Word) -> int:
        return self.place(block, [term], room=4)

    def node(self, block: int, fields: list[Word]) -> Word:
        return Tag.C00 + len(fields), PAIR, self.place(block, fields)

    def sum(self, block: int, interactions: int) -> Word:
        """A sum that takes so many interactions."""
        term: Word = (Tag.NUM, 0, 1)
        for _ in range(interactions):
            term = (Tag.OP2, 0, self.place(block, [term, (Tag.NUM, 0, 1)]))
        return term

    def heap(self) -> hv.Heap:
        builder = HeapBuilder((max(self.words) // REGION + 1) * REGION)
        for cell, word in self.words.items():
            builder.put(cell, *word)
        return builder.heap()


def late_poll() -> tuple[hv.Heap, int, int]:
    """Lay out a heap in which a task's poll has to wait behind many wakes, and the wake comes in the next pass.

    In pass 4 a task of thread 0 publishes so many slots that its list is full: the poll of ``waiter``, which arrived
    at ``first`` in pass 3, waits untouched. In that pass ``first`` is published, and its holder wakes ``waiter``. In
    pass 5 the poll reads it, goes on to ``second``, and arrives there; then comes the wake. ``second`` belongs to
    thread 2, which reaches it in pass 5, too.
    """
    layout = Layout(3)
    shared = layout.sum(0, 2 * FUEL + 3)
    slots: list[int] = []
    for _ in range(WAITERS):
        slots.append(layout.slot(0, shared))
        shared = (Tag.DP0, 5, slots[-1])
    second = layout.slot(2, layout.sum(2, 5))
    pair = (Tag.SUP, 7, layout.place(1, [(Tag.DP0, 9, second), (Tag.NUM, 0, 3)]))
    first = layout.slot(1, (Tag.AND, 0, layout.place(1, [layout.sum(1, 2 * FUEL + 3), pair])))
    others: list[Word] = [(Tag.DP1, 5, slot) for slot in slots]
    deep = layout.node(2, [layout.node(2, [layout.node(2, [(Tag.DP1, 9, second)])])])
    waiter = layout.place(0, [(Tag.DP0, 7, first)])
    parts = [
        layout.node(0, [shared, (Tag.C00 + 1, PAIR, waiter)]),
        layout.node(1, [(Tag.DP1, 7, first), *others[:10]]),
        layout.node(2, [deep, *others[10:]]),
    ]
    layout.words[0] = layout.node(0, parts)
    return layout.heap(), waiter, second


def test_a_wake_behind_a_late_poll_takes_nothing_in_the_pass_of_the_arrival() -> None:
    heap, waiter, second = late_poll()
    machine = hv.Machine(
        blocks=3, threads_per_block=1, region_size=REGION, shard="address", dup="claim", fuel=FUEL, fork="off"
    )

    run = hv.run_heap(heap, machine=machine, device="cpu", record="full")

    events = run.trace.events(5, 6)
    names = [(ORIGINS[e["origin"]], OUTCOMES[e["outcome"]], int(e["slot"])) for e in events if e["loc"] == waiter]
    assert names == [("poll", "deferred", second), ("wake", "parked", second)]
    taken = run.trace.ops(5, 6, kind="take", slot=second)
    assert [int(thread) for thread in taken["thread"]] == [2]  # the owner, alone
    assert run.status == "done"
    assert run.trace.verify().offence is None
