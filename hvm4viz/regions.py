"""Regions of a run: who owns them, and giving fresh ones to blocks whose threads ran out of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.kernel import abi
from hvm4viz.settings import Machine


class Regions:
    """The owner table, the chain of each block's regions, and the policy of giving.

    Parameters
    ----------
    machine : Machine
    owner, chain : ndarray of uint32, shape (regions_max,)
        Tables that the kernel reads; kept up to date here.
    in_use : int
        Regions in use when the run starts; region r belongs to block ``r % blocks``.

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
        self.in_use = 0
        self.limit = len(owner)
        self._tail: list[int] = [abi.NO_REGION] * machine.blocks
        self._grant = [1] * machine.blocks
        chain[:] = abi.NO_REGION
        self.first: list[int] = [abi.NO_REGION] * machine.blocks
        for region in range(in_use):
            self._give(region % machine.blocks)

    def _give(self, block: int) -> tuple[int, int]:
        region = self.in_use
        self.in_use += 1
        self.owner[region] = block
        if self._tail[block] == abi.NO_REGION:
            self.first[block] = region
        else:
            self.chain[self._tail[block]] = region
        self._tail[block] = region
        return region, block

    def feed(self, states: NDArray[Any]) -> tuple[list[tuple[int, int]], str]:
        """Give regions to the blocks of starved threads, in thread order.

        Returns
        -------
        given : list of (int, int)
            (region, block), in order.
        full : str
            Empty, or why the heap is full and which setting to change.
        """
        given: list[tuple[int, int]] = []
        slice_cells = self.machine.slice_cells
        wanted: dict[int, int] = {}
        for thread in np.flatnonzero(states["need"]):
            need, node = int(states["need"][thread]), int(states["need_node"][thread])
            if node > slice_cells:
                size = self.machine.threads_per_block << (node - 1).bit_length()
                return given, (
                    f"a node of {node} cells does not fit a slice of {slice_cells} (region_size "
                    f"{self.machine.region_size} / threads_per_block {self.machine.threads_per_block}); "
                    f"re-run with region_size={size}"
                )
            block = int(thread) // self.machine.threads_per_block
            wanted[block] = max(wanted.get(block, 0), -(-need // (slice_cells - node + 1)))
        for block, need in wanted.items():
            free = self.limit - self.in_use
            if need > free:
                cells = self.limit * self.machine.region_size
                mib = -(-2 * cells * 8 // 2**20)
                return given, (
                    f"no free region left for block {block}, which needs {need}: all {self.limit:,} regions "
                    f"({cells:,} cells) are in use; re-run with heap='{mib} MiB'"
                )
            count = max(need, min(self._grant[block], free // (4 * self.machine.blocks)))
            self._grant[block] = min(2 * self._grant[block], 1 << 20)
            given += [self._give(block) for _ in range(count)]
        return given, ""
