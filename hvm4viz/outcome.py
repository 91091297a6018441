"""What a run leaves behind: status, results, statistics, trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvm4viz.errors import (
    DeviceFailed,
    HeapExhausted,
    HvmRuntimeError,
    Interrupted,
    KernelFault,
    PassLimitReached,
    PrimitiveInGnf,
    Stalled,
    TimeLimitReached,
)
from hvm4viz.heap import Heap
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.program import Program
    from hvm4viz.readback import Term
    from hvm4viz.trace import Trace


class Status(StrEnum):
    """How a run ended; all but ``DONE`` keep everything so far."""

    DONE = "done"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    PASS_LIMIT = "pass_limit"  # noqa: S105  (no password)
    TIMEOUT = "timeout"
    HEAP_FULL = "heap_full"
    PRIMITIVE = "primitive"
    STALLED = "stalled"
    FAILED = "failed"


_RAISES: dict[Status, type[Exception]] = {
    Status.ERROR: HvmRuntimeError,
    Status.INTERRUPTED: Interrupted,
    Status.PASS_LIMIT: PassLimitReached,
    Status.TIMEOUT: TimeLimitReached,
    Status.HEAP_FULL: HeapExhausted,
    Status.PRIMITIVE: PrimitiveInGnf,
    Status.STALLED: Stalled,
}


@dataclass(slots=True)
class Stats:
    """Totals of a run.

    Attributes
    ----------
    passes, interactions, deferrals : int
    max_frontier : int
        Entries of the widest pass.
    mean_frontier : float
        Entries a pass.
    parallelism : float
        Interactions over the sum over passes of the most that one entry did: the speed-up of unlimited threads.
    cells_used : int
        Cells of the heap in use at the end.
    wall_s, device_s : float
        Seconds in all, and in dispatches.
    """

    passes: int = 0
    interactions: int = 0
    deferrals: int = 0
    max_frontier: int = 0
    mean_frontier: float = 0.0
    parallelism: float = 0.0
    cells_used: int = 0
    wall_s: float = 0.0
    device_s: float = 0.0

    @property
    def ips(self) -> float:
        """Interactions a second of wall time."""
        return self.interactions / self.wall_s if self.wall_s > 0 else 0.0


@dataclass
class Run:
    """What a run left behind.

    Attributes
    ----------
    program : Program or None
        None when the heap was laid out by hand.
    status : Status
    message : str
        Empty when done; else what ended the run, where, and what to do.
    cause : BaseException or None
        What a Python primitive raised, if that ended the run.
    results : list of Term
    log : list of str
        Lines of ``%log``.
    stats : Stats
    trace : Trace
    machine : Machine
    device : Device
    heap : Heap
        The heap as it lies at the end, frames included; ``heap.settled()`` is a plain term graph.
    """

    program: Program | None
    status: Status
    message: str
    results: list[Term]
    log: list[str]
    stats: Stats
    trace: Trace
    machine: Machine
    device: Device
    heap: Heap = field(repr=False)
    cause: BaseException | None = field(default=None, repr=False)

    @property
    def result(self) -> Term | None:
        """The first result."""
        return self.results[0] if self.results else None

    @property
    def lines(self) -> list[str]:
        """One line a result."""
        return [term.text for term in self.results]

    @property
    def text(self) -> str:
        """The result lines, joined by line breaks."""
        return "\n".join(self.lines)

    def raise_for_status(self) -> Run:
        """Return the run if it is done.

        Raises
        ------
        MachineError
            One class a status (``HeapExhausted`` for ``heap_full`` ...), carrying the run.
        """
        if self.status is Status.DONE:
            return self
        error = _RAISES.get(self.status)
        if error is None:
            error = DeviceFailed if "device" in self.message else KernelFault
        raised: Any = error(self.message)
        raised.run, raised.trace = self, self.trace
        raise raised from self.cause

    def save(self, path: str | Path) -> Path:
        """Write the trace to a file; see ``Trace.save``."""
        return self.trace.save(path)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        from hvm4viz.widgets import show_run

        return show_run(self)
