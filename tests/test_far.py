"""Cells of a heap that lies elsewhere: what is read is fetched, and no more than that."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hvm4viz.far import AHEAD, AHEAD_MAX, PAGE_CELLS, FarCells, gather
from hvm4viz.far_heap import FarHeap
from hvm4viz.heap import Heap
from hvm4viz.term import Tag, pack

PAGES = 400


class Elsewhere:
    """A heap whose true cells are another array, until they are said to be here."""

    def __init__(self) -> None:
        self.true = np.random.default_rng(0).integers(0, 1 << 63, PAGES * PAGE_CELLS, np.uint64)
        self.words: NDArray[np.uint64] = np.zeros_like(self.true)
        self.change: int | None = 1
        self.fetched: list[tuple[int, int]] = []
        self.gathered: list[list[int]] = []

    def read(self, start: int, stop: int) -> None:
        self.fetched.append((start, stop))
        self.words[start:stop] = self.true[start:stop]

    def read_all(self) -> None:
        self.read(0, len(self.words))

    def gather(self, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        self.gathered.append(cells.tolist())
        return self.true[cells]


def test_a_page_is_fetched_once_until_something_changes() -> None:
    heap = Elsewhere()
    cells = FarCells(heap)

    assert cells[PAGE_CELLS + 5] == heap.true[PAGE_CELLS + 5]
    assert cells.reader()(PAGE_CELLS + 77) == heap.true[PAGE_CELLS + 77]
    assert heap.fetched == [(PAGE_CELLS, 2 * PAGE_CELLS)]
    heap.true[PAGE_CELLS + 5], heap.change = 9, 2
    assert cells[PAGE_CELLS + 5] == 9
    assert len(heap.fetched) == 2


def test_what_is_here_is_read_where_it_is() -> None:
    heap = Elsewhere()
    cells = FarCells(heap)
    assert cells[3] == heap.true[3]

    heap.change, heap.words[3] = None, 4

    assert cells.reader()(3) == cells[3] == cells.gather([3])[0] == cells[2:5][1] == cells.whole()[3] == 4
    assert len(heap.fetched) == 1
    assert not heap.gathered


def test_adjacent_cells_come_from_all_their_pages_and_are_a_copy() -> None:
    heap = Elsewhere()
    cells = FarCells(heap)
    start, stop = 2 * PAGE_CELLS - 3, 4 * PAGE_CELLS + 1
    _ = cells[3 * PAGE_CELLS]

    found = cells[start:stop]
    found[:] = 0

    assert np.array_equal(cells[start:stop], heap.true[start:stop])
    assert heap.fetched == [
        (3 * PAGE_CELLS, 4 * PAGE_CELLS),
        (PAGE_CELLS, 3 * PAGE_CELLS),
        (4 * PAGE_CELLS, 5 * PAGE_CELLS),
    ]
    with pytest.raises(ValueError, match="only adjacent cells"):
        _ = cells[::2]


def test_cells_from_anywhere_come_in_one_fetch_and_are_known_then() -> None:
    heap = Elsewhere()
    cells = FarCells(heap)
    _ = cells[10]
    wanted = [5 * PAGE_CELLS, 10, 17 * PAGE_CELLS + 3, 5 * PAGE_CELLS]

    assert cells.gather(wanted) == heap.true[wanted].tolist() == gather(cells, wanted) == gather(heap.true, wanted)
    assert cells[17 * PAGE_CELLS + 3] == heap.true[17 * PAGE_CELLS + 3]
    assert [sorted(each) for each in heap.gathered] == [[5 * PAGE_CELLS, 17 * PAGE_CELLS + 3]]
    assert len(heap.fetched) == 1
    heap.true[wanted], heap.change = 5, 2
    assert cells.gather(wanted) == [5] * 4


def test_who_reads_all_of_it_gets_more_at_a_time() -> None:
    heap = Elsewhere()
    cells = FarCells(heap)

    assert all(cells[page * PAGE_CELLS] == heap.true[page * PAGE_CELLS] for page in range(PAGES))

    sizes = [(stop - start) // PAGE_CELLS for start, stop in heap.fetched]
    assert sizes == [1] * AHEAD + [2] * AHEAD + [4] * ((PAGES - 3 * AHEAD) // 4)
    assert AHEAD_MAX >= 2


def test_the_whole_comes_once() -> None:
    heap = Elsewhere()
    cells = FarCells(heap)

    for _ in range(3):
        assert np.array_equal(cells.whole(), heap.true)
        assert np.array_equal(np.asarray(cells), heap.true)
    assert heap.fetched == [(0, len(heap.true))]


@pytest.mark.parametrize("cell", [PAGES * PAGE_CELLS, -PAGES * PAGE_CELLS - 1])
def test_a_cell_that_is_not_there_is_refused(cell: int) -> None:
    with pytest.raises(IndexError, match="the heap has cells 0 to"):
        _ = FarCells(Elsewhere())[cell]


def test_an_image_comes_over_when_its_words_are_asked_for() -> None:
    heap = Elsewhere()
    heap.true[7] = pack(Tag.NUM, 0, 3)
    image = FarHeap(words=(FarCells(heap), 100), root=7)  # pyright: ignore[reportArgumentType]

    assert (image.root, image.tag(7)) == (7, Tag.NUM)
    assert heap.fetched == [(0, PAGE_CELLS)]
    plain = Heap(heap.true[:100], root=7)
    assert image.digest() == plain.digest()
    assert image.settled() is image
    assert replace(image, root=8).digest() == plain.digest()
    packed = pickle.loads(pickle.dumps(image))
    assert type(packed) is Heap
    assert packed.digest() == plain.digest()
    assert packed.root == 7
