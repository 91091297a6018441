"""What one program did under one setting: medians of its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, median_low
from typing import TYPE_CHECKING

from hvm4viz.bench.programs import Sample

if TYPE_CHECKING:
    from hvm4viz.outcome import Run


@dataclass(frozen=True, slots=True)
class Measured:
    """What one program did under one protocol; medians over its runs.

    Attributes
    ----------
    program, protocol : str
    status : str
        Of its runs; another one than ``done`` says that numbers are those up to a limit.
    runs : int
    passes, interactions, deferrals, contentions, remote_writes : int
        ``remote_writes``: linear cells written by threads of other blocks.
    parallelism : float
        Interactions over the sum over passes of the most that one entry did.
    wall_s, device_s : float
        Seconds in all, and in dispatches.
    """

    program: str
    protocol: str
    status: str
    runs: int
    passes: int
    interactions: int
    deferrals: int
    contentions: int
    remote_writes: int
    parallelism: float
    wall_s: float
    device_s: float


def summary(sample: Sample, protocol: str, runs: list[Run]) -> Measured:
    """Return the medians of the runs of one program under one protocol."""

    def middle(of: Callable[[Run], int]) -> int:
        return median_low([of(each) for each in runs])

    return Measured(
        program=sample.name,
        protocol=protocol,
        status=next((str(each.status) for each in runs if each.status != "done"), "done"),
        runs=len(runs),
        passes=middle(lambda each: each.stats.passes),
        interactions=middle(lambda each: each.stats.interactions),
        deferrals=middle(lambda each: each.stats.deferrals),
        contentions=middle(lambda each: each.trace.n_contentions),
        remote_writes=middle(lambda each: int(each.trace.remote.counts.sum())),
        parallelism=median(each.stats.parallelism for each in runs),
        wall_s=median(each.stats.wall_s for each in runs),
        device_s=median(each.stats.device_s for each in runs),
    )
