"""The ``.hvt`` file: an Arrow IPC file of one row a pass. Page for readers: ``trace/README.md``.

* The first batch has no row: its metadata holds the source texts and the owners of the first regions.
* Each further batch holds the rows of consecutive passes; a pass with very many events takes several rows.
* The last batch has no row: its metadata holds status, result lines and what the file must add up to.
* The metadata of every batch holds a checksum of its values, which covers the checksum of the batch before.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.columns import ALL_TABLES, LONG_TABLES, ROW, Chunk, Ragged, no_values, tables_of

VERSION: Final = 2
"""Version of the format that is written; a reader refuses newer ones. 1: no level ``full``, threads in 32 bits."""

EVENTS_PER_BATCH_MAX: Final = 1 << 20
"""Events of one batch: at most 24 MiB, so that a reader's cap of 64 MiB a batch holds."""

FULL_PER_BATCH_MAX: Final = 1 << 19
"""Events, operations, changed cells, cells of an image and bytes of a state in one batch: 33 MiB together."""

SHORT_THREADS: Final = 1 << 16
"""Up to so many threads, their numbers take two bytes each in the file."""

FILE_BYTES_MAX: Final = 4 << 30
"""Bytes of a file that ``open_trace`` accepts unless told otherwise."""

BATCH_BYTES_MAX: Final = 64 << 20
"""Bytes of one batch's body."""

METADATA_BYTES_MAX: Final = 1 << 20
"""Bytes of the metadata of one batch of passes, and of the schema."""

TEXT_BYTES_MAX: Final = 192 << 20
"""Bytes of all metadata of the first batch (source texts) and the last one (result lines)."""

PACKED_BYTES_MAX: Final = 96 << 20
"""Bytes that the heap at the start, and again the state at the end, may take in metadata."""

PASSES_MAX: Final = 1_000_000
"""Passes of one file that ``open_trace`` accepts unless told otherwise."""

FORMAT_KEY, HEADER_KEY, CRC_KEY = b"hvm4viz.format", b"hvm4viz.header", b"hvm4viz.crc32"
BATCH_KEY, FILES_KEY, REGIONS_KEY = b"hvm4viz.batch", b"hvm4viz.files", b"hvm4viz.regions"
HEAP_KEY, STATE_KEY = b"hvm4viz.heap", b"hvm4viz.state"
LINES_KEY, LOG_KEY = b"hvm4viz.lines", b"hvm4viz.log"

TABLES_OF_CODES: Final = {"outcomes": OUTCOMES, "reasons": REASONS, "origins": ORIGINS, "operations": OPERATIONS}
"""Names by code, as the header lists them; a file may know fewer of each."""


def schema(level: str, threads: int, version: int = VERSION) -> Any:
    """Return the columns of a file: numbers, and lists of records of numbers.

    Parameters
    ----------
    level : str
        How much is recorded.
    threads : int
        Logical threads of the machine.
    version : int
        Version of the format.
    """
    is_short = version > 1 and threads <= SHORT_THREADS
    return pa.schema(
        [("pass", pa.uint32())]
        + [(name, pa.from_numpy_dtype(ROW[name])) for name in ROW.names or ()]
        + [(name, pa.list_(_record_type(dtype, is_short=is_short))) for name, dtype in tables_of(level).items()]
    )


def _record_type(dtype: np.dtype[np.void], *, is_short: bool) -> Any:
    types = {name: pa.from_numpy_dtype(dtype[name]) for name in dtype.names or ()}
    if is_short and "thread" in types:
        types["thread"] = pa.uint16()
    return pa.struct(list(types.items()))


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
    for column in batch.columns:
        if not pa.types.is_list(column.type):
            yield column.to_numpy()
            continue
        yield column.offsets.to_numpy()
        for field in column.values.flatten():
            yield field.to_numpy()


def to_batches(chunk: Chunk, columns: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Turn a chunk into Arrow batches of these columns, each with its part of the metadata."""
    most = FULL_PER_BATCH_MAX if "deltas" in chunk.tables else EVENTS_PER_BATCH_MAX
    longest = max(chunk.tables[name].n_values for name in LONG_TABLES if name in chunk.tables)
    n_parts = max(-(-longest // most), 1) if chunk.n_passes == 1 else 1
    for part in range(n_parts):
        facts = {
            "kind": "passes",
            "first": chunk.first,
            "rows": chunk.n_passes,
            "kept": chunk.kept,
            "part": part,
            "parts": n_parts,
        }
        bounds = (part * most, (part + 1) * most) if n_parts > 1 else (0, longest)
        yield _to_batch(chunk, columns, bounds, with_counts=part == 0), facts


def _to_batch(chunk: Chunk, columns: Any, bounds: tuple[int, int], *, with_counts: bool) -> Any:
    """Take values ``bounds`` of every long table, and of the others all or nothing."""
    n_rows = chunk.n_passes
    rows = chunk.rows if with_counts else np.zeros(n_rows, ROW)
    arrays = [pa.array(np.arange(chunk.first, chunk.first + n_rows, dtype=np.uint32))]
    arrays += [pa.array(np.ascontiguousarray(rows[name])) for name in ROW.names or ()]
    for field in columns:
        table = chunk.tables.get(field.name)
        if table is None:
            continue
        if field.name in LONG_TABLES:
            start, stop = (min(bound, table.n_values) for bound in bounds)
            arrays.append(_to_lists(table, field.type, np.clip(table.offsets, start, stop) - start, start, stop))
        else:
            table = table if with_counts else no_values(n_rows, ALL_TABLES[field.name])
            arrays.append(_to_lists(table, field.type, table.offsets, 0, table.n_values))
    return pa.record_batch(arrays, schema=columns)


def _to_lists(table: Ragged, type_: Any, offsets: NDArray[np.int64], start: int, stop: int) -> Any:
    fields = list(type_.value_type)
    values = [
        pa.array(np.ascontiguousarray(table.column(field.name, start, stop), field.type.to_pandas_dtype()))
        for field in fields
    ]
    records = pa.StructArray.from_arrays(values, fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), records)


def no_rows(columns: Any) -> Any:
    """Return a batch without a row, to carry metadata."""
    return pa.record_batch([pa.array([], field.type) for field in columns], schema=columns)


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
    for name in batch.schema.names[1 + len(ROW.names or ()) :]:
        column = batch.column(name)
        values = column.values
        if column.null_count or values.null_count:
            raise ValueError(f"column {name!r} has nulls")
        offsets = column.offsets.to_numpy().astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(values):
            raise ValueError(f"column {name!r} has values of no pass")
        names = ALL_TABLES[name].names or ()
        fields = dict(zip(names, (field.to_numpy() for field in values.flatten()), strict=True))
        tables[name] = Ragged(offsets, fields)
    return Chunk(first=first, kept=bool(facts["kept"]), rows=rows, tables=tables)


def pack_array(array: NDArray[Any]) -> bytes:
    """Encode an array as metadata may hold it: its bytes in base64, little-endian."""
    return base64.b64encode(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())


def unpack_array(packed: bytes | memoryview, dtype: str) -> NDArray[Any]:
    """Decode what ``pack_array`` encoded.

    Raises
    ------
    ValueError
        If it is nothing of the kind.
    """
    return np.frombuffer(base64.b64decode(bytes(packed), validate=True), dtype)
