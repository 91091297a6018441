"""Cells that hold no term: links, stamps and waiters beside binders, environment entries and slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.kernel_text import abi
from hvm4viz.term import Tag

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

LINK: Final = 1
STAMPS: Final = 2

_SLOTS: Final = (Tag.DP0, Tag.DP1, abi.F_DP0, abi.F_DP1)
_BINDERS: Final = (Tag.LAM, Tag.VAR)


_ALWAYS = np.uint64(0x80000000)
"""High half of the link of an environment entry that was filled when it was made (``STAMP_ALWAYS``)."""


class Roles:
    """Which cells of a trace hold the protocol's own words.

    They are known by what points beside them (binders, slots, environments), by the operations on slots, and by the
    mark of an entry made by a beta step. A link looks like an application, and an application's second cell becomes a
    link when it is consumed: a word there with the tag of an application is taken for a link.
    """

    def __init__(self, trace: Trace) -> None:
        is_alone = trace.header.blocks * trace.header.threads_per_block == 1
        self._slot_cells, self._binder_cells = (2, 2) if is_alone else (4, 3)
        self._codes = np.zeros(0, np.uint8)
        self._n_cells = trace.n_regions * trace.region_size  # a word of a stranger's trace may point anywhere
        self._take(trace.header.heap)
        for _, offsets, table in trace.parts(table="deltas"):
            bounds = int(offsets[0]), int(offsets[-1])
            cells, words = table.column("cell", *bounds), table.column("after", *bounds)
            self._take(words)
            is_made = (words[1:] >> np.uint64(32) == _ALWAYS) & (words[:-1] >> np.uint64(63) == 1)
            self._mark(cells[1:][is_made & (cells[1:] == cells[:-1] + 1)], 0, LINK)
        for _, offsets, table in trace.parts(table="ops"):
            slots = np.unique(table.column("slot", int(offsets[0]), int(offsets[-1])))
            self._mark_beside(slots, self._slot_cells)

    def _take(self, words: NDArray[np.uint64]) -> None:
        tag = words >> np.uint64(56) & np.uint64(0x7F)
        at = (words & np.uint64(0xFFFFFFFF)).astype(np.int64)
        for tags, cells in ((_SLOTS, self._slot_cells), (_BINDERS, self._binder_cells), ((Tag.ALO,), 2)):
            self._mark_beside(np.unique(at[np.isin(tag, tags)]), cells)

    def _mark_beside(self, found: NDArray[Any], cells: int) -> None:
        found = found[found > 0]
        self._mark(found, 1, LINK)
        for place in range(2, cells):
            self._mark(found, place, STAMPS)

    def _mark(self, found: NDArray[Any], place: int, code: int) -> None:
        at = found.astype(np.int64) + place
        at = at[at < self._n_cells]
        if not at.size:
            return
        size = int(at.max()) + 1
        if size > self._codes.size:
            larger = np.zeros(max(size, 2 * self._codes.size), np.uint8)
            larger[: self._codes.size] = self._codes
            self._codes = larger
        self._codes[at] |= code

    def is_term(self, cells: NDArray[np.uint32], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Tell of words in cells whether they are terms (or frames)."""
        inside = np.minimum(cells, max(self._codes.size - 1, 0))
        codes = np.where(
            cells < self._codes.size, self._codes[inside] if self._codes.size else np.uint8(0), np.uint8(0)
        )
        is_app = (words >> np.uint64(56) & np.uint64(0x7F)) == Tag.APP
        return ((codes & STAMPS) == 0) & ~(((codes & LINK) != 0) & is_app)
