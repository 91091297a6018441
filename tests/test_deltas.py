"""Changes of a heap, told from a copy."""

from __future__ import annotations

import numpy as np
import pytest

from hvm4viz import deltas
from hvm4viz.deltas import Mirror


def by_hand(before: np.ndarray, after: np.ndarray) -> list[tuple[int, int, int]]:
    return [(i, int(a), int(b)) for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]


@pytest.mark.parametrize("sort_costs", [0, 64, 10**6])
@pytest.mark.parametrize("step", [1, 7, 1 << 16])
@pytest.mark.parametrize("log", ["none", "exact", "more", "twice", "most"])
def test_changes_are_told_once_each_in_order(
    monkeypatch: pytest.MonkeyPatch, step: int, log: str, sort_costs: int
) -> None:
    monkeypatch.setattr(deltas, "STEP_CELLS", step)
    monkeypatch.setattr(deltas, "SORT_COSTS", sort_costs)
    rng = np.random.default_rng(step)
    words = rng.integers(0, 9, 1000).astype(np.uint64)
    mirror = Mirror(words, 500)
    words[500:] = 0
    in_use = 500
    for turn in range(20):
        before = words.copy()
        in_use = min(in_use + 50 * (turn % 3 == 0), 1000)
        at = rng.integers(0, in_use, 3 + 7 * (turn % 5))
        words[at] = rng.integers(0, 9, at.size)
        extra = rng.integers(0, in_use, 20)
        written = {
            "none": None,
            "exact": at,
            "more": np.concatenate([extra, at]),
            "twice": np.concatenate([at, at[::-1]]).astype(np.uint32),
            "most": np.arange(in_use)[::-1],
        }[log]
        assert mirror.changes(in_use, written).tolist() == by_hand(before, words)
    assert mirror.changes(in_use, np.empty(0, np.int64)).size == 0


def test_a_heap_without_a_cell_in_use() -> None:
    assert Mirror(np.zeros(8, np.uint64), 0).changes(0).size == 0
