"""Traces that figures are drawn of, and every figure as a function of one trace."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hvm4viz.events import EVENT
from hvm4viz.figure_request import figure_kinds, subject_of
from hvm4viz.trace import Trace, open_trace
from tests.trace.records import (
    DEFERRED,
    event,
    header,
    one_pass,
    record,
    wide_passes,
    worked_example,
)

HOSTILE = "$\\frac{1}{0}$<script>\x00\u202e\ud800名\n" + "x" * 1000
GOLDEN = Path(__file__).parents[1] / "golden"


@cache
def huge(*, deferred: float = 0.3) -> Trace:
    """Record 10,000 passes over 10,000 regions."""
    rng = np.random.default_rng(0)

    def passes() -> Any:
        for p in range(10_000):
            events = np.zeros(20, EVENT)
            events["loc"] = rng.integers(1, 10_000 * 64, 20)
            events["outcome"] = np.where(rng.random(20) < deferred, DEFERRED, 1)
            events["slot"] = 1
            if p == 0:
                events["loc"][0] = 10_000 * 64 - 1
            if p == LONE[1] and not deferred:
                events["loc"][0], events["outcome"][0] = LONE[0] * 64 + 1, DEFERRED
                events["slot"][0] = LONE_OWNER * 64 + 1
            yield one_pass(p, events)

    return record(passes())


LONE = (6_543, 4_567)
"""Region and pass of the one deferral of ``huge(deferred=0)``."""

LONE_OWNER = 3_210
"""Region of its slot."""

TRACES: dict[str, Callable[[], Trace]] = {
    "empty": lambda: record([]),
    "off": lambda: record(wide_passes([3]), level="off"),
    "one pass": lambda: record([one_pass(0, [event(3)])]),
    "one region": lambda: record(
        [one_pass(p, [event(3, DEFERRED, slot=1)], n_regions=1) for p in range(5)],
        head=dataclasses.replace(header(), regions=np.zeros(1, np.uint32)),
    ),
    "one pass of one region": lambda: record(
        [one_pass(0, [event(3, DEFERRED, slot=1)], n_regions=1)],
        head=dataclasses.replace(header(), regions=np.zeros(1, np.uint32)),
    ),
    "a pass of nothing": lambda: record([one_pass(0, [])]),
    "no deferral": lambda: record([one_pass(p, [event(3)]) for p in range(20)]),
    "all zero": lambda: record([one_pass(p, [], cells=np.zeros(8, np.uint32)) for p in range(20)], level="counts"),
    "worked example": worked_example,
    "counts": lambda: record(wide_passes([1, 40, 3]), level="counts"),
    "wide": lambda: record(wide_passes([1, 40, 900, 5000, 3])),
    "log": lambda: record(wide_passes([1] * 50 + [5000])),
    "cut": lambda: record(wide_passes([10] * 60), limit_bytes=9000, status="timeout"),
    "hostile": lambda: record(
        wide_passes([3]),
        head=dataclasses.replace(header(device=HOSTILE), source=((HOSTILE, ""),), entry=HOSTILE),
        status="error",
    ),
    "huge": huge,
    **{path.name: lambda path=path: open_trace(path) for path in sorted(GOLDEN.glob("*.hvt"))},
}


def runs_like(trace: Trace) -> dict[str, list[Any]]:
    """Make a table of runs up whose numbers come from a trace."""
    n = trace.n_passes
    return {"program": ["a", "a"], "regions": [trace.n_regions, 2 * trace.n_regions], "ips": [n, 3 * n]}


def _of_one_trace(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    takes = subject_of(draw)
    if takes == "a":
        return lambda trace, **options: draw(trace, trace.slice(0, trace.n_passes // 2), **options)
    if takes == "runs":
        return lambda trace, **options: draw(runs_like(trace), **options)
    return draw


KINDS = figure_kinds()
FIGURES: dict[str, Callable[..., Figure]] = {name: _of_one_trace(draw) for name, draw in KINDS.items()}
ON_AXES = [name for name, draw in KINDS.items() if "ax" in inspect.signature(draw).parameters]
