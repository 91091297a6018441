"""Find kept runs, have the missing ones carried out, and keep each as it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

from hvm4viz.progress import Show
from hvm4viz.sweeps.job import Job
from hvm4viz.sweeps.processes import Processes, WorkerLost
from hvm4viz.sweeps.progress import SweepProgress
from hvm4viz.sweeps.shelf import Shelf
from hvm4viz.sweeps.worker import carry_out, failure

IN_FLIGHT_MAX: Final = 512
"""Runs handed to an executor at a time: it need not hold the programs of all."""

KEPT: Final = frozenset({"done", "error", "pass_limit", "timeout", "heap_full", "primitive", "stalled"})
"""How a run ends that is kept; one that a device, a worker or an option kept from its end is tried again next time."""

Found = dict[str, Any]


def gather(
    jobs: Sequence[Job], *, shelf: Shelf | None, executor: Executor | None, processes: int | None, show: Show | None
) -> dict[str, Found]:
    """Return what was found of each run, by its key.

    Parameters
    ----------
    jobs : sequence of Job
    shelf : Shelf or None
        Where finished runs are looked for, and kept.
    executor : Executor or None
        Where missing ones are carried out; None: in processes of our own.
    processes : int or None
        How many of those; None: one a core.
    show : callable or None
        Shows progress.

    Raises
    ------
    BrokenExecutor
        If the executor can carry out no more; what is done is kept.
    KeyboardInterrupt
        After an interrupt, likewise.
    TraceError
        If a run cannot be kept.
    """
    by_key = {job.key: job for job in jobs}
    found = {key: kept for key in by_key if shelf and (kept := shelf.find(key)) is not None}
    missing = sorted((job for key, job in by_key.items() if key not in found), key=lambda job: job.repeat)
    progress = SweepProgress(show, len(by_key), len(found))
    try:
        with _place(executor, min(processes or _cores(), len(missing))) as place:
            for job, result in _carried_out(missing, place):
                if shelf and result["status"] in KEPT:
                    shelf.keep(job.key, result)
                found[job.key] = result
                progress.count(result["status"])
    except BaseException as error:
        progress.end("stopped")
        if isinstance(error, KeyboardInterrupt):
            _say_how_to_resume(len(found), len(by_key), shelf)
        raise
    progress.end("done")
    return found


def _carried_out(jobs: Sequence[Job], place: Executor) -> Iterator[tuple[Job, Found]]:
    """Have jobs carried out; yield each with its result, in the order in which they end.

    A cluster counts a worker that died against every run that was waiting there, too: those it gave up are tried once
    more at the end, one at a time, and only what is lost by itself is lost.
    """
    waiting = iter(jobs)
    running: dict[Future[Found], Job] = {}
    suspects: list[Job] = []
    try:
        while True:
            while len(running) < IN_FLIGHT_MAX and (job := next(waiting, None)) is not None:
                running[_submit(place, job)] = job
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                result = _result(future)
                if isinstance(result, dict):
                    yield job, result
                elif isinstance(result, WorkerLost):
                    yield job, _lost(result)
                else:
                    suspects.append(job)
        for job in suspects:
            running[alone := _submit(place, job)] = job
            result = _result(alone)
            del running[alone]
            yield job, result if isinstance(result, dict) else _lost(result)
    finally:
        for future in running:
            future.cancel()


def _submit(place: Executor, job: Job) -> Future[Found]:
    return place.submit(carry_out, job, uuid4().hex)  # no two calls alike: a cluster answers equal ones from memory


def _result(future: Future[Found]) -> Found | Exception:
    """Return what a run gave, or what kept it from giving anything: the end of its process."""
    try:
        return future.result()
    except BrokenExecutor as error:
        error.add_note("the executor can carry out no more runs; make a new one and call sweep again")
        raise
    except CancelledError:
        raise BrokenExecutor("the executor cancelled a run; make a new one and call sweep again") from None
    except Exception as error:  # noqa: BLE001  (carry_out raises nothing: the process or its cluster did)
        return error


def _lost(error: Exception) -> Found:
    return {"host": None, "device_name": None, "finished_at": time.time(), **failure("lost", error)}


@contextmanager
def _place(executor: Executor | None, processes: int) -> Generator[Executor]:
    """Yield the executor given, which stays open; or processes of our own, which end however this ends."""
    if executor is not None:
        yield executor
        return
    own = Processes(max(processes, 1))
    try:
        yield own
    except BaseException:
        own.kill()
        raise
    own.shutdown()


def _say_how_to_resume(done: int, total: int, shelf: Shelf | None) -> None:
    where = f"are kept in {shelf.folder}; the same call goes on with the others" if shelf else "are lost (cache=False)"
    sys.stderr.write(f"sweep: interrupted; {done:,} of {total:,} runs {where}\n")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
