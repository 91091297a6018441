"""The suite: how fast each of its programs runs and, in the same rounds, how fast another implementation runs it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Final

from hvm4viz.bench.peak import own_peak
from hvm4viz.bench.rival import RivalFailed, RivalRun, find_rival, rival_peak, run_rival
from hvm4viz.bench.suite_programs import SuiteProgram
from hvm4viz.program import parse
from hvm4viz.run import run
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.device import Device
    from hvm4viz.outcome import Run

_NOTHING: Final = "@main = 1"


@dataclass(frozen=True, slots=True)
class Timed:
    """What one program of the suite did; times are medians over rounds, and None where there are none.

    Attributes
    ----------
    name : str
    seconds : float or None
        Of a run in a process that has run before, read-back of the answer included, parsing not.
    interactions : int
    rival_seconds : float or None
        The rival's own word, else ``rival_process_seconds``.
    ratio : float or None
        The rival's seconds over ours.
    rival_process_seconds : float or None
        Of the rival's whole process.
    rival_interactions : int or None
    ips : float or None
        Interactions a second.
    passes, deferrals : int
    host_us_per_pass : float or None
        Microseconds a pass outside of the dispatch.
    words : int
        Cells of the heap in use at the end, which is when most are: none is used again.
    words_per_interaction : float or None
    peak_bytes : int or None
        Most memory that a run took.
    bytes_per_cell : float or None
        That memory over the cells: 8 are the cell, the rest is what the machine keeps beside it.
    rival_words : int or None
        Words of the rival's heap, if it tells.
    rival_peak_bytes : int or None
        Most memory of the rival's process, less that of a program of one number.
    rounds : int
    status : str
    problems : tuple of str
        What is wrong with its answers, or with the rival's; empty if all is well.
    """

    name: str
    seconds: float | None
    interactions: int
    rival_seconds: float | None
    ratio: float | None
    rival_process_seconds: float | None
    rival_interactions: int | None
    ips: float | None
    passes: int
    deferrals: int
    host_us_per_pass: float | None
    words: int
    words_per_interaction: float | None
    peak_bytes: int | None
    bytes_per_cell: float | None
    rival_words: int | None
    rival_peak_bytes: int | None
    rounds: int
    status: str
    problems: tuple[str, ...]


def measure_suite(
    programs: Sequence[SuiteProgram],
    *,
    machine: Machine | None = None,
    device: str = "auto",
    workers: int | None = None,
    vs: str | Path | None = None,
    rounds: int = 5,
    seconds: float = 10.0,
    timeout: float = 120.0,
    memory: bool = True,
    on_program: Callable[[SuiteProgram], object] | None = None,
) -> Iterator[Timed]:
    """Run programs of the suite, each several times, in turn with the rival; yield each when it is done.

    Parameters
    ----------
    programs : sequence of SuiteProgram
    machine : Machine, optional
    device : str
    workers : int, optional
        Host threads of the cpu device.
    vs : path-like, optional
        The rival's binary.
    rounds : int
        In a round both sides run once; who is first changes from round to round.
    seconds : float
        No further round begins for a program after so many seconds; one is always made.
    timeout : float
        Seconds after which a run of either side is stopped.
    memory : bool
        Whether to run each side once more, in a process of its own, for its peak of memory.
    on_program : callable, optional
        Called with each program before its first run.

    Raises
    ------
    ValueError
        If ``rounds`` is below 1.
    OSError
        If there is no such rival, or it cannot be executed.
    DeviceError
        If the device cannot run here.
    """
    from hvm4viz.device import open_device

    if rounds < 1:
        raise ValueError(f"rounds={rounds}: must be 1 or more")
    rival = None if vs is None else find_rival(vs)
    opened, shared = open_device(device, workers=workers), machine or Machine()
    run(_NOTHING, device=opened, machine=shared, record="off", progress=False)  # compile before the clock runs
    with tempfile.TemporaryDirectory(prefix="hvm4viz-") as folder:
        base: int | None = None
        if rival is not None and memory:
            least = SuiteProgram("nothing", parse(_NOTHING), "snf", None, ("1",), 0)
            base = rival_peak(rival, least, _written(least, folder), timeout=timeout)
        for program in programs:
            if on_program is not None:
                on_program(program)
            ours, theirs = _Ours(program, shared, opened, timeout), _Theirs(program, rival, folder, timeout)
            begun = time.perf_counter()
            for number in range(rounds):
                if number and (time.perf_counter() - begun >= seconds or ours.status != "done"):
                    break
                for side in (ours, theirs) if number % 2 == 0 else (theirs, ours):
                    side.once()
            if memory and ours.status == "done":
                ours.peak = own_peak(program, shared, device=_kind(opened), workers=workers, timeout=timeout)
            if memory and base is not None:
                theirs.measure_peak(base)
            yield _timed(ours, theirs)


def mean_ratio(found: Sequence[Timed]) -> float | None:
    """Return the geometric mean of the ratios there are; None if there are none."""
    ratios = [each.ratio for each in found if each.ratio is not None]
    return geometric_mean(ratios) if ratios else None


@dataclass
class _Ours:
    program: SuiteProgram
    machine: Machine
    device: Device
    timeout: float
    seconds: list[float] = field(default_factory=list[float])
    host_us: list[float] = field(default_factory=list[float])
    last: Run | None = None
    peak: int | None = None
    problems: list[str] = field(default_factory=list[str])

    @property
    def status(self) -> str:
        return str(self.last.status) if self.last else "done"

    def once(self) -> None:
        program = self.program
        self.last = None  # its buffers serve the next run
        begun = time.perf_counter()
        done = run(
            program.program,
            mode=program.mode,
            limit=program.limit,
            machine=self.machine,
            device=self.device,
            timeout=self.timeout,
            record="off",
            progress=False,
        )
        lines = tuple(done.lines)
        seconds = time.perf_counter() - begun
        self.last, stats = done, done.stats
        if done.status != "done":
            self.problems.append(f"{self.status.replace('_', ' ')}: {done.message}")
            return
        self.seconds.append(seconds)
        self.host_us.append(1e6 * (stats.wall_s - stats.device_s) / max(stats.passes, 1))
        wrong: list[str] = []
        if lines != program.expected:
            wrong.append(f"answers {' | '.join(lines)!r:.200}, not {' | '.join(program.expected)!r:.200}")
        if self.machine.threads == 1 and stats.interactions != program.interactions:
            wrong.append(f"counts {stats.interactions:,} interactions, not {program.interactions:,}")
        self.problems += [each for each in wrong if each not in self.problems]


@dataclass
class _Theirs:
    program: SuiteProgram
    rival: Path | None
    folder: str
    timeout: float
    runs: list[RivalRun] = field(default_factory=list[RivalRun])
    peak: int | None = None
    problem: str | None = None

    def once(self) -> None:
        if self.rival is None or self.problem:
            return
        try:
            self.runs.append(run_rival(self.rival, self.program, self._file(), timeout=self.timeout))
        except RivalFailed as failed:
            self.problem = f"{self.rival.name} {failed}"

    def measure_peak(self, base: int) -> None:
        if self.rival is None or self.problem:
            return
        most = rival_peak(self.rival, self.program, self._file(), timeout=self.timeout)
        self.peak = None if most is None else max(most - base, 0)

    def _file(self) -> Path:
        return _written(self.program, self.folder)


def _written(program: SuiteProgram, folder: str) -> Path:
    path = Path(folder) / f"{program.name}.hvm4"
    if not path.exists():
        path.write_text(program.program.source, encoding="utf-8")
    return path


def _kind(device: Device) -> str:
    return device.name.split(" ", 1)[0]


def _timed(ours: _Ours, theirs: _Theirs) -> Timed:
    assert ours.last is not None
    stats = ours.last.stats
    seconds = median(ours.seconds) if ours.seconds else None
    runs = [] if theirs.problem else theirs.runs
    rival_s = median(each.seconds for each in runs) if runs else None
    return Timed(
        name=ours.program.name,
        seconds=seconds,
        interactions=stats.interactions,
        rival_seconds=rival_s,
        ratio=rival_s / seconds if rival_s is not None and seconds else None,
        rival_process_seconds=median(each.wall_s for each in runs) if runs else None,
        rival_interactions=runs[-1].interactions if runs else None,
        ips=stats.interactions / seconds if seconds else None,
        passes=stats.passes,
        deferrals=stats.deferrals,
        host_us_per_pass=median(ours.host_us) if ours.host_us else None,
        words=stats.cells_used,
        words_per_interaction=stats.cells_used / stats.interactions if stats.interactions else None,
        peak_bytes=ours.peak,
        bytes_per_cell=ours.peak / stats.cells_used if ours.peak is not None and stats.cells_used else None,
        rival_words=runs[-1].words if runs else None,
        rival_peak_bytes=theirs.peak,
        rounds=len(ours.seconds),
        status=ours.status,
        problems=(*ours.problems, *((theirs.problem,) if theirs.problem else ())),
    )
