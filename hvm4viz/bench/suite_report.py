"""The suite's numbers as a table, as JSON and as a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from hvm4viz.bench.suite import Timed, mean_ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS: Final = (
    "program", "ms", "interactions", "M/s", "passes", "deferrals", "host µs a pass", "words an interaction",
    "peak MiB", "bytes a cell",
)  # fmt: skip
_AGAINST: Final = ("rival ms", "its process, ms", "its peak MiB", "ratio")


def as_markdown(found: Sequence[Timed], *, against: str | None = None) -> str:
    """Write a table, a row a program; with the rival's name as ``against``, its columns and the mean ratio, too."""
    names = (*_COLUMNS, *(_AGAINST if against else ()))
    rows = [list(names), ["---", *(["---:"] * (len(names) - 1))]]
    for each in found:
        row = [
            f"`{each.name}`",
            _milliseconds(each.seconds),
            f"{each.interactions:,}",
            _digits(each.ips, 1e6),
            f"{each.passes:,}",
            f"{each.deferrals:,}",
            _digits(each.host_us_per_pass),
            _digits(each.words_per_interaction),
            _digits(each.peak_bytes, 2**20),
            _digits(each.bytes_per_cell),
        ]
        if against:
            row += [_milliseconds(each.rival_seconds), _milliseconds(each.rival_process_seconds)]
            row += [_digits(each.rival_peak_bytes, 2**20), "–" if each.ratio is None else f"{each.ratio:.2f}"]
        rows.append(row)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    mean = mean_ratio(found)
    if mean is None:
        return table
    count = sum(each.ratio is not None for each in found)
    return f"{table}\n\nGeometric mean of {count} ratios, the time of {against} over ours: {mean:.2f}"


def as_json(found: Sequence[Timed]) -> str:
    """Write every number as one JSON object: ``{"programs": [{"name", "seconds", ...}, ...]}``."""
    return json.dumps({"programs": [asdict(each) for each in found]})


def as_figure(found: Sequence[Timed], *, against: str | None = None, note: str = "") -> Figure:
    """Draw a bar a program: how many times as fast as the rival it is or, without one, interactions a second."""
    from hvm4viz.figures.speed_bars import speed_bars

    names = [each.name for each in found]
    if against is None:
        speeds = [None if each.ips is None else each.ips / 1e6 for each in found]
        return speed_bars(names, speeds, quantity="million interactions a second", note=note)
    ratios = [each.ratio for each in found]
    return speed_bars(names, ratios, quantity=f"time of {against} over ours", base=1.0, note=note)


def _milliseconds(seconds: float | None) -> str:
    return _digits(None if seconds is None else 1000 * seconds)


def _digits(value: float | None, unit: float = 1.0) -> str:
    """Write three digits, and no fewer than there are before the point."""
    if value is None:
        return "–"
    shown = value / unit
    return f"{shown:,.0f}" if shown >= 99.95 else f"{shown:.3g}"
