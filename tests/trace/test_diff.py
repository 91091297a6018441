"""Differences between the heaps of two passes, against the heaps themselves."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.events import DELTA
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


@pytest.mark.parametrize(("p", "q"), [(0, 400), (399, 2)])
def test_a_long_stretch_is_compared_by_its_heaps(p: int, q: int) -> None:
    """Where more was changed than the heap has cells, the two heaps are compared."""
    machine = hv.Machine(blocks=1, threads_per_block=1, region_size=64, fuel=3)
    trace = hv.run("@f = λ{0: 0; λn. @f(n - 1)}\n@main = @f(400)", record="full", machine=machine, progress=False).trace
    q = min(q, trace.n_passes)
    assert trace.deltas(min(p, q), max(p, q)).size > trace.at(max(p, q)).words.size / 2
    found = trace.diff(p, q)
    assert np.array_equal(found.cells, squash_by_hand(trace, p, q))


def squash_by_hand(trace: Trace, p: int, q: int) -> np.ndarray:
    heaps = [trace.at(each).words for each in (p, q)]
    size = max(words.size for words in heaps)
    before, after = (np.concatenate([words, np.zeros(size - words.size, np.uint64)]) for words in heaps)
    at = np.flatnonzero(before != after)
    out = np.empty(at.size, DELTA)
    out["cell"], out["before"], out["after"] = at, before[at], after[at]
    return out


def test_passes_that_are_not_there(trace: Trace) -> None:
    with pytest.raises(IndexError, match="pass 99"):
        trace.diff(0, 99)
