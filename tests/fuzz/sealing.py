"""Recordings changed byte by byte, with their checksums made right again: only so does a change get past the door."""

from __future__ import annotations

import re
import zlib
from random import Random
from typing import Any, Final

from hvm4viz.trace import format as fmt
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.frames import MAGIC, BadFrame, Frame, read_frame

_BIG: Final = 1 << 20
_CHAIN: Final = re.compile(rb'"chain":"([0-9a-f]{8})"')
_TEXT: Final = b'0123456789ABCDEFabcdef+/=,:[]{}"-'
_NUMBERS: Final = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def frames(data: bytes | bytearray) -> list[Frame]:
    """Return the frames of a file as far as they are whole."""
    found: list[Frame] = []
    at = len(MAGIC)
    try:
        while (frame := read_frame(memoryview(data), at, metadata_max=_BIG, body_max=_BIG)) is not None:
            found.append(frame)
            at = frame.end
    except BadFrame:
        pass
    return found


def seal(data: bytes) -> bytes:
    """Make the checksums of a file right, as far as its frames are whole and its batches can be decoded."""
    sealed = bytearray(data)
    parts = frames(data)
    if not parts:
        return data
    try:
        schema: Any = pa.ipc.read_schema(pa.py_buffer(bytes(sealed[parts[0].start : parts[0].end])))
        text = schema.metadata[fmt.HEADER_KEY]
        chain = fmt.hex_crc(zlib.crc32(text)).encode()
        _put(sealed, parts[0], schema.metadata[fmt.CRC_KEY], chain)
        for frame in parts[1:]:
            chain = _seal_batch(sealed, frame, schema, chain)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, OverflowError):
        pass  # from here on it stays as it is
    return bytes(sealed)


def _seal_batch(sealed: bytearray, frame: Frame, schema: Any, chain: bytes) -> bytes:
    facts = bytes(frame.metadata[fmt.BATCH_KEY])
    known = _CHAIN.search(facts)
    if known is not None:
        _put(sealed, frame, known[0], b'"chain":"%s"' % chain)
    if b'"kind":"end"' in facts:
        raw = re.search(rb'"raw":"([0-9a-f]{8})"', facts)
        if raw is not None:
            _put(sealed, frame, raw[0], b'"raw":"%s"' % fmt.hex_crc(zlib.crc32(sealed[: frame.start])).encode())
    whole = bytes(sealed[frame.start : frame.end])
    again = read_frame(memoryview(whole), 0, metadata_max=_BIG, body_max=_BIG)
    assert again is not None
    batch = pa.ipc.read_record_batch(pa.ipc.read_message(pa.py_buffer(whole)), schema)
    batch.validate(full=True)
    crc = fmt.values_crc(batch, again.metadata).encode()
    _put(sealed, frame, bytes(again.metadata[fmt.CRC_KEY]), crc, where=fmt.CRC_KEY)
    return crc


def _put(sealed: bytearray, frame: Frame, old: bytes, new: bytes, *, where: bytes = b"") -> None:
    """Put a text in the place of another one, of the same length, in a frame; the checksum's own is behind its key."""
    start = sealed.find(where, frame.start, frame.end) if where else frame.start
    at = sealed.find(old, start, frame.end)
    if at < 0:  # the value lies before its key
        at = sealed.find(old, frame.start, frame.end)
    if at >= 0 and len(old) == len(new):
        sealed[at : at + len(old)] = new


def change(data: bytes, chance: Random) -> bytes:
    """Overwrite a few places: digits and letters where there is text, numbers elsewhere; then seal."""
    changed = bytearray(data)
    parts = frames(data)
    for _ in range(chance.randrange(1, 4)):
        if parts and chance.random() < 0.8:
            frame = chance.choice(parts)
            at = chance.randrange(frame.start, frame.end)
        else:
            at = chance.randrange(len(data))
        if all(32 <= byte < 127 for byte in changed[max(at - 2, 0) : at + 3]):
            changed[at] = chance.choice(_TEXT)
            continue
        size = chance.choice((1, 2, 4, 8))
        word = chance.choice(_NUMBERS) if chance.random() < 0.6 else chance.getrandbits(8 * size)
        changed[at : at + size] = (word & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return seal(bytes(changed[: len(data)]))
