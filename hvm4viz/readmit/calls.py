"""The evaluator of a state, with its primitives, and the queue of a collapse."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from hvm4viz.collapse import KEYS
from hvm4viz.kernel_text import abi
from hvm4viz.readmit.records import Records
from hvm4viz.readmit.slots import Stamped
from hvm4viz.readmit.tasks import AWAY, DEAD, FORK, RANGE_FRESH, RANGE_SLOT, Task, need
from hvm4viz.term import EXT_MASK, SUB_BIT, VAL_MASK, Tag

_TODO: Final = ("", "feed", "begin", "resume", "value")


class Calls(Records):
    """The tables of a state, with all that is at work."""

    # ---- the evaluator

    def _evaluator(self, walk: Stamped) -> None:
        facts, arrays = self.evaluator, self.arrays
        assert facts is not None
        acts, calls, todo = facts["acts"], facts["calls"], facts["todo"]
        need(len(acts) == arrays["acts"].size > 0, "its reductions are not as many as it says")
        need(todo in _TODO, "what it has to do first is nothing it can do")
        inner = self.frontier is not None
        extra = todo in ("resume", "value")
        need(len(calls) == len(acts) - 1 or (extra and len(calls) == len(acts)), "its calls do not fit its reductions")
        need(not extra or calls, "its calls do not fit its reductions")
        stack = arrays["stack"].tolist()
        bases = [int(base) for base, _, _ in acts]
        need(all(a <= b for a, b in pairwise([0, *bases, len(stack)])), "its reductions overlap")
        for index, (_, flags, is_live) in enumerate(acts):
            is_last = index == len(acts) - 1
            allowed = (abi.PARAM_LIFT if self.lifts else 0,) if index == 0 else (0, abi.PARAM_WEAK)
            need(int(flags) in allowed, "its reductions have other flags")
            need(index == 0 or not (inner and is_last and is_live), "its reductions have other flags")
            if is_live:
                row = arrays["acts"][index]
                self._act(index, row, is_calling=index < len(calls), begins=todo == "begin" and is_last)
            need(is_live or not (todo == "begin" and is_last), "it begins a primitive without a task")
        for name, number, cells, taken in facts["calls"]:
            known = 0 <= int(number) < len(self.book.prims) and self.book.prims[int(number)][0] == name
            need(known and int(taken) >= 0, "its calls are of other primitives")
            need(len(cells) == self.book.prims[int(number)][1], "its calls have another number of arguments")
        for entry in stack:
            kind, high, cell = entry >> 60, entry >> 32 & 0x0FFFFFFF, entry & VAL_MASK
            count, is_slot = high & 0xFF, bool(high & RANGE_SLOT)
            need(kind == RANGE_FRESH and count > 0 and (count == 1 or not is_slot), "its stack holds no cells")
            need(cell + count <= self.cells, "cells to visit lie outside")
            for at in range(cell, cell + count):
                self._pend(walk, at, "slot" if is_slot else "task", is_new=True)

    def _act(self, index: int, row: np.void, *, is_calling: bool, begins: bool) -> None:
        flags = int(row["flags"])
        need(not flags & (abi.RECORD_NEW | abi.RECORD_SLOT | DEAD | AWAY | FORK), "a reduction has other flags")
        need(int(row["place"]) < max(len(self.book.code), 1), "reductions name places outside the program")
        hand = int(row["hand"])
        if begins:
            word = hand & ~SUB_BIT
            if word >> 56 == Tag.ALO:
                cell = word >> 32 & EXT_MASK
                word = int(self.book.code[cell]) if cell < len(self.book.code) else 0
            fits = word >> 56 == Tag.PRI and (word >> 32 & EXT_MASK) < len(self.book.prims)
            need(fits, "it begins a primitive that is none")
        # while a primitive is at work, its arguments lie in cells of the call's, and the term in hand says nothing
        lifts = self.lifts and index == 0
        self.tasks.append(Task(-1 - index, int(row["top"]), 0 if is_calling else hand, int(row["root"]), flags, lifts))

    # ---- the queue of a collapse

    def _queue(self, walk: Stamped) -> None:
        facts = self.facts["queue"]
        need((facts is not None) == self.lifts, "it is of another mode")
        if facts is None:
            return
        turns = [*(turn for bucket in facts["buckets"] for turn in bucket), *([facts["now"]] if facts["now"] else [])]
        need(len(facts["buckets"]) == KEYS, "it has another number of buckets")
        lifted, waiting = set(map(int, facts["lifted"])), set(map(int, facts["waiting"]))
        running, keys = set(map(int, facts["running"])), {int(cell) for cell, _ in facts["keys"]}
        is_alone = self.evaluator is not None or self.machine.threads == 1
        need(is_alone or (running <= keys and waiting <= keys), "branches have no key")
        need(not (lifted & waiting or lifted & running or waiting & running), "a branch is at two stages at once")
        ordered = {int(cell) for cells, _ in turns for cell in cells}
        for cell in (waiting | ordered) - lifted - running:
            self._pend(walk, cell, "task", is_new=True)
        self.lifted = sorted(lifted)

    def _pend(self, walk: Stamped, cell: int, kind: str, *, is_new: bool) -> None:
        need(0 <= cell < self.cells, f"a task is at work at cell {cell:,}; the heap has {self.cells:,}")
        need(cell not in walk.pending, f"two tasks are at work at cell {cell}")
        walk.pending[cell] = kind
        if is_new:
            walk.new.add(cell)
