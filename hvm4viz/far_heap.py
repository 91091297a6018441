"""An image of a heap that lies on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.far import FarCells
from hvm4viz.heap import Heap
from hvm4viz.term import tag_of


class FarHeap(Heap):
    """An image of a heap that lies on a device: it comes over when somebody wants the whole array."""

    def _get(self) -> NDArray[np.uint64]:
        cells, used = self.__dict__["_far"]
        return cells.whole()[:used] if isinstance(cells, FarCells) else cells

    def _set(self, given: Any) -> None:
        self.__dict__["_far"] = given if isinstance(given, tuple) else (given, len(given))

    words = property(_get, _set)  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]

    def tag(self, loc: int) -> int:
        """Return the tag of the word in a cell."""
        return tag_of(int(self.__dict__["_far"][0][loc]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Be packed as a heap on the host."""
        own = (self.root, self.region_size, self.threads_per_block, self.owners, self.tasks, self.stamps)
        return Heap, (self.words, *own)
