"""Regions of a run: who owns them, and giving fresh ones to blocks whose threads ran out of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.kernel_text import abi
from hvm4viz.limits import FIELDS_MAX
from hvm4viz.settings import CELLS_MAX, Machine, parse_size

NEVER_ENDS: Final = "never ends"
"""How a message ends that proposes a larger heap: the place where the heap filled up may be the cause."""


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
    times that is logarithmic in its cells; but those that starve in one pass get a quarter of what is left at most, so
    that hungry blocks do not fill the heap. It depends on the trace alone, never on timing.
    """

    def __init__(self, machine: Machine, owner: NDArray[np.uint32], chain: NDArray[np.uint32], in_use: int) -> None:
        self.machine, self.limit = machine, len(owner)
        self.owner, self.chain = owner, chain
        self.in_use = in_use
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
        self.in_use = in_use = min(max(known, blocks), self.limit)
        self.blocks = blocks
        self.is_fresh = is_fresh
        regions = np.arange(in_use, dtype=np.int64)
        dealt = regions % blocks
        self.chain[:] = abi.NO_REGION
        self.chain[: max(in_use - blocks, 0)] = regions[blocks:]
        self.owner[:in_use] = dealt
        self._grant = np.ones(blocks, np.int64)
        self._tail = np.full(blocks, abi.NO_REGION, np.int64)
        self._tail[dealt[-blocks:]] = regions[-blocks:]
        changed = np.append(np.flatnonzero(before != dealt[:known]), regions[known:])
        return list(zip(changed.tolist(), dealt[changed].tolist(), strict=True))

    def start(self, block: int) -> tuple[int, bool]:
        """Return the region in which a block's threads start, and whether it counts as full: nobody looks for gaps."""
        return int(self._tail[block]), not self.is_fresh

    def starts(self) -> NDArray[np.int64]:
        """Return the region in which the threads of each block start; see ``start``."""
        return self._tail

    def give(self, block: int) -> tuple[int, int]:
        """Give the next free region to a block."""
        return self._give(np.array([block]), np.array([1]))[0]

    def _give(self, blocks: NDArray[np.int64], counts: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Give the next free regions to blocks, so many to each, in this order."""
        ends = self.in_use + np.cumsum(counts)
        starts, first, end = ends - counts, self.in_use, int(ends[-1])
        owners = np.repeat(blocks, counts)
        self.owner[first:end] = owners
        self.chain[first:end] = np.arange(first + 1, end + 1)
        self.chain[ends - 1] = abi.NO_REGION
        tails = self._tail[blocks]
        has_any = tails != abi.NO_REGION
        self.chain[tails[has_any]] = starts[has_any]
        self._tail[blocks] = ends - 1
        self.in_use = end
        return list(zip(range(first, end), owners.tolist(), strict=True))

    def feed(self, states: Mapping[str, NDArray[Any]] | NDArray[Any]) -> tuple[list[tuple[int, int]], str]:
        """Give regions to the blocks of starved threads, in thread order.

        Parameters
        ----------
        states : ndarray of THREAD_STATE or mapping of its fields, shape (threads,)

        Returns
        -------
        given : list of (int, int)
            (region, block), in order; none if the heap is full.
        full : str
            Empty, or why the heap is full and which setting to change.
        """
        tpb = len(states["need"]) // self.blocks
        slice_cells = self.machine.region_size // tpb
        hungry = np.flatnonzero(states["need"])
        if not hungry.size:
            return [], ""
        nodes = states["need_node"][hungry].astype(np.int64)
        too_large = nodes[nodes > slice_cells]
        if too_large.size:
            node = int(too_large[0])
            size = tpb * max(FIELDS_MAX, 1 << (node - 1).bit_length())  # then every constructor fits
            return [], (
                f"a node of {node} cells does not fit: its cells lie together, and each thread has {slice_cells} "
                f"of a region (region_size={self.machine.region_size} over threads_per_block={tpb}); re-run with "
                f"region_size={size}, which gives each {size // tpb}: room for it and for every constructor"
            )
        lanes = hungry // tpb
        firsts = np.flatnonzero(np.diff(lanes, prepend=-1))  # threads of a block are neighbours
        wanted = -(-states["need"][hungry].astype(np.int64) // (slice_cells - nodes + 1))
        blocks, least = lanes[firsts], np.maximum.reduceat(wanted, firsts)
        counts, full = self._shares(blocks, least)
        if full:
            return [], full
        self._grant[blocks] = np.minimum(2 * self._grant[blocks], 1 << 20)
        return self._give(blocks, counts), ""

    def _shares(self, blocks: NDArray[np.int64], least: NDArray[np.int64]) -> tuple[NDArray[np.int64], str]:
        """Return how many regions each block gets of those that are left, one block after the other; or why none."""
        free, quarters, grants = self.limit - self.in_use, 4 * blocks.size, self._grant[blocks]
        counts = np.maximum(least, grants)
        if (free - int(counts.sum())) // quarters >= int(grants.max()):
            return counts, ""  # even for the last block its part of a quarter is more than its turn
        taken: list[int] = []
        for block, need, grant in zip(blocks.tolist(), least.tolist(), grants.tolist(), strict=True):
            if need > free:  # nothing is given: a run that goes on with more heap finds all as it was
                return counts, self.full_message(f"block {block}, which needs {need}")
            taken.append(max(need, min(grant, free // quarters)))
            free -= taken[-1]
        return np.array(taken), ""

    def full_message(self, who: str) -> str:
        """Say that no region is left, and which heap would do."""
        cells, usual = self.limit * self.machine.region_size, Machine().heap
        told = f"no free region left for {who}: all {self.limit:,} regions ({cells:,} cells) are in use; "
        if 8 * cells < parse_size(usual):
            endless = f"if that fills too, the program probably {NEVER_ENDS}"
            return f"{told}re-run with heap={usual!r} or leave it out (the default); {endless}"
        if cells > CELLS_MAX - self.machine.region_size:
            return f"{told}there is no larger heap; give the program less to do, if it is not one that {NEVER_ENDS}"
        mib = min(-(-2 * cells * 8 // 2**20), 8 * CELLS_MAX >> 20)
        larger = f"{mib} MiB" if mib % 1024 else f"{mib // 1024} GiB"
        return f"{told}re-run with heap={larger!r}, unless the program {NEVER_ENDS}"
