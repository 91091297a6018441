"""How fast programs are: a bar each, from one line to either side if they are compared with something."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hvm4viz.figures.layout import figure_of, new_figure, place
from hvm4viz.figures.style import DEFERRED, FRONTIER, IDLE, drawing, ink, plain_text, type_size

ROW_INCHES: Final = 0.24
LEFT: Final = 1.28

LETTERS_MAX: Final = 22
"""Most letters of a program's name."""

_TICKS: Final = (1.0, 2.0, 5.0)


def speed_bars(
    names: Sequence[str],
    values: Sequence[float | None],
    *,
    quantity: str,
    base: float | None = None,
    note: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw a bar for each program, the first one on top, on a logarithmic scale.

    Parameters
    ----------
    names : sequence of str
    values : sequence of float or None
        Above zero; None where there is no value.
    quantity : str
        What the numbers are, with their unit.
    base : float, optional
        Value that bars begin at: what is below it is hatched. If left out, they begin at the edge.
    note : str
        Where the numbers come from; ``save`` writes it into the file.
    ax : Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    figure : Figure

    Raises
    ------
    ValueError
        If names and values differ in number, or a value is not above zero.
    """
    if len(names) != len(values):
        raise ValueError(f"{len(values)} values, but {len(names)} names")
    known = np.array([np.nan if each is None else each for each in values], np.float64)
    if not (np.isnan(known) | ((known > 0) & np.isfinite(known))).all():
        raise ValueError("speed_bars: every value must be above zero; None where there is none")
    with drawing((9.0, 0.8 + ROW_INCHES * max(len(names), 1))) as size:
        if ax is None:
            figure = new_figure(size)
            ax = place(figure, bottom=0.42, top=0.3, left=LEFT, right=0.4)
        described: Any = figure_of(ax)
        told = [f"{name} {value:.3g}" for name, value in zip(names, known, strict=True) if value > 0]
        described.alt = plain_text(f"{quantity}: {', '.join(told) or 'nothing was measured'}.", chars_max=1000)
        described.provenance = note
        _draw(ax, names, known, base)
        ax.set_xlabel(plain_text(quantity, chars_max=60), parse_math=False)
        ax.set_ylabel("program")
        ax.yaxis.label.set_visible(False)  # the names say it
        return figure_of(ax)


def _label(value: float, _: int | None) -> str:
    return f"{value:g}"


def _draw(ax: Axes, names: Sequence[str], values: np.ndarray, base: float | None) -> None:
    rows = np.arange(len(names))
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.set_yticks(rows, [plain_text(name, chars_max=LETTERS_MAX) for name in names], parse_math=False)
    ax.tick_params(axis="y", length=0)
    some = values[~np.isnan(values)]
    if not some.size:
        ax.set(xlim=(0, 1), xticks=[])
        ax.text(0.5, 0.5, "nothing was measured", transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        return
    start = float(some.min()) / 2 if base is None else base
    ax.set_xscale("log")
    low, high = min(start, float(some.min())), max(start, float(some.max()))
    ax.set_xlim(low / (1.0 if base is None else 1.6), high * 1.6)
    ax.xaxis.set_major_locator(LogLocator(subs=_TICKS))
    ax.xaxis.set_major_formatter(FuncFormatter(_label))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(axis="x", zorder=0)
    ax.set_axisbelow(True)
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        if np.isnan(value):
            ax.text(start, row, " not measured", va="center", fontsize=type_size("small"), alpha=0.7)
            continue
        is_below = base is not None and value < base
        look = DEFERRED if is_below else FRONTIER
        ax.barh(
            row, value - start, left=start, height=0.62, color=look.color, hatch=look.hatch, edgecolor="white", lw=0
        )
        side: Any = {"ha": "right", "x": value / 1.03} if is_below else {"ha": "left", "x": value * 1.03}
        ax.text(y=row, s=f"{value:.3g}", va="center", fontsize=type_size("small"), **side)
    if base is not None:
        ax.axvline(base, color=ink(IDLE), lw=1.0)
