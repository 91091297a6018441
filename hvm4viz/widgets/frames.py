"""Answers as bytes: a small head that JSON can hold, and columns behind each other in one buffer.

The live widget sends frames as messages, the offline page holds them in its text: both read the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PART_BYTES: Final = 4 << 20
"""Most bytes of one message to the browser; a longer frame goes in several parts."""

ALIGNMENT: Final = 8
"""Every column starts at a multiple of this, so that the browser can look at it in place."""

_CODES: Final = {"u1": "u1", "u2": "u2", "u4": "u4", "i4": "i4", "f4": "f4", "f8": "f8", "u8": "u8", "b1": "u1"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One answer.

    Attributes
    ----------
    head : dict
        ``kind``, ``cols`` (name, type and length of each column) and facts, all fit for JSON.
    data : bytes
        The columns, little-endian, each from a multiple of ``ALIGNMENT`` bytes on.
    """

    head: dict[str, Any]
    data: bytes

    @property
    def n_parts(self) -> int:
        """Number of messages that it takes."""
        return max(-(-len(self.data) // PART_BYTES), 1)

    def parts(self) -> Iterator[bytes]:
        """Cut the columns into messages."""
        for index in range(self.n_parts):
            yield self.part(index)

    def part(self, index: int) -> bytes:
        """Return the bytes of one message."""
        return self.data[index * PART_BYTES : (index + 1) * PART_BYTES]


def pack(kind: str, columns: Mapping[str, NDArray[Any]], /, **facts: Any) -> Frame:
    """Put columns behind each other.

    Parameters
    ----------
    kind : str
        What the frame answers.
    columns : mapping of str to ndarray
        One-dimensional, of the types that ``trace_view.js`` knows.
    **facts
        Anything else to tell, fit for JSON.
    """
    described: list[tuple[str, str, int]] = []
    pieces: list[bytes] = []
    for name, column in columns.items():
        code = _CODES[column.dtype.str[1:]]
        raw = np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"), copy=False).tobytes()
        described.append((name, code, int(column.size)))
        pieces += (raw, b"\0" * (-len(raw) % ALIGNMENT))
    return Frame({"kind": kind, "cols": described, **facts}, b"".join(pieces))
