"""Differences of two runs against two dense tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hvm4viz.errors import TraceError
from hvm4viz.measure import region_differences, region_map
from hvm4viz.trace import Trace
from tests.trace.records import event, one_pass, record, wide_passes, worked_example

A = record(wide_passes([3, 80, 200, 0, 40], seed=1))
B = record(wide_passes([9, 10, 300, 70, 5, 60, 2], seed=2))


def dense(trace: Trace, what: Any, n_passes: int) -> np.ndarray:
    out = np.zeros((64, n_passes))
    found = region_map(trace, what, shape=(64, n_passes))
    out[: found.n_regions, : found.n_passes] = found.values
    if what == "cells":
        out[:, found.n_passes :] = out[:, found.n_passes - 1 : found.n_passes]
    return out


@pytest.mark.parametrize("what", ["deferrals", "deferrals to", "entries", "cells", "remote writes"])
@pytest.mark.parametrize("pair", [(A, B), (B, A), (A, A)], ids=["ab", "ba", "aa"])
@pytest.mark.parametrize("shape", [(64, 7), (5, 3), (64, 2), (1, 1)])
def test_differences(what: Any, pair: tuple[Trace, Trace], shape: tuple[int, int]) -> None:
    a, b = pair
    n = max(a.n_passes, b.n_passes)
    every = dense(b, what, n) - dense(a, what, n)
    for reduce in ("max", "sum", "mean"):
        found = region_differences(a, b, what, shape=shape, reduce=reduce)
        assert (found.n_regions, found.n_passes) == (64, n)
        for (row, column), value in np.ndenumerate(found.values):
            part = every[
                row * found.regions_per_bin : (row + 1) * found.regions_per_bin,
                column * found.passes_per_bin : (column + 1) * found.passes_per_bin,
            ]
            farthest = part.max() if part.max() >= -part.min() else part.min()
            assert value == pytest.approx({"max": farthest, "sum": part.sum(), "mean": part.mean()}[reduce])
        by_pass = [part.sum() / part.shape[1] for part in np.split(every, edges(n, found.passes_per_bin), axis=1)]
        assert found.by_pass == pytest.approx(by_pass)


def edges(n: int, width: int) -> list[int]:
    return list(range(width, n, width))


def test_the_same_run_has_no_difference() -> None:
    assert not region_differences(A, A).values.any()


def test_nothing_at_all() -> None:
    empty = record([])
    assert region_differences(empty, empty).values.size == 0
    assert region_differences(empty, worked_example()).values.sum() == 2


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="what='x'"):
        region_differences(A, B, "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reduce='x'"):
        region_differences(A, B, reduce="x")  # type: ignore[arg-type]
    counts = record([one_pass(0, [event(3)])], level="counts")
    for pair in ((A, counts), (counts, A)):
        with pytest.raises(TraceError, match="level 'counts'"):
            region_differences(*pair, "entries")
