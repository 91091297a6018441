"""Frames of a stranger's bytes: accepted up to the last byte that is there, and refused from the next one on."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest

from hvm4viz.trace.frames import CONTINUATION, KEYS_MAX, RECORD_BATCH, SCHEMA, BadFrame, TornFrame, read_frame


def message(*, kind: int = SCHEMA, body: int = 0, pairs: list[tuple[bytes, bytes]] | None = None) -> bytes:
    """Lay out a message by hand: its last text ends where it ends."""
    pairs = [(b"key", b"value")] if pairs is None else pairs
    vtable = struct.pack("<7H", 14, 26, 0, 24, 0, 4, 20)  # version, kind, header, length of the body, metadata
    table = struct.pack("<iqqIBx", len(vtable), body, 0, 6, kind)
    vector = struct.pack("<I", len(pairs))
    start = 4 + len(vtable) + len(table) + len(vector) + 4 * len(pairs)
    entries, texts = b"", b""
    for place, pair in enumerate(pairs):
        at = start + len(texts)
        entries += struct.pack("<I", at + 8 - (start - 4 * (len(pairs) - place)))
        key, value = pair
        texts += struct.pack("<4H", 8, 12, 4, 8) + struct.pack("<iII", 8, 8, 8 + len(key))
        texts += struct.pack("<I", len(key)) + key + struct.pack("<I", len(value)) + value
    return struct.pack("<I", 4 + len(vtable)) + vtable + table + vector + entries + texts


def framed(text: bytes, body: bytes = b"") -> memoryview:
    return memoryview(CONTINUATION + struct.pack("<i", len(text)) + text + body)


def read(data: memoryview, *, start: int = 0, metadata_max: int = 1 << 20, body_max: int = 1 << 20) -> Any:
    return read_frame(data, start, metadata_max=metadata_max, body_max=body_max)


@pytest.mark.parametrize("before", [b"", b"12345678"])
@pytest.mark.parametrize("body", [b"", b"123"])
def test_a_message_by_hand_is_what_it_says(before: bytes, body: bytes) -> None:
    pairs = [(b"a", b""), (b"hvm4viz", b"x" * 300), (b"", b"y")]
    data = memoryview(before + bytes(framed(message(body=len(body), pairs=pairs), body)) + b"rest")

    frame = read(data, start=len(before))

    assert (frame.start, frame.end, frame.kind) == (len(before), len(data) - 4, SCHEMA)
    assert {key: bytes(text) for key, text in frame.metadata.items()} == dict(pairs)


def test_a_text_may_go_to_the_end_of_its_frame_and_not_beyond() -> None:
    text = message()
    assert text.endswith(b"value")
    assert bytes(read(framed(text)).metadata[b"key"]) == b"value"
    for more in (1, 2, 1 << 20):
        longer = text.replace(struct.pack("<I", 5) + b"value", struct.pack("<I", 5 + more) + b"value")
        with pytest.raises(BadFrame, match="a text is longer than its frame"):
            read(framed(longer, b"after the frame"))


def test_every_cut_is_torn() -> None:
    data = framed(message(body=4), b"body")
    for stop in range(len(data)):
        with pytest.raises(TornFrame):
            read(data[:stop])
    assert read(data).end == len(data)


def test_sizes_are_accepted_up_to_their_bounds() -> None:
    text, body = message(body=4), b"body"
    data = framed(text, body)
    assert read(data, metadata_max=len(text), body_max=4).end == len(data)
    with pytest.raises(BadFrame, match="metadata of"):
        read(data, metadata_max=len(text) - 1)
    with pytest.raises(BadFrame, match="body of 4 bytes, 3 are allowed"):
        read(data, body_max=3)
    for size in (-1, -(1 << 31)):
        with pytest.raises(BadFrame, match="metadata of"):
            read(memoryview(CONTINUATION + struct.pack("<i", size) + text))
    with pytest.raises(BadFrame, match="body of -1 bytes"):
        read(framed(message(body=-1)))


def test_one_byte_of_metadata_is_no_end_of_the_stream() -> None:
    assert read(memoryview(CONTINUATION + bytes(4))) is None
    for size in (1, 2, 3):
        with pytest.raises(BadFrame, match="after the frame"):
            read(framed(bytes(size)))


def test_keys_are_accepted_up_to_their_bound() -> None:
    pairs = [(b"%d" % n, b"") for n in range(KEYS_MAX + 1)]
    assert len(read(framed(message(pairs=pairs[:-1]))).metadata) == KEYS_MAX == 16
    with pytest.raises(BadFrame, match="a list of 17, 16 are allowed"):
        read(framed(message(pairs=pairs)))


def test_what_is_no_frame_is_refused() -> None:
    text = message()
    for at in range(4):
        wrong = bytearray(framed(text))
        wrong[at] = 0
        with pytest.raises(BadFrame, match="no frame starts here"):
            read(memoryview(wrong))
    with pytest.raises(BadFrame, match="a part is missing"):
        read(framed(message(kind=RECORD_BATCH)))  # of a batch without its header it is not known what it is
    for back in (5, 100):
        with pytest.raises(BadFrame, match="before the frame"):
            read(framed(struct.pack("<Ii", 4, back) + bytes(8)))


def without(text: bytes, vtable: tuple[int, ...], changed: tuple[int, ...]) -> Any:
    """Read a message in which a table of offsets is another one."""
    old, new = (struct.pack(f"<{len(vtable)}H", *each) for each in (vtable, changed))
    assert text.count(old) == 1
    return read(framed(text.replace(old, new)))


def test_what_was_left_out_has_its_default() -> None:
    whole, pair = (14, 26, 0, 24, 0, 4, 20), (8, 12, 4, 8)
    assert without(message(), whole, (14, 26, 0, 0, 0, 4, 20)).kind == 0
    assert without(message(body=3), whole, (14, 26, 0, 24, 0, 0, 20)).end == len(framed(message()))
    for size, key in ((14, b"key"), (13, None), (12, None)):  # the table of offsets ends within the last of them
        assert list(without(message(), whole, (size, *whole[1:])).metadata) == [key] * (key is not None)
    assert {key: bytes(text) for key, text in without(message(), pair, (8, 12, 4, 0)).metadata.items()} == {b"key": b""}
    assert {key: bytes(text) for key, text in without(message(), pair, (8, 12, 0, 8)).metadata.items()} == {
        b"": b"value"
    }


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_frames_of_arrow_are_read_and_compressed_ones_refused(compression: str | None) -> None:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    batch = pa.record_batch({"a": [1, 2, 3]})
    with pa.ipc.new_stream(sink, batch.schema.with_metadata({"k": "v"}), options=options) as stream:
        stream.write_batch(batch, custom_metadata={"of": "batch"})
    data = memoryview(sink.getvalue())

    schema = read(data)

    assert (schema.kind, bytes(schema.metadata.get(b"k", b"none"))) == (SCHEMA, b"none")  # those are the schema's own
    if compression is not None:
        with pytest.raises(BadFrame, match="compressed"):
            read(data, start=schema.end)
        return
    found = read(data, start=schema.end)
    assert (found.kind, bytes(found.metadata[b"of"])) == (RECORD_BATCH, b"batch")
    assert read(data, start=found.end) is None
