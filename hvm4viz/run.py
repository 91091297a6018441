"""``run``: a program in; answer, statistics and trace out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

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
    UnsupportedTerm,
)
from hvm4viz.events import OUTCOMES, Observer, PassRecord, RunEnd, RunHeader
from hvm4viz.heap import Heap
from hvm4viz.program import Program, parse
from hvm4viz.settings import Machine
from hvm4viz.term import Tag, pack

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.kernel.source import Kernel
    from hvm4viz.machine import Frontier, Stop
    from hvm4viz.readback import Term
    from hvm4viz.trace import Trace

_DEFERRED = OUTCOMES.index("deferred")

Record = Literal["off", "counts", "events"]


class Status(StrEnum):
    """How a run ended; all but ``DONE`` keep everything so far."""

    DONE = "done"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    PASS_LIMIT = "pass_limit"
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


class _Totals:
    """The observer that adds up the statistics."""

    def __init__(self) -> None:
        self.stats = Stats()
        self._entries = 0
        self._longest = 0
        self._device_ns = 0

    def begin(self, header: RunHeader) -> None:
        """Nothing to do before the first pass."""

    def on_pass(self, record: PassRecord) -> None:
        """Add one pass."""
        stats = self.stats
        stats.passes += 1
        stats.interactions += record.interactions
        stats.deferrals += record.deferred
        stats.max_frontier = max(stats.max_frontier, record.frontier)
        self._entries += record.frontier
        self._longest += record.longest
        self._device_ns += record.device_ns

    def end(self, end: RunEnd) -> None:
        """Nothing to do after the last pass."""

    def finish(self, wall_s: float, cells_used: int) -> Stats:
        """Return the totals."""
        stats = self.stats
        stats.mean_frontier = self._entries / stats.passes if stats.passes else 0.0
        stats.parallelism = stats.interactions / self._longest if self._longest else 0.0
        stats.cells_used = cells_used
        stats.wall_s = wall_s
        stats.device_s = self._device_ns / 1e9
        return stats


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
    partial: str = ""

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
        raise raised

    def save(self, path: str | Path) -> Path:
        """Write the trace to a file; see ``Trace.save``."""
        return self.trace.save(path)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        from hvm4viz.widgets import show_run

        return show_run(self)


def run(
    program: Program | str,
    *,
    entry: str = "main",
    mode: Literal["snf"] = "snf",
    device: str | Device = "auto",
    machine: Machine | None = None,
    max_passes: int = 1_000_000,
    timeout: float | None = None,
    record: Record = "events",
    trace_limit: int | str = "512 MiB",
    save: str | Path | None = None,
    workers: int | None = None,
    kernel: Kernel | None = None,
    check: bool = False,
    repeat: int = 1,
    progress: bool | Literal["auto"] = "auto",
    on_pass: Callable[[PassRecord], bool | None] | None = None,
) -> Run:
    """Normalise a program on the frontier machine.

    Parameters
    ----------
    program : Program or str
        A parsed program, or source text.
    entry : str
        Definition to start from.
    mode : {"snf"}
        Strong normal form.
    device : str or Device
        ``"auto"``, a kind of ``devices()``, or an open device.
    machine : Machine, optional
        Settings; equal settings give equal traces.
    max_passes : int
    timeout : float, optional
        Seconds, looked at between passes.
    record : {"events", "counts", "off"}
        How much the trace keeps.
    trace_limit : int or str
        Bytes at which the trace stops keeping events; counts go on.
    save : path-like, optional
        Trace file to write while the run goes on.
    workers : int, optional
        Host threads of the cpu device.
    kernel : Kernel, optional
        An edited kernel (``hvm4viz.kernel().replace(...)``).
    check : bool
        Run with one block of one thread, too, and compare the results.
    repeat : int
        Run this many times and require one digest.
    progress : bool or "auto"
        Show one updating line on long runs.
    on_pass : callable, optional
        Called with each pass's record; returning False ends the run as interrupted.

    Returns
    -------
    run : Run
        Whatever the program or the machine did: see ``Run.status``.

    Raises
    ------
    ProgramError
        If the text is no program, or has no such entry.
    ValueError
        If an option is out of range.
    DeviceUnavailable
        If the device cannot run here.
    """
    machine = machine or Machine()
    if mode != "snf":
        raise ValueError(f"mode={mode!r}: not in this version; use 'snf'")
    _check_limits(max_passes, timeout, repeat, workers)
    parsed = parse(program) if isinstance(program, str) else program
    book = parsed.book
    main = book.entry(entry)
    primitives = book.reachable_prims(main)
    if primitives:
        name, span = primitives[0]
        raise UnsupportedTerm(f"%{name} is not in this version", span=span, hint="remove the call, or use its argument")
    words = np.array([pack(Tag.REF, main, 0)], np.uint64)

    def once(settings: Machine, where: str | Device, path: str | Path | None, level: Record) -> Run:
        return _run_words(
            words,
            root=0,
            program=parsed,
            entry=entry,
            device=where,
            machine=settings,
            max_passes=max_passes,
            timeout=timeout,
            record=level,
            trace_limit=trace_limit,
            save=path,
            workers=workers,
            kernel=kernel,
            progress=progress,
            on_pass=on_pass,
        )

    done = once(machine, device, save, record)
    for again in range(1, repeat):
        _same_digest(done, once(machine, done.device, None, record), f"run {again + 1} of {repeat}")
    if check and done.status is Status.DONE:
        alone = once(replace(machine, blocks=1, threads_per_block=1), "cpu", None, "off")
        if alone.lines != done.lines:
            raise KernelFault(
                f"check failed: this machine gives {done.text[:200]!r}, one block of one thread gives "
                f"{alone.text[:200]!r}"
            )
    return done


def run_heap(
    heap: Heap,
    *,
    root: int = 0,
    machine: Machine | None = None,
    device: str | Device = "auto",
    max_passes: int = 1_000_000,
    timeout: float | None = None,
    record: Record = "events",
    trace_limit: int | str = "512 MiB",
    save: str | Path | None = None,
    workers: int | None = None,
    on_pass: Callable[[PassRecord], bool | None] | None = None,
) -> Run:
    """Normalise a heap that was laid out by hand, as the worked examples are.

    Parameters
    ----------
    heap : Heap
        Slots take four cells, binders of lambdas three (``kernels/slot.h``, ``kernels/heap.h``); nothing static.
    root : int
        Cell that holds the whole term.
    machine, device, max_passes, timeout, record, trace_limit, save, workers, on_pass
        As in ``run``.
    """
    _check_limits(max_passes, timeout, 1, workers)
    if not 0 <= root < len(heap.words):
        raise ValueError(f"root={root}: the heap has cells 0 to {len(heap.words) - 1}")
    return _run_words(
        heap.words,
        root=root,
        program=None,
        entry="",
        device=device,
        machine=machine or Machine(),
        max_passes=max_passes,
        timeout=timeout,
        record=record,
        trace_limit=trace_limit,
        save=save,
        workers=workers,
        kernel=None,
        progress=False,
        on_pass=on_pass,
    )


def _check_limits(max_passes: int, timeout: float | None, repeat: int, workers: int | None) -> None:
    if max_passes < 0:
        raise ValueError(f"max_passes={max_passes}: must be 0 or more")
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"timeout={timeout}: must be 0 or more seconds, or None")
    if repeat < 1:
        raise ValueError(f"repeat={repeat}: must be 1 or more")
    if workers is not None and not 1 <= workers <= 1024:
        raise ValueError(f"workers={workers}: must be from 1 to 1,024, or None for one a core")


def _same_digest(first: Run, other: Run, which: str) -> None:
    if first.lines != other.lines or (first.trace.meta.level == "events" and first.trace.digest() != other.trace.digest()):
        raise KernelFault(f"{which} differs from the first: the trace is not deterministic")


def _run_words(
    words: Any,
    *,
    root: int,
    program: Program | None,
    entry: str,
    device: str | Device,
    machine: Machine,
    max_passes: int,
    timeout: float | None,
    record: Record,
    trace_limit: int | str,
    save: str | Path | None,
    workers: int | None,
    kernel: Kernel | None,
    progress: bool | Literal["auto"],
    on_pass: Callable[[PassRecord], bool | None] | None,
) -> Run:
    from hvm4viz.device import open_device
    from hvm4viz.kernel.source import kernel as shipped
    from hvm4viz.machine import Frontier, run_passes
    from hvm4viz.trace import Recorder

    begun = time.perf_counter()
    opened = open_device(device, workers=workers) if isinstance(device, str) else device
    recorder = Recorder(record, trace_limit, save)
    book = program.book if program else parse("").book
    used = kernel or shipped()
    frontier = Frontier(
        machine=machine, device=opened, kernel=used, book=book, words=words, root=root, count=record != "off"
    )
    totals = _Totals()
    observers: list[Observer] = [recorder, totals]
    if progress is True or progress == "auto":
        from hvm4viz.progress import progress_for

        line = progress_for(progress)
        observers += [line] if line else []
    header = RunHeader(
        source=program.files if program else (),
        entry=entry,
        mode="snf",
        limit=None,
        machine=machine.settings(),
        rules=used.names,
        blocks=machine.blocks,
        threads_per_block=machine.threads_per_block,
        region_size=machine.region_size,
        regions=frontier.image_owners(),
        device=opened.name,
        kernel=used.digest,
    )
    for observer in observers:
        observer.begin(header)
    stop = run_passes(frontier, observers, max_passes=max_passes, timeout=timeout, on_pass=on_pass)
    return _finish(frontier, stop, program, book, observers, recorder, totals, machine, opened, begun)


def _finish(
    frontier: Frontier,
    stop: Stop,
    program: Program | None,
    book: Any,
    observers: Sequence[Observer],
    recorder: Any,
    totals: _Totals,
    machine: Machine,
    device: Device,
    begun: float,
) -> Run:
    from hvm4viz.readback import Term

    image = frontier.image()
    results: list[Term] = []
    if stop.status == "done":
        results = [Term(image.words, image.root, book)]
    message = stop.message
    if stop.status in ("error", "primitive"):
        message = _fault_message(frontier, stop, program)
    lines = tuple(term.text for term in results)
    end = RunEnd(status=stop.status, message=message, lines=lines, log=())
    for observer in observers:
        observer.end(end)
    stats = totals.finish(time.perf_counter() - begun, frontier.cells_used())
    return Run(
        program=program,
        status=Status(stop.status),
        message=message,
        results=results,
        log=[],
        stats=stats,
        trace=recorder.trace,
        machine=machine,
        device=device,
        heap=image,
    )


_ERRORS = {1: "cannot apply a number", 2: "cannot apply a constructor"}


def _fault_message(frontier: Frontier, stop: Stop, program: Program | None) -> str:
    fault = frontier.fault(stop.thread_entry)
    if stop.status == "primitive":
        return "a primitive was met inside a frontier run"
    what = _ERRORS.get(fault.kind, f"kernel fault {fault.kind}")
    hint = ""
    if fault.kind == 1:
        hint = " (also when no case of a λ{…} matched and it has no default)"
    where = ""
    if program is not None and fault.definition >= 0:
        span = program.span(fault.place) if fault.place else None
        where = f" in @{program.book.names[fault.definition]}" + (f" at {span}" if span else "")
    return f"RUNTIME_ERROR: {what}{where}{hint}; pass {frontier.passes - 1}, cell {fault.root}"
