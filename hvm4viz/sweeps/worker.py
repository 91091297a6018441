"""Carry out one run of a sweep, in whatever process or thread this is; it never raises for what the run does."""

from __future__ import annotations

import hashlib
import platform
import threading
import time
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.device import open_device
from hvm4viz.errors import DeviceError, ProgramError
from hvm4viz.program import Program, reread
from hvm4viz.run import run
from hvm4viz.sweeps.job import Job

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.outcome import Run

ANSWER_CHARS_MAX: Final = 1000
"""Characters of an answer that a row keeps; its digest is of all of it."""

_own: Final = threading.local()
"""Devices of this thread, and what was run on them to warm them up: a device serves one run at a time."""


def carry_out(job: Job, ticket: str = "") -> dict[str, Any]:
    """Carry out one run; return what a row tells of it (``sweeps/table.py``), errors included.

    The ticket tells this call from others of the same run, and is not looked at.
    """
    del ticket
    found: dict[str, Any] = {"host": platform.node(), "device_name": None}
    try:
        for module, _ in job.primitives:
            import_module(module)
        program = _program(job.files, job.units)
        device = _device(job)
        found["device_name"] = device.name
        done = run(
            program,
            entry=job.entry,
            mode=job.mode,
            limit=job.limit,
            device=device,
            machine=job.machine,
            max_passes=job.max_passes,
            timeout=job.timeout,
            record=job.record,
            kernel=job.kernel,
            progress=False,
            on_log=_no_line,
        )
        found |= _measured(done)
    except (ProgramError, DeviceError, ValueError, TypeError, ImportError) as error:
        found |= failure("refused", error)
    except Exception as error:  # noqa: BLE001  (whatever goes wrong in one run must not end the others)
        found |= failure("failed", error)
    return {**found, "finished_at": time.time()}


def failure(status: str, error: BaseException) -> dict[str, Any]:
    """Return what a row tells of a run that did not come to an end of its own."""
    return {"status": status, "error": str(error) or type(error).__name__, "error_type": type(error).__name__}


def _no_line(line: str) -> None:
    del line


@lru_cache(maxsize=16)
def _program(files: tuple[tuple[str, str], ...], units: tuple[int, ...]) -> Program:
    return reread(files, units)


def _device(job: Job) -> Device:
    """Return this thread's device, opened and with the kernel compiled and loaded: no run pays for that."""
    devices: dict[object, Device] = _own.__dict__.setdefault("devices", {})
    warmed: set[object] = _own.__dict__.setdefault("warmed", set())
    place = (job.device, job.workers, job.seed if job.device == "sim" else 0)
    if place not in devices:
        devices[place] = open_device(job.device, workers=job.workers, seed=job.seed)
    text = (place, job.kernel_digest, job.record == "full")
    if text not in warmed:
        run("@main = 1", device=devices[place], kernel=job.kernel, record=job.record, progress=False)
        warmed.add(text)
    return devices[place]


def _measured(done: Run) -> dict[str, Any]:
    stats, trace, counted = done.stats, done.trace, done.trace.level != "off"
    lines = "\n".join(done.lines).encode("utf-8", "surrogatepass")
    return {
        "status": str(done.status),
        "error": done.message or None,
        "error_type": type(done.cause).__name__ if done.cause is not None else None,
        "answer": done.text[:ANSWER_CHARS_MAX],
        "answer_digest": hashlib.sha256(lines).hexdigest(),
        "results": len(done.results),
        "passes": stats.passes,
        "interactions": stats.interactions,
        "deferrals": stats.deferrals,
        "contentions": trace.n_contentions if counted else None,
        "remote_writes": int(trace.remote.counts.sum()) if counted else None,
        "max_frontier": stats.max_frontier,
        "mean_frontier": stats.mean_frontier,
        "parallelism": stats.parallelism,
        "heap_words": stats.cells_used,
        "regions": trace.n_regions if counted else None,
        "seconds": stats.wall_s,
        "device_s": stats.device_s,
        "trace_digest": trace.digest_or_none(),
    }
