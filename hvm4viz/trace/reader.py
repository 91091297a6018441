"""Opening recordings: the longest whole prefix of a file, whoever wrote it and whatever happened to it since."""

from __future__ import annotations

import os
import shlex
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from hvm4viz.errors import DamagedTrace, NotATrace, TraceError, TraceTooLarge, UnsupportedVersion
from hvm4viz.events import RunEnd
from hvm4viz.syntax.tokens import decode, match_definition
from hvm4viz.trace import format as fmt
from hvm4viz.trace.accept import (
    Bounds,
    accept_end,
    accept_header,
    accept_level,
    accept_names,
    accept_operations,
    accept_threads,
    extension_type,
)
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.columns import ALL_TABLES, LONG_TABLES, Chunk, Ragged, join
from hvm4viz.trace.frames import END_MAGIC, MAGIC, RECORD_BATCH, SCHEMA, BadFrame, Frame, TornFrame, read_frame
from hvm4viz.trace.trace import State, Trace

__all__ = ["State", "Trace", "open_trace"]

_BAD_BYTES: Final[tuple[type[Exception], ...]] = (
    pa.ArrowException,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    OverflowError,
    MemoryError,
)
"""What pyarrow, json and we ourselves say to bytes that make no sense."""


_LOOKED_AT: Final = 4096
"""Bytes of a file that is no trace in which a program would show its first definition."""


def open_trace(
    path: str | Path, *, mmap: bool = True, file_max: int = fmt.FILE_BYTES_MAX, passes_max: int = fmt.PASSES_MAX
) -> Trace:
    """Open a recording; nothing in it is ever executed, and nothing large is allocated unless it is there.

    Parameters
    ----------
    path : path-like
        A file that ``Trace.save`` or a run wrote, finished or not.
    mmap : bool
        Map the file into memory instead of reading it; it must then not be cut while the trace is in use.
    file_max, passes_max : int
        Most bytes and passes to accept.

    Returns
    -------
    trace : Trace
        The longest prefix that is whole: ``trace.state`` and ``trace.note`` say what is missing, if anything.

    Raises
    ------
    NotATrace
        If the file is something else, or its columns have Arrow extension types.
    UnsupportedVersion
        If it is of a newer format.
    DamagedTrace
        If not even its beginning is whole.
    TraceTooLarge
        If it is larger than allowed, or without ``mmap`` than the memory that is free.
    TraceError
        If it cannot be read.
    """
    path = Path(path)
    data, buffer = _load(path, mmap=mmap, file_max=file_max)
    if bytes(data[: len(MAGIC)]) != MAGIC:
        if path.suffix == ".hvm4" or match_definition(decode(bytes(data[:_LOOKED_AT])), 0):
            made = shlex.join(["hvm4viz", "run", str(path), "-o", str(path.with_suffix(".hvt"))])
            raise NotATrace(f"{path} is a program, not a trace; {made} makes one")
        raise NotATrace(
            f"{path}: not a trace: it does not start as an Arrow IPC file does; run a program with save='FILE.hvt' "
            "to have one written"
        )
    return _Reading(path, data, buffer, passes_max).trace()


def _load(path: Path, *, mmap: bool, file_max: int) -> tuple[memoryview, Any]:
    size = 0
    try:
        found = path.stat()
        size = found.st_size
        if not stat.S_ISREG(found.st_mode):
            raise NotATrace(f"{path}: not a trace: it is no regular file")
        if size > file_max:
            raise TraceTooLarge(
                f"{path}: the file has {size:,} bytes, {file_max:,} are allowed; "
                f"in Python, open_trace(..., file_max={size}) accepts it"
            )
        if size < len(MAGIC):
            raise NotATrace(f"{path}: not a trace: it has {size} bytes")
        buffer = pa.memory_map(os.fspath(path)).read_buffer() if mmap else pa.py_buffer(path.read_bytes())
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror or error}") from error
    except MemoryError:
        raise TraceTooLarge(
            f"{path}: the file has {size:,} bytes, more than there is memory free to read them into; "
            "in Python, open_trace(..., mmap=True) maps it into memory instead"
        ) from None
    return memoryview(buffer).cast("B"), buffer


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch that fits behind the ones before it; its values are not looked at yet."""

    frame: Frame
    facts: dict[str, Any]
    kind: str
    crc: str


class _Reading:
    """One walk through a file."""

    def __init__(self, path: Path, data: memoryview, buffer: Any, passes_max: int) -> None:
        self.path = path
        self.data = data
        self.buffer = buffer
        self.passes_max = passes_max
        self.at = len(MAGIC)
        self.columns: Any = None
        self.devices: tuple[str, ...] = ()
        self.trouble: Exception | None = None
        """What stopped the walk, if not the end of the file."""

    def trace(self) -> Trace:
        """Read as much as is whole."""
        try:
            schema_facts, chain = self._schema()
            batches = list(self._walk(chain))
            if not batches:
                raise self.trouble or BadFrame("no batch")
            closing = batches.pop() if batches[-1].kind == "end" else None
            is_whole = closing is not None and closing.facts.get("raw") == self._raw_crc(closing.frame)
            self._decode(batches[0], check=not is_whole)
            header = accept_header(schema_facts, batches[0].frame.metadata)
            level = str(schema_facts["level"])
        except TraceError:
            raise  # it says more than that the file is damaged
        except _BAD_BYTES as error:
            raise DamagedTrace(
                f"{self.path}: damaged at byte {self.at:,}, before the first pass: {error}; "
                "nothing in it can be shown: restore it from a backup, or record it again under "
                "another name with save='FILE.hvt'"
            ) from None
        chunks = self._chunks(batches[1:], Bounds(header), check=not is_whole)
        end: RunEnd | None = None
        final_state = b""
        recorded: dict[str, Any] = {}
        if closing is not None and self.trouble is None:
            try:
                self._decode(closing, check=True)  # its own frame is not among the bytes that it vouches for
                end = accept_end(closing.facts, closing.frame.metadata)
                final_state = fmt.unpack_array(closing.frame.metadata.get(fmt.STATE_KEY, b""), "u1").tobytes()
                recorded = closing.facts
                self.at = closing.frame.end
                self._tail(is_whole=is_whole)
            except _BAD_BYTES as error:
                self.trouble = error
        state, note = self._verdict(end)
        return Trace(
            header,
            end,
            tuple(chunks),
            level=level,
            devices=self.devices or (header.device,),
            state=state,
            note=note,
            digest=recorded.get("digest"),
            lines_cut=bool(recorded.get("lines_cut")),
            final_state=final_state,
        )

    def _schema(self) -> tuple[dict[str, Any], str]:
        frame = read_frame(self.data, self.at, metadata_max=fmt.METADATA_BYTES_MAX, body_max=0)
        if frame is None or frame.kind != SCHEMA:
            raise BadFrame("no schema")
        schema = pa.ipc.read_schema(self._bytes(frame))
        metadata: dict[bytes, bytes] = schema.metadata or {}
        version = metadata.get(fmt.FORMAT_KEY)
        if version is None:
            raise NotATrace(f"{self.path}: not a trace: an Arrow file of other columns")
        if int(version) > fmt.VERSION:
            raise UnsupportedVersion(
                f"{self.path}: the trace has format {int(version)}, this version of hvm4viz reads up to {fmt.VERSION}; "
                "update hvm4viz"
            )
        if int(version) < 1:
            raise BadFrame(f"there is no format {int(version)}")
        text = metadata[fmt.HEADER_KEY]
        crc = fmt.hex_crc(zlib.crc32(text))
        if metadata[fmt.CRC_KEY] != crc.encode():
            raise BadFrame("the header does not match its checksum")
        if extension := extension_type(schema):
            raise NotATrace(
                f"{self.path}: not a trace as hvm4viz writes it: {extension}, and a trace holds plain numbers and "
                "lists of them alone; run a program with save='FILE.hvt' to have one written"
            )
        facts = fmt.from_json(text)
        self.columns = fmt.schema(accept_level(facts), accept_threads(facts), int(version))
        if not schema.remove_metadata().equals(self.columns):
            raise BadFrame("the columns are not those of its format")
        self.at = frame.end
        return facts, crc

    def _walk(self, chain: str) -> Iterator[_Batch]:
        """Go through the batches as long as each fits behind the one before."""
        kinds = ("begin",)
        number = n_passes = 0
        while True:
            try:
                frame = read_frame(self.data, self.at, metadata_max=fmt.TEXT_BYTES_MAX, body_max=fmt.BATCH_BYTES_MAX)
                if frame is None or frame.kind != RECORD_BATCH:
                    raise BadFrame("no batch where one is due")
                facts = fmt.from_json(frame.metadata[fmt.BATCH_KEY])
                batch = _Batch(frame, facts, facts["kind"], str(frame.metadata[fmt.CRC_KEY], "ascii"))
                if facts["batch"] != number or facts["chain"] != chain or batch.kind not in kinds:
                    raise BadFrame("the batch does not belong after the one before")
                if batch.kind == "passes":
                    n_passes += max(int(facts["rows"]), 1)  # so that batches without a pass come to an end, too
            except _BAD_BYTES as error:
                self.trouble = error
                return
            if n_passes > self.passes_max:
                raise TraceTooLarge(
                    f"{self.path}: more than {self.passes_max:,} passes; in Python, open_trace(..., passes_max=...) "
                    "accepts more"
                )
            yield batch
            if batch.kind == "end":
                return
            self.at = frame.end
            number += 1
            chain = batch.crc
            kinds = ("passes", "end")

    def _chunks(self, batches: list[_Batch], bounds: Bounds, *, check: bool) -> list[Chunk]:
        """Decode the passes; what is behind the first batch that is not right is left out."""
        chunks: list[Chunk] = []
        parts: list[Chunk] = []
        n_passes = 0
        for batch in batches:
            try:
                chunk = fmt.from_batch(self._decode(batch, check=check), batch.facts)
                part, n_parts = batch.facts["part"], batch.facts["parts"]
                if chunk.first != n_passes or part != len(parts) or (n_parts > 1 and chunk.n_passes != 1):
                    raise BadFrame("passes are missing")
                devices = accept_names(batch.facts["devices"])
                bounds.accept(chunk, len(devices))
                parts.append(chunk)
                if len(parts) < n_parts:
                    continue
                whole = _whole(parts)
                accept_operations(whole)
            except _BAD_BYTES as error:
                self.trouble, self.at = error, batch.frame.start
                break
            chunks.append(whole)
            n_passes += whole.n_passes
            self.devices = devices
            parts = []
        return chunks

    def _decode(self, batch: _Batch, *, check: bool) -> Any:
        message = pa.ipc.read_message(self._bytes(batch.frame))
        found = pa.ipc.read_record_batch(message, self.columns)
        found.validate(full=True)
        if check and fmt.values_crc(found, batch.frame.metadata) != batch.crc:
            raise BadFrame("the values do not match their checksum")
        return found

    def _bytes(self, frame: Frame) -> Any:
        return self.buffer.slice(frame.start, frame.end - frame.start)

    def _raw_crc(self, closing: Frame) -> str:
        return fmt.hex_crc(zlib.crc32(self.data[: closing.start]))

    def _tail(self, *, is_whole: bool) -> None:
        """Check what is behind the closing batch: the mark of the end, the footer, its length, the magic bytes."""
        rest = self.data[self.at :]
        if len(rest) < 18 or bytes(rest[-6:]) != END_MAGIC:
            raise TornFrame("the footer is not whole; all passes are here, save the trace again to mend it")
        footer = int.from_bytes(rest[-10:-6], "little")
        if len(rest) != 18 + footer:
            raise BadFrame("the footer is not as long as it says; all passes are here, save the trace again to mend it")
        if not is_whole:
            raise BadFrame("bytes outside the values were changed; all passes are as they were written")

    def _verdict(self, end: RunEnd | None) -> tuple[State, str]:
        if self.trouble is None:
            return ("complete", "") if end is not None else ("interrupted", "saved before the run ended")
        unused = len(self.data) - self.at
        if not unused:
            return (
                "interrupted",
                "the file ends after a whole pass: still being written, or its writer was killed",
            )
        note = f"{unused:,} bytes from byte {self.at:,} on were not used: {self.trouble}"
        is_torn = isinstance(self.trouble, TornFrame) and bytes(self.data[-6:]) != END_MAGIC
        return ("interrupted" if is_torn else "damaged"), note


def _whole(parts: list[Chunk]) -> Chunk:
    """Put the parts of one pass together."""
    first = parts[0]
    if len(parts) == 1:
        return first
    tables = dict(first.tables)
    for name in LONG_TABLES:
        if name in tables:
            joined = join((part.tables[name] for part in parts), ALL_TABLES[name])
            tables[name] = Ragged(np.array([0, joined.n_values]), joined.values)
    return Chunk(first.first, first.kept, first.rows, tables)
