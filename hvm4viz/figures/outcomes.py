"""How each outcome of a task is drawn: a colour by role, and a hatch that tells outcomes of one colour apart."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES
from hvm4viz.figures.style import DEFERRED, ERROR, FRONTIER, IDLE, REDUCED, Look, type_size

_HATCHED: Final = {
    "done": replace(REDUCED, hatch=".."),
    "deferred": replace(DEFERRED, hatch="////"),
    "contended": replace(DEFERRED, hatch="\\\\\\\\"),
    "forked": replace(FRONTIER, hatch="||"),
    "fuel": replace(FRONTIER, hatch=""),
    "starved": replace(FRONTIER, hatch="xx"),
    "returned": replace(FRONTIER, hatch="--"),
    "parked": replace(IDLE, hatch=""),
    "stale": replace(IDLE, hatch="xx"),
    "aborted": replace(ERROR, hatch="++"),
    "error": replace(ERROR, hatch="oo"),
}

DIGIT_INCHES: Final = 0.071
"""Width of a digit in a box."""

LOOKS: Final[tuple[Look, ...]] = tuple(_HATCHED.get(name, IDLE) for name in OUTCOMES)
"""By code of the outcome: green is done, orange waits, blue goes on in the next pass, grey stands still."""


def box(ax: Axes, corner: tuple[float, float], width: float, height: float, outcome: int) -> None:
    """Draw a box that stands for entries with this outcome, light enough for words to stand in it."""
    # An artist, no patch: the limits of the axes are set by those who draw, and looking for them takes time.
    ax.add_artist(Rectangle(corner, width, height, **paint(LOOKS[outcome]), zorder=2))


def boxes(ax: Axes, corners: NDArray[np.floating[Any]], width: float, height: float, outcome: int) -> None:
    """Draw equal boxes with this outcome as one shape: their hatch is drawn once."""
    around = np.array([[0, 0], [width, 0], [width, height], [0, height], [0, 0]])
    codes = np.array([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], np.uint8)
    path = Path((corners[:, None] + around).reshape(-1, 2), np.tile(codes, len(corners)))
    ax.add_artist(PathPatch(path, **paint(LOOKS[outcome]), zorder=2))


def box_name(ax: Axes, x: float, y: float, text: str, room: float) -> None:
    """Write onto a box that is ``room`` inches wide, if the text fits; its hatch is kept away from the letters."""
    if room < DIGIT_INCHES * len(text) + 0.07:
        return
    paper = {"facecolor": "white", "alpha": 0.75, "pad": 0.6, "linewidth": 0}
    ax.text(x, y, text, ha="center", va="center", fontsize=type_size("small"), color="#111111", bbox=paper, zorder=4)


def outcome_handles(outcomes: Iterable[int]) -> list[Artist]:
    """Return what names the outcomes that were drawn in a legend."""
    return [Patch(label=OUTCOMES[code], **paint(LOOKS[code])) for code in sorted(set(outcomes))]


def paint(look: Look) -> dict[str, Any]:
    """Return how a patch of this look is filled: light enough for words to stand in it."""
    light = tuple(1 - 0.38 * (1 - part) for part in to_rgb(look.color))
    return {"facecolor": light, "edgecolor": look.color, "hatch": look.hatch, "linewidth": 0.8}
