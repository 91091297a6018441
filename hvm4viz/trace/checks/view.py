"""What the checks look at: the columns of a trace, laid side by side, and what follows from the machine's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import ORIGINS, OUTCOMES, REASONS
from hvm4viz.trace.checks.owners import Owners

if TYPE_CHECKING:
    from hvm4viz.trace.checks.tasks import Chains
    from hvm4viz.trace.checks.words import Words
    from hvm4viz.trace.trace import Trace

Needs = Literal["counts", "events", "full"]

EVALUATOR: Final = ", evaluator"
"""How the name of a device ends where the CPU evaluator ran the pass."""

NOTHING: Final = -1
"""In the place of an index: there is none."""


UNRUN, DONE, DEFERRED, CONTENDED, FORKED, FUEL, STARVED, PARKED, STALE, ABORTED, ERROR, RETURNED = range(len(OUTCOMES))
NO_REASON, TAKE, PUBLISH, RELEASE, BUSY, CLAIM = range(len(REASONS))
FRESH, RESUME, HOP, WAKE, POLL, JOIN = range(len(ORIGINS))


class CannotCheck(Exception):
    """What is recorded cannot tell whether a rule holds; the message says why."""


@dataclass(frozen=True, slots=True)
class Offence:
    """One place where a trace breaks a rule.

    Attributes
    ----------
    pass_index : int
        Pass in which it shows.
    rule : str
        The rule, in words.
    message : str
        What is there, against what must be.
    loc, thread : int or None
        Root cell of the task and thread, where it is one task's.
    event : int or None
        Index of the event in the trace.
    """

    pass_index: int
    rule: str
    message: str
    loc: int | None = None
    thread: int | None = None
    event: int | None = None

    def __str__(self) -> str:
        """Where, which rule, what."""
        where = f"pass {self.pass_index}"
        where += "" if self.loc is None else f", cell {self.loc}"
        where += "" if self.thread is None else f", thread {self.thread}"
        return f"{where}: {self.rule}, but {self.message}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a check brings back: the first place, the rule's name still missing."""

    pass_index: int
    message: str
    event: int = NOTHING
    loc: int | None = None
    thread: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule and how to check it.

    Attributes
    ----------
    name : str
        The rule in words.
    needs : {"counts", "events", "full"}
        Least level of a recording that shows whether it holds.
    check : callable
        Returns the first offence in the order of the trace, or None; raises ``CannotCheck``.
    """

    name: str
    needs: Needs
    check: Callable[[View], Found | None]


class View:
    """A trace as flat columns.

    Attributes
    ----------
    n : int
        Passes whose events are here.
    offsets : ndarray of int64, shape (n + 1,)
        Where the events of each pass start.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.header = trace.header
        self.has_events = trace.level in ("events", "full")
        self.n = trace.events_until if self.has_events else 0
        self.offsets: NDArray[np.int64] = trace.event_offsets[: self.n + 1]
        settings = trace.header.machine
        self.dup = str(settings.get("dup", "owner"))
        self.is_block = settings.get("owner_unit") == "block"
        self.is_live = settings.get("visibility") == "live"
        self.forks = settings.get("fork", "off") != "off"
        self.returns = settings.get("defer") == "return"
        self.by_address = settings.get("shard") == "address"
        self.by_idleness = settings.get("shard") == "idle"
        self.fuel = settings.get("fuel", "auto")
        self.lifts = trace.header.mode == "collapse"
        self.threads = trace.header.blocks * trace.header.threads_per_block
        self.is_single = self.threads == 1
        self.by_owner_thread = self.dup == "owner" and not self.is_block and not self.is_single
        self.by_claim = self.dup == "claim" and not self.is_single
        self.is_shared = not (self.by_owner_thread or self.by_claim)
        self._columns: dict[str, NDArray[Any]] = {}

    # ---- passes

    @cached_property
    def is_evaluator(self) -> NDArray[np.bool_]:
        """Which passes the CPU evaluator ran."""
        by_device = np.array([name.endswith(EVALUATOR) for name in self.trace.devices], bool)
        device = self.trace.rows["device"]
        return by_device[device] if by_device.size else np.zeros(device.size, bool)

    @cached_property
    def is_start(self) -> NDArray[np.bool_]:
        """Which passes are the first of a frontier run."""
        before = np.concatenate([[True], self.is_evaluator[:-1]])
        return before & ~self.is_evaluator

    @property
    def is_mixed(self) -> bool:
        """Whether the CPU evaluator ran any pass."""
        return bool(self.is_evaluator.any())

    @cached_property
    def unrun(self) -> NDArray[np.int64]:
        """Entries of each pass that had to wait untouched, for the passes with events."""
        return self.trace.frontier_sizes[: self.n].astype(np.int64) - np.diff(self.offsets)

    @cached_property
    def is_cold(self) -> bool:
        """Whether the first pass takes up tasks that were suspended before the recording began."""
        first = self.col("origin")[: self.offsets[min(1, self.n)]]
        return self.header.skipped > 0 or bool((first != FRESH).any())

    # ---- events

    def col(self, name: str) -> NDArray[Any]:
        """Return one field of all events."""
        if name not in self._columns:
            self._columns[name] = np.ascontiguousarray(self.trace.column(name, 0, self.n))
        return self._columns[name]

    @cached_property
    def passes(self) -> NDArray[np.int32]:
        """Pass of each event."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def by_evaluator(self) -> NDArray[np.bool_]:
        """Which events are the CPU evaluator's."""
        return np.repeat(self.is_evaluator[: self.n], np.diff(self.offsets))

    @cached_property
    def chains(self) -> Chains:
        """The events of each task, linked."""
        from hvm4viz.trace.checks.tasks import Chains

        return Chains.of(self)

    @cached_property
    def owners(self) -> Owners:
        """Who owns what, pass by pass."""
        return Owners.of(self)

    def owner_thread(self, cells: NDArray[Any], passes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the thread that owns each cell in a pass; -1 if its region has no owner yet."""
        size, tpb = self.header.region_size, self.header.threads_per_block
        cells = cells.astype(np.int64)
        block = self.owners.block(cells // size, passes)
        return np.where(block < 0, NOTHING, block * tpb + cells % size // max(size // tpb, 1))

    def may_act(self, threads: NDArray[Any], owner: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell whether a thread has the authority of the owner thread: it is that, or in its block."""
        if self.is_block:
            tpb = self.header.threads_per_block
            return threads.astype(np.int64) // tpb == owner // tpb
        return threads == owner

    # ---- level full

    @cached_property
    def ops(self) -> NDArray[np.void]:
        """Every operation on a slot, in order: records of ``operations.OPERATION``."""
        return self.trace.ops(0, self.n)

    @cached_property
    def words(self) -> Words:
        """The words of cells, pass by pass."""
        from hvm4viz.trace.checks.words import Words

        return Words.of(self)

    # ---- what is found

    def at_event(self, where: NDArray[Any], message: Callable[[int], str] | str) -> Found | None:
        """Return the first of some events (indices, or a mask over all) as what was found."""
        found = np.flatnonzero(where) if where.dtype == bool else where
        if not found.size:
            return None
        event = int(found.min())
        words = message if isinstance(message, str) else message(event)
        return Found(int(self.passes[event]), words, event, int(self.col("loc")[event]), int(self.col("thread")[event]))

    def at_pass(self, where: NDArray[np.bool_], message: Callable[[int], str]) -> Found | None:
        """Return the first of some passes, a mask over passes from 0, as what was found."""
        found = np.flatnonzero(where)
        return Found(int(found[0]), message(int(found[0]))) if found.size else None


def first(*found: Found | None) -> Found | None:
    """Return what comes first in the trace."""
    there = [one for one in found if one is not None]
    return min(there, key=order, default=None)


def order(found: Found | Offence) -> tuple[int, int]:
    """Sort key: by pass; in it what is an event's, by event, then what is a cell's, then what is the pass's."""
    if found.event is not None and found.event >= 0:
        return found.pass_index, found.event
    return found.pass_index, 1 << (61 if found.loc is not None else 62)
