from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.heap import Heap, HeapBuilder
from hvm4viz.syntax.printer import show
from hvm4viz.term import Tag

LONG = """
@sum = λ{0: 0; λ&n. n + @sum(n - 1)}
@main = #P{@sum(500), λx. ! &f = λy. (y + x); [f(1), f(2), f]}
"""


def test_owner_is_the_thread_whose_slice_holds_the_cell() -> None:
    heap = Heap(np.zeros(32, np.uint64), region_size=16, threads_per_block=4, owners=np.array([0, 2], np.uint32))

    assert [heap.owner(loc) for loc in (0, 3, 4, 15, 16, 31)] == [0, 0, 1, 3, 8, 11]
    assert [heap.region(loc) for loc in (0, 15, 16)] == [0, 0, 1]
    with pytest.raises(IndexError, match="region 2"):
        heap.owner(32)


def test_digest_covers_owners_and_words_in_use() -> None:
    words = np.arange(16, dtype=np.uint64)
    heap = Heap(words, region_size=8, owners=np.array([0, 1], np.uint32))

    assert heap.digest() == Heap(words.copy(), region_size=8, owners=np.array([0, 1], np.uint32)).digest()
    assert heap.digest() != Heap(words, region_size=8, owners=np.array([1, 0], np.uint32)).digest()
    changed = words.copy()
    changed[3] += np.uint64(1)
    assert heap.digest() != Heap(changed, region_size=8, owners=np.array([0, 1], np.uint32)).digest()


@pytest.mark.parametrize("fuel", [1, 7])
def test_settled_image_of_any_pass_goes_on_to_the_same_answer(fuel: int) -> None:
    program = hv.parse(LONG)
    machine = hv.Machine(blocks=2, threads_per_block=2, region_size=256, fuel=fuel)
    whole = hv.run(program, machine=machine, device="cpu", workers=1)
    assert whole.status == "done"

    for p in range(0, whole.trace.n_passes, max(1, whole.trace.n_passes // 25)):
        part = hv.run(program, machine=machine, device="cpu", workers=1, max_passes=p)
        assert part.status == "pass_limit"
        settled = part.heap.settled()
        assert settled.tasks == ()
        assert part.heap.tasks
        assert show(settled.words, 0, program.book, limit=2000)
        rest = hv.run_heap(settled, program=program, machine=machine, device="cpu", workers=1)
        assert rest.text == whole.text
        assert part.stats.interactions + rest.stats.interactions == whole.stats.interactions


def test_heap_with_tasks_is_refused() -> None:
    part = hv.run(LONG, device="cpu", max_passes=1, machine=hv.Machine(fuel=1))

    with pytest.raises(ValueError, match="2 tasks are at work"):
        hv.run_heap(part.heap)


def test_builder_lays_words() -> None:
    heap = HeapBuilder(4).put(0, Tag.NUM, 0, 7).numbers(1, [1, 2]).heap()

    assert heap.tag(0) == Tag.NUM
    assert [int(w) & 0xFFFFFFFF for w in heap.words] == [7, 1, 2, 0]


@pytest.mark.parametrize("threads", [1, 2])
def test_words_of_a_slot_at_the_end_of_an_image_are_not_given_away(threads: int) -> None:
    builder = HeapBuilder(10).put(0, Tag.C00 + 2, 7, 1).put(1, Tag.DP0, 5, 9).put(2, Tag.DP1, 5, 9)
    builder.put(9, Tag.C00 + 2, 7, 3).numbers(3, [1, 2])

    run = hv.run_heap(builder.heap(), machine=hv.Machine(blocks=threads, threads_per_block=1), device="cpu")

    assert run.text == "#g{#g{1,2},#g{1,2}}"
