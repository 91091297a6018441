"""What stands above axes: what they show, in words, and a legend; in a figure of ours both get the room they need."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from hvm4viz.figures.layout import figure_of, heading_inches, is_narrow, is_ours
from hvm4viz.figures.style import type_size

POINTS: Final = 72.0

_HANDLE, _COLUMN, _PAD = 1.9, 1.3, 0.6
"""Widths in type sizes: of the mark before a name, between columns, between mark and name."""

_ROW: Final = 1.5
"""Height of a row of the legend in type sizes."""


def caption(ax: Axes, *words: str, points_up: float = 3.0) -> float:
    """Write above axes what they show: side by side on wide figures, below each other on narrow ones.

    Returns
    -------
    inches : float
        Height that the words take.
    """
    figure, said = figure_of(ax), [each for each in words if each]
    narrow = is_narrow(figure)
    size = type_size("small" if narrow else "medium")
    text = ("\n" if narrow else "  ·  ").join(said)
    ax.set_title(text, loc="left", fontsize=size, pad=points_up, x=_left(ax), parse_math=False)
    return (1.25 * size * (len(said) if narrow else 1) + 3) / POINTS if said else 0.0


def without_math(legend: Legend) -> None:
    """Let names of a legend be letters, whatever signs they hold."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def legend_above(ax: Axes, handles: Sequence[Artist], *words: str, grow: bool = True) -> None:
    """Name what was drawn, above the axes, and above that (or beside it) what they show.

    Parameters
    ----------
    ax : Axes
    handles : sequence of Artist
        With their names as labels.
    words : str
        As in ``caption``.
    grow : bool
        Whether a figure of ours becomes as high as that takes.
    """
    figure = figure_of(ax)
    size = type_size("small")
    names = [str(handle.get_label()) for handle in handles]
    widths = [_inches(figure, name, size) + (_HANDLE + _PAD + _COLUMN) * size / POINTS for name in names]
    box, left = ax.get_position(), _left(ax)
    room = (1 - box.x0 - left * box.width) * figure.get_figwidth() - 0.1
    said = "  ·  ".join(each for each in words if each)
    beside = _inches(figure, said, type_size("medium")) + 0.3 if said else 0.0
    is_beside = not is_narrow(figure) and sum(widths) + beside <= box.width * figure.get_figwidth()
    columns = len(names) if is_beside else _columns(widths, room)
    options: Any = {"handlelength": _HANDLE, "columnspacing": _COLUMN, "handletextpad": _PAD, "borderaxespad": 0.35}
    if names:
        place: Any = (
            {"loc": "lower right", "bbox_to_anchor": (1, 1)}
            if is_beside
            else {"loc": "lower left", "bbox_to_anchor": (left, 1), "borderpad": 0.1}
        )
        without_math(ax.legend(handles=handles, ncols=columns, **place, **options))
    rows = -(-len(names) // columns) if names else 0
    points = (rows * _ROW + 0.15) * size
    taken = caption(ax, *words, points_up=3 if is_beside else points + 3)
    if grow and is_ours(figure):
        needed = max(taken, points / POINTS) if is_beside else taken + points / POINTS
        _make_room(figure, ax, max(needed, 0.1) + 0.07)


def _left(ax: Axes) -> float:
    """Return where words begin, in widths of the axes: at the left of a narrow figure of ours, else of the axes."""
    figure, box = figure_of(ax), ax.get_position()
    return (0.02 - box.x0) / box.width if is_narrow(figure) and is_ours(figure) else 0.0


def _inches(figure: Figure, text: str, size: float) -> float:
    drawn = figure.text(0, 0, text, fontsize=size, parse_math=False)
    width = drawn.get_window_extent().width / figure.dpi
    drawn.remove()
    return float(width)


def _columns(widths: Sequence[float], room: float) -> int:
    """Return the most columns that fit; a legend fills one after the other."""
    for count in range(len(widths), 1, -1):
        parts = [part for part in np.array_split(widths, count) if part.size]
        if sum(float(part.max()) for part in parts) <= room:
            return count
    return 1


def _make_room(figure: Figure, ax: Axes, needed: float) -> None:
    """Make a figure higher or lower, so that between heading and axes are so many inches; axes keep their size."""
    old = float(figure.get_figheight())
    new = old + needed - (old * (1 - ax.get_position().y1) - heading_inches(figure))
    boxes = [each.get_position() for each in figure.axes]
    figure.set_figheight(new)
    for each, box in zip(figure.axes, boxes, strict=True):
        each.set_position((box.x0, box.y0 * old / new, box.width, box.height * old / new))
    for text in figure.texts:
        text.set_y(1 - (1 - float(text.get_position()[1])) * old / new)
