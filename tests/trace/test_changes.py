"""What passes changed in a table, found for a window of passes at once: the same as one comparison a pass."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from hvm4viz.trace import changes
from hvm4viz.trace.changes import Changes, Contents, Noted
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


def noted(tables: list[Table], before: Table) -> tuple[list[Noted], list[Noted]]:
    """Note tables as a recorder does, some of them twice, as if an interrupt had come before they were kept."""
    cells, remote = Changes(before), Contents()
    kept: tuple[list[Noted], list[Noted]] = ([], [])
    for number, table in enumerate(tables):
        note = [cells.note(table.copy()) for _ in range(1 + number % 3)][-1]
        kept[0].append(note)
        kept[1].append(remote.note(table.copy()))
        cells.take(note)
    return kept


@pytest.mark.parametrize("size", [1, 1200, 1 << 19])
@pytest.mark.parametrize("wide", [0, 40, changes.WIDE, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_noted_is_what_single_comparisons_find(
    monkeypatch: pytest.MonkeyPatch, seed: int, wide: int, size: int
) -> None:
    monkeypatch.setattr(changes, "WINDOW_BYTES", size)
    monkeypatch.setattr(changes, "WIDE", wide)
    tables = random_tables(np.random.default_rng(seed), 200)
    for before in (np.array([7, 0, 1], np.uint32), np.empty(0, np.uint32)):
        cells, remote = noted(tables, before)
        assert listed(changes.changes(cells, before.tobytes(), CELLS)) == expected(tables, before)
        assert listed(changes.contents(remote, CELLS)) == expected(tables, None)


@pytest.mark.parametrize("wide", [0, 40, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_some_passes_after_the_others_change_what_all_at_once_change(
    monkeypatch: pytest.MonkeyPatch, seed: int, wide: int
) -> None:
    monkeypatch.setattr(changes, "WIDE", wide)
    rng = np.random.default_rng(seed)
    cells, _ = noted(random_tables(rng, 60), np.empty(0, np.uint32))
    cut = int(rng.integers(1, 60))
    parts = changes.changes(cells[:cut], b"", CELLS), changes.changes(cells[cut:], cells[cut - 1], CELLS)
    assert listed(parts[0]) + listed(parts[1]) == listed(changes.changes(cells, b"", CELLS))


@pytest.mark.parametrize("wide", [0, 1 << 20])
def test_a_table_before_may_go_on_with_zeros(monkeypatch: pytest.MonkeyPatch, wide: int) -> None:
    monkeypatch.setattr(changes, "WIDE", wide)
    before = np.array([7, 0, 0], np.uint32)
    cells, _ = noted([np.array([7, 5], np.uint32)], before)
    assert listed(changes.changes(cells, before.tobytes(), CELLS)) == [[(1, 5)]]


@pytest.mark.parametrize("wide", [0, 1 << 20])
def test_what_is_noted_does_not_change_with_the_table(monkeypatch: pytest.MonkeyPatch, wide: int) -> None:
    monkeypatch.setattr(changes, "WIDE", wide)
    table = np.array([1, 2], np.uint32)
    cells, remote = Changes(np.empty(0, np.uint32)).note(table), Contents().note(table)
    table[:] = 9
    assert listed(changes.changes([cells], b"", CELLS)) == [[(0, 1), (1, 2)]]
    assert listed(changes.contents([remote], CELLS)) == [[(0, 1), (1, 2)]]


def test_passes_that_change_nothing_share_one_narrow_table() -> None:
    cells, _ = noted([np.ones(5, np.uint32)] * 10, np.empty(0, np.uint32))
    assert len({id(table) for table in cells}) == 1


def test_no_pass_changes_nothing() -> None:
    assert listed(changes.changes([], b"", CELLS)) == []
    assert listed(changes.contents([b"", b""], CELLS)) == [[], []]
