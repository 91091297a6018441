"""Graphs around a cell."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest

import hvm4viz as hv
from hvm4viz.heap import HeapBuilder
from hvm4viz.kernel_text import abi
from hvm4viz.term import Tag, pack
from hvm4viz.trace import Trace
from hvm4viz.trace.graph import pointers
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module")
def trace() -> Trace:
    return hv.run(hv.load(PROGRAMS / "queens.hvm4"), record="full", progress=False).trace


def test_the_worked_example_as_a_graph() -> None:
    heap = (
        HeapBuilder(24)
        .put(0, Tag.C00 + 2, 7, 8)
        .put(8, Tag.DP0, 5, 1)
        .put(9, Tag.C00 + 2, 7, 16)
        .put(1, Tag.SUP, 5, 5)
        .numbers(5, [1, 2])
        .put(16, Tag.NUM, 0, 3)
        .put(17, Tag.DP1, 5, 1)
        .heap()
    )
    trace = hv.run_heap(heap, machine=hv.Machine(blocks=3, threads_per_block=4, region_size=8), record="full").trace
    graph = trace.graph(0)
    assert set(graph.nodes) == {0, 8, 9, 1, 5, 6, 16, 17}
    assert sorted(graph.edges(keys=True)) == [
        (0, 8, "0"), (0, 9, "1"), (1, 5, "0"), (1, 6, "1"), (8, 1, "slot"), (9, 16, "0"), (9, 17, "1"), (17, 1, "slot"),
    ]  # fmt: skip
    assert graph.nodes[8]["text"] == "DP0 label 5 at 1"
    assert (graph.nodes[17]["region"], graph.nodes[17]["owner"]) == (2, 8)
    assert graph.nodes[16]["value"] == 3
    assert graph.graph == {"pass_index": 0, "root": 0}
    done = trace.graph(trace.n_passes)
    assert {done.nodes[cell]["text"] for cell in done if done.nodes[cell]["tag"] == "NUM"} == {"1", "2", "3"}


def test_depth_and_size_are_bounded_and_what_is_left_out_is_counted(trace: Trace) -> None:
    for p in (0, 10, trace.n_passes):
        whole = trace.graph(p, depth=10**6, max_nodes=100_000)
        assert all(hidden == 0 for _, hidden in whole.nodes(data="hidden"))
        for depth in (0, 1, 3, 6):
            graph = trace.graph(p, depth=depth)
            away = nx.single_source_shortest_path_length(graph, graph.graph["root"])
            assert max(away.values()) <= depth
            assert set(away) == set(graph)
            assert set(graph) <= set(whole)
            for cell in graph:
                assert graph.nodes[cell]["hidden"] == whole.out_degree(cell) - graph.out_degree(cell)
        small = trace.graph(p, depth=99, max_nodes=17)
        assert len(small) == min(17, len(whole))


def test_edges_are_the_pointers_of_the_words(trace: Trace) -> None:
    for p in range(0, trace.n_passes, 9):
        words = trace.at(p).words
        graph = trace.graph(p, depth=20, max_nodes=500)
        for cell, target, field in graph.edges(data="field"):
            assert (field, target) in pointers(int(words[cell]))


def test_frames_lead_to_the_root(trace: Trace) -> None:
    """While a task is at work, its root is reached from its innermost frame, over the parents."""
    seen = 0
    for p in range(2, trace.n_passes, 5):
        words = trace.at(p).words
        for cell in range(words.size):
            if int(words[cell]) >> 56 & 0x7F == abi.F_APP:
                graph = trace.graph(p, root=cell, depth=400, max_nodes=2000)
                assert any(graph.nodes[n]["tag"] in ("F_ROOT", "F_LROOT") for n in graph)
                seen += 1
                break
    assert seen


def test_pointers_of_words() -> None:
    assert pointers(pack(Tag.NUM, 0, 5)) == []
    assert pointers(pack(Tag.LAM, 0, 7)) == [("body", 7)]
    assert pointers(pack(Tag.VAR, 0, 7)) == [("binder", 7)]
    assert pointers(pack(Tag.C00 + 3, 1, 20)) == [("0", 20), ("1", 21), ("2", 22)]
    assert pointers(pack(abi.F_ROOT, 0, 9)) == [("root", 9)]
    assert pointers(pack(abi.F_RED, 0, 9)) == [("parent", 10), ("0", 9)]
    assert pointers(pack(abi.F_DSU, 0, 9)) == [("parent", 9), ("1", 10), ("2", 11)]
    assert pointers(pack(abi.FORKED, 0, 9)) == [("join", 9)]
    assert pointers(pack(Tag.ALO, 3, 9)) == []


def test_options_out_of_range(trace: Trace) -> None:
    for options in ({"depth": -1}, {"max_nodes": 0}, {"max_nodes": 10**7}):
        with pytest.raises(ValueError, match="depth="):
            trace.graph(0, **options)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="the heap has cells 0 to"):
        trace.graph(0, root=10**9)
    assert all(a < b for a, b in pairwise(sorted(trace.graph(3))))


def test_words_that_point_behind_the_heap_lead_nowhere() -> None:
    from tests.trace.test_heaps import by_hand, changed

    word = pack(Tag.C00 + 2, 7, 8 * 64 - 1)  # its second field would lie behind the last region
    trace = by_hand(changed((0, 0, word)))
    assert sorted(trace.graph(1).edges(keys=True)) == [(0, 8 * 64 - 1, "0")]
