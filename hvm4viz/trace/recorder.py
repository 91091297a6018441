"""The recorder: an observer that keeps what a run does, in memory and, if asked, on disk while it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from hvm4viz.errors import TraceError
from hvm4viz.events import EVENT, RESUMABLE, PassRecord, RunEnd, RunHeader
from hvm4viz.settings import parse_size
from hvm4viz.trace.changes import Changes, Contents, Noted, bytes_of_wide, changes, contents
from hvm4viz.trace.columns import (
    ALL_TABLES,
    FULL_TABLES,
    LONG_TABLES,
    ROW,
    TABLES,
    Chunk,
    Part,
    Ragged,
    count_outcomes,
    count_pairs,
    from_parts,
    nbytes_of,
    no_values,
    ragged,
    records,
)
from hvm4viz.trace.keyframes import Keyframes, Watched
from hvm4viz.trace.trace import Trace
from hvm4viz.trace.whole import file_path
from hvm4viz.trace.writer import Writer

Level: TypeAlias = Literal["off", "counts", "events", "full"]
"""How much a recorder keeps; each level holds all that the ones before it hold."""

PASS_BYTES: Final = 192
"""What one pass adds to a recording besides its events, roughly."""

CHUNK_BYTES: Final = 1 << 20
"""Pending bytes at which passes are gathered into a chunk (and written)."""

LONGER: Final = 8
"""How much more is pending where nothing is written: gathering has a price of its own."""

CHUNK_PASSES: Final = 4096
"""Pending passes at which they are gathered into a chunk (and written): what no byte is counted of, such as narrow
tables, takes a few KiB a pass."""

FLUSH_S: Final = 0.2
"""Longest that a pass nobody was told of waits for the next one before both are written, in seconds."""

_Pending = tuple[
    int,
    Noted,
    Noted,
    bytes,
    Part,
    tuple[tuple[int, int], ...],
    tuple[Part, Part, Part, Part] | None,
    *tuple[int, ...],
]
"""A pass: number, cells and remote writes of all regions, rules, events, regions given; at ``full`` its operations,
changed cells, image and state; its row. It is what the machine told: columns are made of many passes at once, and of
most runs never."""

_NOTHING: Final = (b"", b"", b"", b"")


class Recorder:
    """Keep the passes of one run.

    Parameters
    ----------
    level : {"off", "counts", "events", "full"}
        How much to keep.
    limit_bytes : int or str
        Size at which events and changed cells stop being kept; counts go on for every pass.
    path : path-like, optional
        File to write while the run goes on; it must not exist yet.
    sync : bool
        Write and sync every pass at once, instead of every 0.2 s, every 1 MiB, and before somebody is told (``flush``).
    prior : Trace, optional
        Passes recorded before, of the same run and at the same level: the recording goes on behind them.

    Attributes
    ----------
    path : Path or None
        The file.
    failure : TraceError or None
        Why the file stops before the run did, if it could not be written any more; the recording itself goes on.

    Raises
    ------
    ValueError
        If the level or the limit is not one.
    TraceError
        If the path names no file.
    """

    def __init__(
        self,
        level: Level = "events",
        limit_bytes: int | str = "512 MiB",
        path: str | Path | None = None,
        *,
        sync: bool = False,
        prior: Trace | None = None,
    ) -> None:
        if level not in get_args(Level):
            raise ValueError(f"record={level!r}: must be one of {', '.join(map(repr, get_args(Level)))}")
        self.level: Level = level
        self.limit_bytes = parse_size(limit_bytes)
        self._sync = sync
        self._header: RunHeader | None = None
        self._end: RunEnd | None = None
        self._chunks: list[Chunk] = []
        self._pending: list[_Pending] = []
        self._pending_bytes = 0
        self._bytes = 0
        self._keep = level in ("events", "full")
        self._keyframes: Keyframes | None = None
        self._machine: Watched | None = None
        self._final_state = b""
        self._cells = Changes(np.zeros(0, np.uint32))
        self._remote = Contents()
        # What was noted of the cells before the first pass that is in no chunk yet, by its number; while passes are
        # gathered, before the first one behind them, too: what an interrupt leaves goes with the chunks it leaves.
        self._before: dict[int, Noted] = {0: b""}
        self._devices: dict[str, int] = {}
        self._flushed_at = time.monotonic()
        self._trace: Trace | None = None
        self.path = None if path is None else file_path(path, what="trace file")
        self.failure: TraceError | None = None
        self._writer: Writer | None = None
        self._n_written = 0
        if prior is not None:
            self._chunks = list(prior.chunks)
            self._bytes = sum(map(_size, prior.chunks))
            self._keep = self._keep and not prior.is_cut
            if prior.n_passes:
                cells = prior.cells.at(-1).astype(np.uint32)
                self._cells = Changes(cells)
                self._before = {_end_of(self._chunks): cells.tobytes()}
            self._devices = {name: number for number, name in enumerate(prior.devices)}

    def watch(self, machine: Watched) -> None:
        """Learn at level ``full`` where to take heap and state from, before pass 0."""
        if self.level == "full":
            self._machine = machine
            self._keyframes = Keyframes(machine)

    def begin(self, header: RunHeader) -> None:
        """Take the header, before pass 0.

        Raises
        ------
        TraceExists
            If the file to write is there already.
        TraceError
            If it cannot be created.
        """
        if self.path is not None:
            self._writer = Writer(self.path, header, self.level, sync=self._sync)
        self._header = header
        self._devices.setdefault(header.device, len(self._devices))
        self._write()

    def on_pass(self, record: PassRecord) -> None:
        """Take the record of one pass; it is in the file, if there is one, once ``flush`` has returned."""
        if self.level == "off":
            return
        device = self._devices.get(record.device)
        if device is None:
            device = self._devices.setdefault(record.device, len(self._devices))
        events, cells, remote = record.events, self._cells.note(record.cells), self._remote.note(record.remote)
        size, more = events.nbytes + PASS_BYTES, None
        if self._keep:
            more = self._more(record) if self.level == "full" else None
            size += sum(map(nbytes_of, more)) if more else 0
            if self._bytes + size > self.limit_bytes:
                self._seal()
                self._keep, more = False, None
        most = CHUNK_BYTES if self._writer else LONGER * CHUNK_BYTES
        is_large = size > (most if self._keep else CHUNK_BYTES)
        if is_large:
            self._seal()
        # A pass enters by one append, so that an interrupt cannot leave half of it.
        self._pending.append(
            (
                record.index,
                cells,
                remote,
                record.rules.tobytes(),
                events.tobytes() if self._keep or not is_large else np.ascontiguousarray(events),
                record.given,
                more,
                record.frontier,
                record.interactions,
                record.longest,
                record.parked,
                device,
                record.device_ns,
                record.host_ns,
            )
        )
        self._cells.take(cells)
        self._pending_bytes += size + bytes_of_wide(cells) + bytes_of_wide(remote)
        if self._keep:
            self._bytes += size
        if (
            is_large
            or self._pending_bytes > most
            or len(self._pending) >= CHUNK_PASSES
            or (self._writer and (self._sync or time.monotonic() - self._flushed_at > FLUSH_S))
        ):
            self._seal()

    def _more(self, record: PassRecord) -> tuple[Part, Part, Part, Part]:
        image, state = self._keyframes.take(record) if self._keyframes else (b"", b"")
        return record.ops.tobytes(), np.ascontiguousarray(record.deltas), image, state

    def flush(self) -> None:
        """Write the passes so far: call it before anybody is told of them, for a kill loses what was not written."""
        if self._writer is not None:
            self._seal()

    def end(self, end: RunEnd) -> None:
        """Take the end of the run, whatever ended it."""
        if self._writer is not None:
            self._seal()
        if self._machine is not None and self._keep and end.status in RESUMABLE:
            self._final_state = self._machine.state()
        self._machine = self._keyframes = None
        self._end = end
        self._trace = None
        if self._writer is not None:
            writer, self._writer = self._writer, None
            try:
                writer.close(end, digest=self.trace.digest_or_none(), state=self._final_state)
            except TraceError as error:
                self.failure = error
            finally:
                writer.abandon()

    def close(self) -> None:
        """Let go of the file without an end, after an error: what was written stays and can be opened."""
        self._seal()
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None

    @property
    def trace(self) -> Trace:
        """The passes so far, as a trace that no longer changes."""
        if self._end is None:
            self._seal()
        if self._trace is None:
            done = tuple(self._chunks)
            self._trace = Trace(
                self._header,
                self._end,
                # What is pending when a run is over is gathered once somebody looks: most runs are never looked at.
                partial(_all_of, done, self._pending[:], self._before, self._region_size, self.level, kept=self._keep),
                level=self.level,
                devices=tuple(self._devices),
                final_state=self._final_state,
            )
        return self._trace

    @property
    def _region_size(self) -> int:
        return self._header.region_size if self._header else 1

    def _seal(self) -> None:
        """Gather the pending passes into a chunk."""
        if not self._pending:
            return
        last = tuple(self._chunks[-1:])
        more = _all_of(last, self._pending, self._before, self._region_size, self.level, kept=self._keep)
        behind = {self._pending[-1][0] + 1: self._pending[-1][1]}
        self._before = self._before | behind
        self._chunks += more[len(last) :]
        self._pending = []
        self._before = behind
        self._pending_bytes = 0
        self._trace = None
        self._write()

    def _write(self) -> None:
        """Write the chunks that are not in the file yet; if the disk fails, the recording goes on in memory."""
        if self._writer is None:
            return
        try:
            for chunk in self._chunks[self._n_written :]:
                self._writer.write(chunk, tuple(self._devices))
                self._n_written += 1
        except TraceError as error:
            self.failure = error
            self._writer = None
        except BaseException:
            self._writer.abandon()
            self._writer = None
            raise
        self._flushed_at = time.monotonic()


def _end_of(chunks: Sequence[Chunk]) -> int:
    return chunks[-1].first + chunks[-1].n_passes if chunks else 0


def _all_of(
    chunks: tuple[Chunk, ...],
    pending: list[_Pending],
    before: dict[int, Noted],
    region_size: int,
    level: Level,
    *,
    kept: bool,
) -> tuple[Chunk, ...]:
    """Return the chunks with what is pending gathered into one more."""
    # An interrupt may have come between gathering and forgetting, the last time: leave out what is gathered already.
    first = _end_of(chunks)
    rest = [item for item in pending if item[0] >= first]
    return (*chunks, _chunk(first, rest, before[first], region_size, level, kept=kept)) if rest else chunks


def _chunk(first: int, pending: list[_Pending], before: Noted, region_size: int, level: Level, *, kept: bool) -> Chunk:
    _, cells, remote, rules, events, given, more, *columns = zip(*pending, strict=True)
    n_rows = len(pending)
    rows = np.empty(n_rows, ROW)
    for name, column in zip(ROW.names or (), columns, strict=True):
        rows[name] = column
    all_events = from_parts(events, EVENT)
    full: dict[str, Ragged] = {}
    if level == "full":
        parts = zip(*(each or _NOTHING for each in more), strict=True)
        full = {name: from_parts(part, dtype) for (name, dtype), part in zip(FULL_TABLES.items(), parts, strict=True)}
    return Chunk(
        first=first,
        kept=kept,
        rows=rows,
        tables={
            "outcomes": count_outcomes(all_events),
            "rules": _dense_counts(rules),
            "cells": changes(cells, before, TABLES["cells"]),
            "remote": contents(remote, TABLES["remote"]),
            "given": from_parts(
                [np.array(pairs, np.uint32).tobytes() if pairs else b"" for pairs in given], TABLES["given"]
            ),
            "pairs": no_values(n_rows, TABLES["pairs"]) if kept else count_pairs(all_events, region_size),
            "events": all_events if kept else no_values(n_rows, EVENT),
            **full,
        },
    )


def _size(chunk: Chunk) -> int:
    """Return what the passes of a chunk counted for towards the limit."""
    kept = sum(chunk.tables[name].n_values * ALL_TABLES[name].itemsize for name in LONG_TABLES if name in chunk.tables)
    return chunk.n_passes * PASS_BYTES + kept


def _dense_counts(rules: tuple[bytes, ...]) -> Ragged:
    """Turn one dense array of rule counts a pass into (rule, count) records."""
    dense = np.frombuffer(b"".join(rules), np.uint64).reshape(len(rules), -1)
    row, rule = dense.nonzero()
    return ragged(row, len(rules), records(TABLES["rules"], rule=rule, count=dense[row, rule]))
