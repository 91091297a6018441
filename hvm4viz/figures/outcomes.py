"""How each outcome of a task is drawn: a colour by role, and a hatch that tells outcomes of one colour apart."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from hvm4viz.events import OUTCOMES
from hvm4viz.figures.layout import figure_of, is_narrow
from hvm4viz.figures.style import DEFERRED, ERROR, FRONTIER, IDLE, REDUCED, Look

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
    "aborted": replace(ERROR, hatch=""),
    "error": replace(ERROR, hatch="xx"),
}

DIGIT_INCHES: Final = 0.068
"""Width of a digit in a box."""

LOOKS: Final[tuple[Look, ...]] = tuple(_HATCHED.get(name, IDLE) for name in OUTCOMES)
"""By code of the outcome: green is done, orange waits, blue goes on in the next pass, grey stands still."""


def box(ax: Axes, corner: tuple[float, float], width: float, height: float, outcome: int) -> None:
    """Draw a box that stands for entries with this outcome, light enough for words to stand in it."""
    ax.add_patch(Rectangle(corner, width, height, **_paint(LOOKS[outcome]), zorder=2))


def box_name(ax: Axes, x: float, y: float, text: str, room: float) -> None:
    """Write onto a box that is ``room`` inches wide, if the text fits; its hatch is kept away from the letters."""
    if room < DIGIT_INCHES * len(text) + 0.07:
        return
    paper = {"facecolor": "white", "alpha": 0.75, "pad": 0.6, "linewidth": 0}
    ax.text(x, y, text, ha="center", va="center", fontsize="small", color="#111111", bbox=paper, zorder=4)


def legend_inches(figure: Figure) -> float:
    """Return the height that title and legend take above the axes."""
    return 0.74 if is_narrow(figure) else 0.28


def draw_title(ax: Axes, text: str) -> None:
    """Write what the axes show above them, and above the legend where that takes the whole width."""
    ax.set_title(text, loc="left", fontsize="medium", pad=42 if is_narrow(figure_of(ax)) else 4)


def outcome_legend(ax: Axes, outcomes: Iterable[int], *more: Line2D) -> None:
    """Name the outcomes that were drawn, and whatever else was, above the axes."""
    handles: list[Artist] = [Patch(label=OUTCOMES[code], **_paint(LOOKS[code])) for code in sorted(set(outcomes))]
    handles += more
    if not handles:
        return
    narrow = is_narrow(figure_of(ax))
    ax.legend(
        handles=handles, loc="lower left" if narrow else "lower right", bbox_to_anchor=(0, 1) if narrow else (1, 1),
        ncols=-(-len(handles) // 3) if narrow else 8, borderaxespad=0.2, handlelength=1.8, columnspacing=1.2,
    )  # fmt: skip


def _paint(look: Look) -> dict[str, Any]:
    light = tuple(1 - 0.38 * (1 - part) for part in to_rgb(look.color))
    return {"facecolor": light, "edgecolor": look.color, "hatch": look.hatch, "linewidth": 0.8}
