"""When a recording at level ``full`` keeps the whole heap, and when the state of the machine.

Between two images the changed cells are enough to know the heap at any pass; from a state the machine can go on. Both
are kept only when much more else has been recorded meanwhile, so that they make up little of a recording.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import PassRecord
from hvm4viz.trace.columns import IMAGE

EVERY_PASSES: Final = 128
"""Passes after which an image or a state is due."""

EVERY_BYTES: Final = 1 << 20
"""Bytes of changed cells after which an image is due."""

SHARE: Final = 4
"""Bytes recorded for each byte of an image or state, at least."""


_PART: Final = 1 << 16
"""Cells that are looked at at a time."""


class Watched(Protocol):
    """What a recording asks of the machine between two passes."""

    @property
    def words(self) -> NDArray[np.uint64]:
        """Cells of the regions in use, as they lie."""
        ...

    @property
    def has_called(self) -> bool:
        """Whether the last pass called a Python primitive, so that repeating the pass would call it again."""
        ...

    def state(self) -> bytes:
        """Return all that the machine needs to go on, but for the heap."""
        ...


def image_of(words: NDArray[np.uint64]) -> NDArray[np.void]:
    """Return the cells that are not zero as records of ``IMAGE``."""
    image = np.empty(np.count_nonzero(words), IMAGE)
    filled = 0
    for start in range(0, words.size, _PART):  # numbers of all cells at once would take as much as the heap
        part = words[start : start + _PART]
        at = np.flatnonzero(part)
        image["cell"][filled : filled + at.size] = at + start
        image["word"][filled : filled + at.size] = part[at]
        filled += at.size
    return image


class Keyframes:
    """Chooses the passes after which heap and state are kept.

    Parameters
    ----------
    machine : Watched
    """

    def __init__(self, machine: Watched) -> None:
        self._machine = machine
        self._image_passes = self._state_passes = 0
        self._changed = self._recorded = 0
        self._state_size = 0

    def take(self, record: PassRecord) -> tuple[bytes | memoryview, bytes]:
        """Return the image and the state to keep with a pass; empty if they are not due."""
        self._image_passes += 1
        self._state_passes += 1
        self._changed += record.deltas.nbytes
        self._recorded += record.deltas.nbytes + record.events.nbytes + record.ops.nbytes
        return self._image(record), self._state()

    def _image(self, record: PassRecord) -> bytes | memoryview:
        if self._image_passes < EVERY_PASSES and self._changed < EVERY_BYTES:
            return b""
        if self._changed < SHARE * IMAGE.itemsize * int(record.cells.sum(dtype=np.int64)):
            return b""
        self._image_passes = self._changed = 0
        return image_of(self._machine.words).view(np.uint8).data

    def _state(self) -> bytes:
        is_due = self._state_passes >= EVERY_PASSES and self._recorded >= SHARE * self._state_size
        if not is_due and not self._machine.has_called:
            return b""
        self._state_passes = self._recorded = 0
        state = self._machine.state()
        self._state_size = len(state)
        return state
