"""A part of the heap as a tree to draw: who points to whom, from one cell on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class TermTree:
    """Cells with places: each cell stands one step behind the first cell that leads to it.

    Attributes
    ----------
    cells : ndarray of int64, shape (n,)
        The root first; parents before children.
    depth : ndarray of int64, shape (n,)
        Steps from the root.
    row : ndarray of float64, shape (n,)
        A cell without children has a row of its own, counted from 0; the others stand in the middle of their children.
    parent : ndarray of int64, shape (n,)
        Index of the cell that leads to it; -1 for the root.
    field : tuple of str
        What it is to that cell: a field, ``body``, ``slot`` ... (``Trace.graph``).
    facts : tuple of dict
        What ``Trace.graph`` tells of each cell.
    others : tuple of (int, int, str)
        Pointers that are not part of the tree: index from, index to, field.
    n_rows : int
        Number of rows.
    """

    cells: NDArray[np.int64]
    depth: NDArray[np.int64]
    row: NDArray[np.float64]
    parent: NDArray[np.int64]
    field: tuple[str, ...]
    facts: tuple[dict[str, Any], ...]
    others: tuple[tuple[int, int, str], ...]
    n_rows: int


def term_tree(trace: Trace, p: int, *, root: int | None = None, depth: int = 6, max_nodes: int = 40) -> TermTree:
    """Lay out the cells around a cell at the start of pass p, as ``Trace.graph`` finds them.

    Raises
    ------
    TraceError
        If the trace does not know that heap.
    IndexError
        If there is no such pass or cell.
    ValueError
        If ``depth`` or ``max_nodes`` is out of range.
    """
    graph: Any = trace.graph(p, root=root, depth=depth, max_nodes=max_nodes)
    cells: list[int] = list(graph.nodes)  # nearest first
    index = {cell: at for at, cell in enumerate(cells)}
    parent, steps, field = [-1] * len(cells), [0] * len(cells), [""] * len(cells)
    children: list[list[int]] = [[] for _ in cells]
    others: list[tuple[int, int, str]] = []
    for at, cell in enumerate(cells):
        for _, target, name in graph.out_edges(cell, data="field"):
            to = index[target]
            if to and parent[to] < 0:
                parent[to], steps[to], field[to] = at, steps[at] + 1, name
                children[at].append(to)
            else:
                others.append((at, to, name))
    row = np.zeros(len(cells))
    n_rows = 0
    todo = [0]
    order: list[int] = []
    while todo:
        at = todo.pop()
        order.append(at)
        if not children[at]:
            row[at], n_rows = n_rows, n_rows + 1
        todo += reversed(children[at])
    for at in reversed(order):
        if children[at]:
            row[at] = (row[children[at][0]] + row[children[at][-1]]) / 2
    return TermTree(
        np.array(cells), np.array(steps), row, np.array(parent), tuple(field),
        tuple(graph.nodes[cell] for cell in cells), tuple(others), n_rows,
    )  # fmt: skip
