"""Writing recordings: batch by batch while a run goes on, each one either whole in the file or not at all."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hvm4viz import __version__
from hvm4viz.errors import TraceError, TraceExists
from hvm4viz.events import RunEnd, RunHeader
from hvm4viz.trace import format as fmt
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.columns import merge
from hvm4viz.trace.whole import file_path, unwritable, whole_file

if TYPE_CHECKING:
    from hvm4viz.trace.columns import Chunk
    from hvm4viz.trace.trace import Trace

LINES_CHARS_MAX: Final = 16 << 20
"""Characters of result lines, and again of log lines, that a file keeps; the digest covers all of them."""

CHUNK_BYTES: Final = 4 << 20
"""Bytes up to which chunks are put together when a trace is saved: fewer batches open faster."""

SMALL_BYTES: Final = 1 << 16
"""Writes below this many bytes are put together."""

MESSAGE_CHARS_MAX: Final = 1 << 16
"""Characters of the message that a file keeps."""


class Writer:
    """Write one recording to a new file.

    Parameters
    ----------
    path : path-like
        The file; it is created here.
    header : RunHeader
        Program, settings and geometry.
    level : str
        How much is recorded.
    sync : bool
        Whether each batch is on the disk, not only with the system, when ``write`` returns.

    Raises
    ------
    TraceExists
        If the file is there already.
    TraceError
        If it cannot be created or written, or the path names no file.
    """

    def __init__(self, path: str | Path, header: RunHeader, level: str, *, sync: bool = False) -> None:
        self.path = file_path(path, what="trace file")
        self._sync = sync
        self._sink = _Sink(self.path)
        self._number = 0
        text = fmt.to_json(_header_facts(header, level))
        self._chain = fmt.hex_crc(zlib.crc32(text))
        metadata = {fmt.FORMAT_KEY: str(fmt.VERSION), fmt.HEADER_KEY: text, fmt.CRC_KEY: self._chain}
        self._columns: Any = fmt.schema(level, header.blocks * header.threads_per_block)
        try:
            self._stream: Any = pa.ipc.new_file(self._sink, self._columns.with_metadata(metadata))
            names_and_texts = [text for file in header.source for text in file]
            extra = {
                fmt.FILES_KEY: fmt.pack_texts(names_and_texts),
                fmt.REGIONS_KEY: fmt.pack_array(header.regions.astype(np.uint32)),
            }
            if level == "full":
                extra[fmt.HEAP_KEY] = self._checked(fmt.pack_array(header.heap), "the heap at the start")
            self._put(fmt.no_rows(self._columns), {"kind": "begin"}, extra)
        except BaseException:
            self._sink.abandon()
            self.path.unlink(missing_ok=True)
            raise

    def write(self, chunk: Chunk, devices: tuple[str, ...]) -> None:
        """Append the passes of a chunk.

        Raises
        ------
        TraceError
            If the disk is full, or writing fails otherwise; all batches before stay readable.
        """
        for batch, facts in fmt.to_batches(chunk, self._columns):
            self._put(batch, {**facts, "devices": devices})

    def close(self, end: RunEnd | None, *, digest: str | None = None, state: bytes = b"") -> None:
        """Append the closing batch and the footer.

        Parameters
        ----------
        end : RunEnd or None
            None for a recording that stops before its run.
        digest : str, optional
            The trace digest, where there is one.
        state : bytes
            State of the machine at the end, of a run that can go on.
        """
        facts: dict[str, Any] = {"kind": "end", "digest": digest, "raw": fmt.hex_crc(self._sink.crc)}
        extra: dict[bytes, bytes] = {}
        if end is not None:
            lines, log = _within(end.lines, LINES_CHARS_MAX), _within(end.log, LINES_CHARS_MAX)
            facts |= {"status": end.status, "message": end.message[:MESSAGE_CHARS_MAX]}
            facts |= {"lines_cut": len(end.lines) - len(lines), "log_cut": len(end.log) - len(log)}
            extra = {fmt.LINES_KEY: fmt.pack_texts(lines), fmt.LOG_KEY: fmt.pack_texts(log)}
        if state:
            extra[fmt.STATE_KEY] = self._checked(fmt.pack_array(np.frombuffer(state, np.uint8)), "the machine's state")
        try:
            self._put(fmt.no_rows(self._columns), facts, extra, footer=True)
        finally:
            self._sink.abandon()

    def abandon(self) -> None:
        """Stop writing; what is whole in the file stays there."""
        self._sink.abandon()

    def _checked(self, packed: bytes, what: str) -> bytes:
        if len(packed) > fmt.PACKED_BYTES_MAX:
            raise TraceError(
                f"{self.path}: {what} takes {len(packed):,} bytes, a trace file holds {fmt.PACKED_BYTES_MAX:,} of it; "
                "record in memory, or at level 'events'"
            )
        return packed

    def _put(
        self,
        batch: Any,
        facts: dict[str, Any],
        extra: Mapping[bytes, bytes] | None = None,
        *,
        footer: bool = False,
    ) -> None:
        """Append one batch, whole or not at all."""
        metadata = {fmt.BATCH_KEY: fmt.to_json({**facts, "batch": self._number, "chain": self._chain}), **(extra or {})}
        crc = fmt.values_crc(batch, metadata)
        try:
            self._stream.write_batch(batch, custom_metadata={**metadata, fmt.CRC_KEY: crc})
            if footer:
                self._stream.close()
            self._sink.flush_batch(sync=self._sync)
        except OSError as error:
            due = self._sink.pending_bytes
            self._sink.abandon()
            raise TraceError(
                f"{self.path}: writing the trace failed at byte {self._sink.written:,}: {error.strerror or error}; "
                f"{due:,} more bytes were due. What is in the file can be opened; free some space or save elsewhere"
            ) from error
        except BaseException:
            self._sink.abandon()
            raise
        self._number += 1
        self._chain = crc


class _Sink:
    """Gathers the many small writes of a batch, so that the file gets it in few."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(path, flags, 0o666)
        except FileExistsError:
            raise TraceExists(
                f"{path}: a file of that name is already there, and a recording never overwrites; "
                "choose another name or remove it first"
            ) from None
        except OSError as error:
            raise TraceError(f"{path}: the trace cannot be written here: {unwritable(path, error)}") from error
        self._parts: list[bytes] = []
        self.written = 0
        self.pending_bytes = 0
        self.crc = 0
        """Checksum of all that was written; of no use once writing has failed."""
        self.closed = False

    def write(self, data: Any) -> int:
        """Take bytes of the current batch."""
        part = bytes(data)
        self._parts.append(part)
        self.pending_bytes += len(part)
        return len(part)

    def flush(self) -> None:
        """Do nothing: a batch is written as a whole."""

    def close(self) -> None:
        """Do nothing: the writer closes the file."""

    def flush_batch(self, *, sync: bool) -> None:
        """Write all bytes taken to the file."""
        small: list[bytes] = []
        for part in self._parts:
            if len(part) < SMALL_BYTES:
                small.append(part)
                continue
            self._write(b"".join(small))
            self._write(part)
            small.clear()
        self._write(b"".join(small))
        if sync:
            os.fsync(self._file)
        self.written += self.pending_bytes
        self._parts.clear()
        self.pending_bytes = 0

    def _write(self, data: bytes) -> None:
        done = 0
        while done < len(data):
            done += os.write(self._file, memoryview(data)[done:])
        self.crc = zlib.crc32(data, self.crc)

    def abandon(self) -> None:
        """Close the file; what a failed write may have left of a batch is cut off."""
        if self.closed:
            return
        self.closed = True
        try:
            if self.pending_bytes:
                os.ftruncate(self._file, self.written)
        except OSError:
            pass  # a torn tail is no harm: readers stop before it
        finally:
            os.close(self._file)


def save_trace(trace: Trace, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a trace to a file, completely or not at all: beside it first, then under its name."""
    with whole_file(path, overwrite=overwrite, what="trace file") as part:
        writer: Writer | None = None
        try:
            writer = Writer(part, trace.header, trace.level)
            for chunk in merge(trace.chunks, CHUNK_BYTES):
                writer.write(chunk, trace.devices)
            writer.close(trace.end, digest=trace.digest_or_none(), state=trace.final_state)
        except TraceError as error:  # it speaks of the part, which does not stay
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from None
            raise TraceError(str(error).replace(str(part), str(path))) from None
        finally:
            if writer:
                writer.abandon()
    return Path(path)


def _header_facts(header: RunHeader, level: str) -> dict[str, Any]:
    program = hashlib.sha256()
    for _, text in header.source:
        program.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return {
        "package": __version__,
        "program": program.hexdigest(),
        "entry": header.entry,
        "mode": header.mode,
        "limit": header.limit,
        "machine": header.machine,
        "rules": header.rules,
        "blocks": header.blocks,
        "threads_per_block": header.threads_per_block,
        "region_size": header.region_size,
        "device": header.device,
        "kernel": header.kernel,
        "root": header.root,
        "stamps": header.stamps,
        "units": header.units,
        "skipped": header.skipped,
        "level": level,
        **fmt.TABLES_OF_CODES,
    }


def _within(lines: tuple[str, ...], chars_max: int) -> tuple[str, ...]:
    """Return as many of the first lines as fit."""
    total = 0
    for count, line in enumerate(lines):
        total += len(line) + 1
        if total > chars_max:
            return lines[:count]
    return lines
