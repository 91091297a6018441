"""The tree of cells that a diagram is drawn from."""

from __future__ import annotations

import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.measure import TermTree, term_tree
from tests.figures.subjects import TRACES


def tree_of(source: str, p: int = -1, **options: int) -> TermTree:
    return term_tree(hv.run(source, device="cpu", record="full").trace, p, **options)


def test_children_stand_a_step_behind_their_parent_and_rows_are_leaves() -> None:
    tree = tree_of("@main = #A{#B{1, 2}, 3}")
    assert tree.facts[0]["text"].startswith("C02")
    assert tree.depth.tolist() == [0, 1, 1, 2, 2]
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1]
    assert tree.field == ("", "0", "1", "0", "1")
    assert tree.n_rows == 3
    assert tree.row.tolist() == [1.25, 0.5, 2.0, 0.0, 1.0]
    assert tree.others == ()


def test_what_is_shared_is_one_cell_with_more_lines() -> None:
    tree = tree_of("@main = λx. x")
    binder = [(tree.cells[a], tree.cells[b], name) for a, b, name in tree.others]
    assert all(name in ("binder", "slot", "root", "parent") for *_, name in binder)
    assert len(set(tree.cells.tolist())) == tree.cells.size


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("max_nodes", [1, 5, 40])
def test_it_is_no_larger_than_asked(depth: int, max_nodes: int) -> None:
    tree = tree_of("@main = #A{#B{1, 2}, #C{#D{3}, 4}}", depth=depth, max_nodes=max_nodes)
    assert tree.cells.size <= max_nodes
    assert tree.depth.max() <= depth
    assert sorted(set(tree.row[[n not in tree.parent for n in range(tree.cells.size)]])) == list(range(tree.n_rows))


def test_a_trace_without_heaps_has_none() -> None:
    with pytest.raises(TraceError):
        term_tree(TRACES["wide"](), 0)
