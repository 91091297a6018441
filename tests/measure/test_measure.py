"""Every measure against the plainest way to count it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from hvm4viz.errors import TraceError
from hvm4viz.measure import (
    deferral_ages,
    deferral_matrix,
    deferred_sizes,
    frontier_sizes,
    ideal_parallelism,
    largest_by_bin,
    most_deferring,
    region_map,
    rules_fired,
)
from hvm4viz.measure.frontier import bin_edges
from hvm4viz.trace import Trace, recorder
from tests.trace.records import DEFERRED, RULES, event, one_pass, record, wide_passes, worked_example

WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]


@pytest.fixture(scope="module", params=[1 << 20, 2000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_BYTES", request.param)
        return record(wide_passes(WIDTHS))


def test_sizes(trace: Trace) -> None:
    assert frontier_sizes(trace).tolist() == WIDTHS
    assert deferred_sizes(trace).tolist() == [(trace.events(p, p + 1)["outcome"] == DEFERRED).sum() for p in range(8)]
    ideal = ideal_parallelism(trace)
    assert ideal[0] == 1
    assert ideal[4] == 0
    assert (ideal <= WIDTHS).all()


@pytest.mark.parametrize(("count", "bins"), [(0, 5), (1, 5), (5, 5), (6, 5), (1000, 7), (10**6, 480), (3, 1), (4, 0)])
def test_bins_cover_everything_once(count: int, bins: int) -> None:
    edges = bin_edges(count, bins)
    assert edges[-1] == count
    assert edges.size - 1 <= max(bins, 1)
    assert (np.diff(edges) > 0).all()
    values = np.arange(count)
    _, largest = largest_by_bin(values, bins)
    assert largest.tolist() == (edges[1:] - 1).tolist()


def counted(trace: Trace, what: str) -> np.ndarray:
    """Count by region and pass, one event at a time."""
    out = np.zeros((trace.n_regions, trace.n_passes))
    if what == "cells":
        return trace.cells.dense().T
    if what == "remote writes":
        return trace.remote.dense().T
    for p, row in zip(trace.passes(), trace.events(), strict=True):
        if what == "entries":
            out[row["loc"] // 64, p] += 1
        elif row["outcome"] == DEFERRED:
            out[row["loc" if what == "deferrals" else "slot"] // 64, p] += 1
    return out


@pytest.mark.parametrize("what", ["deferrals", "deferrals to", "entries", "cells", "remote writes"])
@pytest.mark.parametrize("shape", [(512, 512), (10, 3), (1, 1), (64, 3), (7, 8)])
@pytest.mark.parametrize("reduce", ["max", "sum", "mean"])
def test_a_map_is_what_was_counted(trace: Trace, what: Any, shape: tuple[int, int], reduce: Any) -> None:
    found = region_map(trace, what, shape=shape, reduce=reduce)
    right = counted(trace, what)
    rows, columns = found.values.shape
    assert rows <= shape[0]
    assert columns <= shape[1]
    per_region, per_pass = found.regions_per_bin, found.passes_per_bin
    gather = {"max": np.max, "sum": np.sum, "mean": np.mean}[reduce]
    for row in range(rows):
        for column in range(columns):
            part = right[row * per_region : (row + 1) * per_region, column * per_pass : (column + 1) * per_pass]
            assert found.values[row, column] == pytest.approx(gather(part))


def test_a_lone_deferral_stays_visible_in_the_smallest_map() -> None:
    passes = [one_pass(p, [event(1)]) for p in range(1000)]
    passes[777] = one_pass(777, [event(130, DEFERRED, slot=1)])
    found = region_map(record(passes), shape=(2, 10))
    assert found.values.sum() == 1
    assert found.values[0, 7] == 1
    assert found.is_binned


def test_counts_are_enough_for_all_maps_but_entries() -> None:
    whole, counts = record(wide_passes(WIDTHS)), record(wide_passes(WIDTHS), level="counts")
    for what in ("deferrals", "deferrals to", "cells", "remote writes"):
        assert np.array_equal(region_map(whole, what).values, region_map(counts, what).values)
    with pytest.raises(TraceError, match="counts"):
        region_map(counts, "entries")


def test_maps_of_almost_nothing() -> None:
    for passes in ([], [one_pass(0, [])], [one_pass(0, [event(1)])]):
        for what in ("deferrals", "entries", "cells"):
            found = region_map(record(passes), what)
            assert found.values.shape == (8, len(passes))


def test_unknown_words_are_refused(trace: Trace) -> None:
    with pytest.raises(ValueError, match="what='gives'"):
        region_map(trace, "gives")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reduce='min'"):
        region_map(trace, reduce="min")  # type: ignore[arg-type]


def test_deferrals_of_the_worked_example() -> None:
    trace = worked_example()
    assert deferral_ages(trace).tolist() == [1, 1]
    assert most_deferring(trace).tolist() == [(1, 0, 1), (2, 0, 1)]
    assert deferral_matrix(trace)[[1, 2], 0].tolist() == [1, 1]
    assert deferral_matrix(trace).sum() == 2


def test_who_defers_to_whom(trace: Trace) -> None:
    rows = trace.events(kind="deferred")
    pairs = Counter(zip((rows["loc"] // 64).tolist(), (rows["slot"] // 64).tolist(), strict=True))
    assert {(home, owner): count for home, owner, count in most_deferring(trace, 10**6).tolist()} == pairs
    counts = most_deferring(trace, 5)["count"].tolist()
    assert counts == sorted(pairs.values(), reverse=True)[:5]
    assert deferral_matrix(trace).sum() == deferral_matrix(trace, n_bins=3).sum() == rows.size


def test_rules_fired(trace: Trace) -> None:
    found = rules_fired(trace)
    told = Counter[str]()
    for p, width in enumerate(WIDTHS):
        told[RULES[p % len(RULES)]] += width
    assert found == {name: count for name, count in told.items() if count}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert rules_fired(record([])) == {}


def test_a_cropped_map_leaves_out_what_is_empty_above() -> None:
    passes = [one_pass(p, [event(64 * p + 1)], n_regions=5) for p in range(3)]
    trace = record(passes)
    whole, cropped = region_map(trace, "entries"), region_map(trace, "entries", crop=True)
    assert (whole.n_regions, whole.all_regions) == (8, 8)
    assert (cropped.n_regions, cropped.all_regions) == (4, 8)
    assert np.array_equal(cropped.values, whole.values[:4])
    for what in ("deferrals", "cells"):
        assert region_map(trace, what, crop=True).n_regions == (2 if what == "deferrals" else 4)
    assert region_map(record([]), crop=True).values.shape == (2, 0)
