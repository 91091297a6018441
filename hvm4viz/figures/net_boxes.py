"""Boxes that stand for words of the heap: their kind by colour and hatch, and a caption in few letters."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from hvm4viz.figures.outcomes import paint
from hvm4viz.figures.style import DEFERRED, FRONTIER, IDLE, REDUCED, Look, plain_text, type_size
from hvm4viz.limits import AUTO_LABEL_START
from hvm4viz.term import Tag, tag_of

BOX_INCHES: Final = (0.28, 0.52)
"""Height and width of a box: two lines of nine letters."""

LETTERS_MAX: Final = 9

KINDS: Final[tuple[tuple[str, Look], ...]] = (
    ("value", replace(REDUCED, hatch="")),
    ("eliminator", replace(FRONTIER, hatch="")),
    ("copy", replace(DEFERRED, hatch="")),
    ("frame of a task", replace(FRONTIER, hatch="xx")),
    ("closure or name", replace(IDLE, hatch="")),
)
_VALUES: Final = frozenset({Tag.LAM, Tag.SUP, Tag.ERA, Tag.MAT, Tag.NUM, Tag.SWI, Tag.USE, Tag.ANY, Tag.INC})
_COPIES: Final = frozenset({Tag.DP0, Tag.DP1, Tag.DUP})
_NAMES: Final = frozenset({Tag.ALO, Tag.REF, Tag.NAM, Tag.VAR, Tag.BJV, Tag.DRY, Tag.PRI})


def caption(facts: dict[str, Any]) -> str:
    """Write a word in few letters: a tag with its label or operator, a number, or a name.

    Parameters
    ----------
    facts : dict
        Of a node of ``Trace.graph``.
    """
    tag, label = str(facts["tag"]), int(facts["label"])
    if not tag:
        return "empty"
    if tag == "NUM":
        return plain_text(str(facts["value"]), chars_max=LETTERS_MAX)
    if label >= 0:
        shown = f"F{label - AUTO_LABEL_START}" if label >= AUTO_LABEL_START else str(label)
        return plain_text(f"{tag.removeprefix('F_')} {shown}", chars_max=LETTERS_MAX)
    name = str(facts["name"])
    if tag.startswith("F_") or tag == "ALO" or not name:
        return plain_text(tag.removeprefix("F_"), chars_max=LETTERS_MAX)
    return plain_text(f"OP2 {name}" if tag == "OP2" else name, chars_max=LETTERS_MAX)


def kind_of(facts: dict[str, Any]) -> int:
    """Return the index in ``KINDS`` of a node of ``Trace.graph``."""
    tag = tag_of(int(facts["word"]))
    if facts["is_frame"]:
        return 3
    if tag in _VALUES or Tag.C00 <= tag <= Tag.C16:
        return 0
    if tag in _COPIES:
        return 2
    return 4 if tag in _NAMES or not facts["tag"] else 1


def draw_box(ax: Axes, x: float, y: float, text: str, cell: int, kind: int, *, is_root: bool) -> None:
    """Draw a box around a place in inches: the caption, and the cell below it."""
    high, wide = BOX_INCHES
    look = paint(KINDS[kind][1]) | ({"linewidth": 1.8} if is_root else {})
    shape = "round,pad=0,rounding_size=0.07" if kind in (0, 4) else "square,pad=0"
    ax.add_patch(FancyBboxPatch((x - wide / 2, y - high / 2), wide, high, boxstyle=shape, zorder=3, **look))
    size, paper = type_size("small"), {"facecolor": "white", "alpha": 0.75, "pad": 0.3, "linewidth": 0}
    behind: Any = {"bbox": paper} if KINDS[kind][1].hatch else {}
    words: Any = {"ha": "center", "va": "center", "fontsize": size, "zorder": 4, "parse_math": False, **behind}
    ax.text(x, y - 0.058, text, color="#111111", **words)
    ax.text(x, y + 0.07, str(cell), color="#4a4a4a", **words)
