"""The frames of an Arrow IPC stream: where each message lies and what it claims, before anything is allocated.

Only what must be known before pyarrow may touch a stranger's bytes is read here: the extent of a message, its kind,
whether its body is compressed (a small body could claim to unpack to any size), and its own key-value metadata.
Every read is checked against the bytes that are there.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

SCHEMA, RECORD_BATCH = 1, 3
CONTINUATION: Final = b"\xff\xff\xff\xff"
MAGIC: Final = b"ARROW1\0\0"
END_MAGIC: Final = b"ARROW1"

KEYS_MAX: Final = 16
"""Entries in the metadata of one message."""


class BadFrame(ValueError):
    """The bytes at this place are no message."""


class TornFrame(BadFrame):
    """The bytes end before the message does."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: bytes ``start`` to ``end``, kind of its header, and what it says of itself."""

    start: int
    end: int
    kind: int
    metadata: dict[bytes, memoryview]


def read_frame(data: memoryview, start: int, *, metadata_max: int, body_max: int) -> Frame | None:
    """Read the frame at ``start``; None is the mark that ends the stream.

    Raises
    ------
    TornFrame
        If the bytes end before the frame does.
    BadFrame
        If they are no frame, or one larger than allowed, or compressed.
    """
    if start + 8 > len(data):
        raise TornFrame(f"{len(data) - start} bytes, a frame has at least 8")
    if bytes(data[start : start + 4]) != CONTINUATION:
        raise BadFrame("no frame starts here")
    size = _int(data, start + 4, "<i")
    if not 0 <= size <= metadata_max:
        raise BadFrame(f"metadata of {size:,} bytes, {metadata_max:,} are allowed")
    if size == 0:
        return None
    body = start + 8 + size
    if body > len(data):
        raise TornFrame(f"metadata of {size:,} bytes, {len(data) - start - 8:,} are there")
    message = _Table.root(data[start + 8 : body])
    body_bytes = message.number(3, "<q", 0)
    if not 0 <= body_bytes <= body_max:
        raise BadFrame(f"body of {body_bytes:,} bytes, {body_max:,} are allowed")
    if body + body_bytes > len(data):
        raise TornFrame(f"body of {body_bytes:,} bytes, {len(data) - body:,} are there")
    kind = message.number(1, "<B", 0)
    if kind == RECORD_BATCH and message.table(2).has(3):
        raise BadFrame("the body is compressed; recordings never are")
    metadata = {bytes(pair.text(0)): pair.text(1) for pair in message.tables(4, KEYS_MAX)}
    return Frame(start, body + body_bytes, kind, metadata)


@dataclass(frozen=True, slots=True)
class _Table:
    """A FlatBuffers table at ``at``: fields are found through the table of offsets it points back to."""

    data: memoryview
    at: int

    @classmethod
    def root(cls, data: memoryview) -> _Table:
        return cls(data, _int(data, 0, "<I"))

    def _place(self, field: int) -> int:
        """Where a field lies, or 0 if it was left out."""
        vtable = self.at - _int(self.data, self.at, "<i")
        entry = 4 + 2 * field
        if entry + 2 > _int(self.data, vtable, "<H"):
            return 0
        offset = _int(self.data, vtable + entry, "<H")
        return self.at + offset if offset else 0

    def has(self, field: int) -> bool:
        return self._place(field) != 0

    def number(self, field: int, code: str, default: int) -> int:
        place = self._place(field)
        return _int(self.data, place, code) if place else default

    def table(self, field: int) -> _Table:
        place = self._place(field)
        if not place:
            raise BadFrame("a part is missing")
        return _Table(self.data, place + _int(self.data, place, "<I"))

    def tables(self, field: int, count_max: int) -> list[_Table]:
        place = self._place(field)
        if not place:
            return []
        vector = place + _int(self.data, place, "<I")
        count = _int(self.data, vector, "<I")
        if count > count_max:
            raise BadFrame(f"a list of {count:,}, {count_max:,} are allowed")
        places = [vector + 4 * (1 + number) for number in range(count)]
        return [_Table(self.data, place + _int(self.data, place, "<I")) for place in places]

    def text(self, field: int) -> memoryview:
        place = self._place(field)
        if not place:
            return memoryview(b"")
        start = place + _int(self.data, place, "<I")
        size = _int(self.data, start, "<I")
        if start + 4 + size > len(self.data):
            raise BadFrame("a text is longer than its frame")
        return self.data[start + 4 : start + 4 + size]


def _int(data: memoryview, at: int, code: str) -> int:
    if at < 0:
        raise BadFrame("a place before the frame")
    try:
        (value,) = struct.unpack_from(code, data, at)
    except struct.error:
        raise BadFrame("a place after the frame") from None
    return value
