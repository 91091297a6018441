"""One execution: the heap, the machine that reduces it, the observers, and the run it becomes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.batch import Batch
from hvm4viz.book import Book
from hvm4viz.collapse import Enumeration
from hvm4viz.device import Device, open_device
from hvm4viz.errors import DeviceError, KernelFault
from hvm4viz.estimate import HeapGauge, notice, shortages
from hvm4viz.evaluate import Evaluator
from hvm4viz.events import RESUMABLE, Observer, PassRecord, RunEnd, RunHeader
from hvm4viz.frontier import Frontier
from hvm4viz.heap import Heap
from hvm4viz.kernel_text import abi
from hvm4viz.kernel_text.source import Kernel, kernel
from hvm4viz.machine import Loop
from hvm4viz.outcome import Run, Stats, Status
from hvm4viz.program import Program, parse
from hvm4viz.progress import progress_for
from hvm4viz.readback import Term
from hvm4viz.regions import NEVER_ENDS
from hvm4viz.resume import resume_execution
from hvm4viz.rules import without_room
from hvm4viz.settings import Machine
from hvm4viz.state import State, put_back, take
from hvm4viz.stops import Fault, Stop
from hvm4viz.store import PASSES_MAX, Store
from hvm4viz.term import TAG_SHIFT, Tag, ext_of, tag_of, val_of

if TYPE_CHECKING:
    from hvm4viz.trace import Recorder, Trace

Record = Literal["off", "counts", "events", "full"]
Mode = Literal["snf", "collapse"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that one execution is asked for; see ``run`` for the meaning of each.

    ``alone``: the device runs every pass itself, however narrow, for it is to be proved. ``taken``: which cells the
    words use; None if those that are not zero.
    """

    program: Program | None
    words: NDArray[np.uint64]
    root: int
    stamps: int
    entry: str
    mode: Mode
    limit: int | None
    on_cpu: bool
    device: str | Device
    machine: Machine
    max_passes: int
    timeout: float | None
    record: Record
    trace_limit: int | str
    save: str | Path | None
    workers: int | None
    seed: int = 0
    kernel: Kernel | None
    progress: bool | Literal["auto"]
    on_pass: Callable[[PassRecord], bool | None] | None
    on_log: Callable[[str], None] | None
    start: Start | None = None
    alone: bool = False
    taken: NDArray[np.bool_] | None = None


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where an execution goes on, instead of starting afresh; the request's words are the heap there.

    Attributes
    ----------
    prior : Trace
        What was recorded so far.
    state : State or None
        State of the machine; None at the start of the run.
    totals : Totals
        Statistics so far.
    is_full : bool
        Whether it had stopped because the heap was full.
    closed : frozenset of int
        Slots whose closure must not be evaluated once more: what they say of it comes from a file.
    """

    prior: Trace
    state: State | None
    totals: Totals
    is_full: bool = False
    closed: frozenset[int] = frozenset()


class Totals:
    """The observer that adds up the statistics."""

    def __init__(self) -> None:
        self.stats = Stats()
        self._entries = 0
        self._longest = 0
        self._device_ns = 0

    @classmethod
    def of_trace(cls, trace: Trace) -> Totals:
        """Add up what a trace tells."""
        totals, rows = cls(), trace.rows
        totals.stats.passes = trace.n_passes
        totals.stats.interactions = int(rows["interactions"].sum())
        totals.stats.deferrals = trace.n_deferrals
        totals.stats.max_frontier = int(rows["frontier"].max(initial=0))
        totals._entries = int(rows["frontier"].sum(dtype=np.int64))
        totals._longest = int(rows["longest"].sum(dtype=np.int64))
        totals._device_ns = int(rows["device_ns"].sum())
        return totals

    def copy(self) -> Totals:
        """Return totals to be added to, while these stay what they are."""
        totals = Totals()
        totals.stats = replace(self.stats)
        totals._entries, totals._longest, totals._device_ns = self._entries, self._longest, self._device_ns
        return totals

    def begin(self, header: RunHeader) -> None:
        """Nothing to do before the first pass."""

    def on_pass(self, record: PassRecord) -> None:
        """Add one pass."""
        stats = self.stats
        stats.passes += record.passes
        stats.interactions += record.interactions
        stats.deferrals += record.deferred
        stats.max_frontier = max(stats.max_frontier, record.frontier)
        self._entries += record.frontier * record.passes
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
        stats.wall_s += wall_s
        stats.device_s = self._device_ns / 1e9
        return stats


def _tell(recorder: Recorder, text: str) -> None:
    # no method: an execution that its observers lead to would keep the heap until the garbage collector comes by
    recorder.flush()
    notice(text)


def print_line(line: str) -> None:
    """Write a line of ``%log`` to standard output; what the stream cannot encode is escaped."""
    stream = sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


class Execution:
    """A request being carried out.

    Parameters
    ----------
    request : Request

    Raises
    ------
    DeviceError
        If the device cannot run here, or the kernel does not compile.
    TraceError
        If the trace file cannot be created.
    """

    def __init__(self, request: Request) -> None:
        from hvm4viz.trace import Recorder

        self._begun = time.perf_counter()
        self._failure: Exception | None = None
        self.request = request
        device = request.device
        if isinstance(device, str):
            device = open_device(device, workers=request.workers, seed=request.seed)
        self.device = device
        for line in shortages(request.machine, request.record, request.trace_limit, request.save):
            notice(line)
        start = request.start
        self._recorder: Recorder = Recorder(
            request.record, request.trace_limit, request.save, prior=start.prior if start else None
        )
        used = request.kernel or kernel()
        if request.record == "full":
            used = used.watched("log")
        program, machine = request.program, request.machine
        self._book: Book = program.book if program else parse("").book
        self.store = Store(
            machine,
            self.device,
            used,
            self._book,
            request.words,
            count=request.record != "off",
            stamps=request.stamps,
            alone=request.alone,
            taken=request.taken,
        )
        lift = request.mode == "collapse"
        self.evaluator: Evaluator | None = None
        if request.on_cpu:
            on_log = request.on_log or print_line
            self.evaluator = Evaluator(self.store, self._book, root=request.root, lift=lift, on_log=on_log)
        self._machine = self.evaluator or Frontier(self.store, root=request.root, lift=lift)
        self.enumeration = Enumeration(self._machine, request.limit, self._book) if lift else None
        self.engine = self.enumeration or self._machine
        self._run_many_at_once()
        self.results: list[Term] = []
        self.totals = start.totals.copy() if start else Totals()
        gauge = HeapGauge(machine, partial(_tell, self._recorder))
        self._observers: list[Observer] = [self._recorder, self.totals, gauge]
        line = progress_for(request.progress, self._recorder.flush)
        self._observers += [line] if line else []
        header = self._header(used)
        if start is not None and start.state is not None:
            self.store.closed = start.closed
            self.results = put_back(start.state, self._machine, self.enumeration, self._book)
        if request.record == "full":
            self.store.watch_changes()
            self._recorder.watch(self)
        for observer in self._observers:
            observer.begin(header)
        self._loop = Loop(
            self.engine,
            self._observers,
            max_passes=request.max_passes,
            timeout=request.timeout,
            on_pass=None if request.on_pass is None else self._on_pass,
        )
        self.stop: Stop | None = None
        self._ended: Stop | None = None
        if start is not None:
            try:
                self._ended = self._machine.go_on(is_full=start.is_full)
            except (DeviceError, KernelFault) as error:
                self._ended = self._failed(error)

    def _run_many_at_once(self) -> None:
        """Let passes run in one call where nobody looks at each of them."""
        request, machine = self.request, self._machine
        is_looked_at = request.record != "off" or request.on_pass is not None
        if is_looked_at or self.enumeration is None or not isinstance(machine, Frontier) or not machine.is_single:
            return
        function = self.store.batch("collapse_passes")
        if function is not None:
            machine.batch = Batch(self.store, function, self.enumeration, min(request.max_passes, PASSES_MAX))

    def _header(self, used: Kernel) -> RunHeader:
        request, program, machine, start = self.request, self.request.program, self.request.machine, self.request.start
        if start is not None:  # of the run as it began, on the machine that goes on with it
            header = start.prior.header
            return replace(header, machine=machine.settings(), device=self.device.name, kernel=used.digest)
        return RunHeader(
            source=program.files if program else (),
            entry=request.entry,
            mode=request.mode,
            limit=request.limit,
            machine=machine.settings(),
            rules=used.names,
            blocks=machine.blocks,
            threads_per_block=machine.threads_per_block,
            region_size=machine.region_size,
            regions=self.store.owners(),
            device=self.device.name,
            kernel=used.digest,
            heap=request.words.copy() if request.record == "full" else np.zeros(0, np.uint64),
            root=request.root,
            stamps=request.stamps,
            units=program.unit_places if program else (),
        )

    @property
    def trace(self) -> Trace:
        """What was recorded so far."""
        return self._recorder.trace

    # ---- whoever is told of a pass is told once it is in the file

    def _on_pass(self, record: PassRecord) -> bool | None:
        assert self.request.on_pass is not None
        self._recorder.flush()
        return self.request.on_pass(record)

    # ---- what a recording at level full asks

    @property
    def words(self) -> NDArray[np.uint64]:
        """Cells of the regions in use, as they lie."""
        return self.store.words[: self.store.cells_in_use]

    @property
    def has_called(self) -> bool:
        """Whether the last pass called a Python primitive."""
        return self.evaluator is not None and self.evaluator.has_called

    def take_state(self) -> State:
        """Take the state of the machine, between two passes."""
        return take(self._machine, self.enumeration, self.results)

    def state(self) -> bytes:
        """Return the state of the machine, between two passes, as bytes."""
        return self.take_state().to_bytes()

    # ---- running

    def advance(self, until: Callable[[], bool] | None = None) -> Stop | None:
        """Run passes until the run ends or ``until`` holds; a fault of device or kernel ends the run as failed."""
        try:
            self.stop = self._ended or self._loop.run(until)
        except (DeviceError, KernelFault) as error:
            self.stop = self._failed(error)
        except BaseException:
            self._recorder.close()  # what was acknowledged stays readable
            raise
        return self.stop

    def _failed(self, error: Exception) -> Stop:
        self._failure = error
        return Stop("failed", str(error))

    def new_results(self) -> Iterator[Term]:
        """Yield the results that have come up since the last call, in order."""
        if self.enumeration is None:
            return
        for term in self.enumeration.take():
            self._recorder.flush()
            self.results.append(term)
            yield term

    def finish(self, stop: Stop) -> Run:
        """Tell the observers that the run is over; return what it left behind: without its heap, if that is lost."""
        for _ in self.new_results():
            pass
        try:
            image = self.engine.image()
            answer = Term(self.store.cells, image.root, self._book) if self._has_answer(stop) else None
            results = [answer.fixed()] if answer else self.results
            run = self._ended_run(stop, self._message(stop), image, results, self.store.cells_used())
        except DeviceError as error:  # nothing can be read there any more
            failed = stop if stop.status == "failed" else self._failed(error)
            return self._ended_run(failed, self._lost(failed), self._lost_heap(), self.results, 0)
        if stop.status != "failed":  # where anything may have been written
            with suppress(DeviceError):  # all was read before
                self.store.retire()
        return run

    def _has_answer(self, stop: Stop) -> bool:
        return self.request.mode == "snf" and stop.status == "done"

    def _lost(self, stop: Stop) -> str:
        passes = self.store.passes
        return (
            f"{stop.message}; the device was lost after {passes:,} pass{'es' * (passes != 1)}, and the heap with it: "
            "the trace has what came before. A new process can open the device afresh; device='cpu' does without it"
        )

    def _lost_heap(self) -> Heap:
        machine = self.request.machine
        return Heap(
            np.zeros(0, np.uint64), region_size=machine.region_size, threads_per_block=machine.threads_per_block
        )

    def _ended_run(self, stop: Stop, message: str, heap: Heap, results: list[Term], cells_used: int) -> Run:
        request = self.request
        log = self.evaluator.log if self.evaluator else []
        lines = tuple(term.text for term in results)
        end = RunEnd(status=stop.status, message=message, lines=lines, log=tuple(log))
        for observer in self._observers:
            observer.end(end)
        if self._recorder.failure is not None:
            message = f"{message}; {self._recorder.failure}".removeprefix("; ")
        stats: Stats = self.totals.finish(time.perf_counter() - self._begun, cells_used)
        if stop.status not in RESUMABLE and self.enumeration is not None:
            self.enumeration.let_go()
        return Run(
            program=request.program,
            status=Status(stop.status),
            message=message,
            results=list(results),
            log=list(log),
            stats=stats,
            trace=self._recorder.trace,
            machine=request.machine,
            device=self.device,
            heap=heap,
            cause=self._failure or (self.evaluator.cause if self.evaluator else None),
            resumer=partial(resume_execution, self) if stop.status in RESUMABLE else None,
        )

    def _message(self, stop: Stop) -> str:
        if stop.status == "stalled" and self.store.closed:
            return f"{stop.message}; to evaluate it once more, what the file says of it does not do: resume(0)"
        if stop.record < 0:
            return stop.message
        fault = self.engine.fault(stop.record)
        program = self.request.program
        where = ""
        span = program.span(fault.place) if program is not None else None
        if span is not None:
            where = f" in @{self._book.names[int(self._book.definition[fault.place])]} at {span}"
        if stop.status == "primitive":
            name = self._primitive(fault.place)
            return (
                f"%{name} was met inside %gnf{where}: %gnf reduces its argument on the frontier machine, which cannot "
                f"call primitives; call %{name} outside, or reduce with %nf, which does it on the CPU evaluator"
            )
        if stop.status == "heap_full":
            return stop.message + self._at_work(stop, self._starved_rule(fault), where)
        what = stop.message or self._error(fault)
        return f"RUNTIME_ERROR: {what}{where}; pass {self.store.passes - 1}, cell {fault.root}"

    def _error(self, fault: Fault) -> str:
        """Say what is wrong: a number that is applied may be what a case function gave, unless there is none."""
        said = _ERRORS.get(fault.kind, f"kernel fault {fault.kind}")
        if fault.kind != 1 or not self._may_match():
            return said
        return f"{said} ({_FELL_THROUGH if not val_of(fault.hand) else _NO_FUNCTION})"

    def _may_match(self) -> bool:
        """Whether the run has a case function, as far as its program tells."""
        tags = self._book.words >> np.uint64(TAG_SHIFT)
        return not self.request.entry or bool(np.isin(tags, (Tag.MAT, Tag.SWI)).any())

    def _at_work(self, stop: Stop, rule: str, where: str) -> str:
        """Say where the heap filled up; a program that may never end is to be looked at there."""
        if not where or not stop.message.endswith(NEVER_ENDS):
            return f"; it was at work{rule}{where}" if rule or where else ""
        place = where.removeprefix(" in ")
        return f": look at {place}, where it was at work{rule}"

    def _starved_rule(self, fault: Fault) -> str:
        """Name the rule that had no room, if the task was to apply one: it may have been making a node instead."""
        is_closure = tag_of(fault.hand) == Tag.ALO
        tag = tag_of(int(self._book.code[ext_of(fault.hand)]) if is_closure else fault.hand)
        frame = _FRAMES.get(fault.frame, "") if fault.is_value else "enter"
        names = without_room(self.store.kernel.rules, frame, _VALUES.get(tag, ""), is_closure=is_closure)
        return f" on the rule {' or '.join(names)}" if names else ""

    def _primitive(self, place: int) -> str:
        words, prims = self._book.words, self._book.prims
        number = int(words[place]) >> 32 & 0xFFFFFF if 0 < place < len(words) else len(prims)
        return prims[number][0] if number < len(prims) else "?"


def carry_out(request: Request, on_result: Callable[[Term], None] | None = None) -> Run:
    """Carry out a request; tell of results as they come."""
    execution = Execution(request)
    enumeration = execution.enumeration
    if on_result is None or enumeration is None:
        stop = execution.advance()
        assert stop is not None
        return execution.finish(stop)
    while True:
        stop = execution.advance(lambda: bool(enumeration.found))
        for term in execution.new_results():
            on_result(term)
        if stop is not None:
            return execution.finish(stop)


_VALUES = {**{int(tag): tag.name for tag in Tag}, **dict.fromkeys(range(Tag.C00, Tag.C16 + 1), "CTR")}
_FRAMES = {tag: name.removeprefix("F_") for name, tag in vars(abi).items() if name.startswith("F_")}

_ERRORS = {
    1: "cannot apply a number",
    2: "cannot apply a constructor (its fields stand in braces: #Name{a, b})",
}
_FELL_THROUGH = "also when no case of a λ{…} matched and it has no default, or one that is no function: _: λn. b"
_NO_FUNCTION = "if it came from a λ{…}: a default is a function, _: λn. b, and so is a case with fields, #A: λx. b"
