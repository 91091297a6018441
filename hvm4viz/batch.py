"""Many passes of a collapse in one call, where nobody asks for a look between them."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from hvm4viz.device.base import Buffer, Function, view
from hvm4viz.errors import KernelFault
from hvm4viz.kernel_text import abi
from hvm4viz.store import Store
from hvm4viz.turns import Turns
from hvm4viz.workspace import Workspace

PASSES: Final = 1 << 14
INTERACTIONS: Final = 4_000_000
"""What a call does at most, roughly: limits and interrupts are looked at between calls."""


class Queue(Protocol):
    """Who says which cell is next: the enumeration of a collapse."""

    turns: Turns

    @property
    def is_plain(self) -> bool:
        """Whether the turns alone say what is next."""
        ...

    def catch_up(self) -> None:
        """Take over that the turns have moved on."""
        ...


class Batch:
    """Runs the passes that lift one cell after the other, up to one that is more than that.

    What they did is the same as one by one. Only what each of them did is not told, so it serves ``record="off"``.

    Parameters
    ----------
    store : Store
    function : Function
        ``collapse_passes`` of the kernel.
    queue : Queue
    passes_max : int
        Passes after which the run ends.

    Attributes
    ----------
    passes, interactions, longest, fills : int
        Sums over the passes of the last call that are over.
    """

    def __init__(self, store: Store, function: Function, queue: Queue, passes_max: int) -> None:
        self._store = store
        self._function = function
        self._queue = queue
        self._passes_max = passes_max
        self._io: Buffer = store.device.buffer(28)
        self._words = view(self._io, np.uint32).data
        self.passes = self.interactions = self.longest = self.fills = 0

    @property
    def is_ready(self) -> bool:
        """Whether the next pass may be one of many."""
        return self._queue.is_plain

    def run(self, space: Workspace, turn: int) -> None:
        """Run passes; the last one is not joined yet.

        Parameters
        ----------
        space : Workspace
        turn : int
            Which of the frontiers is this one.

        Raises
        ------
        KernelFault
            If a join went wrong.
        """
        turns, words = self._queue.turns, self._words
        turns.reserve()
        words[0], words[1] = min(PASSES, self._passes_max - self._store.passes), INTERACTIONS
        words[6] = abi.SUM_POISON
        self._function(1, *space.batch_args[turn], turns.buffer, self._io).wait()
        self.passes, self.interactions, self.longest, self.fills, status = (int(word) for word in words[2:7])
        if status != abi.SUM_JOINED:
            raise KernelFault(f"pass {self._store.passes + self.passes} left the status word {status:#x} in a batch")
        self._store.passes += self.passes
        if self.passes:
            self._queue.catch_up()
