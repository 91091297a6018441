"""Tables of one word a region, pass after pass: which words each pass changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.columns import Ragged, ragged, records

WINDOW_BYTES: Final = 1 << 19
"""Most bytes of these tables that are looked at at once, unless one alone has more: a cache holds them."""

_Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]
"""Row (pass), region and word of each change, in this order."""


def changes(tables: Sequence[bytes], before: bytes, dtype: np.dtype[np.void]) -> Ragged:
    """Return the words in which each table differs from the one before it.

    Parameters
    ----------
    tables : sequence of bytes
        The table of each pass, as words of 32 bits. A longer one is compared as if the one before went on with zeros;
        none is shorter than what the one before holds.
    before : bytes
        Table before the first.
    dtype : numpy.dtype
        Records (region, word) of a change.
    """
    return _as_rows(_differences(tables, before), len(tables), dtype)


def contents(tables: Sequence[bytes], dtype: np.dtype[np.void]) -> Ragged:
    """Return the words of each table that are not zero; an empty table stands for one without any. See ``changes``."""
    at = [row for row, table in enumerate(tables) if table]
    rows = np.array(at, np.int64)
    found = ((rows[row], column, word) for row, column, word in _differences([tables[row] for row in at], None))
    return _as_rows(found, len(tables), dtype)


def _as_rows(found: Iterator[_Found], n_rows: int, dtype: np.dtype[np.void]) -> Ragged:
    parts = list(found)
    key, value = dtype.names or ("", "")
    row, column, word = (np.concatenate(each) for each in zip(*parts, strict=True)) if parts else _NONE
    return ragged(row, n_rows, records(dtype, **{key: column, value: word}))


def _differences(tables: Sequence[bytes], before: bytes | None) -> Iterator[_Found]:
    """Compare each table with the one before it; or with zeros, if nothing was before."""
    for start, stop in _windows(tables):
        size, some = len(tables[start]), tables[start:stop]
        if before is None:
            now = np.frombuffer(b"".join(some), np.uint32)
            at = _unequal(now, np.uint32(0))
        else:
            words = np.frombuffer(b"".join((before[:size].ljust(size, b"\0"), *some)), np.uint32)
            now = words[size // 4 :]
            at = _unequal(now, words[: now.size])
            before = some[-1]
        row, column = np.divmod(at, size // 4)
        yield row + start, column, now[at]


def _unequal(words: NDArray[np.uint32], others: NDArray[np.uint32] | np.uint32) -> NDArray[np.int64]:
    """Return where words differ from others; few do, so they are looked for by eights."""
    differ = np.zeros(-(-words.size // 8) * 8, np.bool_)
    np.not_equal(words, others, out=differ[: words.size])
    eights = np.flatnonzero(differ.view(np.uint64))
    at = (8 * eights[:, np.newaxis] + np.arange(8)).reshape(-1)
    return at[differ[at]]


def _windows(tables: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Cut tables into runs of one size, of as many as are looked at at once; empty ones are left out."""
    start, n_tables = 0, len(tables)
    while start < n_tables:
        size = len(tables[start])
        most = min(start + max(1, WINDOW_BYTES // max(size, 1)), n_tables)
        stop = next((at for at in range(start + 1, most) if len(tables[at]) != size), most)
        if size:
            yield start, stop
        start = stop


_NONE: Final = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32))
