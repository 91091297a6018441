"""The columns of a recording: chunks of consecutive passes, in memory and on disk alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import DELTA, EVENT, OP, OUTCOMES

ROW: Final = np.dtype(
    [
        ("frontier", "<u4"),
        ("interactions", "<u8"),
        ("longest", "<u4"),
        ("parked", "<u4"),
        ("device", "u1"),
        ("device_ns", "<u8"),
        ("host_ns", "<u8"),
    ]
)
"""What each pass has one of; ``device`` is an index into the recording's device names."""

TABLES: Final[dict[str, np.dtype[np.void]]] = {
    "outcomes": np.dtype([("outcome", "u1"), ("count", "<u4")]),
    "rules": np.dtype([("rule", "<u2"), ("count", "<u8")]),
    "cells": np.dtype([("region", "<u4"), ("cells", "<u4")]),
    "remote": np.dtype([("region", "<u4"), ("cells", "<u4")]),
    "given": np.dtype([("region", "<u4"), ("block", "<u4")]),
    "pairs": np.dtype([("home", "<u4"), ("owner", "<u4"), ("count", "<u4")]),
    "events": EVENT,
}
"""What a pass has any number of. ``cells`` holds changes since the pass before; ``pairs`` counts deferrals by
(home region, owner region) where the events themselves are not kept; the rest are counts of the pass, without zeros."""

IMAGE: Final = np.dtype([("cell", "<u4"), ("word", "<u8")])
STATE: Final = np.dtype([("byte", "u1")])

FULL_TABLES: Final[dict[str, np.dtype[np.void]]] = {"ops": OP, "deltas": DELTA, "image": IMAGE, "state": STATE}
"""What level ``full`` has besides: ``image`` are the cells that are not zero at the end of the pass, ``state`` is the
state of the machine then; both are there now and then."""

ALL_TABLES: Final = TABLES | FULL_TABLES

LONG_TABLES: Final = ("events", *FULL_TABLES)
"""Tables of which one pass may have so much that it takes several batches."""


def tables_of(level: str) -> dict[str, np.dtype[np.void]]:
    """Return the tables that a recording of this level has."""
    return ALL_TABLES if level == "full" else TABLES


Part = bytes | memoryview | NDArray[np.void]
"""The records of one pass."""

N_OUTCOMES: Final = len(OUTCOMES)
DEFERRED: Final = OUTCOMES.index("deferred")
CONTENDED: Final = OUTCOMES.index("contended")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of varying length: row i of a column is ``column[offsets[i]:offsets[i + 1]]``.

    ``values`` is one array of records, or one array a field as Arrow keeps them.
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.void] | dict[str, NDArray[Any]]

    @property
    def n_values(self) -> int:
        """Number of values in all rows together."""
        return int(self.offsets[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of offsets and values."""
        columns = self.values.values() if isinstance(self.values, dict) else (self.values,)
        return self.offsets.nbytes + sum(column.nbytes for column in columns)

    def column(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Return values ``start`` to ``stop`` of one field, without a copy."""
        return self.values[name][start:stop]

    def records(self, dtype: np.dtype[np.void], start: int = 0, stop: int | None = None) -> NDArray[np.void]:
        """Return values ``start`` to ``stop`` as records; a copy only if they are kept a field each."""
        if not isinstance(self.values, dict):
            return self.values[start:stop]
        parts = {name: column[start:stop] for name, column in self.values.items()}
        return records(dtype, **parts)

    def rows(self) -> NDArray[np.int64]:
        """Return the row of every value."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of passes; ``kept`` tells whether their events are in it, or only their counts.

    Every chunk of a recording has the same tables, those of its level.
    """

    first: int
    kept: bool
    rows: NDArray[np.void]
    tables: dict[str, Ragged]

    @property
    def n_passes(self) -> int:
        """Number of passes in it."""
        return self.rows.size

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return self.rows.nbytes + sum(table.nbytes for table in self.tables.values())


def ragged(rows: NDArray[Any], n_rows: int, values: NDArray[np.void]) -> Ragged:
    """Group values by their row numbers, which ascend."""
    offsets = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
    return Ragged(offsets, values)


def from_parts(parts: Sequence[Part], dtype: np.dtype[np.void]) -> Ragged:
    """Join one run of records a row."""
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([nbytes_of(part) for part in parts], out=offsets[1:])
    return Ragged(offsets // dtype.itemsize, np.frombuffer(_joined([part for part in parts if len(part)]), dtype))


def nbytes_of(part: Part) -> int:
    """Return how many bytes records take."""
    return part.nbytes if isinstance(part, np.ndarray) else len(part)


def _joined(parts: list[Part]) -> Part:
    """Put parts behind each other: where they lie so in one array, by naming that stretch of it."""
    if not parts:
        return b""
    first, *rest = parts
    if not rest:
        return first
    if isinstance(first, np.ndarray) and isinstance(first.base, np.ndarray):
        base, at = first.base, _address(first) + first.nbytes
        for part in rest:
            if not isinstance(part, np.ndarray) or part.base is not base or _address(part) != at:
                break
            at += part.nbytes
        else:
            start = (_address(first) - _address(base)) // base.itemsize
            return base[start : start + (at - _address(first)) // base.itemsize]
    return b"".join(part.data if isinstance(part, np.ndarray) else part for part in parts)


def _address(array: NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]


def join(tables: Iterable[Ragged], dtype: np.dtype[np.void]) -> Ragged:
    """Put tables of consecutive passes behind each other."""
    parts = tuple(tables)
    if len(parts) == 1:
        (only,) = parts
        return only
    lengths = [np.diff(part.offsets) for part in parts]
    offsets = np.zeros(sum(length.size for length in lengths) + 1, np.int64)
    if not parts:
        return Ragged(offsets, np.empty(0, dtype))
    np.cumsum(np.concatenate(lengths), out=offsets[1:])
    return Ragged(offsets, np.concatenate([part.records(dtype) for part in parts]))


def merge(chunks: Iterable[Chunk], bytes_max: int) -> Iterator[Chunk]:
    """Put small chunks together, to at most so many bytes each."""
    some: list[Chunk] = []
    total = 0
    for chunk in chunks:
        if some and (chunk.kept != some[0].kept or total + chunk.nbytes > bytes_max):
            yield _merged(some)
            some, total = [], 0
        some.append(chunk)
        total += chunk.nbytes
    if some:
        yield _merged(some)


def _merged(chunks: list[Chunk]) -> Chunk:
    first = chunks[0]
    tables = {name: join((chunk.tables[name] for chunk in chunks), ALL_TABLES[name]) for name in first.tables}
    return Chunk(first.first, first.kept, np.concatenate([chunk.rows for chunk in chunks]), tables)


def records(dtype: np.dtype[np.void], **columns: NDArray[Any]) -> NDArray[np.void]:
    """Build records from columns of one length."""
    out = np.empty(next(iter(columns.values())).size, dtype)
    for name, column in columns.items():
        out[name] = column
    return out


def count_outcomes(events: Ragged) -> Ragged:
    """Count the outcomes of each pass."""
    n_rows = events.offsets.size - 1
    key = np.repeat(np.arange(0, n_rows * N_OUTCOMES, N_OUTCOMES), np.diff(events.offsets))
    key += events.column("outcome")
    counts = np.bincount(key, minlength=n_rows * N_OUTCOMES)
    at = np.flatnonzero(counts)
    values = records(TABLES["outcomes"], outcome=at % N_OUTCOMES, count=counts[at])
    return ragged(at // N_OUTCOMES, n_rows, values)


def count_pairs(events: Ragged, region_size: int) -> Ragged:
    """Count the deferrals of each pass by home region (of the task's root cell) and owner region (of the slot)."""
    n_rows = events.offsets.size - 1
    at = np.flatnonzero(events.column("outcome") == DEFERRED)
    rows = np.searchsorted(events.offsets, at, side="right") - 1
    homes = events.column("loc")[at].astype(np.uint64) // np.uint64(region_size)
    owners = events.column("slot")[at].astype(np.uint64) // np.uint64(region_size)
    pairs, place = np.unique(homes << np.uint64(32) | owners, return_inverse=True)
    found, counts = np.unique(rows * pairs.size + place, return_counts=True)
    rows, place = np.divmod(found, pairs.size)
    pairs = pairs[place]
    values = records(TABLES["pairs"], home=pairs >> np.uint64(32), owner=pairs & np.uint64(0xFFFFFFFF), count=counts)
    return ragged(rows, n_rows, values)


def no_values(n_rows: int, dtype: np.dtype[np.void]) -> Ragged:
    """Return a table whose rows are all empty."""
    return Ragged(np.zeros(n_rows + 1, np.int64), np.empty(0, dtype))
