"""The table of a sweep: a row a run, every column with its unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final

from hvm4viz import __version__
from hvm4viz.settings import Machine, parse_size
from hvm4viz.sweeps.job import Job
from hvm4viz.trace.arrow import pa

COLUMNS: Final[dict[str, tuple[str, str]]] = {
    # what was run
    "program": ("string", "name of the program"),
    "program_digest": ("string", "SHA-256 of its texts"),
    "entry": ("string", "definition it starts from"),
    "mode": ("string", "snf or collapse"),
    "limit": ("int64", "most results of a collapse; null: no limit"),
    # on which machine: every setting of Machine
    "machine": ("string", "name of the machine, or the settings in which it differs from the default"),
    "blocks": ("int32", "logical blocks"),
    "threads_per_block": ("int32", "threads a block"),
    "threads": ("int32", "threads in all: blocks times threads_per_block"),
    "region_size": ("int32", "cells a region"),
    "dup": ("string", "who may take a duplication slot"),
    "owner_unit": ("string", "what owns a slot"),
    "visibility": ("string", "when other threads see a published value"),
    "shard": ("string", "how fresh entries are dealt"),
    "defer": ("string", "what a deferred task does next"),
    "fork": ("string", "whether strict operands are tasks of their own"),
    "fuel": ("int64", "interactions an entry may spend in a pass; null: auto"),
    "heap_bytes": ("int64", "most bytes the heap may take"),
    "memory": ("string", "where heap and frontier live"),
    # how and where
    "device": ("string", "kind of device"),
    "device_name": ("string", "its full name; null if it could not be opened"),
    "host": ("string", "name of the computer; null if the worker was lost"),
    "workers": ("int32", "host threads of the cpu device"),
    "seed": ("uint64", "schedule of the sim device"),
    "kernel": ("string", "SHA-256 of the kernel text"),
    "record": ("string", "how much was recorded"),
    "max_passes": ("int64", "passes after which the run was to stop"),
    "timeout_s": ("float64", "seconds after which it was to stop; null: never"),
    "repeat": ("int32", "which repetition, from 0"),
    # how it ended
    "status": ("string", "status of the run, or refused (it did not begin), or lost (its worker process died)"),
    "error": ("string", "why it is not done, and what to do; null if it is"),
    "error_type": ("string", "class of what was raised; null if nothing was"),
    "answer": ("string", "result lines, joined by line breaks; the first 1,000 characters"),
    "answer_digest": ("string", "SHA-256 of all result lines"),
    "results": ("int64", "how many results there are"),
    # what it did
    "passes": ("int64", "passes"),
    "interactions": ("int64", "interactions"),
    "deferrals": ("int64", "entries that a slot stopped"),
    "contentions": ("int64", "entries that met a busy slot; null at record off"),
    "remote_writes": ("int64", "linear cells written by threads of other blocks; null at record off"),
    "max_frontier": ("int64", "entries of the widest pass"),
    "mean_frontier": ("float64", "entries a pass"),
    "parallelism": ("float64", "interactions over the sum over passes of the most that one entry did"),
    "heap_words": ("int64", "cells of 8 bytes in use at the end"),
    "regions": ("int64", "regions of the heap in use at the end; null at record off"),
    "seconds": ("float64", "seconds in all"),
    "device_s": ("float64", "seconds in dispatches"),
    "ips": ("float64", "interactions a second of seconds"),
    "trace_digest": ("string", "digest of the trace; null below record events"),
    # where it comes from
    "version": ("string", "version of hvm4viz"),
    "finished_at": ("timestamp", "when it ended, UTC"),
    "key": ("string", "what the run depends on, as a SHA-256: the name under which it is kept"),
}
"""Name, type and meaning of every column, in order."""


@cache
def schema() -> Any:
    """Return the Arrow schema; the metadata of each field says under ``meaning`` what it is, with its unit."""
    types = {"timestamp": pa.timestamp("us", tz="UTC")}
    return pa.schema(
        [
            pa.field(name, types.get(kind) or getattr(pa, kind)(), metadata={"meaning": meaning})
            for name, (kind, meaning) in COLUMNS.items()
        ]
    )


def table(rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows as a ``pyarrow.Table``; what a row does not tell is null."""
    return pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS} for row in rows], schema=schema())


def row(job: Job, *, program: str, machine: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a run: what was asked for, and what was found."""
    settings = job.machine.settings()
    fuel = settings["fuel"]
    measured = {name: _encodable(value) for name, value in found.items()}
    seconds = found.get("seconds")
    return {
        **settings,
        **measured,
        "program": _encodable(program),
        "program_digest": job.program_digest,
        "entry": job.entry,
        "mode": job.mode,
        "limit": job.limit,
        "machine": _encodable(machine),
        "threads": job.machine.threads,
        "fuel": None if fuel == "auto" else fuel,
        "heap_bytes": parse_size(job.machine.heap),
        "device": job.device,
        "workers": job.workers,
        "seed": job.seed,
        "kernel": job.kernel_digest,
        "record": job.record,
        "max_passes": job.max_passes,
        "timeout_s": job.timeout,
        "repeat": job.repeat,
        "ips": found["interactions"] / seconds if seconds else None,
        "version": __version__,
        "finished_at": round(found["finished_at"] * 1e6),
        "key": job.key,
    }


def _encodable(value: Any) -> Any:
    """Escape what UTF-8 cannot hold: lone surrogates of an answer."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def machine_name(machine: Machine) -> str:
    """Name a machine by the settings in which it differs from the default."""
    settings, usual = machine.settings(), {field.name: field.default for field in fields(Machine)}
    return ", ".join(f"{name}={value}" for name, value in settings.items() if value != usual[name]) or "default"
