"""What a run leaves behind: status, results, statistics, trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hvm4viz.errors import (
    DeviceError,
    HeapExhausted,
    HvmRuntimeError,
    Interrupted,
    KernelFault,
    PassLimitReached,
    PrimitiveInGnf,
    Stalled,
    TimeLimitReached,
)
from hvm4viz.events import RESUMABLE, PassRecord
from hvm4viz.heap import Heap
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.program import Program
    from hvm4viz.readback import Term
    from hvm4viz.trace import Trace
    from hvm4viz.widgets.trace_view import TraceView


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


_NOTHING_LEFT: dict[Status, str] = {
    Status.DONE: "nothing is left to do",
    Status.ERROR: "correct the program and run it again",
    Status.PRIMITIVE: "correct the program and run it again",
    Status.STALLED: "no task can go on",
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
        What a Python primitive, the device or the kernel raised, if that ended the run.
    results : list of Term
    log : list of str
        Lines of ``%log``.
    stats : Stats
    trace : Trace
    machine : Machine
    device : Device
    heap : Heap
        The heap as it lies at the end, frames included; ``heap.settled()`` is a plain term graph.
    shown : dict
        How a notebook shows it: what ``view`` and the first state of the view were asked for.
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
    shown: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    resumer: Callable[..., Run] | None = field(default=None, repr=False, compare=False)

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
        error = _RAISES.get(self.status) or (type(self.cause) if isinstance(self.cause, DeviceError) else KernelFault)
        raised: Any = error(self.message)
        if isinstance(self.cause, DeviceError):
            raised.text = self.cause.text
        raised.run, raised.trace = self, self.trace
        raise raised from self.cause

    def view(self, **options: Any) -> TraceView:
        """Show the run: see ``hvm4viz.TraceView`` for the options."""
        from hvm4viz.widgets.trace_view import TraceView

        return TraceView(self, **options)

    def resume(
        self,
        *,
        max_passes: int = 10_000_000,
        timeout: float | None = None,
        heap: int | str | None = None,
        trace_limit: int | str | None = None,
        save: str | Path | None = None,
        progress: bool | Literal["auto"] = "auto",
        on_pass: Callable[[PassRecord], bool | None] | None = None,
        on_log: Callable[[str], None] | None = None,
        on_result: Callable[[Term], None] | None = None,
    ) -> Run:
        """Go on from where a limit or a person stopped the run; this run stays what it is.

        Parameters
        ----------
        max_passes : int
            Passes, counted from the start of the run.
        timeout : float, optional
            Seconds from now.
        heap : int or str, optional
            Most bytes that the heap may take from now on; needed if it was full.
        trace_limit : int or str, optional
            By default that of the run.
        save, progress, on_pass, on_log, on_result
            As in ``run``; what was recorded so far comes first in the new file.

        Returns
        -------
        run : Run
            As if the run had never stopped: recording, digest, results, log lines and totals are those of all of it.
            After a full heap one thing may differ from a run that began with the larger heap: where new cells lie, if
            blocks had been given fewer regions because few were left.

        Raises
        ------
        ValueError
            If the run cannot go on: it is done, failed, or the heap must be larger.
        """
        if self.status not in RESUMABLE or self.resumer is None:
            raise ValueError(
                f"the run ended as {self.status.value!r}: {_NOTHING_LEFT.get(self.status, 'run it again')}"
            )
        return self.resumer(
            max_passes=max_passes,
            timeout=timeout,
            heap=heap,
            trace_limit=trace_limit,
            save=save,
            progress=progress,
            on_pass=on_pass,
            on_log=on_log,
            on_result=on_result,
        )

    def save(self, path: str | Path) -> Path:
        """Write the trace to a file; see ``Trace.save``."""
        return self.trace.save(path)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        from hvm4viz.widgets import show_run

        return show_run(self, **self.shown)
