"""The queue of branches of a collapse: 64 buckets of turns, first in first out.

It lies in words that the cpu device's loop over many passes reads, too (``kernels/collapse.h``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hvm4viz.device.base import view
from hvm4viz.device.cpu import CpuBuffer

KEYS: Final = 64
"""Buckets; deeper branches share the last one."""

_FREE, _USED, _ROOM, _LEFT, _CELL, _REST, _TURN, _KEY, _NODES = 128, 129, 130, 131, 132, 133, 134, 135, 136
_TURNS = 1 << 10

Turn = tuple[list[int], int]
"""Cells still to be looked at, at most two, and the key of each."""


class Turns:
    """Turns that wait, and the one that is on."""

    def __init__(self) -> None:
        self._words = np.zeros(0, np.uint32).data
        self._resize(_TURNS)

    def _resize(self, room: int) -> None:
        self.buffer = CpuBuffer(4 * (_NODES + 4 * room))
        words = view(self.buffer, np.uint32).data
        words[: len(self._words)] = self._words
        words[_ROOM] = room
        self._words = words

    def reserve(self) -> None:
        """Make room for many more turns, if there is none for one."""
        words = self._words
        if not words[_FREE] and words[_USED] == words[_ROOM]:
            self._resize(2 * words[_ROOM])

    def push(self, cells: Sequence[int], key: int) -> None:
        """Let one or two cells get in line."""
        self.reserve()
        words = self._words
        number = words[_FREE]
        if number:
            words[_FREE] = words[_NODES + 4 * number - 1]
        else:
            number = words[_USED] = words[_USED] + 1
        at = _NODES + 4 * (number - 1)
        words[at], words[at + 1], words[at + 2], words[at + 3] = cells[0], cells[-1], len(cells), 0
        last = words[KEYS + key]
        if last:
            words[_NODES + 4 * last - 1] = number
        else:
            words[key] = number
        words[KEYS + key] = number

    def begin_next(self) -> bool:
        """Let the next turn be on; tell whether there is one."""
        words = self._words
        for key in range(KEYS):
            number = words[key]
            if number:
                at = _NODES + 4 * (number - 1)
                words[key] = words[at + 3]
                if not words[key]:
                    words[KEYS + key] = 0
                words[_LEFT], words[_CELL], words[_REST], words[_TURN] = words[at + 2], words[at], words[at + 1], key
                words[at + 3] = words[_FREE]
                words[_FREE] = number
                words[_KEY] = key
                return True
        return False

    @property
    def is_on(self) -> bool:
        """Whether a turn is on."""
        return self._words[_LEFT] > 0

    @property
    def cell(self) -> int:
        """The cell that the turn that is on waits for."""
        return self._words[_CELL]

    @property
    def key(self) -> int:
        """Key of the branch that is on: that of its turn, less the marks on the way."""
        return self._words[_KEY]

    def replace(self, cell: int) -> None:
        """Look at another cell instead, behind a mark."""
        self._words[_CELL] = cell
        self._words[_KEY] = max(0, self._words[_KEY] - 1)

    def drop(self) -> None:
        """Be done with the cell."""
        words = self._words
        words[_LEFT] -= 1
        words[_CELL] = words[_REST]
        words[_KEY] = words[_TURN]

    # ---- for the state of a machine

    def told(self) -> tuple[list[list[Turn]], Turn | None, int]:
        """Return the turns in each bucket, the one that is on, and the key of its branch."""
        words = self._words
        buckets: list[list[Turn]] = []
        for key in range(KEYS):
            bucket: list[Turn] = []
            number = words[key]
            while number:
                at = _NODES + 4 * (number - 1)
                bucket.append(([words[at], words[at + 1]][: words[at + 2]], key))
                number = words[at + 3]
            buckets.append(bucket)
        cells = [words[_CELL], words[_REST]][: words[_LEFT]]
        return buckets, (cells, words[_TURN]) if cells else None, words[_KEY]

    def restore(self, buckets: Sequence[Sequence[Turn]], now: Turn | None, key: int) -> None:
        """Take over turns that were told."""
        self._words[:] = np.zeros(len(self._words), np.uint32).data
        self._words[_ROOM] = (len(self._words) - _NODES) // 4
        if now is not None:
            self.push(*now)
            self.begin_next()
        for bucket in buckets:
            for cells, of_turn in bucket:
                self.push(cells, of_turn)
        self._words[_KEY] = key
