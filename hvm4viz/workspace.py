"""The buffers of one frontier run: they grow between passes, and move once their device was opened again."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, view
from hvm4viz.events import EVENT
from hvm4viz.kernel_text import abi
from hvm4viz.store import Store

SLACK: Final = 16
"""Items that a thread may leave for the next frontier beyond one an entry."""


class Workspace:
    """Buffers by name, the host's views of them, and the argument lists made of them.

    Parameters
    ----------
    store : Store
    flags : int
        ``PARAM_*`` of the run.

    Attributes
    ----------
    block, told : Buffer
        The parameters and the events, as arguments.
    params, summary, sizes : memoryview of 32-bit words
    states, events, records, totals, stack, inject : ndarray
        Views; all of them are new after ``grow``, ``make_room`` and ``move``.
    frontiers : tuple of ndarray of uint64
        This frontier and the next, by turn.
    step_args, join_args, deal_args, batch_args : tuple of tuples of Buffer
        Arguments of the entry points, by turn.
    """

    def __init__(self, store: Store, *, flags: int) -> None:
        machine, rules = store.machine, len(store.kernel.rules)
        threads = machine.threads
        self._store = store
        small = {"params": abi.PARAMS.itemsize, "sizes": 12, "summary": abi.SUMMARY.itemsize, "totals": 8 * rules}
        parts = store.device.buffers(list(small.values()))
        self._held: dict[str, Buffer] = dict(zip(small, parts, strict=True))
        store.set_params(self._held["params"], threads=threads, tpb=machine.threads_per_block, flags=flags)
        for name, size in {
            "states": threads * abi.THREAD_STATE.itemsize,
            "rules": 4 * rules * threads,  # a host counts whether or not it is asked for (COUNTS_ALWAYS)
            "cursor": 4 * (2 * threads + 2 * machine.blocks),
            "inject": 4 * 64,
            "dealt": abi.dealt_bytes(threads),
        }.items():
            self._held[name] = store.device.buffer(size)
        view(self._held["params"], abi.PARAMS)["slack"] = SLACK
        least = max(64, threads)
        self.grow(least, least + SLACK * threads, least)

    def grow(self, frontier: int, lists: int, records: int) -> None:
        """Make the buffers hold so many entries, items and records; what they hold stays."""
        sizes = view(self._held["sizes"], np.uint32).data
        for kind, (wanted, names) in enumerate(zip((frontier, lists, records), _GROWING, strict=True)):
            if wanted > sizes[kind]:
                sizes[kind] = room = max(wanted, 2 * sizes[kind])
                for name, itemsize in names.items():
                    self._resize(name, itemsize * room)
        self._look()

    def make_room(self, cells: int) -> None:
        """Make the list of injected cells hold so many, and their number."""
        if cells + 1 > len(self.inject):
            self._resize("inject", 4 * max(cells + 1, 2 * len(self.inject)))
            self._look()

    def fetch(self) -> None:
        """Bring all buffers home, for the host to read and write."""
        self._store.device.fetch(*self._held.values())

    def pull(self, name: str, nbytes: int | None = None) -> None:
        """Let the host see a buffer, or its first bytes, as it is."""
        self._store.device.pull(self._held[name], nbytes)

    def pull_one(self, name: str, itemsize: int, number: int) -> None:
        """Let the host see one item of a buffer as it is."""
        self._store.device.pull_all((self._held[name], itemsize, itemsize * number))

    def columns(self, *fields: str) -> dict[str, NDArray[np.uint32]]:
        """Return some fields of the states of all threads as they are."""
        return self._store.device.columns(self._held["states"], abi.THREAD_STATE, *fields)

    def leave(self, turn: int, width: int) -> None:
        """Say how much of each buffer means anything to a pass over so many entries: what is about to move."""
        device, held, store = self._store.device, self._held, self._store
        this, other = ("this", "next") if turn == 0 else ("next", "this")
        means = {this: 8 * width, "records": abi.RECORD.itemsize * self.summary[14], "stack": 4 * self.summary[15]}
        scratch = (other, "items", "events", "keys", "cursor", "dealt", *(() if store.count else ("rules",)))
        for name, nbytes in {**means, **dict.fromkeys(scratch, 0)}.items():
            device.extent(held[name], nbytes)

    def arrive(self) -> None:
        """Take back what ``leave`` said: all of every buffer may mean something again."""
        for buffer in self._held.values():
            self._store.device.extent(buffer, len(buffer))

    def push(self, name: str, nbytes: int | None = None) -> None:
        """Let the device see what the host wrote into a buffer, or into its first bytes."""
        self._store.device.push(self._held[name], nbytes)

    def push_order(self) -> None:
        """Let the device see parameters, sizes and summary: what it is to be told before a pass and its join."""
        self._store.device.push_all(*self._order)

    def pull_outcome(self) -> None:
        """Let the host see summary and totals: what a join tells."""
        self._store.device.pull_all(*self._outcome)

    def pull_pass(self, width: int) -> None:
        """Let the host see the events of a pass over so many entries, and the tables of the regions in use."""
        store, regions = self._store, 4 * self._store.regions.in_use
        store.device.pull_all(
            (self._held["events"], EVENT.itemsize * width), (store.used, regions), (store.remote, regions)
        )

    def move(self) -> None:
        """Move everything to fresh buffers."""
        for name, old in self._held.items():
            self._held[name] = self._store.device.grown(old, len(old))
        self._look()

    def _resize(self, name: str, nbytes: int) -> None:
        device, old = self._store.device, self._held.get(name)
        self._held[name] = device.buffer(nbytes) if old is None else device.grown(old, nbytes)

    def _look(self) -> None:
        held, store = self._held, self._store
        self._order = tuple((held[name], len(held[name])) for name in _ORDER)
        self._outcome = tuple((held[name], len(held[name])) for name in _OUTCOME)
        self.block, self.told = held["params"], held["events"]
        self.params = view(held["params"], np.uint32).data
        self.summary = view(held["summary"], np.uint32).data
        self.sizes = view(held["sizes"], np.uint32).data
        self.states: NDArray[np.void] = view(held["states"], abi.THREAD_STATE)
        self.events: NDArray[np.void] = view(held["events"], EVENT)
        self.records: NDArray[np.void] = view(held["records"], abi.RECORD)
        self.totals: NDArray[np.uint64] = view(held["totals"], np.uint64)
        self.stack: NDArray[np.uint32] = view(held["stack"], np.uint32)
        self.inject: NDArray[np.uint32] = view(held["inject"], np.uint32)
        turns = (held["this"], held["next"])
        self.frontiers = tuple(view(each, np.uint64) for each in turns)
        self.step_args = tuple(
            (
                held["params"], store.heap, store.code, store.roots, store.owner, store.chain, store.used, store.remote,
                held["states"], mine, held["records"], held["items"], held["events"], held["rules"], store.visited,
                *store.watch_buffers,
            )
            for mine in turns
        )  # fmt: skip
        self.join_args = tuple(
            (
                held["params"], held["states"], mine, other, held["records"], held["items"], held["events"],
                held["stack"], held["cursor"], store.owner, held["summary"], held["rules"], held["totals"],
                held["sizes"], held["inject"], store.heap, *store.watch_buffers[:2],
            )
            for mine, other in (turns, turns[::-1])
        )  # fmt: skip
        self.batch_args = tuple(
            (
                *args, other, held["stack"], held["cursor"], held["summary"], held["totals"], held["sizes"],
                held["inject"],
            )
            for args, other in zip(self.step_args, turns[::-1], strict=True)
        )  # fmt: skip
        self.deal_args = tuple((*args, held["records"], held["dealt"], held["keys"]) for args in self.join_args)


_ORDER: Final = ("params", "sizes", "summary")
_OUTCOME: Final = ("summary", "totals")
"""Neighbours, so that they are copied at once."""

_GROWING: Final[tuple[dict[str, int], ...]] = (
    {"this": 8, "next": 8, "keys": 4, "events": EVENT.itemsize},
    {"items": 8},
    {"records": abi.RECORD.itemsize, "stack": 4},
)
"""Buffers that grow with entries, items and records, with the bytes of one."""
