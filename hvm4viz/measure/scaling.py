"""How a quantity grows with a setting: medians of repeated runs, with their spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.measure.run_table import as_columns

GROUPS: Final = ("program", "device")
"""Columns whose values have a curve each, where a table has them."""

DERIVED: Final[dict[str, tuple[str, ...]]] = {"ips": ("interactions", "seconds"), "speedup": ("seconds",)}
"""What is worked out from other columns: interactions a second; seconds at the least x over seconds."""


@dataclass(frozen=True, slots=True)
class ScalingCurve:
    """One curve: a quantity against a setting.

    Attributes
    ----------
    group : tuple of str
        Values of the columns that tell curves apart, such as program and device.
    x : ndarray of float64, shape (n,)
        Values of the setting, ascending.
    median, low, high : ndarray of float64, shape (n,)
        Of the runs with that setting: median, least and most.
    repeats : ndarray of int64, shape (n,)
        How many runs there were.
    """

    group: tuple[str, ...]
    x: NDArray[np.float64]
    median: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    repeats: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scaling:
    """All curves of a table.

    Attributes
    ----------
    curves : tuple of ScalingCurve
        In the order in which their groups come in the table.
    by : tuple of str
        Columns that tell the curves apart.
    runs, left_out : int
        Runs that were used; runs that failed or lack a number.
    """

    curves: tuple[ScalingCurve, ...]
    by: tuple[str, ...]
    runs: int
    left_out: int


def scaling(runs: Any, x: str = "regions", y: str = "ips", *, by: Sequence[str] | None = None) -> Scaling:
    """Put runs together by a setting.

    Parameters
    ----------
    runs : pyarrow.Table, mapping of columns, or sequence of Run
        A row, or a run, each. Of a ``status`` other than done, or with an ``error``, they are left out.
    x : str
        Column of the setting, such as ``regions``, ``blocks``, ``threads_per_block``, ``workers``.
    y : str
        Column of the quantity; or ``ips`` (interactions a second: needs ``interactions`` and ``seconds``), or
        ``speedup`` (the median of seconds at the least x of a curve, over the seconds of each run: needs ``seconds``).
    by : sequence of str, optional
        Columns that tell curves apart; ``program`` and ``device`` if left out, as far as there are such.

    Returns
    -------
    scaling : Scaling

    Raises
    ------
    ValueError
        If a column is missing, with its name and those that there are; if it does not hold numbers; or if ``by``
        names that of ``x`` or ``y``.
    """
    table = as_columns(runs)
    groups = tuple(name for name in GROUPS if name in table and name not in (x, y)) if by is None else tuple(by)
    is_worked_out = y in DERIVED and y not in table
    needed = [x, *(DERIVED[y] if is_worked_out else (y,)), *groups]
    for name in needed:
        if name not in table:
            wanted = f" (for y={y!r})" if is_worked_out and name in DERIVED[y] else ""
            there = ", ".join(map(repr, table)) or "no column at all"
            raise ValueError(
                f"scaling: the table of runs has no column {name!r}{wanted}; x=, y= and by= may name {there}"
            )
    for name, given in ((x, "x="), (y, "y=")):
        if name in groups:
            raise ValueError(
                f"scaling: by= names {name!r}, which {given} takes: curves are told apart by other columns; leave it "
                "out of by="
            )
    numbers = {name: _numbers(name, table[name]) for name in needed[: len(needed) - len(groups)]}
    along = numbers[x]
    if is_worked_out:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = numbers["interactions"] / numbers["seconds"] if y == "ips" else numbers["seconds"]
    else:
        values = numbers[y]
    usable = _has_ended_well(table, along.size) & np.isfinite(along) & np.isfinite(values)
    keys = list(zip(*([str(value) for value in table[name]] for name in groups), strict=True))
    keys = keys or [()] * along.size
    curves: list[ScalingCurve] = []
    for group in dict.fromkeys(key for key, is_used in zip(keys, usable.tolist(), strict=True) if is_used):
        mine = usable & np.array([key == group for key in keys])
        curves.append(_curve(group, along[mine], values[mine], is_speedup=is_worked_out and y == "speedup"))
    return Scaling(tuple(curves), groups, int(usable.sum()), int((~usable).sum()))


def _numbers(name: str, column: Sequence[Any]) -> NDArray[np.float64]:
    try:
        return np.array([np.nan if value is None else float(value) for value in column], np.float64)
    except (TypeError, ValueError):
        odd = next(value for value in column if not isinstance(value, (int, float, type(None))))
        raise ValueError(f"scaling: column {name!r} holds {odd!r}, which is no number") from None


def _has_ended_well(table: Mapping[str, Sequence[Any]], count: int) -> NDArray[np.bool_]:
    well = np.ones(count, bool)
    if "status" in table:
        well &= np.array([value in (None, "done") for value in table["status"]], bool)
    if "error" in table:
        well &= np.array([not value for value in table["error"]], bool)
    return well


def _curve(group: tuple[str, ...], x: NDArray[np.float64], y: NDArray[np.float64], *, is_speedup: bool) -> ScalingCurve:
    places, place = np.unique(x, return_inverse=True)
    if is_speedup:
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.median(y[place == 0]) / y

    def each(reduce: Callable[[NDArray[np.float64]], Any]) -> NDArray[np.float64]:
        return np.array([reduce(y[place == index]) for index in range(places.size)], np.float64)

    return ScalingCurve(group, places, each(np.median), each(np.min), each(np.max), np.bincount(place))
