"""Chunks: put together up to a size, and what they are is not changed by it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hvm4viz.events import EVENT
from hvm4viz.trace.columns import (
    ALL_TABLES,
    DEFERRED,
    N_OUTCOMES,
    TABLES,
    Chunk,
    Ragged,
    count_outcomes,
    count_pairs,
    from_parts,
    join,
    merge,
    no_values,
    tables_of,
)
from tests.trace.records import full_passes, record


def chunks(kept: list[bool]) -> list[Chunk]:
    """Return chunks of one pass each, all of one size."""
    (whole,) = record(full_passes([3]), level="full").chunks
    return [replace(whole, first=p, kept=is_kept) for p, is_kept in enumerate(kept)]


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_chunks_are_put_together_up_to_the_size_and_no_further(most: int) -> None:
    parts = chunks([True] * 7)
    size = parts[0].nbytes

    for spare in (0, size - 1):
        merged = list(merge(parts, most * size + spare))
        assert [chunk.n_passes for chunk in merged] == [most] * (7 // most) + [7 % most] * bool(7 % most)
        assert [chunk.first for chunk in merged] == list(range(0, 7, most))
        for name, table in merged[0].tables.items():
            expected = np.concatenate([part.tables[name].records(ALL_TABLES[name]) for part in parts[:most]])
            assert np.array_equal(table.records(ALL_TABLES[name]), expected)
            assert np.array_equal(np.diff(table.offsets), [part.tables[name].n_values for part in parts[:most]])


def test_events_that_were_kept_are_not_put_with_such_as_were_not() -> None:
    merged = list(merge(chunks([True, True, False, False, True]), 1 << 30))

    assert [(chunk.first, chunk.n_passes, chunk.kept) for chunk in merged] == [
        (0, 2, True),
        (2, 2, False),
        (4, 1, True),
    ]
    assert list(merge([], 1)) == []


def test_a_chunk_too_large_to_be_put_with_others_stays_alone() -> None:
    assert [chunk.n_passes for chunk in merge(chunks([True] * 3), 0)] == [1, 1, 1]


@pytest.mark.parametrize("lengths", [[], [2], [0], [1, 0, 3], [0, 0]])
def test_rows_of_bytes_and_rows_of_columns_are_joined_alike(lengths: list[int]) -> None:
    dtype = ALL_TABLES["given"]
    rows = [np.arange(2 * n, dtype=np.uint32).tobytes() for n in lengths]
    parts = [from_parts([row], dtype) for row in rows]
    by_field = [Ragged(part.offsets, {name: part.column(name) for name in dtype.names or ()}) for part in parts]

    for joined in (join(parts, dtype), join(by_field, dtype), from_parts(rows, dtype) if rows else join([], dtype)):
        assert np.diff(joined.offsets).tolist() == lengths
        assert joined.records(dtype).tobytes() == b"".join(rows)
        assert joined.n_values == sum(lengths)
        assert joined.rows().tolist() == [row for row, n in enumerate(lengths) for _ in range(n)]
        assert joined.nbytes == joined.offsets.nbytes + sum(map(len, rows))


def random_events(seed: int) -> tuple[Ragged, list[list[tuple[int, int, int]]]]:
    """Return events of a few passes: as a table, and as outcome, root cell and slot of each."""
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *rng.integers(0, 6, 5)])
    events = np.zeros(offsets[-1], EVENT)
    events["outcome"] = rng.choice([0, DEFERRED, N_OUTCOMES - 1], events.size)
    events["loc"], events["slot"] = rng.integers(0, 5 * 64, (2, events.size))
    told = [(int(each["outcome"]), int(each["loc"]), int(each["slot"])) for each in events]
    return Ragged(offsets, events), [told[a:b] for a, b in pairwise(offsets.tolist())]


def listed(table: Ragged, dtype: np.dtype[np.void]) -> list[list[tuple[int, ...]]]:
    values = table.records(dtype).tolist()
    return [values[a:b] for a, b in pairwise(table.offsets.tolist())]


@pytest.mark.parametrize("seed", range(8))
def test_outcomes_and_deferrals_are_counted_pass_by_pass(seed: int) -> None:
    events, told = random_events(seed)
    outcomes = [sorted(Counter(outcome for outcome, _, _ in each).items()) for each in told]
    assert listed(count_outcomes(events), TABLES["outcomes"]) == outcomes
    for size in (1, 64, 1000):
        pairs = [
            Counter((loc // size, slot // size) for outcome, loc, slot in each if outcome == DEFERRED) for each in told
        ]
        found = listed(count_pairs(events, size), TABLES["pairs"])
        assert found == [sorted((*pair, count) for pair, count in each.items()) for each in pairs]


def test_tables_without_values_have_their_rows() -> None:
    for n_rows in (0, 3):
        nothing = no_values(n_rows, EVENT)
        assert listed(nothing, EVENT) == [[]] * n_rows
        assert listed(count_outcomes(nothing), TABLES["outcomes"]) == [[]] * n_rows
        assert listed(count_pairs(nothing, 64), TABLES["pairs"]) == [[]] * n_rows


def test_level_full_has_four_tables_more() -> None:
    for level in ("off", "counts", "events"):
        assert list(tables_of(level)) == ["outcomes", "rules", "cells", "remote", "given", "pairs", "events"]
    assert list(tables_of("full")) == [*tables_of("events"), "ops", "deltas", "image", "state"]


def test_records_that_lie_behind_each_other_are_not_copied() -> None:
    given = ALL_TABLES["given"]
    base = np.arange(20, dtype=np.uint32).view(given)
    alone = base.copy()
    for parts, is_shared in (
        ([base[2:5], base[5:6], base[6:9]], True),
        ([base[2:5], base[5:5], base[5:6]], True),
        ([base[3:7]], True),
        ([base[2:5], base[6:9]], False),
        ([base[5:6], base[2:5]], False),
        ([base[2:5], base[5:6].tobytes()], False),
        ([base[2:5].tobytes(), base[5:6]], False),
        ([base[2:5], alone[5:6]], False),
        ([alone], True),
        ([alone, base[:2]], False),
    ):
        joined = from_parts(parts, given)
        values = joined.records(given)
        assert values.tobytes() == b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)
        assert np.diff(joined.offsets).tolist() == [
            len(part) // (8 if isinstance(part, bytes) else 1) for part in parts
        ]
        assert (np.shares_memory(values, base) or np.shares_memory(values, alone)) == is_shared
