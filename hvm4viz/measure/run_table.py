"""What is known of several runs, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final


def as_columns(runs: Any) -> dict[str, list[Any]]:
    """Return the columns of a table, a mapping, or of what is known of each of a sequence of runs."""
    if hasattr(runs, "column_names"):
        return {name: runs.column(name).to_pylist() for name in runs.column_names}
    if isinstance(runs, Mapping):
        return {str(name): list(column) for name, column in runs.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return _columns_of_runs(runs)


def _columns_of_runs(runs: Iterable[Any]) -> dict[str, list[Any]]:
    rows: list[dict[str, Any]] = []
    for run in runs:
        if not all(hasattr(run, name) for name in ("trace", "stats", "machine", "device")):
            raise ValueError(f"scaling: {type(run).__name__} is no run; give a table, or a list of runs")
        files = [name for name, _ in run.trace.header.source]
        rows.append(
            {
                "program": files[0].strip("<>").replace("\\", "/").rsplit("/", 1)[-1] if files else "a heap",
                "device": str(run.device.name).partition(" (")[0],
                **run.machine.settings(),
                "regions": run.trace.n_regions,
                **{name: getattr(run.stats, name) for name in _STATS},
                "seconds": run.stats.wall_s,
                "status": str(run.status),
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


_STATS: Final = (
    "passes", "interactions", "deferrals", "max_frontier", "mean_frontier", "parallelism", "cells_used", "device_s",
)  # fmt: skip
