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

from hvm4viz.errors import TraceError
from hvm4viz.events import RESUMABLE
from hvm4viz.heap import Heap
from hvm4viz.kernel_text.source import Kernel, kernel
from hvm4viz.settings import Machine, parse_size
from hvm4viz.state import Misfit, State

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
    state = _state_at(trace, p, request, reached)
    if state is not None:
        _check_value(state)
    request = replace(
        request,
        words=trace.header.heap if state is None else reached.words,
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
        start=Start(prior=trace.slice(0, p), state=state, totals=Totals.of_trace(trace.slice(0, p)), is_full=is_full),
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
    return Request(
        program=program,
        words=header.heap,
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


def _state_at(trace: Trace, p: int, request: Request, reached: Heap) -> State | None:
    """Return the state at the start of pass p: a recorded one, or one that passes are repeated to reach."""
    known, packed = trace.last_state(p)
    state = _fitting(lambda: State.from_bytes(packed)) if packed else None
    if known == p:
        return state
    if not trace.is_ordered:
        passes = ", ".join(map(str, trace.state_passes[:8].tolist()))
        raise TraceError(
            f"pass {p}: the passes of this machine are not deterministic, so it can be resumed only where its state "
            f"was kept: {passes}{' ...' if trace.state_passes.size > 8 else ''}; the last one before is {known}"
        )
    return _fitting(partial(_repeat, trace, known, p, state, request, reached))


def _repeat(trace: Trace, known: int, p: int, state: State | None, request: Request, reached: Heap) -> State:
    from hvm4viz.execution import Execution, Start, Totals

    if known:
        start = Start(prior=trace.slice(0, 0), state=state, totals=Totals())
        request = replace(request, words=trace.at(known).words, start=start)
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
