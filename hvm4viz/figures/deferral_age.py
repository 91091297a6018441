"""How long deferred tasks waited."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from hvm4viz.figures.above import legend_above
from hvm4viz.figures.captions import plural
from hvm4viz.figures.layout import count_axis, count_labels, figure_of, framed
from hvm4viz.figures.style import DEFERRED, ERROR, FRONTIER, IDLE, PUBLISHED, REDUCED, Look, drawing, ink
from hvm4viz.figures.thread_rows import why_no_events
from hvm4viz.measure.deferrals import AgeCurve, deferral_age_curves
from hvm4viz.trace.trace import Trace

_LOOKS: Final[dict[str, Look]] = {
    "": DEFERRED,
    "take": FRONTIER,
    "publish": PUBLISHED,
    "release": REDUCED,
    "busy": IDLE,
    "claim": ERROR,
}
_LINES: Final = {
    "": "-",
    "take": "--",
    "publish": "-.",
    "release": (0, (5, 1, 1, 1, 1, 1)),
    "busy": ":",
    "claim": (0, (1, 3)),
}
_WORDS: Final = {
    "": "all deferrals",
    "take": "to take a slot",
    "publish": "to publish",
    "release": "to give a slot back",
    "busy": "slot busy",
    "claim": "slot claimed by another",
}

WIDE: Final = 20
"""Ages from which on the axis is logarithmic."""


def deferral_age(trace: Trace, *, ax: Axes | None = None) -> Figure:
    """Draw which share of the deferrals was answered within how many passes: of all, and by what they waited for.

    Those still open when the recording ends count as not answered, so that a line that ends below 100 % says how many.

    Parameters
    ----------
    trace : Trace
        Recorded at ``events`` or more.
    ax : Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    figure : Figure
    """
    with drawing((9.0, 3.0)) as size:
        if ax is None:
            shown = "Share of deferrals that were answered within so many passes"
            ax = framed(trace, size, shown, above=lambda _: 0.3, right=0.2)
        ax.set_xlabel("age of a deferral: passes until it was answered")
        ax.set_ylabel("share answered")
        ax.set_ylim(0, 1.04)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        why = why_no_events(trace) if trace.level in ("off", "counts") else ""
        curves = [] if why else deferral_age_curves(trace)
        if not curves:
            note = why or ("no deferral in any pass" if trace.n_passes else "0 passes: nothing was run")
            ax.set_xlim(0, 1)
            ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
            count_axis(ax, "x")
            return figure_of(ax)
        _draw(ax, curves)
        return figure_of(ax)


def _draw(ax: Axes, curves: list[AgeCurve]) -> None:
    last = max((int(curve.ages[-1]) for curve in curves if curve.ages.size), default=1)
    is_log = last > WIDE
    start, end = (0.8, last * 1.25) if is_log else (0.0, last + 1.0)
    for curve in curves:
        x = np.concatenate([[start], curve.ages, [end]])
        y = np.concatenate([[0.0], curve.shares, [curve.shares[-1] if curve.shares.size else 0.0]])
        look = _LOOKS[curve.reason]
        ax.step(
            x, y, where="post", color=ink(look) if curve.reason else look.color, ls=_LINES[curve.reason],
            lw=1.1 if curve.reason else 2.0, label=f"{_WORDS[curve.reason]}: {curve.count:,}",
        )  # fmt: skip
    if is_log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(count_labels())
    else:
        count_axis(ax, "x")
    ax.set_xlim(start, end)
    ax.grid(axis="y", zorder=0)
    whole = curves[0]
    found = [(share, whole.within(share)) for share in (0.5, 0.95)]
    said = [f"{share:.0%} within {plural(age, 'pass', 'passes')}" for share, age in found if age is not None]
    still = f"{whole.still_open:,} still open at the end" if whole.still_open else ""
    legend_above(ax, ax.get_legend_handles_labels()[0], ", ".join(said), still)
