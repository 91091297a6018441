"""Every measure against the plainest way to count it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from hvm4viz.errors import TraceError
from hvm4viz.measure import (
    deferral_age_curves,
    deferral_ages,
    deferral_matrix,
    deferred_sizes,
    frontier_sizes,
    ideal_parallelism,
    largest_by_bin,
    most_deferring,
    region_map,
    rule_mix,
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


def test_rules_over_passes(trace: Trace) -> None:
    table = np.asarray(trace.rules)
    names = list(rules_fired(trace))
    for rules_max, n_bins in ((8, 100), (3, 4), (1, 1), (7, 2)):
        found = rule_mix(trace, rules_max=rules_max, n_bins=n_bins)
        assert len(found.rules) == len(found.counts) <= rules_max
        assert found.counts.sum() == table.sum()
        shown = names if len(names) <= rules_max else names[: rules_max - 1]
        assert found.others == len(names) - len(shown)
        for row, name in enumerate(shown):
            sums = np.add.reduceat(table[:, trace.header.rules.index(name)], found.edges[:-1])
            assert found.counts[row].tolist() == sums.tolist()
    with pytest.raises(ValueError, match="rules_max=0"):
        rule_mix(trace, rules_max=0)


def test_shares_of_ages(trace: Trace) -> None:
    whole, *parts = deferral_age_curves(trace)
    ages = trace.deferrals()["age"]
    assert (whole.reason, whole.count, whole.still_open) == ("", ages.size, int((ages < 0).sum()))
    for age, share in zip(whole.ages, whole.shares, strict=True):
        assert share == pytest.approx(((ages >= 0) & (ages <= age)).mean())
    assert parts == []  # all were stopped for one reason
    middle = whole.within(0.5)
    assert middle is None or ((ages >= 0) & (ages <= middle)).mean() >= 0.5
    assert whole.within(1.0) is None  # some are still open
    assert deferral_age_curves(record([one_pass(0, [event(3)])])) == []


def test_ages_by_reason_when_there_are_several() -> None:
    passes = [
        one_pass(0, [event(8, DEFERRED, slot=1, reason=1), event(9, DEFERRED, slot=1, reason=2)]),
        one_pass(1, [event(8)]),
        one_pass(2, [event(9)]),
    ]
    curves = {curve.reason: curve for curve in deferral_age_curves(record(passes))}
    assert {reason: curve.ages.tolist() for reason, curve in curves.items()} == {
        "": [1, 2],
        "take": [1],
        "publish": [2],
    }
    assert curves[""].shares.tolist() == [0.5, 1.0]
    assert curves[""].within(1.0) == 2
