"""Tables of counts and of states: row by row what they are as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hvm4viz.trace.sparse import Sparse, Steps

OFFSETS, KEYS, VALUES = np.array([0, 2, 2, 3, 6]), np.array([0, 3, 1, 0, 2, 3]), np.array([5, 6, 7, 8, 0, 9])
COUNTS = [[5, 0, 0, 6], [0, 0, 0, 0], [0, 7, 0, 0], [8, 0, 0, 9]]
STATES = [[5, 0, 0, 6], [5, 0, 0, 6], [5, 7, 0, 6], [8, 7, 0, 9]]


@pytest.mark.parametrize(("kind", "expected"), [(Sparse, COUNTS), (Steps, STATES)])
def test_every_row_is_that_of_the_whole_counted_from_either_end(kind: Any, expected: list[list[int]]) -> None:
    table = kind(OFFSETS, KEYS, VALUES, 4)

    assert table.shape == (4, 4)
    assert table.passes.tolist() == [0, 0, 2, 3, 3, 3]
    assert table.dense().tolist() == expected
    assert [table.at(p).tolist() for p in range(-4, 4)] == expected * 2
    for p in (4, -5):
        with pytest.raises(IndexError, match="passes 0 to 3"):
            table.at(p)
    with pytest.raises(IndexError, match="no pass"):
        kind(np.zeros(1, np.int64), KEYS[:0], VALUES[:0], 4).at(0)


@pytest.mark.parametrize("kind", [Sparse, Steps])
def test_numpy_takes_it_as_whole_numbers_unless_told(kind: Any) -> None:
    table = kind(OFFSETS, KEYS, VALUES, 4)

    assert np.asarray(table).dtype == np.int64
    assert np.asarray(table, np.float32).dtype == np.float32
    assert np.array_equal(np.asarray(table, np.float32), table.dense())


def test_totals_are_the_sums_of_the_columns() -> None:
    assert Sparse(OFFSETS, KEYS, VALUES, 4).totals().tolist() == np.sum(COUNTS, axis=0).tolist()
