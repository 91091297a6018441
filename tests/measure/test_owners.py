"""Owners of regions, pass by pass, against asking the trace for each."""

from __future__ import annotations

import numpy as np
import pytest

from hvm4viz.measure.owners import NOBODY, SEVERAL, owner_map
from hvm4viz.trace import Trace
from tests.trace.records import event, one_pass, record


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Give regions 8 to 19 away, some of them in one pass."""
    given = {1: ((8, 3),), 4: ((9, 0), (10, 0), (11, 2)), 5: tuple((12 + n, 1) for n in range(8)), 8: ((20, 2),)}
    return record([one_pass(p, [event(3 + 64 * 20)], given=given.get(p, ())) for p in range(9)])


def asked(trace: Trace) -> np.ndarray:
    owners = [[trace.owner(region, p) for p in range(trace.n_passes)] for region in range(trace.n_regions)]
    return np.array([[NOBODY if owner is None else owner for owner in row] for row in owners])


def test_every_region_and_pass(trace: Trace) -> None:
    found = owner_map(trace)
    assert found.values.tolist() == asked(trace).tolist()
    assert (found.regions_per_bin, found.passes_per_bin, found.n_blocks) == (1, 1, 4)
    assert (found.n_regions, found.n_passes) == (21, 9)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (5, 9), (21, 4), (100, 1)])
def test_bins_say_who_owns_all_of_it_in_the_last_pass(trace: Trace, shape: tuple[int, int]) -> None:
    found, every = owner_map(trace, shape=shape), asked(trace)
    for (row, column), value in np.ndenumerate(found.values):
        last = min((column + 1) * found.passes_per_bin, 9) - 1
        owners = set(every[row * found.regions_per_bin : (row + 1) * found.regions_per_bin, last].tolist())
        assert value == (owners.pop() if len(owners) == 1 else SEVERAL)


def test_nothing_was_run() -> None:
    assert owner_map(record([])).values.shape == (8, 0)
