"""The duplication protocols against each other: the same programs, the same machine, runs taken in turn.

Medians of runs that take turns are comparable on a machine that does other things, too; single runs are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.bench.measured import Measured, summary
from hvm4viz.bench.programs import Sample
from hvm4viz.errors import KernelFault
from hvm4viz.run import run
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.outcome import Run

PROTOCOLS: Final[dict[str, dict[str, str]]] = {
    "owner": {},
    "owner, return": {"defer": "return"},
    "block": {"owner_unit": "block"},
    "block, return": {"owner_unit": "block", "defer": "return"},
    "atomic": {"dup": "atomic"},
    "claim": {"dup": "claim"},
}
"""Every protocol by name: the settings in which it differs from the default, which is the first."""

LIVE: Final[dict[str, dict[str, str]]] = {
    f"{name}, live": {**settings, "visibility": "live"} for name, settings in PROTOCOLS.items()
}
"""The same protocols, with values seen as soon as they are published."""


def measure_protocols(
    programs: Sequence[Sample],
    *,
    protocols: Mapping[str, Mapping[str, str]] = PROTOCOLS,
    machine: Machine | None = None,
    rounds: int = 5,
    seconds: float = 2.0,
    timeout: float | None = 60.0,
    device: str | Device = "auto",
    on_program: Callable[[Sample], object] | None = None,
) -> list[Measured]:
    """Run each program under each protocol, in turn, several times.

    Parameters
    ----------
    programs : sequence of Sample
    protocols : mapping of str to mapping
        Settings of ``Machine`` by name of the protocol.
    machine : Machine, optional
        The settings that all have in common.
    rounds : int
        Rounds for each program; in a round, each protocol runs once.
    seconds : float
        No further round begins for a program after so many seconds; one is always made.
    timeout : float, optional
        Seconds after which a run is stopped.
    device : str or Device
    on_program : callable, optional
        Called with each program before its first run.

    Returns
    -------
    measured : list of Measured
        By program, then by protocol, as they were given.

    Raises
    ------
    KernelFault
        If a run gives another answer than the program says or the first protocol gave, or if a protocol with a
        deterministic trace does not make the same passes each time.
    DeviceError
        If the device cannot run here.
    """
    if rounds < 1:
        raise ValueError(f"rounds={rounds}: must be 1 or more")
    from hvm4viz.device import open_device

    opened = open_device(device) if isinstance(device, str) else device
    shared = machine or Machine()
    chosen: dict[str, dict[str, Any]] = {name: dict(settings) for name, settings in protocols.items()}
    machines = {name: replace(shared, **settings) for name, settings in chosen.items()}
    run("@main = 1", device=opened, progress=False)  # compile before the clock runs
    out: list[Measured] = []
    for sample in programs:
        if on_program is not None:
            on_program(sample)
        runs: dict[str, list[Run]] = {name: [] for name in machines}
        begun = time.perf_counter()
        for number in range(rounds):
            if number and time.perf_counter() - begun >= seconds:
                break
            for name, each in machines.items():
                runs[name].append(_once(sample, each, opened, timeout))
        _compare(sample, runs)
        out += [summary(sample, name, some) for name, some in runs.items()]
    return out


def _once(sample: Sample, machine: Machine, device: Device, timeout: float | None) -> Run:
    return run(
        sample.program,
        mode=sample.mode,
        limit=sample.limit,
        machine=machine,
        device=device,
        timeout=timeout,
        record="counts",
        progress=False,
        on_log=_no_line,
    )


def _no_line(line: str) -> None:
    del line


def _compare(sample: Sample, runs: Mapping[str, list[Run]]) -> None:
    """Raise if answers differ, or if runs of one deterministic protocol do."""
    from hvm4viz.trace.digest import is_ordered

    expected = list(sample.expected)
    for name, some in runs.items():
        for each in some:
            if each.status != "done":
                continue
            printed = [*each.log, *each.lines]
            expected = expected or printed
            if printed != expected:
                raise KernelFault(f"{sample.name} under {name!r} printed {printed!r:.200}, not {expected!r:.200}")
        counts = {(each.stats.passes, each.stats.interactions, each.stats.deferrals) for each in some}
        if len(counts) > 1 and is_ordered(some[0].trace.header, "done") and all(each.status == "done" for each in some):
            raise KernelFault(f"{sample.name} under {name!r} is not deterministic: {sorted(counts)}")
