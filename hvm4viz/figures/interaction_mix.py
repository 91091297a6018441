"""Which interactions a run is made of, over passes."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from hvm4viz.figures.above import legend_above, without_math
from hvm4viz.figures.layout import count_axis, figure_of, framed, is_narrow, pixels_of
from hvm4viz.figures.style import IDLE, drawing, plain_text
from hvm4viz.measure.rules_fired import RuleMix, rule_mix
from hvm4viz.trace.trace import Trace

STEP_INCHES: Final = 0.03
"""Least width of a step."""

LETTERS_MAX: Final = 24
"""Letters of a rule's name; those of ours are shorter."""

RULES_MAX: Final = 8
"""Most bands: as many as have a colour and a hatch that nobody mistakes for another."""

LOOKS: Final = (
    ("#0072B2", ""), ("#E69F00", "////"), ("#56B4E9", ".."), ("#009E73", "\\\\\\\\"),
    ("#F0E442", "--"), ("#D55E00", "xx"), ("#CC79A7", "||"), (IDLE.color, ""),
)  # fmt: skip
"""Colours of Okabe and Ito with a hatch each, from the most frequent rule to the others."""


def interaction_mix(trace: Trace, *, ax: Axes | None = None, share: bool = True) -> Figure:
    """Draw the interactions of each pass by rule, stacked, the most frequent rule at the bottom.

    Parameters
    ----------
    trace : Trace
        Recorded at ``counts`` or more.
    ax : Axes, optional
        Where to draw; a new figure if left out.
    share : bool
        Whether to draw shares of the interactions of each pass, or their number.

    Returns
    -------
    figure : Figure
    """
    with drawing((9.0, 3.0)) as size:
        if ax is None:
            shown = f"{'Shares' if share else 'Numbers'} of interactions by rule over passes"
            ax = framed(trace, size, shown, above=lambda _: 0.3, right=0.2 if size[0] < 6 else 1.6)
        ax.set_xlabel("pass")
        ax.set_ylabel("share" if share else "interactions")
        ax.set_xlim(-0.5, max(trace.n_passes, 1) - 0.5)
        count_axis(ax, "x")
        n_bins = max(int(pixels_of(ax)[1] / figure_of(ax).dpi / STEP_INCHES), 10)
        found = rule_mix(trace, rules_max=RULES_MAX, n_bins=n_bins)
        if not found.counts.any():
            note = "no interaction in any pass" if trace.n_passes else "0 passes: nothing was run"
            ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
            count_axis(ax, "y")
            return figure_of(ax)
        _draw(ax, found, share=share)
        return figure_of(ax)


def _draw(ax: Axes, found: RuleMix, *, share: bool) -> None:
    heights = found.counts.astype(np.float64)
    if share:
        whole = heights.sum(axis=0)
        heights = np.divide(heights, whole, out=np.zeros_like(heights), where=whole > 0)
    per_bin = int(found.edges[1])
    if not share:
        heights /= np.diff(found.edges)  # a last bin of fewer passes is no dip
    tops = np.cumsum(heights, axis=0)
    looks = [*LOOKS[: len(found.rules) - 1], LOOKS[-1]] if found.others else LOOKS[: len(found.rules)]
    below = np.zeros(heights.shape[1])
    for top, look in zip(tops, looks, strict=True):
        ax.stairs(top, found.edges - 0.5, baseline=below, fill=True, lw=0, **_paint(look))
        below = top
    ax.set_ylim(0, 1 if share else max(float(tops[-1].max()), 1.0) * 1.08)
    if share:
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    else:
        count_axis(ax, "y")
    each = f"each step: {'shares of the sum' if share else 'mean'} of {per_bin:,} passes" if per_bin > 1 else ""
    totals = found.counts.sum(axis=1)
    rules = [plain_text(name.upper().replace("_", "-"), chars_max=LETTERS_MAX) for name in found.rules]
    names = [*rules[:-1], f"{found.others} others"] if found.others else rules
    handles = [
        Patch(
            label=f"{name}  {_percent(part)}",
            lw=0.5,
            **_paint(look),
        )
        for name, part, look in zip(names, totals / totals.sum(), looks, strict=True)
    ]
    if is_narrow(figure_of(ax)):
        legend_above(ax, handles, "interactions by rule", each)
    else:
        legend_above(ax, [], "interactions by rule", each)
        beside: Any = {"loc": "upper left", "bbox_to_anchor": (1, 1), "borderaxespad": 0.4, "handlelength": 1.8}
        without_math(ax.legend(handles=handles[::-1], **beside))


def _percent(part: float) -> str:
    return f"{part:.0%}" if part >= 0.01 else "<1%"


def _paint(look: tuple[str, str]) -> dict[str, Any]:
    return {"facecolor": look[0], "edgecolor": "#00000090", "hatch": look[1]}
