"""A part of the term graph in one pass: nodes, and what they point to."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch

from hvm4viz.figures.above import legend_above
from hvm4viz.figures.layout import describe, figure_of, heading, new_figure, pixels_of, place
from hvm4viz.figures.net_boxes import BOX_INCHES, KINDS, caption, draw_box, kind_of
from hvm4viz.figures.outcomes import paint
from hvm4viz.figures.style import (
    IDLE,
    PUBLISHED,
    drawing,
    ink,
    type_size,
)
from hvm4viz.measure.term_tree import TermTree, term_tree
from hvm4viz.trace.trace import Trace

PITCH_INCHES: Final = (0.36, 0.66)
"""Height and width that a node takes, its way to the next one included."""


def net_diagram(
    trace: Trace,
    p: int = -1,
    root: int | None = None,
    *,
    ax: Axes | None = None,
    depth: int | None = None,
    max_nodes: int = 40,
) -> Figure:
    """Draw the cells around a cell at the start of a pass: boxes for words, lines for what they point to.

    Parameters
    ----------
    trace : Trace
        Recorded at ``full``.
    p : int
        The pass; ``n_passes``, or -1, is the end of the run.
    root : int, optional
        Cell to start from; by default the one that holds the whole term.
    ax : Axes, optional
        Where to draw; a new figure if left out.
    depth : int, optional
        Most steps from there; as many as there is room for if left out.
    max_nodes : int
        Most cells, the nearest ones.

    Returns
    -------
    figure : Figure

    Raises
    ------
    IndexError
        If there is no such pass or cell.
    ValueError
        If ``depth`` or ``max_nodes`` is out of range.
    """
    why = _why_no_net(trace, p)
    with drawing((9.0, 1.6)) as size:
        width = (pixels_of(ax)[1] / figure_of(ax).dpi) if ax is not None else size[0] - 0.24
        steps = max(int(width / PITCH_INCHES[1]) - 1, 1) if depth is None else depth
        tree = None if why else term_tree(trace, p, root=root, depth=steps, max_nodes=max_nodes)
        if ax is None:
            rows = tree.n_rows if tree else 3
            figure = new_figure((size[0], 0.9 + PITCH_INCHES[0] * max(rows, 2)))
            describe(figure, trace, f"Term graph at the start of pass {trace.n_passes if p == -1 else p}")
            ax = place(figure, bottom=0.1, top=heading(figure, trace) + 0.3, left=0.12, right=0.12)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel("steps from the root")  # said in the title; for those who read labels
        ax.set_ylabel("cells")
        ax.xaxis.label.set_visible(False)
        ax.yaxis.label.set_visible(False)
        for side in ax.spines.values():
            side.set_visible(False)
        if tree is None:
            ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        else:
            _draw(ax, trace, tree, p)
        return figure_of(ax)


def _why_no_net(trace: Trace, p: int) -> str:
    """Say why the heap of a pass cannot be drawn, or nothing if it can."""
    if trace.level != "full":
        return f"recorded at level {trace.level}: the heap was not kept"
    wanted = trace.n_passes if p == -1 else p
    if wanted > trace.events_until and wanted <= trace.n_passes:
        return f"the trace was cut: the heap is not known from pass {trace.events_until + 1:,} on"
    return ""


def _draw(ax: Axes, trace: Trace, tree: TermTree, p: int) -> None:
    high, wide = np.divide(pixels_of(ax), figure_of(ax).dpi)
    columns = int(tree.depth.max()) + 1
    pitch = min(max(PITCH_INCHES[1], float(wide) / columns), 1.25)
    half = BOX_INCHES[1] / 2
    ax.set_xlim(0, float(wide))  # inches, so that boxes have the size of their words
    ax.set_ylim(float(high), 0)
    step = min(float(high) / tree.n_rows, PITCH_INCHES[0] * 1.6)
    x, y = half + 0.03 + tree.depth * pitch, (tree.row + 0.5) * step
    for at in range(1, tree.cells.size):
        above = int(tree.parent[at])
        begin, end = (x[above] + half, y[above]), (x[at] - half, y[at])
        middle = (begin[0] + end[0]) / 2
        ax.plot(
            [begin[0], middle, middle, end[0]], [begin[1], begin[1], end[1], end[1]], color=IDLE.color, lw=0.8, zorder=1
        )
    for begin, end, _ in tree.others:
        same = tree.depth[begin] == tree.depth[end]
        arrow: Any = FancyArrowPatch(
            (x[begin] + half, y[begin]) if same else (x[begin], y[begin]),
            (x[end] + half, y[end]) if same else (x[end], y[end]),
            connectionstyle=f"arc3,rad={-0.45 if same and y[end] > y[begin] else 0.45 if same else 0.15}",
            arrowstyle="-|>", mutation_scale=6, color=ink(PUBLISHED), ls=(0, (4, 2)), lw=0.8, alpha=0.85, zorder=2,
            shrinkA=0 if same else 12, shrinkB=0 if same else 15,
        )  # fmt: skip
        ax.add_patch(arrow)
    kinds: set[int] = set()
    for at, facts in enumerate(tree.facts):
        kind = kind_of(facts)
        kinds.add(kind)
        draw_box(ax, float(x[at]), float(y[at]), caption(facts), int(tree.cells[at]), kind, is_root=at == 0)
        if facts["hidden"]:
            has_way = bool((tree.parent == at).any())  # its line leaves where the words would stand
            ax.text(
                x[at] + half + 0.03,
                y[at] - (0.09 if has_way else 0.0),
                f"+{facts['hidden']}",
                va="center",
                fontsize=type_size("small"),
                color=ink(IDLE),
            )
    p = trace.n_passes if p == -1 else p
    hidden = sum(facts["hidden"] for facts in tree.facts)
    where = "at the end" if p == trace.n_passes else f"at the start of pass {p:,}"
    words = f"{tree.cells.size:,} cells from cell {tree.cells[0]:,} on, {where}"
    handles: list[Artist] = [Patch(label=KINDS[kind][0], **paint(KINDS[kind][1])) for kind in sorted(kinds)]
    if tree.others:
        handles.append(Line2D([], [], color=ink(PUBLISHED), ls=(0, (4, 2)), label="also points to"))
    legend_above(ax, handles, words, "+n: n more cells, not shown" if hidden else "")
