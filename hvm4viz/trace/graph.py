"""The cells around a cell as a graph: what a term points to, some steps deep."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.kernel_text import abi
from hvm4viz.term import LAM_ERA, Tag, arity_of, ext_of, has_sub, tag_of, val_of
from hvm4viz.trace.origin import FRAMES, name_of, place_of, tag_name, word_text

if TYPE_CHECKING:
    import networkx as nx

    from hvm4viz.book import Book
    from hvm4viz.heap import Heap
    from hvm4viz.trace.trace import Trace

NODES_MAX: Final = 100_000
"""Most cells of a graph: more than anybody draws."""

_LEFT_FIELDS: Final = {
    abi.F_APP: (1,),
    abi.F_OPL: (1,),
    abi.F_EQL: (1,),
    abi.F_AND: (1,),
    abi.F_OR: (1,),
    abi.F_DSU: (1, 2),
    abi.F_DDU: (1, 2),
    abi.F_MAT: (1,),
    abi.F_USE: (1,),
    abi.F_OPR: (1,),
    abi.F_EQR: (1,),
    abi.F_RMA: (1,),
    abi.F_RUS: (1,),
    abi.F_LNODE: (1,),
}
"""Fields of a frame's node that hold a term; field 0 holds the frame above it."""


def pointers(word: int) -> list[tuple[str, int]]:
    """Return the cells that a word points to, each with what it is to the word.

    Parameters
    ----------
    word : int
        A term or a frame, with or without SUB.
    """
    tag, loc = tag_of(word), val_of(word)
    if tag in FRAMES:
        if tag in (abi.F_ROOT, abi.F_LROOT):
            return [("root", loc)]
        if tag in (abi.F_DP0, abi.F_DP1):
            return [("slot", loc)]
        if tag == abi.F_RED:
            return [("parent", loc + 1), ("0", loc)]
        return [("parent", loc), *((str(i), loc + i) for i in _LEFT_FIELDS.get(tag, ()))]
    if tag == abi.FORKED:
        return [("join", loc)]
    if tag == Tag.VAR:
        return [("binder", loc)]
    if tag in (Tag.DP0, Tag.DP1):
        return [("slot", loc)]
    if tag == Tag.LAM:
        return [("body", loc)]
    return [(str(i), loc + i) for i in range(arity_of(word))]


def cell_graph(
    trace: Trace, p: int, *, root: int | None = None, depth: int = 6, max_nodes: int = 300
) -> nx.MultiDiGraph[int]:
    """Return the graph around a cell; see ``Trace.graph``."""
    import networkx as nx

    if depth < 0 or not 1 <= max_nodes <= NODES_MAX:
        raise ValueError(f"depth={depth}, max_nodes={max_nodes}: 0 or more, and 1 to {NODES_MAX:,}")
    heap = trace.at(p)
    start = heap.root if root is None else root
    if not 0 <= start < heap.words.size:
        raise IndexError(f"root={start}: the heap has cells 0 to {heap.words.size - 1}")
    book = trace.program.book if trace.program else None
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(pass_index=p, root=start)
    distance = {start: 0}
    todo = deque([start])
    while todo:
        cell = todo.popleft()
        word = int(heap.words[cell])
        graph.add_node(cell, **_facts(cell, word, heap, book))
        for name, target in pointers(word) if word else ():
            if target >= heap.words.size:
                continue
            if target not in distance:
                if distance[cell] == depth or len(distance) == max_nodes:
                    graph.nodes[cell]["hidden"] += 1
                    continue
                distance[target] = distance[cell] + 1
                todo.append(target)
            graph.add_edge(cell, target, key=name, field=name)
    return graph


def _facts(cell: int, word: int, heap: Heap, book: Book | None) -> dict[str, Any]:
    definition, span = place_of(word, book)
    tag = tag_of(word)
    return {
        "word": word,
        "tag": tag_name(word) if word else "",
        "is_sub": has_sub(word),
        "is_frame": tag in FRAMES,
        "label": ext_of(word) if tag in (Tag.SUP, Tag.DP0, Tag.DP1, abi.F_DP0, abi.F_DP1) else -1,
        "is_unused": tag == Tag.LAM and bool(ext_of(word) & LAM_ERA),
        "value": val_of(word),
        "name": name_of(word, book) or "",
        "text": word_text(word, book),
        "region": heap.region(cell),
        "owner": heap.owner(cell),
        "definition": definition or "",
        "span": str(span) if span else "",
        "hidden": 0,
    }
