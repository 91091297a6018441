"""Differences between the heaps of two passes, against the heaps themselves."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.trace import Trace
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module", params=["sat", "automaton"])
def trace(request: pytest.FixtureRequest) -> Trace:
    program = hv.load(PROGRAMS / f"{request.param}.hvm4")
    return hv.run(program, record="full", max_passes=60, progress=False, on_log=lambda _: None).trace


@pytest.mark.parametrize(("p", "q"), [(0, 60), (60, 0), (10, 11), (11, 10), (5, 5), (20, 55), (-1, 3)])
def test_a_difference_is_that_of_the_heaps(trace: Trace, p: int, q: int) -> None:
    found = trace.diff(p, q)
    a, b = trace.at(p), trace.at(q)
    size = max(a.words.size, b.words.size)
    before, after = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    before[: a.words.size], after[: b.words.size] = a.words, b.words
    at = np.flatnonzero(before != after)
    assert found.cells["cell"].tolist() == at.tolist()
    assert np.array_equal(found.cells["before"], before[at])
    assert np.array_equal(found.cells["after"], after[at])
    assert np.array_equal(found.added, at[before[at] == 0])
    assert np.array_equal(found.freed, at[after[at] == 0])
    assert np.array_equal(np.sort(np.concatenate([found.added, found.freed, found.changed])), at)
    assert np.array_equal(found.regions["region"], np.unique(at // trace.region_size))
    for name, cells in (("added", found.added), ("freed", found.freed), ("changed", found.changed)):
        assert found.regions[name].sum() == cells.size
        for row in found.regions:
            assert row[name] == np.count_nonzero(cells // trace.region_size == row["region"])
    shared = min(a.owners.size, b.owners.size)
    assert found.moved.tolist() == np.flatnonzero(a.owners[:shared] != b.owners[:shared]).tolist()
    assert f"{found.added.size:,} cells added" in str(found)


def test_regions_that_change_hands() -> None:
    """``%gnf`` deals the regions to the blocks of the frontier machine, and back to the evaluator."""
    source = '@main = [%log("a"), %gnf([1 + 1, 2 + 2]), %log("b")]'
    trace = hv.run(source, record="full", on_log=lambda _: None).trace
    moved = [trace.diff(p, p + 1) for p in range(trace.n_passes)]
    changing = [each for each in moved if each.moved.size]
    assert len(changing) >= 2
    for each in changing:
        assert each.regions["moved"].sum() == each.moved.size
        assert set(each.moved.tolist()) <= set(each.regions["region"].tolist())


def test_passes_that_are_not_there(trace: Trace) -> None:
    with pytest.raises(IndexError, match="pass 99"):
        trace.diff(0, 99)
