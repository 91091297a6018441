"""Going on: from where a run stopped, or from a pass of a trace that was recorded at level ``full``.

The passes of a machine are deterministic, so its state need not be known at every pass: from the last one before, the
passes between are repeated, unrecorded, and the heap that they leave must be the recorded one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.admit import BadImage, admit
from hvm4viz.errors import TraceError
from hvm4viz.events import RESUMABLE, RunHeader
from hvm4viz.heap import Heap
from hvm4viz.kernel_text.source import Kernel, kernel
from hvm4viz.primitives import BUILT_IN
from hvm4viz.program import Program, parse
from hvm4viz.readmit import readmit
from hvm4viz.settings import Machine, parse_size
from hvm4viz.state import Misfit, State
from hvm4viz.store import PASSES_MAX
from hvm4viz.term import Tag, pack

if TYPE_CHECKING:
    from hvm4viz.execution import Execution, Request
    from hvm4viz.outcome import Run
    from hvm4viz.readback import Term
    from hvm4viz.trace import Trace


TRACE_BYTES: Final = 512 << 20
"""Bytes at which a resumed trace stops keeping events, unless twice what it has is more."""


def resume_execution(
    execution: Execution,
    *,
    heap: int | str | None,
    trace_limit: int | str | None,
    on_result: Callable[[Term], None] | None,
    **options: Any,
) -> Run:
    """Go on from where an execution stopped, on a copy of its heap; see ``Run.resume``."""
    from hvm4viz.execution import Start, carry_out

    stop = execution.stop
    is_full = stop is not None and stop.status == "heap_full"
    state = execution.take_state()
    _check_value(state)
    request = replace(
        execution.request,
        words=execution.words.copy(),
        device=execution.device,
        trace_limit=execution.request.trace_limit if trace_limit is None else trace_limit,
        machine=_larger(execution.request.machine, heap, needed=is_full),
        start=Start(
            prior=execution.trace,
            state=state,
            totals=execution.totals,
            is_full=is_full,
        ),
        **options,
    )
    return carry_out(request, on_result)


def _check_value(state: State) -> None:
    """Refuse to call a Python primitive again whose value found no room: it may have done anything."""
    evaluator = state.facts.get("evaluator")
    if evaluator and evaluator.get("todo") == "value":
        raise ValueError(
            "the heap filled up while the value of a Python primitive was laid out, which cannot be asked for again; "
            "run the program again with a larger heap"
        )


def _larger(machine: Machine, heap: int | str | None, *, needed: bool) -> Machine:
    """Return the machine with another heap."""
    if heap is None:
        if needed:
            raise ValueError(f"the heap of {machine.heap!r} was full; give a larger one: resume(heap=...)")
        return machine
    if needed and parse_size(heap) <= parse_size(machine.heap):
        raise ValueError(f"heap={heap!r}: the heap of {machine.heap!r} was full; give a larger one")
    return replace(machine, heap=heap)


def resume_trace(
    trace: Trace,
    p: int,
    *,
    max_passes: int = 10_000_000,
    timeout: float | None = None,
    heap: int | str | None = None,
    device: Any = "auto",
    workers: int | None = None,
    seed: int = 0,
    kernel: Kernel | None = None,
    trace_limit: int | str | None = None,
    save: Any = None,
    progress: bool | Literal["auto"] = "auto",
    on_pass: Any = None,
    on_log: Callable[[str], None] | None = None,
    on_result: Callable[[Term], None] | None = None,
) -> Run:
    """Go on from the start of pass p of a trace; see ``Trace.resume``."""
    from hvm4viz.execution import Start, Totals, carry_out

    reached = trace.at(p)
    p = p if p >= 0 else p + trace.n_passes + 1
    is_full = p == trace.n_passes and trace.end is not None and trace.end.status == "heap_full"
    if p == trace.n_passes and trace.end is not None and trace.end.status not in RESUMABLE:
        raise ValueError(f"pass {p} is the end of a run that ended as {trace.end.status!r}; resume from one before")
    request = _request(trace, kernel, device, workers)
    machine = _larger(request.machine, heap, needed=is_full)
    state, closed = _state_at(trace, p, request, reached)
    if state is not None:
        _check_value(state)
        request = replace(request, words=reached.words, taken=None)
    request = replace(
        request,
        machine=machine,
        record="full",
        seed=seed,
        max_passes=max_passes,
        timeout=timeout,
        trace_limit=max(TRACE_BYTES, 2 * trace.nbytes) if trace_limit is None else trace_limit,
        save=save,
        progress=progress,
        on_pass=on_pass,
        on_log=on_log,
        start=Start(
            prior=trace.slice(0, p),
            state=state,
            totals=Totals.of_trace(trace.slice(0, p)),
            is_full=is_full,
            closed=closed,
        ),
    )
    return _fitting(partial(carry_out, request, on_result))


def _request(trace: Trace, used: Kernel | None, device: Any, workers: int | None) -> Request:
    """Ask for the run that was recorded."""
    from hvm4viz.execution import Request

    header, program = trace.header, trace.program
    if header.skipped:
        raise TraceError("these passes are part of a longer trace: resume that one")
    if header.source and program is None:
        raise TraceError(
            "the recorded program cannot be parsed here: a primitive of it is not registered, or a text is missing"
        )
    if (used or kernel()).digest != header.kernel:
        raise TraceError(
            f"the trace was recorded with the kernel {header.kernel[:8]}, this one is {(used or kernel()).digest[:8]}: "
            "use the version of hvm4viz that recorded it, or the same edited kernel: resume(..., kernel=...)"
        )
    try:
        settings: Any = header.machine
        machine = Machine(**settings)
    except (TypeError, ValueError) as error:
        raise TraceError(f"the recorded machine is none of this version: {error}") from None
    uses = program.book.reachable_prims(program.book.entry(header.entry)) if program and header.entry else []
    geometry = (machine.blocks, machine.threads_per_block, machine.region_size)
    if geometry != (header.blocks, header.threads_per_block, header.region_size):
        raise TraceError("the recorded machine has another geometry than the recorded passes: the trace was changed")
    return Request(
        program=program,
        words=header.heap,
        taken=_fitting(partial(_check_start, header, program, machine)),
        root=header.root,
        stamps=header.stamps,
        entry=header.entry,
        mode="collapse" if header.mode == "collapse" else "snf",
        limit=header.limit,
        on_cpu=bool(uses),
        device=device,
        machine=machine,
        max_passes=0,
        timeout=None,
        record="off",
        trace_limit="512 MiB",
        save=None,
        workers=workers,
        kernel=used,
        progress=False,
        on_pass=None,
        on_log=_no_line,
    )


def _no_line(line: str) -> None:
    del line


def _check_start(header: RunHeader, program: Program | None, machine: Machine) -> NDArray[np.bool_] | None:
    """Refuse a heap to start from that is neither the program's nor one that may be laid out; return what it takes."""
    book = (program or parse("")).book
    if not 0 <= header.stamps <= PASSES_MAX:
        raise Misfit(f"it has stamps up to {header.stamps:,}")
    if header.entry:
        start = [pack(Tag.REF, book.entry(header.entry), 0)]
        if header.root or header.heap.tolist() != start:
            raise Misfit(f"its heap at the start is not @{header.entry}")
        return None
    if not 0 <= header.root < header.heap.size:
        raise Misfit(f"its root is cell {header.root:,} of {header.heap.size:,}")
    try:
        return admit(header.heap, header.root, book, machine)
    except BadImage as error:
        raise Misfit(str(error)) from None


def _state_at(trace: Trace, p: int, request: Request, reached: Heap) -> tuple[State | None, frozenset[int]]:
    """Return the state at the start of pass p: a recorded one, or one that passes are repeated to reach.

    With it come the slots whose closure is not known for certain (``readmit``).
    """
    known, packed = trace.last_state(p)
    state, closed = None, frozenset[int]()
    if packed:
        words = reached.words if known == p else trace.at(known).words
        try:
            state, closed = _recorded(packed, known, request, words)
        except Misfit as error:
            if not trace.is_ordered or _calls_functions(request):
                raise TraceError(f"the run cannot go on from the recorded state: {error}") from None
            # A cyclic term is none that can be checked; what the program itself leads to needs no check.
            return _fitting(partial(_repeat, trace, 0, p, None, closed, request, reached)), closed
    if known == p:
        return state, closed
    if not trace.is_ordered:
        passes = ", ".join(map(str, trace.state_passes[:8].tolist()))
        raise TraceError(
            f"pass {p}: the passes of this machine are not deterministic, so it can be resumed only where its state "
            f"was kept: {passes}{' ...' if trace.state_passes.size > 8 else ''}; the last one before is {known}"
        )
    return _fitting(partial(_repeat, trace, known, p, state, closed, request, reached)), closed


def _calls_functions(request: Request) -> bool:
    """Tell whether the program calls Python functions, which must not be called again."""
    if request.program is None or not request.entry:
        return False
    book = request.program.book
    return any(name not in BUILT_IN for name, _ in book.reachable_prims(book.entry(request.entry)))


def _recorded(packed: bytes, p: int, request: Request, words: NDArray[np.uint64]) -> tuple[State, frozenset[int]]:
    """Read a state, and refuse one from which the machine could be led outside its heap."""
    state = State.from_bytes(packed)
    closed = readmit(
        words,
        state,
        passes=p,
        root=request.root,
        mode=request.mode,
        stamps=request.stamps,
        book=(request.program or parse("")).book,
        machine=request.machine,
    )
    return state, closed


def _repeat(
    trace: Trace, known: int, p: int, state: State | None, closed: frozenset[int], request: Request, reached: Heap
) -> State:
    from hvm4viz.execution import Execution, Start, Totals

    if state is not None:
        start = Start(prior=trace.slice(0, 0), state=state, totals=Totals(), closed=closed)
        request = replace(request, words=trace.at(known).words, taken=None, start=start)
    execution = Execution(replace(request, max_passes=p))
    stop = execution.advance()
    is_there = stop is not None and stop.status == "pass_limit" and execution.store.passes == p
    if not is_there or not np.array_equal(execution.words, reached.words):
        raise TraceError(
            f"passes {known} to {p} do not repeat as they were recorded; the trace was made by another machine than "
            "its header says"
        )
    return execution.take_state()


def _fitting(make: Callable[[], Any]) -> Any:
    """Say of a state that does not fit that it is the trace which is wrong."""
    try:
        return make()
    except Misfit as error:
        raise TraceError(f"the run cannot go on from the recorded state: {error}") from None
