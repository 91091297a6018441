"""Regions, and the free cells of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.book import Book
from hvm4viz.kernel_text import abi
from hvm4viz.readmit.slots import Stamped
from hvm4viz.readmit.tasks import Task, need
from hvm4viz.settings import Machine
from hvm4viz.state import Misfit, State


class Tables:
    """The tables of a state: what is there, and where threads take cells from."""

    def __init__(
        self,
        words: NDArray[np.uint64],
        state: State,
        *,
        root: int,
        mode: str,
        stamps: int,
        book: Book,
        machine: Machine,
    ) -> None:
        self.words, self.facts, self.arrays = words, state.facts, state.arrays
        self.machine, self.book, self.root = machine, book, root
        self.evaluator: dict[str, Any] | None = state.facts["evaluator"]
        self.frontier: dict[str, Any] | None = (
            state.facts["frontier"] if self.evaluator is None else self.evaluator["frontier"]
        )
        store = state.facts["store"]
        self.passes = int(store["passes"])
        self.now = stamps + self.passes + 1
        self.cells = len(words)
        self.lifts = mode == "collapse"
        self.tasks: list[Task] = []
        self.waiting: dict[int, Task] = {}
        """Tasks that stand on no frontier, by record."""
        self.lifted: list[int] = []
        self.entries: list[tuple[int, int, int]] = []
        """Origin, thread and record of each entry of the frontier."""

    # ---- regions

    def _regions(self) -> None:
        owner, chain, used = (self.arrays[name] for name in ("owner", "chain", "used"))
        size, in_use = self.machine.region_size, owner.size
        blocks = int(self.facts["store"]["blocks"])
        need(in_use * size == self.cells, f"it has {in_use:,} regions, its heap {self.cells // size:,}")
        need(blocks == (self.machine.blocks if self.frontier is not None else 1), f"it has {blocks} blocks")
        need(chain.size == used.size == in_use, "its tables of regions differ in length")
        need(not in_use or int(owner.max()) < blocks, "regions are of blocks that there are not")
        linked = chain != abi.NO_REGION
        need((chain[linked] < in_use).all(), "regions lie after the last")
        need((owner[chain[linked]] == owner[linked]).all(), "the regions of one block lead to another's")
        tail = [int(region) for region in self.facts["store"]["tail"]]
        need(len(tail) == blocks, "its blocks are not as many as it says")
        for block, region in enumerate(tail):
            fits = region == abi.NO_REGION or (region < in_use and int(owner[region]) == block)
            need(fits, f"the last region of block {block} is another's")
        filled = self.words.reshape(in_use, size).any(axis=1)
        need((used[filled] > 0).all(), "regions that hold something count as empty")

    def _allocation(self, walk: Stamped) -> None:
        """Check that threads take fresh cells where nothing lies."""
        if self.frontier is not None:
            states, tpb = self.arrays["states"], self.machine.threads_per_block
        else:
            states, tpb = self.arrays["thread"], 1
        size, owner, chain = self.machine.region_size, self.arrays["owner"], self.arrays["chain"]
        lane_cells = size // tpb
        before = np.concatenate([[0], (np.frombuffer(walk.uses, np.uint8) != 0).cumsum(dtype=np.int64)])
        lanes = before[::lane_cells][1:] - before[::lane_cells][:-1]
        taken = (lanes > 0).reshape(-1, tpb)
        following: dict[int, NDArray[np.bool_]] = {}
        thread = np.arange(states.size)
        first, last, region = (states[name].astype(np.int64) for name in ("next", "end", "region"))
        need((region < owner.size).all(), "threads are in regions that there are not")
        start = region * size + thread % tpb * lane_cells
        fits = (owner[region] == thread // tpb) & (start <= first) & (first <= last) & (last <= start + lane_cells)
        need(fits.all(), "threads take cells from places that are not theirs")
        need((before[last] == before[first]).all(), "threads take cells that are in use")
        for at in np.unique(region).tolist():
            following[at] = _behind(at, chain, taken)
        for number, at in enumerate(region.tolist()):
            need(not following[at][number % tpb], f"thread {number} comes to a region where something lies")


def _behind(region: int, chain: NDArray[np.uint32], taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell for each lane whether anything lies in it, in the regions that follow one."""
    found = np.zeros(taken.shape[1], bool)
    at = int(chain[region])
    for _ in range(chain.size):
        if at == abi.NO_REGION:
            return found
        found |= taken[at]
        at = int(chain[at])
    raise Misfit("the regions of a block follow each other in a circle")
