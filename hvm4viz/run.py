"""``run``: a program in; answer, statistics and trace out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from hvm4viz.admit import admit
from hvm4viz.errors import KernelFault
from hvm4viz.outcome import Run, Stats, Status
from hvm4viz.preferences import preference
from hvm4viz.program import Program, parse
from hvm4viz.resuming import register
from hvm4viz.settings import Machine
from hvm4viz.term import Tag, pack

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.events import PassRecord
    from hvm4viz.execution import Mode, Record, Request
    from hvm4viz.heap import Heap
    from hvm4viz.kernel_text.source import Kernel
    from hvm4viz.readback import Term

__all__ = ["Results", "Run", "Stats", "Status", "results", "run", "run_heap"]


def run(
    program: Program | str,
    *,
    entry: str = "main",
    mode: Mode | None = None,
    limit: int | None = None,
    device: str | Device = "auto",
    machine: Machine | None = None,
    max_passes: int = 10_000_000,
    timeout: float | None = None,
    record: Record = "events",
    trace_limit: int | str = "auto",
    save: str | Path | None = None,
    workers: int | None = None,
    seed: int = 0,
    kernel: Kernel | None = None,
    check: bool = False,
    repeat: int = 1,
    progress: bool | Literal["auto"] = "auto",
    on_pass: Callable[[PassRecord], bool | None] | None = None,
    on_log: Callable[[str], None] | None = None,
    on_result: Callable[[Term], None] | None = None,
) -> Run:
    """Run a program on the frontier machine.

    Parameters
    ----------
    program : Program or str
        A parsed program, or source text.
    entry : str
        Definition to start from, with or without its ``@``.
    mode : {"snf", "collapse"}, optional
        Strong normal form, or enumerate the branches of superpositions. Default: snf, or collapse if a limit is given.
    limit : int, optional
        Most results to enumerate; 0 evaluates nothing, negative is no limit.
    device : str or Device
        ``"auto"`` (what ``set_options`` says, or the best there is), a kind of ``devices()``, or an open device.
    machine : Machine, optional
        Settings; equal settings give equal traces.
    max_passes : int
    timeout : float, optional
        Seconds, looked at between passes.
    record : {"events", "full", "counts", "off"}
        How much the trace keeps; ``full`` keeps every changed cell, so that the heap of any pass can be shown.
    trace_limit : int or str
        Bytes at which the trace stops keeping events; counts go on. "auto": what ``set_options`` says, 512 MiB.
    save : path-like, optional
        Trace file to write while the run goes on.
    workers : int, optional
        Host threads of the cpu device.
    seed : int
        Schedule of the sim device: who runs when, and how stale a relaxed read is. The result does not depend on it.
    kernel : Kernel, optional
        An edited kernel (``hvm4viz.kernel().replace(...)``).
    check : bool
        Run with one block of one thread, too, and compare results; run the same machine again and compare digests.
    repeat : int
        Run this many times and require one digest.
    progress : bool or "auto"
        Show one updating line on long runs.
    on_pass : callable, optional
        Called with each pass's record; returning False ends the run as interrupted.
    on_log : callable, optional
        Called with each line of ``%log`` as it comes; default: print it.
    on_result : callable, optional
        Called with each result of a collapse as it comes.

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
    DeviceError
        If the device cannot run here, or the kernel does not compile.
    TraceError
        If the trace file cannot be created.
    """
    check_limits(max_passes, timeout, repeat, workers, seed)
    request = _request(
        program,
        entry=entry,
        mode=mode,
        limit=limit,
        device=device,
        machine=machine,
        max_passes=max_passes,
        timeout=timeout,
        record=record,
        trace_limit=trace_limit,
        save=save,
        workers=workers,
        seed=seed,
        kernel=kernel,
        progress=progress,
        on_pass=on_pass,
        on_log=on_log,
        alone=check,
    )
    done = _carry_out(request, on_result)
    quiet = replace(request, device=done.device, save=None, on_log=_no_line, progress=False)
    for again in range(1, repeat):
        _same(done, _carry_out(quiet), f"run {again + 1} of {repeat}")
    if check and done.status is Status.DONE:
        _same(done, _carry_out(replace(quiet, device="cpu")), "the same machine on the cpu")
        alone = replace(quiet.machine, blocks=1, threads_per_block=1)
        one = _carry_out(replace(quiet, device="cpu", machine=alone, record="off"))
        if one.lines != done.lines:
            raise KernelFault(
                f"check failed: this machine gives {done.text[:200]!r}, one block of one thread {one.text[:200]!r}"
            )
    return done


def _no_line(line: str) -> None:
    del line


def _request(
    program: Program | str,
    *,
    entry: str,
    mode: Mode | None,
    limit: int | None,
    machine: Machine | None,
    **options: Any,
) -> Request:
    from hvm4viz.execution import Request

    chosen_mode, most = mode_and_limit(mode, limit)
    parsed = parse(program) if isinstance(program, str) else program
    main = parsed.book.entry(entry)
    return Request(
        program=parsed,
        words=np.array([pack(Tag.REF, main, 0)], np.uint64),
        root=0,
        stamps=0,
        entry=parsed.book.names[main],
        mode=chosen_mode,
        limit=most,
        on_cpu=bool(parsed.book.reachable_prims(main)),
        machine=machine or Machine(),
        **_preferred(options),
    )


def mode_and_limit(mode: Mode | None, limit: int | None) -> tuple[Mode, int | None]:
    """Return the mode that is meant, and its limit: None for all results.

    Raises
    ------
    ValueError
        If there is no such mode, or the limit is none or not of a collapse.
    """
    if mode not in (None, "snf", "collapse"):
        raise ValueError(f"mode={mode!r}: must be 'snf' or 'collapse'")
    if limit is not None and mode == "snf":
        raise ValueError(f"limit={limit}: a limit counts the results of a collapse; use mode='collapse'")
    if limit is not None and not isinstance(limit, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"limit={limit!r}: must be a whole number, or None")
    return mode or ("snf" if limit is None else "collapse"), None if limit is None or limit < 0 else limit


def _preferred(options: dict[str, Any]) -> dict[str, Any]:
    """Put what ``set_options`` says in the place of "auto"."""
    chosen = {name: preference(name) for name in ("device", "trace_limit", "progress") if options[name] == "auto"}
    return {**options, **chosen}


def _carry_out(request: Request, on_result: Callable[[Term], None] | None = None) -> Run:
    from hvm4viz.execution import carry_out

    return carry_out(request, on_result)


def _resume_trace(trace: Any, p: int, **options: Any) -> Run:
    from hvm4viz.resume import resume_trace

    return resume_trace(trace, p, **options)


register(_resume_trace)


class Results:
    """The results of a collapse, as they come; an iterator of ``Term``.

    Closing it stops the run; ``run`` is the ``Run`` so far, final once the iterator is exhausted or closed.
    """

    def __init__(self, request: Request) -> None:
        from hvm4viz.execution import Execution

        self._execution = Execution(request)
        self._terms = self._produce()
        self._run: Run | None = None

    def _produce(self) -> Generator[Term]:
        execution, enumeration = self._execution, self._execution.enumeration
        assert enumeration is not None
        while True:
            stop = execution.advance(lambda: bool(enumeration.found))
            yield from execution.new_results()
            if stop is not None:
                return

    def __iter__(self) -> Results:
        """Return itself."""
        return self

    def __next__(self) -> Term:
        """Run until the next result is there."""
        try:
            return next(self._terms)
        except StopIteration:
            self._end()
            raise

    def close(self) -> None:
        """Stop the run; what it found so far stays in ``run``."""
        self._end()

    def _end(self) -> Run:
        if self._run is None:
            from hvm4viz.stops import Stop

            self._terms.close()
            stop = self._execution.stop or Stop("interrupted", "the results were not asked for to the end")
            self._run = self._execution.finish(stop)
        return self._run

    @property
    def run(self) -> Run:
        """The run; asking for it before the end stops it."""
        return self._end()

    def __enter__(self) -> Self:
        """Return itself; leaving the block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def results(
    program: Program | str,
    *,
    entry: str = "main",
    limit: int | None = None,
    device: str | Device = "auto",
    machine: Machine | None = None,
    max_passes: int = 10_000_000,
    timeout: float | None = None,
    record: Record = "events",
    trace_limit: int | str = "auto",
    save: str | Path | None = None,
    workers: int | None = None,
    seed: int = 0,
    kernel: Kernel | None = None,
    progress: bool | Literal["auto"] = False,
    on_pass: Callable[[PassRecord], bool | None] | None = None,
    on_log: Callable[[str], None] | None = None,
) -> Results:
    """Enumerate the branches of a program, each as soon as all before it are out.

    Parameters
    ----------
    program, entry, limit, device, machine, max_passes, timeout, record, trace_limit, save, workers, seed, kernel,
    progress, on_pass, on_log
        As in ``run``.

    Returns
    -------
    results : Results
        An iterator of ``Term``; ``results.run`` is the ``Run``.
    """
    check_limits(max_passes, timeout, 1, workers, seed)
    return Results(
        _request(
            program,
            entry=entry,
            mode="collapse",
            limit=limit,
            device=device,
            machine=machine,
            max_passes=max_passes,
            timeout=timeout,
            record=record,
            trace_limit=trace_limit,
            save=save,
            workers=workers,
            seed=seed,
            kernel=kernel,
            progress=progress,
            on_pass=on_pass,
            on_log=on_log,
        )
    )


def run_heap(
    heap: Heap,
    *,
    root: int = 0,
    program: Program | None = None,
    machine: Machine | None = None,
    device: str | Device = "auto",
    max_passes: int = 10_000_000,
    timeout: float | None = None,
    record: Record = "events",
    trace_limit: int | str = "auto",
    save: str | Path | None = None,
    workers: int | None = None,
    seed: int = 0,
    kernel: Kernel | None = None,
    on_pass: Callable[[PassRecord], bool | None] | None = None,
) -> Run:
    """Normalise a heap that was laid out by hand, as the worked examples are.

    Parameters
    ----------
    heap : Heap
        An image without tasks (``Heap.settled``). Slots take four cells, binders of lambdas three, or two each for a
        machine of one thread (``kernels/slot.h``, ``kernels/heap.h``).
    root : int
        Cell that holds the whole term.
    program : Program, optional
        Where the heap's closures and references point; needed if it has any.
    machine, device, max_passes, timeout, record, trace_limit, save, workers, seed, kernel, on_pass
        As in ``run``.

    Raises
    ------
    ValueError
        If the image is none that a run may start from (``hvm4viz/admit.py``): a word that points outside it, or two
        uses of one cell.
    """
    from hvm4viz.execution import Request

    check_limits(max_passes, timeout, 1, workers, seed)
    chosen = _preferred({"device": device, "trace_limit": trace_limit, "progress": False})
    if heap.tasks:
        raise ValueError(f"{len(heap.tasks)} tasks are at work on this heap; run_heap(heap.settled()) starts afresh")
    if not 0 <= root < len(heap.words):
        raise ValueError(f"root={root}: the heap has cells 0 to {len(heap.words) - 1}")
    machine = machine or Machine()
    return _carry_out(
        Request(
            program=program,
            words=heap.words,
            taken=admit(heap.words, root, (program or parse("")).book, machine),
            root=root,
            stamps=heap.stamps,
            entry="",
            mode="snf",
            limit=None,
            on_cpu=False,
            machine=machine,
            max_passes=max_passes,
            timeout=timeout,
            record=record,
            save=save,
            workers=workers,
            seed=seed,
            kernel=kernel,
            on_pass=on_pass,
            on_log=None,
            **chosen,
        )
    )


def check_limits(max_passes: int, timeout: float | None, repeat: int, workers: int | None, seed: int) -> None:
    """Check the numbers of a run against their bounds.

    Raises
    ------
    ValueError
        If one is out of range, with the bound.
    """
    if max_passes < 0:
        usual = inspect.signature(run).parameters["max_passes"].default
        raise ValueError(f"max_passes={max_passes}: must be 0 or more; leave it out for {usual:,}, the default")
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"timeout={timeout}: must be 0 or more seconds; leave it out for no limit")
    if repeat < 1:
        raise ValueError(f"repeat={repeat}: must be 1 or more")
    if workers is not None and not 1 <= workers <= 1024:
        raise ValueError(f"workers={workers}: must be from 1 to 1,024; leave it out for one a core")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed}: must be from 0 to 2**64 - 1")


def _same(first: Run, other: Run, which: str) -> None:
    same = first.lines == other.lines and first.trace.digest_or_none() == other.trace.digest_or_none()
    if not same:
        raise KernelFault(f"{which} differs from the first: the trace is not deterministic")
