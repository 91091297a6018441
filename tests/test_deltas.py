"""Changes of a heap, told from a copy and from the marks of what was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz import deltas
from hvm4viz.deltas import Mirror
from hvm4viz.device.base import view
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.events import DELTA
from hvm4viz.trace.columns import from_parts
from hvm4viz.watch import PAGE_CELLS, Log

CELLS = 9 * PAGE_CELLS
Heap = tuple[np.ndarray[Any, np.dtype[np.uint64]], np.ndarray[Any, np.dtype[np.uint8]], Log, Mirror]


def by_hand(before: np.ndarray, after: np.ndarray) -> list[tuple[int, int, int]]:
    return [(i, int(before[i]), int(after[i])) for i in np.flatnonzero(before != after).tolist()]


def heap_of(words: np.ndarray, cells: int, *, size: int = CELLS) -> Heap:
    device = CpuDevice(1)
    kernel = device.kernel(hv.kernel().watched("log").text)
    log, buffer = Log(device, kernel, 1, size), device.buffer(8 * size)
    view(buffer, np.uint64)[: words.size] = words
    mirror = Mirror(device, kernel, log, buffer, cells)
    return view(buffer, np.uint64), view(log.marks, np.uint8), log, mirror


def mark(marks: np.ndarray, log: Log, cells: np.ndarray) -> None:
    marks[cells // PAGE_CELLS] = 1
    marks[log.pages + cells] = 1


@pytest.mark.parametrize("room", [0, 1, 1 << 12])
@pytest.mark.parametrize("told", ["exact", "more", "everywhere"])
def test_changes_are_told_once_each_in_order(monkeypatch: pytest.MonkeyPatch, told: str, room: int) -> None:
    monkeypatch.setattr(deltas, "ROOM", room)
    rng = np.random.default_rng(room)
    in_use = CELLS // 2 - 100  # in the middle of a page
    words, marks, log, mirror = heap_of(rng.integers(0, 9, in_use).astype(np.uint64), in_use)
    for turn in range(20):
        before = words.copy()
        in_use = min(in_use + 1000 * (turn % 3 == 0), CELLS)
        at = rng.integers(0, in_use, 3 + 70 * (turn % 5))
        words[at] = rng.integers(0, 9, at.size)
        if told != "everywhere" or turn % 2:
            mark(marks, log, np.concatenate([at, rng.integers(0, in_use, 20)]) if told == "more" else at)
        assert mirror.changes(in_use, everywhere=told == "everywhere").tolist() == by_hand(before, words)
        assert not marks.any()
    assert mirror.changes(in_use).size == 0


def test_the_first_and_the_last_cell() -> None:
    words, marks, log, mirror = heap_of(np.zeros(0, np.uint64), CELLS)
    ends = np.array([0, 7, 8, PAGE_CELLS - 1, PAGE_CELLS, CELLS - 1])
    words[ends] = np.uint64(0xFEDCBA9876543210)
    mark(marks, log, ends)
    assert mirror.changes(CELLS).tolist() == [(int(cell), 0, 0xFEDCBA9876543210) for cell in ends]
    words[ends] = 1
    assert mirror.changes(CELLS, everywhere=True)["before"].tolist() == [0xFEDCBA9876543210] * 6


def test_a_heap_smaller_than_a_page() -> None:
    words, marks, log, mirror = heap_of(np.ones(3, np.uint64), 3, size=8)
    assert mirror.changes(3, everywhere=True).size == 0
    words[7] = 5
    mark(marks, log, np.array([7]))
    assert mirror.changes(8).tolist() == [(7, 0, 5)]


def test_a_heap_without_a_cell_in_use() -> None:
    _, _, _, mirror = heap_of(np.zeros(0, np.uint64), 0)
    assert mirror.changes(0).size == 0
    assert mirror.changes(0, everywhere=True).size == 0


def test_what_passes_changed_lies_side_by_side_so_that_it_is_gathered_without_a_copy() -> None:
    words, marks, log, mirror = heap_of(np.zeros(0, np.uint64), CELLS)
    found: list[np.ndarray] = []
    for turn in range(1, 4):
        at = np.arange(turn, 100 * turn)
        words[at] += np.uint64(turn)
        mark(marks, log, at)
        found.append(mirror.changes(CELLS))
    gathered = from_parts([found[0], b"", *found[1:]], DELTA)
    assert gathered.offsets.tolist() == [0, 99, 99, 297, 594]
    assert gathered.records(DELTA).tolist() == [each for part in found for each in part.tolist()]
    assert np.shares_memory(gathered.records(DELTA), found[0])


@pytest.mark.parametrize("order", [(0, 2), (1, 0), (0, 1, 2, 0), (2, 3)])
def test_what_does_not_lie_side_by_side_is_copied(order: tuple[int, ...]) -> None:
    table = np.zeros(40, DELTA)
    table["cell"] = np.arange(40)
    parts = [table[10 * i : 10 * i + 10] for i in range(3)] + [np.full(10, 7, DELTA)]
    gathered = from_parts([parts[i] for i in order], DELTA).records(DELTA)
    assert gathered.tolist() == [each for i in order for each in parts[i].tolist()]
    assert not np.shares_memory(gathered, table)
