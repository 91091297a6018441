"""``sweep``: many runs, carried out in any order anywhere, as one table in one order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hvm4viz.device import open_device
from hvm4viz.device.lookup import named
from hvm4viz.kernel_text.source import Kernel
from hvm4viz.preferences import preference
from hvm4viz.program import Program
from hvm4viz.progress import show_for
from hvm4viz.run import check_limits, mode_and_limit
from hvm4viz.sweeps.gather import gather
from hvm4viz.sweeps.job import Job
from hvm4viz.sweeps.programs import Machines, Programs, check_primitives, named_machines, named_programs, registered
from hvm4viz.sweeps.shelf import Shelf, default_folder
from hvm4viz.sweeps.table import row, table

if TYPE_CHECKING:
    from hvm4viz.execution import Mode, Record


def sweep(
    programs: Programs,
    machines: Machines = None,
    devices: str | Iterable[str] = ("auto",),
    *,
    repeat: int = 1,
    executor: Executor | None = None,
    processes: int | None = None,
    cache: str | os.PathLike[str] | Literal[False] | None = None,
    primitives: str | Sequence[str] = (),
    entry: str = "main",
    mode: Mode | None = None,
    limit: int | None = None,
    max_passes: int = 10_000_000,
    timeout: float | None = None,
    record: Record = "counts",
    workers: int = 1,
    seed: int = 0,
    kernel: Kernel | None = None,
    progress: bool | Literal["auto"] = "auto",
) -> Any:
    """Run every program on every machine and every device, and return one table.

    Parameters
    ----------
    programs : Program, str, Path, sequence or mapping
        Programs: parsed, as source text (``str``), or as files (``Path``); those of ``hvm4viz.bench.samples`` bring
        their mode and limit along. The keys of a mapping are their names in the table.
    machines : Machine, sequence or mapping, optional
        The default machine if left out. The keys of a mapping are their names; otherwise a machine is named by the
        settings in which it differs from the default.
    devices : sequence of str
        Kinds of ``devices()``. "auto" is resolved here, before the first run.
    repeat : int
        Runs of each combination. All combinations run once before any runs again, so that medians of their times can
        be compared.
    executor : concurrent.futures.Executor, optional
        Where the runs are carried out, such as ``client.get_executor()`` of Dask; it stays open. By default processes
        of this package's own: they need no ``if __name__ == "__main__"`` in a script, and one that dies takes one run
        with it. (A ``ProcessPoolExecutor`` and Dask's ``LocalCluster`` do need that guard in a script.)
    processes : int, optional
        Runs at the same time, where there is no ``executor``; default: one a core. Take 1 to time a GPU.
    cache : path-like or False, optional
        Folder that keeps finished runs; False keeps none. Default: ``sweeps`` in ``$HVM4VIZ_CACHE``, or in the user's
        cache folder.
    primitives : sequence of str
        Modules that register primitives (``hvm4viz.primitive``); each worker imports them.
    entry, mode, limit, max_passes, timeout, record, seed, kernel, progress
        As in ``run``; ``record`` is "counts" here: all columns but the digest of the trace.
    workers : int
        Host threads of the cpu device in each run; 1, so that runs do not take each other's cores.

    Returns
    -------
    runs : pyarrow.Table
        One row a run, by program, machine, device and repetition in the order given, whatever order they ended in;
        ``runs.to_pandas()`` with pandas. What a column means stands in ``runs.schema.field(name).metadata``.

        =============  ===============================================================================================
        the program    ``program program_digest entry mode limit``
        the machine    ``machine``, every setting (``blocks threads_per_block region_size dup owner_unit visibility
                       shard defer fork fuel heap_bytes memory``; ``fuel`` null: auto), and ``threads`` in all
        how it ran     ``device device_name host workers seed kernel record max_passes timeout_s repeat``
        how it ended   ``status error error_type answer answer_digest results``
        what it did    ``passes interactions deferrals contentions remote_writes max_frontier mean_frontier
                       parallelism heap_words regions seconds device_s ips trace_digest``: ``heap_words`` in cells of
                       8 bytes, ``seconds`` and ``device_s`` in seconds, ``ips`` in interactions a second
        its origin     ``version finished_at`` (UTC), ``key``
        =============  ===============================================================================================

        ``status`` is that of the run, or "refused" (it did not begin: the device, or the machine on it) or "lost" (its
        worker process died: at once in processes of our own, twice with an ``executor``, the second time alone);
        ``error`` says why.

    Raises
    ------
    ProgramError, OSError
        If a program cannot be read or parsed, or has no such entry; nothing has run then.
    ValueError
        If an option is out of range, or a primitive is not in a module that is named.
    DeviceError
        If there is no such kind of device, or none at all for "auto".
    BrokenExecutor
        If the executor given cannot carry out any more runs.
    KeyboardInterrupt
        After an interrupt: what waits is cancelled, what is done is kept.

    Notes
    -----
    A finished run is written to ``cache`` before the next one is waited for, under a key made of program texts, entry,
    mode, limit, all settings, device, workers, seed, limits, recording, kernel text, texts of the modules of
    primitives, repetition, and package version. The same call goes on where another one was interrupted or killed, and
    runs what is missing: that is, too, what was refused, lost, or failed by its device. Kept runs keep their times.
    """
    check_limits(max_passes, timeout, repeat, workers, seed)
    if processes is not None and processes < 1:
        raise ValueError(f"processes={processes}: must be 1 or more; leave it out for one a core")
    modules = registered(primitives)
    places = [_kind(kind) for kind in ([devices] if isinstance(devices, str) else devices)]
    shapes = named_machines(machines)
    jobs: list[tuple[Job, str, str]] = []
    for name, given in named_programs(programs).items():
        program = given if isinstance(given, Program) else given.program
        says = (None, None) if isinstance(given, Program) else (given.mode, given.limit)
        chosen, most = mode_and_limit(*(says if mode is None and limit is None else (mode, limit)))
        check_primitives(name, program, entry, [module for module, _ in modules])
        for (title, machine), kind, number in product(shapes.items(), places, range(repeat)):
            job = Job(
                files=program.files,
                units=program.unit_places,
                entry=entry,
                mode=chosen,
                limit=most,
                machine=machine,
                device=kind,
                workers=workers,
                seed=seed,
                max_passes=max_passes,
                timeout=timeout,
                record=record,
                kernel=kernel,
                primitives=modules,
                repeat=number,
            )
            jobs.append((job, name, title))
    found = gather(
        [job for job, _, _ in jobs],
        shelf=None if cache is False else Shelf(Path(cache) if cache is not None else default_folder()),
        executor=executor,
        processes=processes,
        show=show_for(preference("progress") if progress == "auto" else progress),
    )
    return table([row(job, program=name, machine=title, found=found[job.key]) for job, name, title in jobs])


def _kind(device: str) -> str:
    """Return the kind of device that is meant; "auto" is what is preferred, or the best there is here."""
    wanted = preference("device") if device == "auto" else device
    if wanted == "auto":
        return open_device("auto").name.partition(" ")[0]
    named(wanted)
    return wanted
