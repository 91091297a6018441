"""The ``.hvt`` file: an Arrow IPC file of one row a pass. Page for readers: ``trace/README.md``.

* The first batch has no row: its metadata holds the source texts and the owners of the first regions.
* Each further batch holds the rows of consecutive passes; a pass with very many events takes several rows.
* The last batch has no row: its metadata holds status, result lines and what the file must add up to.
* The metadata of every batch holds a checksum of its values, which covers the checksum of the batch before.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import ORIGINS, OUTCOMES, REASONS
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.columns import ROW, TABLES, Chunk, Ragged, no_values

VERSION: Final = 1
"""Version of the format; a reader refuses newer ones."""

EVENTS_PER_BATCH_MAX: Final = 1 << 20
"""Events of one batch: 24 MiB, so that a reader's cap of 64 MiB a batch holds."""

FILE_BYTES_MAX: Final = 4 << 30
"""Bytes of a file that ``open_trace`` accepts unless told otherwise."""

BATCH_BYTES_MAX: Final = 64 << 20
"""Bytes of one batch's body."""

METADATA_BYTES_MAX: Final = 1 << 20
"""Bytes of the metadata of one batch of passes, and of the schema."""

TEXT_BYTES_MAX: Final = 192 << 20
"""Bytes of all metadata of the first batch (source texts) and the last one (result lines)."""

PASSES_MAX: Final = 1_000_000
"""Passes of one file that ``open_trace`` accepts unless told otherwise."""

FORMAT_KEY, HEADER_KEY, CRC_KEY = b"hvm4viz.format", b"hvm4viz.header", b"hvm4viz.crc32"
BATCH_KEY, FILES_KEY, REGIONS_KEY = b"hvm4viz.batch", b"hvm4viz.files", b"hvm4viz.regions"
LINES_KEY, LOG_KEY = b"hvm4viz.lines", b"hvm4viz.log"

TABLES_OF_CODES: Final = {"outcomes": OUTCOMES, "reasons": REASONS, "origins": ORIGINS}


def _arrow_type(dtype: np.dtype[Any]) -> Any:
    if dtype.names is None:
        return pa.from_numpy_dtype(dtype)
    return pa.struct([(name, _arrow_type(dtype[name])) for name in dtype.names])


SCHEMA: Final[Any] = pa.schema(
    [("pass", pa.uint32())]
    + [(name, _arrow_type(ROW[name])) for name in ROW.names or ()]
    + [(name, pa.list_(_arrow_type(dtype))) for name, dtype in TABLES.items()]
)
"""Columns of the file: numbers, and lists of records of numbers."""


def to_json(value: object) -> bytes:
    """Encode metadata; names and texts may hold anything, lone surrogates included."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def from_json(text: bytes | memoryview) -> dict[str, Any]:
    """Decode metadata.

    Raises
    ------
    ValueError
        If it is no JSON object, or longer than allowed: text unpacks to many times its size.
    """
    if len(text) > METADATA_BYTES_MAX:
        raise ValueError(f"metadata of {len(text):,} bytes, {METADATA_BYTES_MAX:,} are allowed")
    try:
        value = json.loads(bytes(text).decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("metadata is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("metadata is no object")
    return cast("dict[str, Any]", value)


def pack_texts(texts: Sequence[str]) -> bytes:
    """Encode any number of texts: a line of their lengths in bytes, then all of them."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return " ".join(str(len(text)) for text in encoded).encode() + b"\n" + b"".join(encoded)


def unpack_texts(packed: bytes | memoryview) -> tuple[str, ...]:
    """Decode what ``pack_texts`` encoded.

    Raises
    ------
    ValueError
        If it is nothing of the kind.
    """
    lengths, _, joined = bytes(packed).partition(b"\n")
    ends = np.cumsum([0, *map(int, lengths.split())])
    if ends[-1] != len(joined) or (np.diff(ends) < 0).any():
        raise ValueError("the texts are not as long as they say")
    return tuple(joined[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(ends.tolist()))


def hex_crc(crc: int) -> str:
    """Write a checksum as eight hexadecimal digits."""
    return f"{crc:08x}"


def values_crc(batch: Any, metadata: Mapping[bytes, bytes | memoryview]) -> str:
    """Checksum a batch: its metadata but the checksum itself, then its columns, each with its length."""
    crc = 0
    for key, text in metadata.items():
        if key != CRC_KEY:
            crc = zlib.crc32(b"%s %d " % (key, len(text)), crc)
            crc = zlib.crc32(text, crc)
    for array in _leaves(batch):
        crc = zlib.crc32(array.size.to_bytes(8, "little"), crc)
        crc = zlib.crc32(array.data, crc)
    return hex_crc(crc)


def _leaves(batch: Any) -> Iterator[NDArray[Any]]:
    for name in ("pass", *(ROW.names or ())):
        yield batch.column(name).to_numpy()
    for name in TABLES:
        column = batch.column(name)
        yield column.offsets.to_numpy()
        for field in column.values.flatten():
            yield field.to_numpy()


def to_batches(chunk: Chunk) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Turn a chunk into Arrow batches, each with its part of the metadata."""
    events = chunk.tables["events"]
    starts = range(0, max(events.n_values, 1), EVENTS_PER_BATCH_MAX) if chunk.n_passes == 1 else range(1)
    for part, start in enumerate(starts):
        stop = start + EVENTS_PER_BATCH_MAX if chunk.n_passes == 1 else events.n_values
        facts = {
            "kind": "passes",
            "first": chunk.first,
            "rows": chunk.n_passes,
            "kept": chunk.kept,
            "part": part,
            "parts": len(starts),
        }
        yield _to_batch(chunk, start, min(stop, events.n_values), with_counts=part == 0), facts


def _to_batch(chunk: Chunk, start: int, stop: int, *, with_counts: bool) -> Any:
    n_rows = chunk.n_passes
    columns = [pa.array(np.arange(chunk.first, chunk.first + n_rows, dtype=np.uint32))]
    rows = chunk.rows if with_counts else np.zeros(n_rows, ROW)
    columns += [pa.array(np.ascontiguousarray(rows[name])) for name in ROW.names or ()]
    for name, dtype in TABLES.items():
        table = chunk.tables[name]
        if name == "events":
            offsets = np.clip(table.offsets, start, stop) - start
            columns.append(_to_lists(table, dtype, offsets, start, stop))
        else:
            table = table if with_counts else no_values(n_rows, dtype)
            columns.append(_to_lists(table, dtype, table.offsets, 0, table.n_values))
    return pa.record_batch(columns, schema=SCHEMA)


def _to_lists(table: Ragged, dtype: np.dtype[np.void], offsets: NDArray[np.int64], start: int, stop: int) -> Any:
    fields = [pa.array(np.ascontiguousarray(table.column(name, start, stop))) for name in dtype.names or ()]
    values = pa.StructArray.from_arrays(fields, fields=list(_arrow_type(dtype)))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def no_rows() -> Any:
    """Return a batch without a row, to carry metadata."""
    return pa.record_batch([pa.array([], field.type) for field in SCHEMA], schema=SCHEMA)


def from_batch(batch: Any, facts: dict[str, Any]) -> Chunk:
    """Turn a validated Arrow batch into a chunk; the columns stay where they are.

    Raises
    ------
    ValueError
        If the batch has nulls, or rows that do not match its metadata.
    """
    n_rows: int = batch.num_rows
    passes = batch.column("pass").to_numpy()
    first: int = facts["first"]
    if n_rows != facts["rows"] or not np.array_equal(passes, np.arange(first, first + n_rows)):
        raise ValueError("the rows are not the passes that the metadata names")
    rows = np.empty(n_rows, ROW)
    for name in ROW.names or ():
        rows[name] = batch.column(name).to_numpy()
    tables: dict[str, Ragged] = {}
    for name, dtype in TABLES.items():
        column = batch.column(name)
        values = column.values
        if column.null_count or values.null_count:
            raise ValueError(f"column {name!r} has nulls")
        offsets = column.offsets.to_numpy().astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(values):
            raise ValueError(f"column {name!r} has values of no pass")
        fields = dict(zip(dtype.names or (), (field.to_numpy() for field in values.flatten()), strict=True))
        tables[name] = Ragged(offsets, fields)
    return Chunk(first=first, kept=bool(facts["kept"]), rows=rows, tables=tables)
