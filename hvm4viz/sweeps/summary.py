"""What a table of runs comes to: medians laid out for a picture, and a line that says where they come from."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.settings import Machine

_SETTINGS: Final = ("region_size", "dup", "owner_unit", "visibility", "shard", "defer", "fork", "fuel", "memory")


def medians(
    runs: Any, value: str, *, rows: str = "program", columns: str = "machine"
) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """Lay one quantity of a sweep out by two of its columns.

    Parameters
    ----------
    runs : pyarrow.Table
        As ``sweep`` returns it; runs that are not done are left out.
    value : str
        Column of numbers.
    rows, columns : str
        Columns whose values become rows and columns, in the order in which they come.

    Returns
    -------
    values : ndarray of float64, shape (n_rows, n_columns)
        Medians over all runs that share row and column; NaN where there is none.
    row_names, column_names : list of str
        A null of ``fuel`` is written "auto".
    """
    keys = [[_name(each) for each in runs.column(name).to_pylist()] for name in (rows, columns)]
    row_names, column_names = (list(dict.fromkeys(each)) for each in keys)
    fields: dict[tuple[int, int], list[float]] = {}
    status = runs.column("status").to_pylist()
    for row, column, how, number in zip(*keys, status, runs.column(value).to_pylist(), strict=True):
        if how == "done" and number is not None:
            fields.setdefault((row_names.index(row), column_names.index(column)), []).append(float(number))
    values = np.full((len(row_names), len(column_names)), np.nan)
    for place, numbers in fields.items():
        values[place] = np.median(numbers)
    return values, row_names, column_names


def provenance(runs: Any) -> str:
    """Return what identifies a sweep: programs, settings that are not the usual ones, device, version."""
    digests = sorted(set(runs.column("program_digest").to_pylist()))
    text = hashlib.sha256("".join(digests).encode()).hexdigest()[:8]
    heap = ", ".join(f"{size / 2**20:g} MiB" for size in sorted(set(runs.column("heap_bytes").to_pylist())))
    usual = {name: str(value) for name, value in Machine().settings().items()}
    settings = [f"{name} {_several(runs, name)}" for name in _SETTINGS if _several(runs, name) != usual[name]]
    return " | ".join(
        [
            f"{len(digests)} program{'s' * (len(digests) != 1)}, program text {text}",
            f"{_several(runs, 'blocks')} blocks of {_several(runs, 'threads_per_block')} threads",
            *settings,
            f"heap {heap}",
            _several(runs, "device_name"),
            f"{runs.num_rows:,} runs",
            f"hvm4viz {_several(runs, 'version')}",
        ]
    )


def _several(runs: Any, name: str) -> str:
    return ", ".join(dict.fromkeys(map(_name, runs.column(name).to_pylist())))


def _name(value: object) -> str:
    return "auto" if value is None else str(value)
