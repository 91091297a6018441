"""What passes changed in a table, found for a window of passes at once: the same as one comparison a pass."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from hvm4viz.trace import changes
from hvm4viz.trace.changes import Changes
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


@pytest.mark.parametrize("is_each", [False, True])
@pytest.mark.parametrize("words", [1, 300, 1 << 17])
@pytest.mark.parametrize("seed", range(4))
def test_windows_find_what_single_comparisons_find(
    monkeypatch: pytest.MonkeyPatch, seed: int, words: int, *, is_each: bool
) -> None:
    monkeypatch.setattr(changes, "WINDOW_WORDS", words)
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, 200)
    before = None if is_each else np.array([7, 0, 1], np.uint32)
    wanted = expected(tables, before)
    kept = Changes(CELLS, 5, before)
    first = 5
    for index, table in enumerate(tables, 5):
        kept.put(index, table)
        if rng.random() < 0.1:
            kept.put(index, table)  # an interrupt came before the pass was told of: it is put once more
        if rng.random() < 0.05:
            assert listed(kept.rows(first, index + 1)) == wanted[first - 5 : index - 4]
            if rng.random() < 0.5:  # else: an interrupt came before they were forgotten
                kept.forget(index + 1)
            first = index + 1
    assert listed(kept.rows(first, 205)) == wanted[first - 5 :]


def test_a_pass_put_twice_counts_as_the_last_time() -> None:
    kept = Changes(CELLS, 0, np.zeros(4, np.uint32))
    kept.put(0, np.array([1, 2, 3, 4], np.uint32))
    kept.put(0, np.array([1, 0, 0, 0], np.uint32))
    kept.put(1, np.array([1, 5, 0, 0], np.uint32))
    assert listed(kept.rows(0, 2)) == [[(0, 1)], [(1, 5)]]


@pytest.mark.parametrize("width", [1, 1_000, 300_000])
def test_tables_take_no_more_memory_however_many_passes_there_are(width: int) -> None:
    kept = Changes(CELLS, 0, np.zeros(0, np.uint32))
    for index in range(150):
        kept.put(index, np.zeros(width, np.uint32))
    assert kept._state.window.size <= changes.WINDOW_WORDS + 2 * (width + width // 4 + 64)
