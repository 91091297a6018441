"""The table that ``selftest`` prints."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final

import numpy as np

from hvm4viz import __version__
from hvm4viz.device.compiler import find_compiler
from hvm4viz.golden.runs import Golden, made_with
from hvm4viz.kernel_text.source import kernel
from hvm4viz.widgets.escape import html_text

SAME, DIFFERS, FAILED, REFUSED = "same", "DIFFERS", "FAILED", "refused"
_COLUMNS: Final = ("run", "machine", "passes", "interactions", "ms", "verdict")


@dataclass(frozen=True, slots=True)
class Row:
    """One golden run on the device.

    Attributes
    ----------
    golden : Golden
    verdict : {"same", "DIFFERS", "FAILED", "refused"}
        FAILED: the device said so itself; refused: the device does not have what the machine asks for.
    passes, interactions : int
    seconds : float
    what : str
        Where it differs, or what the device said; empty for the same.
    """

    golden: Golden
    verdict: str
    passes: int
    interactions: int
    seconds: float
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """What ``selftest`` found; printing it gives a table that can be pasted into a report of a bug.

    Attributes
    ----------
    device : str
    rows : tuple of Row
    """

    device: str
    rows: tuple[Row, ...]

    @property
    def is_same(self) -> bool:
        """Whether the device did what it must, in every run that it did not refuse."""
        return all(row.verdict in (SAME, REFUSED) for row in self.rows)

    @property
    def has_failed(self) -> bool:
        """Whether the device itself said that something went wrong."""
        return any(row.verdict == FAILED for row in self.rows)

    def __str__(self) -> str:
        """Return the table as text."""
        cells = [_COLUMNS, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
        out = [*_facts(self.device), ""]
        for line, row in zip(cells, (None, *self.rows), strict=True):
            aligned = [
                f"{c:>{w}}" if i in (2, 3, 4) else f"{c:{w}}" for i, (c, w) in enumerate(zip(line, widths, strict=True))
            ]
            out.append("  ".join(aligned).rstrip())
            if row is not None and row.what:
                out += [f"    {part}" for part in row.what.splitlines()]
        return "\n".join([*out, "", self.summary])

    @property
    def summary(self) -> str:
        """One sentence: how many runs did what they must."""
        same = sum(row.verdict == SAME for row in self.rows)
        tried = sum(row.verdict != REFUSED for row in self.rows)
        passes = sum(row.passes for row in self.rows)
        return f"{same} of {tried} golden runs are the same on {self.device}, {passes:,} passes"

    def _repr_html_(self) -> str:
        return f"<pre>{html_text(str(self))}</pre>"


def _cells(row: Row) -> tuple[str, ...]:
    chosen = row.golden.settings
    machine = f"{chosen['blocks']}x{chosen['threads_per_block']}, {chosen['dup']}"
    unit = "/block" if chosen["owner_unit"] == "block" else ""
    by = "" if row.golden.is_ordered or row.verdict == REFUSED else " (by results)"
    return (
        row.golden.name,
        f"{machine}{unit}",
        f"{row.passes:,}",
        f"{row.interactions:,}",
        f"{row.seconds * 1e3:.0f}",
        f"{row.verdict}{by}",
    )


def _facts(device: str) -> list[str]:
    return [
        f"hvm4viz {__version__} selftest, kernel {kernel().digest[:16]}, golden runs made with {made_with()[:16]}",
        f"device {device}",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}",
        f"compiler {' '.join(find_compiler().command)}",
    ]
