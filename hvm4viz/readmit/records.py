"""The frontier of a state: entries, records, and which names which."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import ORIGINS
from hvm4viz.readmit.slots import Stamped
from hvm4viz.readmit.tables import Tables
from hvm4viz.readmit.tasks import DEAD, FORK, NAMED_SHIFT, Task, need
from hvm4viz.term import VAL_MASK
from hvm4viz.workspace import SLACK

_VISITORS: Final = frozenset({ORIGINS.index("poll"), ORIGINS.index("wake")})
_COLUMNS: Final = ("top", "hand", "root", "flags")


class Records(Tables):
    """The tables of a state, with its frontier."""

    # ---- the frontier

    def _frontier(self, walk: Stamped) -> None:
        facts, arrays = self.frontier, self.arrays
        assert facts is not None
        summary, states, entries, live, free = (
            arrays[name] for name in ("summary", "states", "entries", "records", "free")
        )
        n_records, width = int(summary[14]), entries.size
        need(n_records == live.size + free.size, "its records are not as many as it says")
        need(not free.size or int(free.max()) < n_records, "free records lie after the last")
        is_live = np.ones(n_records, bool)
        is_live[free] = False
        need(int(is_live.sum()) == live.size, "a record is free twice")
        numbers = np.flatnonzero(is_live).tolist()
        self.tasks = [
            Task(number, *row, lifts=self.lifts and self.evaluator is None and not row[3] & FORK)
            for number, row in zip(numbers, zip(*(live[n].tolist() for n in _COLUMNS), strict=True), strict=True)
        ]
        threads = self.machine.threads
        need((live["home"] < threads).all(), "records are of threads that there are not")
        need((live["place"] < max(len(self.book.code), 1)).all(), "records name places outside the program")
        self._segments(states, entries, width)
        self.entries = [
            (int(entry) >> 60, int(entry) >> 32 & 0x0FFFFFFF, int(entry) & VAL_MASK) for entry in entries.tolist()
        ]
        self._names(walk, {task.number: task for task in self.tasks}, int(summary[2]))
        if self.evaluator is None:
            need(int(facts["root"]) == self.root, "its root is another one")
        else:
            need(0 < int(facts["root"]) < self.cells, "its root lies outside")

    def _segments(self, states: NDArray[np.void], entries: NDArray[np.uint64], width: int) -> None:
        need(states.size == self.machine.threads, f"it has {states.size} threads")
        count = states["count"].astype(np.int64)
        first, out, out_max = (states[name].astype(np.int64) for name in ("first", "out", "out_max"))
        need(int(count.sum()) == width, "its entries are not as many as it says")
        runs = count > 0
        need((first[runs] == (count.cumsum() - count)[runs]).all(), "segments of the frontier overlap")
        lists = np.where(runs, count + SLACK, 0)
        need((out_max[runs] == lists[runs]).all(), "lists are not as long as they say")
        need((out[runs] == (lists.cumsum() - lists)[runs]).all(), "lists overlap")
        thread = (entries >> np.uint64(32)) & np.uint64(0x0FFFFFFF)
        need((thread == np.repeat(np.arange(states.size), count)).all(), "entries stand with other threads")

    def _names(self, walk: Stamped, tasks: dict[int, Task], parked: int) -> None:
        """Check which entries name which records."""
        runs: Counter[int] = Counter()
        visits: Counter[int] = Counter()
        for origin, _, record in self.entries:
            need(record in tasks, f"an entry names record {record}, which is free")
            need(origin < len(ORIGINS), "origins are out of their bounds")
            (visits if walk.by_claim and origin in _VISITORS else runs)[record] += 1
        twice = [record for record, count in runs.items() if count > 1]
        need(not twice, f"record {twice[:1]} stands on the frontier twice")
        for number, task in tasks.items():
            is_dead = bool(task.flags & DEAD)
            if walk.by_claim:
                need(task.flags >> NAMED_SHIFT == visits[number], f"record {number} is named another number of times")
                self._polled(task, visits[number])
            need(not is_dead or (walk.by_claim and not runs[number]), f"record {number} is done, and goes on")
        alive = {number: task for number, task in tasks.items() if not task.flags & DEAD}
        self.waiting = {number: task for number, task in alive.items() if not runs[number]}
        self.tasks = list(alive.values())
        need(parked == len(self.waiting), f"{len(self.waiting)} tasks wait, it says {parked}")

    def _polled(self, task: Task, visits: int) -> None:
        slot = task.hand & VAL_MASK
        need(not visits or slot + 3 < self.cells, f"record {task.number} waits at a slot outside")
