"""Tables of one word a region, pass after pass: which words each pass changed.

A narrow table is kept as it is, and compared with the one before when columns are made of many passes. Of a wide one
the changes are looked for at once: they take less memory, and fresh memory costs more than looking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.columns import Ragged, ragged, records

WIDE: Final = 256
"""Words from which on a table is wide."""

WINDOW_BYTES: Final = 1 << 19
"""Most bytes of narrow tables that are compared at once: a cache holds them."""

Noted = bytes | tuple[NDArray[np.int64], NDArray[np.uint32]]
"""What is kept of a pass: the words of a narrow table, or where a wide one has changed and what it holds there."""

_Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]
"""Row (pass), region and word of each change, in this order."""


class Changes:
    """Notes what becomes of a table that never gets narrower; a longer one goes on with zeros before.

    Parameters
    ----------
    before : ndarray of uint32
        The table before the first pass.
    """

    def __init__(self, before: NDArray[np.uint32]) -> None:
        self._table = before.tobytes()
        self._words = np.empty(0, np.uint32)

    def note(self, table: NDArray[np.uint32]) -> Noted:
        """Note the table of the next pass; it is that of the last one from ``take`` on."""
        if table.size < WIDE:
            now = table.tobytes()
            return self._table if now == self._table else now  # one copy serves all passes that change nothing
        words = self._words
        if words.size < table.size:
            known = words if words.size else np.frombuffer(self._table, np.uint32)
            words = self._words = np.zeros(max(2 * table.size, known.size), np.uint32)
            words[: known.size] = known
        at = (table != words[: table.size]).nonzero()[0]
        return at, table[at]

    def take(self, noted: Noted) -> None:
        """Take over what has been noted, once it is kept."""
        if isinstance(noted, bytes):
            self._table = noted
        else:
            self._words[noted[0]] = noted[1]


class Contents:
    """Notes what a table holds that is not zero, whatever it held before."""

    def __init__(self) -> None:
        self._zeros = b""

    def note(self, table: NDArray[np.uint32]) -> Noted:
        """Note the table of a pass."""
        if table.size < WIDE:
            now = table.tobytes()
            if len(now) != len(self._zeros):
                self._zeros = bytes(len(now))
            return b"" if now == self._zeros else now
        at = (table != 0).nonzero()[0]
        return at, table[at]


def bytes_of_wide(noted: Noted) -> int:
    """Return how many bytes are kept of a wide table; none of a narrow one, of which a pass has no more than a KiB."""
    return 0 if isinstance(noted, bytes) else noted[0].nbytes + noted[1].nbytes


def changes(noted: Sequence[Noted], before: Noted, dtype: np.dtype[np.void]) -> Ragged:
    """Return as records (region, word) what each pass changed.

    Parameters
    ----------
    noted : sequence of Noted
        What ``Changes`` noted of each pass.
    before : Noted
        What it noted of the pass before them, or the table then.
    dtype : numpy.dtype
        The records.
    """
    return _rows_of(noted, before if isinstance(before, bytes) else b"", dtype)


def contents(noted: Sequence[Noted], dtype: np.dtype[np.void]) -> Ragged:
    """Return as records (region, word) what the table of each pass holds; see ``Contents`` and ``changes``."""
    return _rows_of(noted, None, dtype)


def _rows_of(noted: Sequence[Noted], before: bytes | None, dtype: np.dtype[np.void]) -> Ragged:
    whole = [(row, table) for row, table in enumerate(noted) if isinstance(table, bytes) and table]
    wide = [(row, *table) for row, table in enumerate(noted) if not isinstance(table, bytes)]
    parts = [_NONE, *_compared(whole, before)]  # wide tables are behind the narrow ones: none gets narrower
    if wide:
        rows, columns, words = zip(*wide, strict=True)
        lengths = [column.size for column in columns]
        parts.append((np.repeat(np.array(rows, np.int64), lengths), np.concatenate(columns), np.concatenate(words)))
    row, column, word = (np.concatenate(each) for each in zip(*parts, strict=True))
    key, value = dtype.names or ("", "")
    return ragged(row, len(noted), records(dtype, **{key: column, value: word}))


def _compared(tables: Sequence[tuple[int, bytes]], before: bytes | None) -> Iterator[_Found]:
    """Compare the tables of some rows, each with the one before it; or with zeros, if ``before`` is None."""
    for start, stop in _windows([len(table) for _, table in tables]):
        rows, some = zip(*tables[start:stop], strict=True)
        size = len(some[0])
        if before is None:
            now = np.frombuffer(b"".join(some), np.uint32)
            at = (now != 0).nonzero()[0]
        else:
            words = np.frombuffer(b"".join((before[:size].ljust(size, b"\0"), *some)), np.uint32)
            now = words[size // 4 :]
            at = (now != words[: now.size]).nonzero()[0]
            before = some[-1]
        row, column = np.divmod(at, size // 4)
        yield np.array(rows, np.int64)[row], column, now[at]


def _windows(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cut tables into runs of one size, of as many as are compared at once."""
    start = 0
    while start < len(sizes):
        most = min(start + max(1, WINDOW_BYTES // sizes[start]), len(sizes))
        stop = next((at for at in range(start + 1, most) if sizes[at] != sizes[start]), most)
        yield start, stop
        start = stop


_NONE: Final[_Found] = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32))
