"""How a quantity grows with a setting: medians of repeated runs, with their spread."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hvm4viz import __version__
from hvm4viz.figures.above import legend_above
from hvm4viz.figures.captions import plural
from hvm4viz.figures.layout import BOTTOM, count_labels, figure_of, new_figure, pixels_of, place, write_heading
from hvm4viz.figures.style import IDLE, drawing, ink, plain_text, short_count
from hvm4viz.measure.run_table import as_columns
from hvm4viz.measure.scaling import Scaling, ScalingCurve
from hvm4viz.measure.scaling import scaling as curves_of

LOOKS: Final = (
    ("#0072B2", "o", "-"), ("#E69F00", "s", "--"), ("#009E73", "^", "-."), ("#56B4E9", "P", (0, (3, 1))),
    ("#D55E00", "v", (0, (5, 1, 1, 1, 1, 1))), ("#CC79A7", "D", ":"), ("#8a8a8a", "X", (0, (1, 1))),
)  # fmt: skip
"""Colours of Okabe and Ito, each with a marker and a line of its own; after the last one they begin again."""

CURVES_MAX: Final = 14
"""Most curves: more cannot be told apart."""

_NAMES: Final = {
    "ips": "interactions / s",
    "speedup": "speed-up",
    "seconds": "seconds",
    "device_s": "seconds on the device",
    "threads_per_block": "threads a block",
    "region_size": "cells a region",
}


def scaling(
    runs: Any, x: str = "regions", y: str = "ips", *, by: Sequence[str] | None = None, ax: Axes | None = None
) -> Figure:
    """Draw how a quantity grows with a setting: a curve a program and device, each point the median of its runs.

    Whiskers reach from the least to the most of them. Runs that failed are left out, and counted.

    Parameters
    ----------
    runs : pyarrow.Table, mapping of columns, or sequence of Run
        A row, or a run, each; ``sweep`` gives such a table.
    x : str
        Column of the setting, such as ``regions``, ``blocks``, ``workers``.
    y : str
        Column of the quantity; or ``ips`` (interactions a second) or ``speedup``, which are worked out.
    by : sequence of str, optional
        Columns that tell curves apart; ``program`` and ``device`` if left out, as far as there are such.
    ax : Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    figure : Figure

    Raises
    ------
    ValueError
        If a column is missing or holds no numbers, or there are too many curves to tell apart.
    """
    found = curves_of(runs, x, y, by=by)
    if len(found.curves) > CURVES_MAX:
        raise ValueError(
            f"scaling: {len(found.curves)} curves (one for each {', '.join(found.by)}), but at most {CURVES_MAX} can "
            "be told apart; give fewer rows, or by=(...) with fewer columns"
        )
    names = _labels(found)
    with drawing((9.0, 3.4)) as size:
        if ax is None:
            figure = new_figure(size)
            _describe(figure, runs, found, x, y, names)
            facts = _facts(found)
            above = write_heading(figure, lambda chars: plain_text(f"{_name(y)} by {_name(x)}", chars_max=chars), facts)
            ax = place(figure, bottom=BOTTOM, top=above + 0.3, right=0.2)
        _draw(ax, found, names, x, y)
        return figure_of(ax)


def _name(column: str) -> str:
    return plain_text(_NAMES.get(column, column.replace("_", " ")), chars_max=40)


def _facts(found: Scaling) -> list[str]:
    repeats = np.concatenate([np.zeros(0, np.int64), *(curve.repeats for curve in found.curves)])
    few, many = int(repeats.min(initial=10**9)), int(repeats.max(initial=0))
    parts = [plural(found.runs, "run", "runs")]
    if many > 1:
        parts.append(f"median of {few if few == many else f'{few} to {many}'}, whiskers: least to most")
    if found.left_out:
        parts.append(f"{found.left_out:,} left out: failed or without a number")
    return parts


def _labels(found: Scaling) -> list[str]:
    """Name the curves by what differs between them."""
    groups = [curve.group for curve in found.curves]
    differs = [len({group[at] for group in groups}) > 1 for at in range(len(found.by))]
    used = differs if any(differs) else [at == 0 for at in range(len(found.by))]
    return [
        plain_text(", ".join(v for v, is_used in zip(g, used, strict=True) if is_used), chars_max=44) for g in groups
    ]


def _describe(figure: Figure, runs: Any, found: Scaling, x: str, y: str, names: Sequence[str]) -> None:
    """Give a figure the words that ``save`` writes into its files; the table is named by a digest of its columns."""
    described: Any = figure
    table = json.dumps(as_columns(runs), sort_keys=True, default=str)
    digest = hashlib.sha256(table.encode("utf-8", "backslashreplace")).hexdigest()
    ends = [
        f"{name or 'all runs'} from {curve.median[0]:.4g} at {curve.x[0]:g} "
        f"to {curve.median[-1]:.4g} at {curve.x[-1]:g}"
        for name, curve in zip(names, found.curves, strict=True)
    ]
    described.alt = plain_text(
        f"{_name(y)} by {_name(x)}, {', '.join(_facts(found))}: {'; '.join(ends) or 'nothing'}.", chars_max=1000
    )
    described.provenance = f"hvm4viz {__version__}; table of runs, digest {digest}"


def _draw(ax: Axes, found: Scaling, names: Sequence[str], x: str, y: str) -> None:
    ax.set_xlabel(_name(x), parse_math=False)
    ax.set_ylabel(_name(y), parse_math=False)
    if not found.curves:
        ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
        note = "no run" if not found.left_out else f"no run that was done: {found.left_out:,} failed or have no number"
        ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        return
    for at, (curve, name) in enumerate(zip(found.curves, names, strict=True)):
        _curve(ax, curve, name, at)
    every = np.unique(np.concatenate([curve.x for curve in found.curves]))
    values = np.concatenate([part for curve in found.curves for part in (curve.low, curve.high)])
    _scale(ax, every, values)
    if y == "speedup":
        ends = every[[0, -1]]
        if ends[0] > 0:
            ax.plot(ends, ends / ends[0], color=ink(IDLE), ls=IDLE.line, lw=1.0, label="linear", zorder=1)
    legend_above(ax, ax.get_legend_handles_labels()[0] if len(found.curves) > 1 or y == "speedup" else [])


def _curve(ax: Axes, curve: ScalingCurve, name: str, at: int) -> None:
    color, marker, line = LOOKS[at % len(LOOKS)]
    is_again = at >= len(LOOKS)
    ax.errorbar(
        curve.x, curve.median, yerr=np.stack([curve.median - curve.low, curve.high - curve.median]), color=color,
        ls=line, marker=marker, ms=4.5, mfc="none" if is_again else color, lw=1.2, elinewidth=0.8, capsize=2,
        label=name,
    )  # fmt: skip


def _scale(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Choose logarithmic axes where values spread widely, and name the settings that were run."""
    if x[0] > 0 and x[-1] >= 4 * x[0]:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_minor_locator(NullLocator())
    room = max(int(pixels_of(ax)[1] / figure_of(ax).dpi / 0.42), 2)
    ax.xaxis.set_major_locator(FixedLocator(x[:: -(-x.size // room)].tolist()))
    ax.xaxis.set_major_formatter(count_labels())
    if y.min() > 0 and y.max() > 20 * y.min():
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, max(float(y.max()) * 1.1, 1e-12))
    ax.yaxis.set_major_formatter(FuncFormatter(_short))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y", zorder=0)


def _short(value: float, _: int | None) -> str:
    thousands = 10_000 <= abs(value) < 1_000_000
    return f"{value / 1000:.3g}k" if thousands else short_count(float(f"{value:.3g}"))
