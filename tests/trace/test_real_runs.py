"""Recordings of real runs: what is counted in two ways agrees, and nothing depends on who did the work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.events import OUTCOMES
from hvm4viz.measure import region_map, rules_fired

PROGRAMS = Path(__file__).parents[2] / "notebooks" / "programs"


@pytest.fixture(scope="module", params=["queens", "words", "bitonic_sort", "shared_table", "primes"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[hv.Run, Path]:
    path = tmp_path_factory.mktemp("real") / "run.hvt"
    return hv.run(hv.load(PROGRAMS / f"{request.param}.hvm4"), save=path, progress=False), path


@pytest.fixture
def run(saved: tuple[hv.Run, Path]) -> hv.Run:
    return saved[0]


def test_counts_agree(run: hv.Run) -> None:
    trace = run.trace
    assert run.status == "done"
    assert trace.complete
    assert trace.n_passes == run.stats.passes
    assert trace.interactions.sum() == run.stats.interactions == sum(rules_fired(trace).values())
    assert trace.n_deferrals == run.stats.deferrals
    assert trace.n_events == trace.outcomes.sum()
    assert trace.frontier_sizes.max() == run.stats.max_frontier
    assert (trace.outcomes.sum(axis=1) <= trace.frontier_sizes).all()
    assert trace.outcomes[:, OUTCOMES.index("unrun")].sum() == 0
    assert region_map(trace, "deferrals", reduce="sum").values.sum() == trace.n_deferrals
    assert region_map(trace, "entries", reduce="sum").values.sum() == trace.n_events


def test_every_deferral_is_answered(run: hv.Run) -> None:
    found = run.trace.deferrals()
    assert (found["age"] >= 1).all()
    assert (found["slot"] > 0).all()
    stops = run.trace.n_deferrals + run.trace.n_contentions
    assert run.trace.n_deferrals <= found.size <= stops


def test_regions_have_owners(run: hv.Run) -> None:
    trace = run.trace
    assert all(trace.owner(region, -1) is not None for region in range(trace.header.regions.size))
    for p, region, block in trace.given.tolist()[:50]:
        assert trace.owner(region, p) is None
        if p + 1 < trace.n_passes:
            assert trace.owner(region, p + 1) == block
    assert trace.n_cells == run.stats.cells_used


def test_the_file_holds_the_run(saved: tuple[hv.Run, Path]) -> None:
    run, path = saved
    opened = hv.open_trace(path)
    assert opened.digest() == run.trace.digest()
    assert np.array_equal(opened.events(), run.trace.events())
    assert opened.meta == run.trace.meta


def test_workers_do_not_show(run: hv.Run) -> None:
    assert run.program is not None
    for workers in (1, 2):
        again = hv.run(run.program, workers=workers, progress=False)
        assert again.trace.digest() == run.trace.digest()
