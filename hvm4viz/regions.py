"""Regions of a run: who owns them, and giving fresh ones to blocks whose threads ran out of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.kernel_text import abi
from hvm4viz.limits import FIELDS_MAX
from hvm4viz.settings import Machine


class Regions:
    """The owner table, the chain of each block's regions, and the policy of giving.

    Parameters
    ----------
    machine : Machine
    owner, chain : ndarray of uint32, shape (regions_max,)
        Tables that the kernel reads; kept up to date here.
    in_use : int
        Regions in use when the first run starts; region r belongs to block ``r % blocks``.

    Notes
    -----
    A block gets twice as many regions each time one of its threads starves, so that a long run starves a number of
    times that is logarithmic in its cells; never more than a quarter of the block's share of what is left, so that
    one hungry block does not fill the heap. It depends on the trace alone, never on timing.
    """

    def __init__(self, machine: Machine, owner: NDArray[np.uint32], chain: NDArray[np.uint32], in_use: int) -> None:
        self.machine = machine
        self.owner = owner
        self.chain = chain
        self.in_use = in_use
        self.limit = len(owner)
        self.assign(machine.blocks, is_fresh=True)

    def assign(self, blocks: int, *, is_fresh: bool) -> list[tuple[int, int]]:
        """Deal the regions in use to blocks for a new run, at least one a block as far as there are any left.

        Returns
        -------
        changed : list of (int, int)
            (region, block) of each region that changed hands.
        """
        before = self.owner[: self.in_use].copy()
        known = self.in_use
        self.in_use = min(max(known, blocks), self.limit)
        self.blocks = blocks
        self.is_fresh = is_fresh
        self.chain[:] = abi.NO_REGION
        self._tail = [abi.NO_REGION] * blocks
        self._grant = [1] * blocks
        for region in range(self.in_use):
            self._link(region, region % blocks)
        changed = [(r, r % blocks) for r in range(known) if before[r] != r % blocks]
        return changed + [(r, r % blocks) for r in range(known, self.in_use)]

    def start(self, block: int) -> tuple[int, bool]:
        """Return the region in which a block's threads start, its last one, and whether it counts as full.

        In a heap that has been worked on, cells between others are not looked for: threads ask for fresh regions.
        """
        return self._tail[block], not self.is_fresh

    def _link(self, region: int, block: int) -> None:
        self.owner[region] = block
        if self._tail[block] != abi.NO_REGION:
            self.chain[self._tail[block]] = region
        self._tail[block] = region

    def give(self, block: int) -> tuple[int, int]:
        """Give the next free region to a block."""
        region = self.in_use
        self.in_use += 1
        self._link(region, block)
        return region, block

    def feed(self, states: NDArray[Any]) -> tuple[list[tuple[int, int]], str]:
        """Give regions to the blocks of starved threads, in thread order.

        Parameters
        ----------
        states : ndarray of THREAD_STATE, shape (threads,)

        Returns
        -------
        given : list of (int, int)
            (region, block), in order; none if the heap is full.
        full : str
            Empty, or why the heap is full and which setting to change.
        """
        tpb = len(states) // self.blocks
        slice_cells = self.machine.region_size // tpb
        wanted: dict[int, int] = {}
        for thread in np.flatnonzero(states["need"]):
            need, node = int(states["need"][thread]), int(states["need_node"][thread])
            if node > slice_cells:
                size = tpb * max(FIELDS_MAX, 1 << (node - 1).bit_length())  # then every constructor fits
                return [], (
                    f"a node of {node} cells does not fit: its cells lie together, and each thread has {slice_cells} "
                    f"of a region (region_size={self.machine.region_size} over threads_per_block={tpb}); re-run with "
                    f"region_size={size}, which gives each {size // tpb}: room for it and for every constructor"
                )
            block = int(thread) // tpb
            wanted[block] = max(wanted.get(block, 0), -(-need // (slice_cells - node + 1)))
        free = self.limit - self.in_use
        counts: dict[int, int] = {}
        for block, need in wanted.items():
            if need > free:  # nothing is given: a run that goes on with more heap finds all as it was
                return [], self.full_message(f"block {block}, which needs {need}")
            counts[block] = max(need, min(self._grant[block], free // (4 * self.blocks)))
            free -= counts[block]
        given: list[tuple[int, int]] = []
        for block, count in counts.items():
            self._grant[block] = min(2 * self._grant[block], 1 << 20)
            given += [self.give(block) for _ in range(count)]
        return given, ""

    def full_message(self, who: str) -> str:
        """Say that no region is left, and which heap would do."""
        cells = self.limit * self.machine.region_size
        mib = -(-2 * cells * 8 // 2**20)
        return (
            f"no free region left for {who}: all {self.limit:,} regions ({cells:,} cells) are in use; re-run with "
            f"heap='{mib} MiB', unless the program never ends"
        )
