"""One execution: the heap, the machine that reduces it, the observers, and the run it becomes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.book import Book
from hvm4viz.collapse import Enumeration
from hvm4viz.device import Device, open_device
from hvm4viz.errors import DeviceError, KernelFault
from hvm4viz.evaluate import Evaluator
from hvm4viz.events import Observer, PassRecord, RunEnd, RunHeader
from hvm4viz.frontier import Frontier, Stop
from hvm4viz.kernel_text.source import Kernel, kernel
from hvm4viz.machine import Loop
from hvm4viz.outcome import Run, Stats, Status
from hvm4viz.program import Program, parse
from hvm4viz.progress import progress_for
from hvm4viz.readback import Term
from hvm4viz.settings import Machine
from hvm4viz.store import Store

if TYPE_CHECKING:
    from hvm4viz.trace import Recorder

Record = Literal["off", "counts", "events"]
Mode = Literal["snf", "collapse"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that one execution is asked for; see ``run`` for the meaning of each."""

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
    kernel: Kernel | None
    progress: bool | Literal["auto"]
    on_pass: Callable[[PassRecord], bool | None] | None
    on_log: Callable[[str], None] | None


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
        self.request = request
        device = request.device
        self.device = open_device(device, workers=request.workers) if isinstance(device, str) else device
        self._recorder: Recorder = Recorder(request.record, request.trace_limit, request.save)
        used = request.kernel or kernel()
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
        )
        lift = request.mode == "collapse"
        self.evaluator: Evaluator | None = None
        if request.on_cpu:
            on_log = request.on_log or print_line
            self.evaluator = Evaluator(self.store, self._book, root=request.root, lift=lift, on_log=on_log)
        engine = self.evaluator or Frontier(self.store, root=request.root, lift=lift)
        self.enumeration = Enumeration(engine, request.limit, self._book) if lift else None
        self.engine = self.enumeration or engine
        self._totals = _Totals()
        self._observers: list[Observer] = [self._recorder, self._totals]
        line = progress_for(request.progress)
        self._observers += [line] if line else []
        header = RunHeader(
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
        )
        for observer in self._observers:
            observer.begin(header)
        self._loop = Loop(
            self.engine,
            self._observers,
            max_passes=request.max_passes,
            timeout=request.timeout,
            on_pass=request.on_pass,
        )
        self.results: list[Term] = []
        self.stop: Stop | None = None

    def advance(self, until: Callable[[], bool] | None = None) -> Stop | None:
        """Run passes until the run ends or ``until`` holds; a fault of device or kernel ends the run as failed."""
        try:
            self.stop = self._loop.run(until)
        except (DeviceError, KernelFault) as error:
            self.stop = Stop("failed", str(error))
        except BaseException:
            self._recorder.close()  # what was acknowledged stays readable
            raise
        return self.stop

    def new_results(self) -> Iterator[Term]:
        """Yield the results that have come up since the last call, in order."""
        if self.enumeration is None:
            return
        for term in self.enumeration.take():
            self.results.append(term)
            yield term

    def finish(self, stop: Stop) -> Run:
        """Tell the observers that the run is over; return what it left behind."""
        request = self.request
        image = self.engine.image()
        for _ in self.new_results():
            pass
        if request.mode == "snf" and stop.status == "done":
            self.results = [Term(image.words, image.root, self._book)]
        message = self._message(stop)
        log = self.evaluator.log if self.evaluator else []
        lines = tuple(term.text for term in self.results)
        end = RunEnd(status=stop.status, message=message, lines=lines, log=tuple(log))
        for observer in self._observers:
            observer.end(end)
        if self._recorder.failure is not None:
            message = f"{message}; {self._recorder.failure}".removeprefix("; ")
        stats: Stats = self._totals.finish(time.perf_counter() - self._begun, self.store.cells_used())
        return Run(
            program=request.program,
            status=Status(stop.status),
            message=message,
            results=self.results,
            log=log,
            stats=stats,
            trace=self._recorder.trace,
            machine=request.machine,
            device=self.device,
            heap=image,
            cause=self.evaluator.cause if self.evaluator else None,
        )

    def _message(self, stop: Stop) -> str:
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
                f"%{name} was met inside %gnf{where}: a frontier run cannot call primitives; call it outside, or "
                f"reduce with %nf"
            )
        what = stop.message or _ERRORS.get(fault.kind, f"kernel fault {fault.kind}")
        return f"RUNTIME_ERROR: {what}{where}; pass {self.store.passes - 1}, cell {fault.root}"

    def _primitive(self, place: int) -> str:
        words, prims = self._book.words, self._book.prims
        number = int(words[place]) >> 32 & 0xFFFFFF if 0 < place < len(words) else len(prims)
        return prims[number][0] if number < len(prims) else "?"


_ERRORS = {
    1: "cannot apply a number (also when no case of a λ{…} matched and it has no default)",
    2: "cannot apply a constructor",
}
