"""When heaps and states are kept: as the page tells, however much the passes changed."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

from hvm4viz.events import DELTA, OP, PassRecord
from hvm4viz.trace import keyframes
from hvm4viz.trace.columns import IMAGE
from hvm4viz.trace.keyframes import Keyframes, image_of
from tests.trace.records import event, one_pass


class Machine:
    """A machine whose heap and state are as large as told."""

    def __init__(self, cells: int, state: int) -> None:
        self.words = np.arange(cells, dtype=np.uint64)
        self.size = state
        self.has_called = False
        self.asked = 0

    def state(self) -> bytes:
        self.asked = (self.asked + 1) % 251
        return bytes([self.asked]) * self.size


def passes(seed: int, count: int) -> list[PassRecord]:
    rng = random.Random(seed)
    found = []
    for p in range(count):
        told = one_pass(p, [event(1)] * rng.randrange(3), cells=np.array([rng.randrange(9), 3], np.uint32))
        ops, deltas = np.zeros(rng.randrange(3), OP), np.zeros(rng.choice([0, 1, 1, 2, 9]), DELTA)
        found.append(dataclasses.replace(told, ops=ops, deltas=deltas))
    return found


@pytest.mark.parametrize("every", [1, 3, 8])
@pytest.mark.parametrize("most", [81, 100, 101, 1 << 20])
@pytest.mark.parametrize("share", [1, 4])
def test_an_image_is_kept_once_it_is_due_and_the_changes_weigh_as_much(
    every: int, most: int, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", every)
    monkeypatch.setattr(keyframes, "EVERY_BYTES", most)
    monkeypatch.setattr(keyframes, "SHARE", share)
    machine = Machine(9, 0)
    kept, image = Keyframes(machine), image_of(machine.words).tobytes()
    since = changed = 0

    for told in passes(every * most + share, 300):
        since, changed = since + 1, changed + told.deltas.nbytes
        is_due = since >= every or changed >= most
        is_kept = is_due and changed >= share * IMAGE.itemsize * int(told.cells.sum())
        assert kept.take(told)[0] == (image if is_kept else b"")
        if is_kept:
            since = changed = 0


@pytest.mark.parametrize("size", [0, 10, 100])
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("share", [1, 4])
def test_a_state_is_kept_once_as_much_was_recorded_as_the_last_one_took_and_after_each_call(
    size: int, every: int, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", every)
    monkeypatch.setattr(keyframes, "SHARE", share)
    machine: Any = Machine(9, size)
    kept = Keyframes(machine)
    since = recorded = last = asked = 0

    for told in passes(size + every, 300):
        machine.has_called = told.index % 50 in (7, 8)
        since, recorded = since + 1, recorded + told.deltas.nbytes + told.events.nbytes + told.ops.nbytes
        is_kept = machine.has_called or (since >= every and recorded >= share * last)
        asked = (asked + is_kept) % 251
        assert kept.take(told)[1] == (bytes([asked]) * size if is_kept else b"")
        if is_kept:
            since, recorded, last = 0, 0, size


@pytest.mark.parametrize(("n_deltas", "is_kept"), [(11, False), (12, True)])
def test_an_image_is_kept_once_four_times_as_many_bytes_have_changed(
    n_deltas: int, monkeypatch: pytest.MonkeyPatch, *, is_kept: bool
) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 1)
    told = one_pass(0, [], cells=np.array([2, 3], np.uint32), deltas=np.zeros(n_deltas, DELTA))
    assert (4 * 5 * IMAGE.itemsize, DELTA.itemsize) == (12 * 20, 20)
    assert bool(Keyframes(Machine(9, 0)).take(told)[0]) == is_kept


@pytest.mark.parametrize(("most", "is_due"), [(20, True), (21, False)])
def test_an_image_is_due_once_so_many_bytes_have_changed(
    most: int, monkeypatch: pytest.MonkeyPatch, *, is_due: bool
) -> None:
    monkeypatch.setattr(keyframes, "EVERY_BYTES", most)
    monkeypatch.setattr(keyframes, "SHARE", 1)
    told = one_pass(0, [], cells=np.ones(1, np.uint32), deltas=np.zeros(1, DELTA))
    assert bool(Keyframes(Machine(9, 0)).take(told)[0]) == is_due


def test_the_first_state_waits_for_nothing_but_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 2)
    kept = Keyframes(Machine(9, 5))
    assert [len(kept.take(one_pass(p, []))[1]) for p in range(5)] == [0, 5, 0, 0, 0]


def test_an_image_of_many_cells_is_that_of_all_at_once() -> None:
    words = np.zeros(3 * 65_536 + 7, np.uint64)
    at = [0, 1, 65_535, 65_536, 65_537, 131_071, 131_072, 3 * 65_536 - 1, 3 * 65_536, words.size - 1]
    words[at] = range(1, 11)
    assert image_of(words).tolist() == list(zip(at, range(1, 11), strict=True))


def test_an_image_holds_the_cells_that_are_not_zero() -> None:
    assert image_of(np.array([0, 5, 0, 1 << 63], np.uint64)).tolist() == [(1, 5), (3, 1 << 63)]
