"""The join between two passes: on one thread, or in steps that each run over the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from hvm4viz.device.base import Buffer
from hvm4viz.kernel_text.abi import SCAN_GROUP, SCAN_PART, Deal
from hvm4viz.store import Store
from hvm4viz.workspace import Workspace


class Join(Protocol):
    """Builds the next frontier; the summary's status says how that went."""

    def __call__(self, space: Workspace, turn: int) -> None:
        """Build it from what the frontier of this turn left."""
        ...


class SerialJoin:
    """One dispatch of one thread (``kernels/join.h``): what a host does best."""

    def __init__(self, store: Store) -> None:
        self._function = store.serial("join_frontier")

    def __call__(self, space: Workspace, turn: int) -> None:
        """Run it."""
        self._function(1, *space.join_args[turn]).wait()


class GridJoin:
    """The same frontier in dispatches over the grid (``kernels/deal.h``): for devices with many slow threads.

    Parameters
    ----------
    store : Store
    has_forks : bool
        Whether items of forks can occur.
    """

    def __init__(self, store: Store, *, has_forks: bool) -> None:
        self._device = store.device
        self._function = store.function("deal_frontier")
        self._batches: dict[int, tuple[tuple[Buffer, ...], Callable[[], None]]] = {}
        threads = store.machine.threads
        parts = -(-threads // SCAN_PART)
        groups = -(-parts // SCAN_GROUP)

        def scan(which: int) -> list[tuple[int, int]]:
            first = Deal.SCAN + 5 * which
            return [(first, parts), (first + 1, groups), (first + 2, 1), (first + 3, groups), (first + 4, parts)]

        steps: list[tuple[int, int]] = [
            (Deal.CLEAR, threads),
            (Deal.FORKS, threads),
            *([(Deal.AWAIT, threads)] if has_forks else []),
            (Deal.ADMIT, 1),
            (Deal.COUNT, threads),
            *scan(0),
            *(scan(3) if store.machine.shard == "idle" else []),
            (Deal.SIZES, threads),
            *scan(1),
            (Deal.CHECK, 1),
            *([(Deal.RULES, parts)] if store.count else []),
            (Deal.RETIRE, threads),
            *scan(2),
            (Deal.PUSH, threads),
            (Deal.PLACE, threads),
            (Deal.SORT, threads),
            (Deal.COMMIT, threads),
            (Deal.FINISH, 1),
        ]
        self._steps: list[tuple[Buffer, int]] = [
            (store.device.buffer(np.array([step], np.uint32)), count) for step, count in steps
        ]

    def __call__(self, space: Workspace, turn: int) -> None:
        """Run all steps, in order."""
        args = space.deal_args[turn]
        batch = self._batches.get(turn)
        if batch is None or batch[0] is not args:  # the buffers are others now
            calls = [(self._function, count, (*args, step)) for step, count in self._steps]
            batch = self._batches[turn] = (args, self._device.batch(calls))
        batch[1]()
