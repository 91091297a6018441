"""What was recorded of one run: read-only columns, pass by pass."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import EVENT, OPERATIONS, OUTCOMES, RunEnd, RunHeader
from hvm4viz.trace.columns import ALL_TABLES, CONTENDED, DEFERRED, N_OUTCOMES, ROW, Chunk, Ragged, join
from hvm4viz.trace.sparse import Sparse, Steps, check_pass

State = Literal["complete", "interrupted", "damaged"]
"""``complete``: up to the end of the run; ``interrupted``: a whole prefix; ``damaged``: bad bytes behind one."""


class Recorded:
    """The columns of a recording.

    Attributes
    ----------
    header : RunHeader
        Program, settings, geometry, rule names.
    end : RunEnd or None
        Status, message and result lines; None if the recording stops before the run did.
    level : {"off", "counts", "events", "full"}
        How much was recorded.
    devices : tuple of str
        Names of the devices that ran passes.
    state : {"complete", "interrupted", "damaged"}
        Whether all of the run is here.
    note : str
        What is missing and why, or empty.
    final_state : bytes
        State of the machine at the end, of a run that was stopped while it could go on; empty otherwise.
    """

    def __init__(
        self,
        header: RunHeader | None,
        end: RunEnd | None,
        chunks: tuple[Chunk, ...] | Callable[[], tuple[Chunk, ...]],
        *,
        level: str,
        devices: tuple[str, ...],
        state: State | None = None,
        note: str = "",
        digest: str | None = None,
        lines_cut: bool = False,
        final_state: bytes = b"",
    ) -> None:
        self.header = header or _no_header()
        self.end = end
        self.level = level
        self.devices = devices
        self.state: State = state or ("complete" if end else "interrupted")
        self.note = note
        self._source: tuple[Chunk, ...] | Callable[[], tuple[Chunk, ...]] = chunks
        self.final_state = final_state
        self._recorded_digest = digest
        self._lines_cut = lines_cut  # some result lines are not here, so that only the recorded digest is left

    def __repr__(self) -> str:
        """Size and state in one line."""
        cut = f", events of passes from {self.events_until} on not kept" if self.is_cut else ""
        return (
            f"<Trace of {self.n_passes:,} passes, {self.n_events:,} events, level {self.level}, {self.state}"
            f", {self.nbytes:,} bytes{cut}>"
        )

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """The passes, in order."""
        if callable(self._source):
            self._source = self._source()
        return self._source

    # Sizes.

    @cached_property
    def n_passes(self) -> int:
        """Number of passes."""
        return sum(chunk.n_passes for chunk in self.chunks)

    @property
    def n_events(self) -> int:
        """Number of events that were kept."""
        return int(self.event_offsets[-1])

    @cached_property
    def n_regions(self) -> int:
        """Number of regions in use at the end: one more than the highest that the recording names."""
        last = self.header.regions.size - 1
        for chunk in self.chunks:
            for name in ("given", "cells", "remote"):
                last = max(last, int(chunk.tables[name].column("region").max(initial=0)))
            for name in ("loc", "slot"):
                last = max(last, int(chunk.tables["events"].column(name).max(initial=0)) // self.region_size)
            for name in ("home", "owner"):
                last = max(last, int(chunk.tables["pairs"].column(name).max(initial=0)))
            if "deltas" in chunk.tables:
                last = max(last, int(chunk.tables["deltas"].column("cell").max(initial=0)) // self.region_size)
                last = max(last, int(chunk.tables["ops"].column("slot").max(initial=0)) // self.region_size)
        return last + 1

    @property
    def n_cells(self) -> int:
        """Cells in use at the end."""
        return int(self.cells.at(-1).sum()) if self.n_passes else 0

    @property
    def region_size(self) -> int:
        """Cells a region."""
        return self.header.region_size

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(chunk.nbytes for chunk in self.chunks)

    @property
    def n_deltas(self) -> int:
        """Number of changes of cells that were kept."""
        return sum(chunk.tables["deltas"].n_values for chunk in self.chunks if "deltas" in chunk.tables)

    @property
    def complete(self) -> bool:
        """Whether the recording goes to the end of the run, undamaged."""
        return self.state == "complete"

    @cached_property
    def events_until(self) -> int:
        """First pass whose events were not kept: ``n_passes`` if all were."""
        return next((chunk.first for chunk in self.chunks if not chunk.kept), self.n_passes)

    @property
    def is_cut(self) -> bool:
        """Whether events stopped being kept before the end, because the recording reached its limit."""
        return self.level in ("events", "full") and self.dropped > 0

    @cached_property
    def dropped(self) -> int:
        """Number of events that were not kept."""
        return int(self.outcomes.sum()) - self.n_events

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about run and recording, as plain values."""
        header, end = self.header, self.end
        return {
            "entry": header.entry,
            "mode": header.mode,
            "limit": header.limit,
            "machine": dict(header.machine),
            "files": [name for name, _ in header.source],
            "kernel": header.kernel,
            "device": header.device,
            "devices": list(self.devices),
            "status": end.status if end else None,
            "message": end.message if end else "",
            "level": self.level,
            "state": self.state,
            "note": self.note,
        }

    @property
    def schema(self) -> Any:
        """Columns of its file, a ``pyarrow.Schema``: a row a pass, lists of records for what a pass has many of."""
        from hvm4viz.trace.format import schema

        return schema(self.level, self.header.blocks * self.header.threads_per_block)

    # One value a pass.

    @cached_property
    def rows(self) -> NDArray[np.void]:
        """All values that a pass has one of, as records (fields of ``columns.ROW``)."""
        parts = [chunk.rows for chunk in self.chunks]
        return locked(np.concatenate(parts) if parts else np.empty(0, ROW))

    @property
    def frontier_sizes(self) -> NDArray[np.uint32]:
        """Entries that each pass was given."""
        return self.rows["frontier"]

    @property
    def interactions(self) -> NDArray[np.uint64]:
        """Interactions of each pass."""
        return self.rows["interactions"]

    @property
    def longest(self) -> NDArray[np.uint32]:
        """Most interactions that one entry was charged, in each pass."""
        return self.rows["longest"]

    @property
    def parked(self) -> NDArray[np.uint32]:
        """Tasks parked at the end of each pass."""
        return self.rows["parked"]

    @property
    def device_ns(self) -> NDArray[np.uint64]:
        """Time of each dispatch, in nanoseconds."""
        return self.rows["device_ns"]

    @property
    def host_ns(self) -> NDArray[np.uint64]:
        """Time in the host, in nanoseconds."""
        return self.rows["host_ns"]

    # Several values a pass.

    @cached_property
    def outcomes(self) -> NDArray[np.int64]:
        """Entries by outcome, shape (n_passes, len(OUTCOMES))."""
        return locked(self._sparse("outcomes", "outcome", "count", N_OUTCOMES).dense())

    @property
    def deferral_sizes(self) -> NDArray[np.int64]:
        """Entries that each pass deferred."""
        return self.outcomes[:, DEFERRED]

    @property
    def contention_sizes(self) -> NDArray[np.int64]:
        """Entries that met a slot which another live task held, in each pass."""
        return self.outcomes[:, CONTENDED]

    @property
    def n_deferrals(self) -> int:
        """Entries deferred in all passes together."""
        return int(self.deferral_sizes.sum())

    @property
    def n_contentions(self) -> int:
        """Entries that met a slot which another live task held, in all passes together."""
        return int(self.contention_sizes.sum())

    @cached_property
    def rules(self) -> Sparse:
        """Interactions by pass and rule; names are ``header.rules``."""
        return self._sparse("rules", "rule", "count", len(self.header.rules))

    @cached_property
    def cells(self) -> Steps:
        """Cells in use at the end of each pass, by region."""
        table = self._table("cells")
        return Steps(table.offsets, table.column("region"), table.column("cells"), self.n_regions)

    @cached_property
    def remote(self) -> Sparse:
        """Linear cells written by threads of other blocks, by pass and region."""
        return self._sparse("remote", "region", "cells", self.n_regions)

    @cached_property
    def given(self) -> NDArray[np.void]:
        """Regions given to blocks while running: records (pass, region, block)."""
        table = self._table("given")
        out = np.empty(table.n_values, [("pass", "<i8"), ("region", "<u4"), ("block", "<u4")])
        out["pass"], out["region"], out["block"] = table.rows(), table.column("region"), table.column("block")
        return locked(out)

    def owner(self, region: int, p: int) -> int | None:
        """Return the block that owns a region in pass p, or None if it has no owner yet."""
        p = check_pass(p, self.n_passes)
        at = np.flatnonzero((self.given["region"] == region) & (self.given["pass"] < p))
        if at.size:
            return int(self.given["block"][at[-1]])
        return int(self.header.regions[region]) if 0 <= region < self.header.regions.size else None

    # Events.

    @cached_property
    def _firsts(self) -> list[int]:
        """First pass of each chunk."""
        return [chunk.first for chunk in self.chunks]

    @cached_property
    def event_offsets(self) -> NDArray[np.int64]:
        """Where the events of each pass start, shape (n_passes + 1,)."""
        lengths = [np.diff(chunk.tables["events"].offsets) for chunk in self.chunks]
        return locked(np.concatenate([[0], *lengths]).cumsum(dtype=np.int64))

    def parts(
        self, p0: int = 0, p1: int | None = None, *, table: str = "events"
    ) -> Iterator[tuple[int, NDArray[np.int64], Ragged]]:
        """Go through the values of passes p0 to p1 (without p1) in order, without a copy.

        Parameters
        ----------
        p0, p1 : int
            First pass, and the pass after the last one.
        table : str
            Which table (``columns.ALL_TABLES``).

        Yields
        ------
        first : int
            First pass of the part.
        offsets : ndarray of int64
            Where the values of each of its passes lie in ``table``, one more than passes.
        table : Ragged
            The values: ask it for columns or records between two offsets.
        """
        p1 = self.n_passes if p1 is None else p1
        for chunk in self.chunks[max(bisect_right(self._firsts, p0) - 1, 0) : bisect_left(self._firsts, p1)]:
            lo, hi = max(p0 - chunk.first, 0), min(p1 - chunk.first, chunk.n_passes)
            if lo < hi:
                values = chunk.tables[table]
                yield chunk.first + lo, values.offsets[lo : hi + 1], values

    def long_table(self, table: str, p0: int | None = None, p1: int | None = None) -> NDArray[np.void]:
        """Return the values of a table in passes p0 to p1 (without p1), in order.

        Returns
        -------
        values : ndarray of records
            Read-only; no copy if the passes lie in one chunk that is in memory.
        """
        start, stop, _ = slice(p0, p1).indices(self.n_passes)
        dtype = ALL_TABLES[table]
        found = [
            values.records(dtype, int(offsets[0]), int(offsets[-1]))
            for _, offsets, values in self.parts(start, stop, table=table)
        ]
        return locked(_behind(found, dtype))

    def events(
        self, p0: int | None = None, p1: int | None = None, *, kind: str | None = None, region: int | None = None
    ) -> NDArray[np.void]:
        """Return the events of passes p0 to p1 (without p1), in the order of the frontier.

        Parameters
        ----------
        p0, p1 : int, optional
            First pass, and the pass after the last one.
        kind : str, optional
            Only events with this outcome; or, at level ``full``, only those of tasks that did this to a slot (``take``,
            ``publish`` ...); or ``"region"``: the regions given to blocks, records (pass, region, block).
        region : int, optional
            Only tasks whose root cell lies in this region.

        Returns
        -------
        events : ndarray of EVENT
            Read-only; no copy if nothing is filtered and the passes lie in one chunk.

        Raises
        ------
        TraceError
            If no events were recorded.
        ValueError
            If there is no such kind.
        """
        if kind == "region":
            start, stop, _ = slice(p0, p1).indices(self.n_passes)
            given = self.given[slice(*np.searchsorted(self.given["pass"], [start, stop]).tolist())]
            return given if region is None else given[given["region"] == region]
        self.need_events("events")
        found = self.long_table("events", p0, p1)
        if kind is not None:
            found = found[self._of_kind(kind, found, p0, p1)]
        if region is not None:
            found = found[found["loc"] // self.region_size == region]
        return locked(found)

    def _of_kind(self, kind: str, events: NDArray[np.void], p0: int | None, p1: int | None) -> NDArray[np.bool_]:
        if kind in OUTCOMES:
            return events["outcome"] == OUTCOMES.index(kind)
        if kind not in OPERATIONS[1:]:
            raise ValueError(f"kind={kind!r}: must be one of {', '.join((*OUTCOMES, *OPERATIONS[1:]))}, region")
        if self.level != "full":
            raise TraceError(
                f"kind={kind!r}: this trace was recorded at level {self.level!r}; run it again with record='full'"
            )
        start, stop, _ = slice(p0, p1).indices(self.n_passes)
        did = np.zeros(events.size, bool)
        for first, offsets, table in self.parts(start, stop, table="ops"):
            lo, hi = int(offsets[0]), int(offsets[-1])
            at = lo + np.flatnonzero(table.column("op", lo, hi) == OPERATIONS.index(kind))
            passes = first + np.searchsorted(offsets, at, side="right") - 1
            did[self.event_offsets[passes] - self.event_offsets[start] + table.column("event")[at]] = True
        return did

    def column(self, name: str, p0: int | None = None, p1: int | None = None) -> NDArray[Any]:
        """Return one field of the events of passes p0 to p1, as ``events`` does for all fields."""
        index = slice(p0, p1).indices(self.n_passes)
        self.need_events("events")
        parts = [table.column(name, int(offsets[0]), int(offsets[-1])) for _, offsets, table in self.parts(*index[:2])]
        return _behind(parts, EVENT[name]).astype(EVENT[name], copy=False)  # files keep some fields in fewer bytes

    def passes(self, p0: int | None = None, p1: int | None = None) -> NDArray[np.int64]:
        """Return the pass of each event that ``events(p0, p1)`` returns."""
        start, stop, _ = slice(p0, p1).indices(self.n_passes)
        return np.repeat(np.arange(start, max(start, stop)), np.diff(self.event_offsets[start : max(start, stop) + 1]))

    def frontier(self, p: int) -> NDArray[np.uint64]:
        """Return the entries that ran in pass p, packed as ``thread << 32 | loc``, in order.

        Notes
        -----
        Entries that had to wait untouched for a later pass count in ``frontier_sizes`` only.
        """
        p = check_pass(p, self.n_passes)
        events = self.events(p, p + 1)
        return (events["thread"].astype(np.uint64) << np.uint64(32)) | events["loc"]

    def need_events(self, what: str) -> None:
        """Raise ``TraceError`` if no events were recorded."""
        if self.level in ("off", "counts"):
            raise TraceError(
                f"{what}: this trace was recorded at level {self.level!r}; run it again with record='events'"
            )

    def _table(self, name: str) -> Ragged:
        return join((chunk.tables[name] for chunk in self.chunks), ALL_TABLES[name])

    def _sparse(self, name: str, key: str, count: str, width: int) -> Sparse:
        table = self._table(name)
        return Sparse(table.offsets, table.column(key), table.column(count), width)


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def _behind(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Put arrays behind each other; one alone stays where it is."""
    first, *rest = parts or [np.empty(0, dtype)]
    return np.concatenate([first, *rest]) if rest else first


def _no_header() -> RunHeader:
    """Return what is said of a run that has not begun."""
    return RunHeader((), "", "snf", None, {}, (), 1, 1, 1, np.empty(0, np.uint32), "", "")
