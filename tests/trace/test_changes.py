"""What passes changed in a table, found for a window of passes at once: the same as one comparison a pass."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from hvm4viz.trace import changes
from hvm4viz.trace.columns import TABLES, Ragged

CELLS = TABLES["cells"]
KEY, WORD = CELLS.names or ("", "")

Table = NDArray[np.uint32]
Listed = list[list[tuple[int, int]]]


def random_tables(rng: np.random.Generator, n_passes: int) -> list[Table]:
    """Tables that grow now and then, of which a few words change each pass."""
    table = np.zeros(3, np.uint32)
    tables: list[Table] = []
    for _ in range(n_passes):
        if rng.random() < 0.2:
            table = np.concatenate([table, np.zeros(rng.integers(1, 200), np.uint32)])
        at = rng.integers(0, table.size, rng.integers(0, 4))
        table = table.copy()
        table[at] = rng.integers(0, 5, at.size)
        tables.append(table)
    return tables


def expected(tables: list[Table], before: Table | None) -> Listed:
    out: Listed = []
    for table in tables:
        then = np.zeros(table.size, np.uint32)
        if before is not None:
            then[: before.size] = before
            before = table
        at = np.flatnonzero(table != then)
        out.append(list(zip(at.tolist(), table[at].tolist(), strict=True)))
    return out


def listed(rows: Ragged) -> Listed:
    keys, words = rows.column(KEY).tolist(), rows.column(WORD).tolist()
    ends = rows.offsets.tolist()
    return [list(zip(keys[a:b], words[a:b], strict=True)) for a, b in pairwise(ends)]


@pytest.mark.parametrize("size", [1, 1200, 1 << 19])
@pytest.mark.parametrize("seed", range(4))
def test_windows_find_what_single_comparisons_find(monkeypatch: pytest.MonkeyPatch, seed: int, size: int) -> None:
    monkeypatch.setattr(changes, "WINDOW_BYTES", size)
    tables = random_tables(np.random.default_rng(seed), 200)
    told = [table.tobytes() for table in tables]
    before = np.array([7, 0, 1], np.uint32)
    assert listed(changes.changes(told, before.tobytes(), CELLS)) == expected(tables, before)
    assert listed(changes.changes(told, b"", CELLS)) == expected(tables, before[:0])
    told = [table if any(table) else b"" for table in told]
    assert listed(changes.contents(told, CELLS)) == expected(tables, None)


@pytest.mark.parametrize("seed", range(4))
def test_some_tables_after_the_others_change_what_all_at_once_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = [table.tobytes() for table in random_tables(rng, 60)]
    cut = int(rng.integers(1, 60))
    parts = changes.changes(told[:cut], b"", CELLS), changes.changes(told[cut:], told[cut - 1], CELLS)
    assert listed(parts[0]) + listed(parts[1]) == listed(changes.changes(told, b"", CELLS))


def test_a_table_that_went_on_with_zeros_may_be_compared_with_a_shorter_one() -> None:
    told = np.array([7, 5], np.uint32).tobytes()
    assert listed(changes.changes([told], np.array([7, 0, 0], np.uint32).tobytes(), CELLS)) == [[(1, 5)]]


@pytest.mark.parametrize("told", [[], [b""], [b"", b"", bytes(8)]])
def test_no_table_changes_nothing(told: list[bytes]) -> None:
    assert listed(changes.changes(told, b"", CELLS)) == [[] for _ in told]
    assert listed(changes.contents(told, CELLS)) == [[] for _ in told]
