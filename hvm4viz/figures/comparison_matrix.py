"""Programs against settings: one number each, as ratios to one of the settings or as they are."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from hvm4viz.figures.layout import figure_of, new_figure, place
from hvm4viz.figures.style import color_map, diverging_map, drawing, plain_text, type_size, zero_color

ROW_INCHES: Final = 0.21
LEFT: Final = 1.28
RATIO_MAX: Final = 32.0
"""Ratios beyond it, up or down, have the last colour; the number says what they are."""

LETTERS_MAX: Final = 22
"""Most letters of a program's name."""


def comparison_matrix(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    quantity: str,
    base: int | None = None,
    note: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw a table of numbers whose colours say what the numbers do: rows are programs, columns are settings.

    Parameters
    ----------
    values : array, shape (n_rows, n_columns)
        NaN where there is no value.
    rows, columns : sequence of str
        Their names.
    quantity : str
        What the numbers are, with their unit.
    base : int, optional
        Column to which the others are set in ratio: it shows its numbers, they show theirs over its. If left out, all
        show their numbers.
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
        If names and values differ in number.
    """
    table = np.asarray(values, np.float64).reshape(len(rows), -1) if len(rows) else np.zeros((0, len(columns)))
    if table.shape[1] != len(columns):
        raise ValueError(f"{table.shape[1]} columns of values, but {len(columns)} names of columns")
    with drawing((9.0, 0.95 + ROW_INCHES * max(len(rows), 1))) as size:
        if ax is None:
            figure = new_figure(size)
            ax = place(figure, bottom=0.12, top=0.82, left=LEFT, right=0.15)
        compared = "" if base is None else f", and as a ratio to “{columns[base]}”"
        described: Any = figure_of(ax)
        said = plain_text(f"{quantity}{compared}", chars_max=120)
        described.alt = f"Table of {len(rows)} programs and {len(columns)} settings: {said}."
        described.provenance = note
        ax.set_title(said, loc="left", fontsize=type_size("medium"), pad=6, x=0, parse_math=False)
        _frame(ax, rows, columns)
        _fill(ax, table, base)
        return figure_of(ax)


def _frame(ax: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    ax.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.xaxis.tick_top()
    names = [plain_text(name).replace(", ", ",\n") for name in columns]
    ax.set_xticks(range(len(columns)), names, fontsize=type_size("small"), parse_math=False)
    ax.set_yticks(range(len(rows)), [plain_text(name, chars_max=LETTERS_MAX) for name in rows], parse_math=False)
    ax.set_xlabel("setting")
    ax.set_ylabel("program")
    ax.xaxis.set_label_position("top")
    ax.xaxis.label.set_visible(False)  # the names say it
    ax.yaxis.label.set_visible(False)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _fill(ax: Axes, table: NDArray[np.float64], base: int | None) -> None:
    """Colour the fields and write the numbers."""
    if not table.size:
        ax.text(0.5, 0.5, "nothing was measured", transform=ax.transAxes, ha="center", va="center", alpha=0.7)
        return
    shown, norm, colors = _ratios(table, base) if base is not None else _counts(table)
    image = ax.imshow(np.ma.masked_invalid(shown), cmap=colors, norm=norm, aspect="auto", interpolation="none")
    ax.hlines([row - 0.5 for row in range(1, table.shape[0])], -0.5, table.shape[1] - 0.5, color="white", lw=1)
    ax.vlines([column - 0.5 for column in range(1, table.shape[1])], -0.5, table.shape[0] - 0.5, color="white", lw=1)
    fills = image.to_rgba(shown)[..., :3] @ np.array([0.299, 0.587, 0.114])
    for row, column in np.ndindex(*table.shape):
        is_ratio = base is not None and column != base
        text = _text(float((shown if is_ratio else table)[row, column]), is_ratio=is_ratio)
        is_light = np.ma.is_masked(image.get_array()[row, column]) or fills[row, column] > 0.5  # type: ignore[index]
        weight = "bold" if base is not None and not is_ratio else "normal"
        ax.text(
            column, row, text, ha="center", va="center", fontsize=type_size("small"), fontweight=weight,
            color="#111111" if is_light else "white",
        )  # fmt: skip


def _ratios(table: NDArray[np.float64], base: int) -> tuple[NDArray[np.float64], Normalize, Colormap]:
    """Set the columns in ratio to one; blue is less than that, red is more, grey is the same."""
    start = table[:, base : base + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where((table == 0) & (start == 0), 1.0, table / start)
    shown[:, base] = np.nan
    page = mpl.rcParams["axes.facecolor"]
    return shown, LogNorm(1 / RATIO_MAX, RATIO_MAX), diverging_map().with_extremes(bad=page)


def _counts(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], Normalize, Colormap]:
    """Leave numbers as they are; zero has a colour of its own."""
    positive = table[table > 0]
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)
    shown = np.where(table > 0, table, np.nan)
    return shown, LogNorm(low, max(high, low * 1.01)), color_map().with_extremes(bad=zero_color())


def _text(value: float, *, is_ratio: bool) -> str:
    if not np.isfinite(value):
        return "∞" if value > 0 else "–"
    if is_ratio and value:
        digits = ".2g" if value < 0.0995 else ".2f" if value < 0.995 else ".1f" if value < 99.5 else ",.0f"
        return f"{value:{digits}}×"
    return f"{value:,.0f}" if value >= 99.5 or value == int(value) else f"{value:.3g}"
