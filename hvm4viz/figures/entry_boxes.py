"""Entries of a pass as boxes in their threads' rows, and the ways that lead from one row to another."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES
from hvm4viz.figures.outcomes import box, box_name, boxes

BOX_INCHES: Final = 0.05
"""Width of a box below which the boxes of a row become one bar, put together by outcome."""

_HALF: Final = 0.38


def draw_entries(
    ax: Axes,
    events: NDArray[np.void],
    row: NDArray[np.int64],
    *,
    inches: float,
    start: float = 0.0,
    unit: float = 1.0,
    together: bool = False,
) -> None:
    """Draw the entries of a pass, each row from ``start`` on.

    Parameters
    ----------
    ax : Axes
    events : ndarray of EVENT
        By thread, so by row.
    row : ndarray of int64
        Row of each.
    inches : float
        Width of a box on the page; the root cell of the task is written into it if there is room.
    start, unit : float
        Where boxes begin, and how wide one is, on the horizontal axis.
    together : bool
        Whether the boxes of an outcome are one shape, which is much faster where there are many.
    """
    if inches < BOX_INCHES:
        _draw_sums(ax, events["outcome"], row, start, unit)
        return
    counts = np.bincount(row)
    places = np.arange(row.size) - np.concatenate([[0], np.cumsum(counts)])[row]
    left = start + places * unit
    if together:
        for code in np.unique(events["outcome"]).tolist():
            mine = events["outcome"] == code
            corners = np.stack([left[mine] + 0.04 * unit, row[mine] - _HALF], axis=1)
            boxes(ax, corners, 0.92 * unit, 2 * _HALF, code)
    for event, y, x in zip(events, row.tolist(), left.tolist(), strict=True):
        if not together:
            box(ax, (x + 0.04 * unit, y - _HALF), 0.92 * unit, 2 * _HALF, int(event["outcome"]))
        box_name(ax, x + unit / 2, y, str(int(event["loc"])), inches)


def _draw_sums(ax: Axes, outcome: NDArray[np.uint8], row: NDArray[np.int64], start: float, unit: float) -> None:
    keys, many = np.unique(row * len(OUTCOMES) + outcome, return_counts=True)
    ends: dict[int, float] = {}
    for key, count in zip(keys.tolist(), many.tolist(), strict=True):
        y, code = divmod(key, len(OUTCOMES))
        begin = ends.get(y, start)
        box(ax, (begin, y - _HALF), count * unit, 2 * _HALF, code)
        ends[y] = begin + count * unit


def draw_way(
    ax: Axes,
    begin: tuple[float, float],
    turn: tuple[float, float],
    end: tuple[float, float],
    *,
    color: str,
    line: str,
    width: float,
    alpha: float,
) -> None:
    """Draw an arrow that leaves its row at ``turn[0]``, is in the other one from ``turn[1]`` on, and ends there."""
    (x, y), (leave, arrive), (last, target) = begin, turn, end
    bend = (leave + arrive) / 2
    path = Path(
        [(x, y), (leave, y), (bend, y), (bend, target), (arrive, target), (last, target)],
        [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO],
    )
    ax.add_patch(
        FancyArrowPatch(
            path=path, arrowstyle="-|>", mutation_scale=7, color=color, ls=line, lw=width, alpha=alpha,
            zorder=3 if line != ":" else 1,
        )
    )  # fmt: skip
