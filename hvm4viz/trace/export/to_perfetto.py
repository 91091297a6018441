"""A trace for the Perfetto viewer: a track a region, a slice a pass, flows from deferral to answer, counters."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.trace.whole import whole_file

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

PASS_NS: Final = 1_000_000
"""Length of a pass where each is as long as the other, in nanoseconds."""

FLOWS_MAX: Final = 100_000
"""Deferrals that get an arrow; the name of the run's track says so if there are more."""

_RUN, _COUNTERS, _REGIONS = 1, 2, 1 << 20
_COUNTED: Final = ("frontier", "interactions", "deferred", "contended", "parked", "cells in use")


def to_perfetto(
    trace: Trace, path: str | Path, *, clock: Literal["pass", "time"] = "pass", overwrite: bool = False
) -> Path:
    """Write a Perfetto trace; see ``Trace.to_perfetto``."""
    if clock not in ("pass", "time"):
        raise ValueError(f"clock={clock!r}: must be 'pass' or 'time'")
    trace.need_events("a track a region")
    try:
        protos: Any = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    except ModuleNotFoundError:
        raise TraceError("the package perfetto is not installed: pip install 'hvm4viz[perfetto]'") from None
    with whole_file(path, overwrite=overwrite) as part, part.open("wb") as file:
        _Perfetto(trace, protos, file, clock).write()
    return Path(path)


class _Perfetto:
    """One file being written, packet by packet."""

    def __init__(self, trace: Trace, protos: Any, file: IO[bytes], clock: str) -> None:
        self.trace = trace
        self.protos = protos
        self.file = file
        lengths = np.full(trace.n_passes, PASS_NS, np.int64)
        if clock == "time":
            lengths = np.maximum((trace.device_ns + trace.host_ns).astype(np.int64), 1)
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths)])

    def write(self) -> None:
        """Write tracks, counters, slices and flows."""
        self._tracks()
        self._counters()
        for first, offsets, _ in self.trace.parts():
            self._slices(first, first + offsets.size - 1)
        self._flows()

    def _packet(self, time: int | None = None) -> Any:
        packet = self.protos.TracePacket()
        packet.trusted_packet_sequence_id = 1
        if time is not None:
            packet.timestamp = time
        return packet

    def _put(self, packet: Any) -> None:
        self.file.write(self.protos.Trace(packet=[packet]).SerializeToString())

    def _track(self, uuid: int, name: str, parent: int = 0, *, is_counter: bool = False) -> None:
        packet = self._packet()
        track = packet.track_descriptor
        track.uuid, track.name = uuid, name.encode("utf-8", "backslashreplace").decode()
        if parent:
            track.parent_uuid = parent
        if is_counter:
            track.counter.SetInParent()
        self._put(packet)

    def _tracks(self) -> None:
        trace = self.trace
        n_flows = trace.deferrals().size
        note = f", arrows for the first {FLOWS_MAX:,} of {n_flows:,} deferrals" if n_flows > FLOWS_MAX else ""
        files = ", ".join(name for name, _ in trace.header.source) or "a heap laid out by hand"
        self._track(_RUN, f"{files}, {trace.n_passes:,} passes{note}")
        for place, name in enumerate(_COUNTED):
            self._track(_COUNTERS + place, name, _RUN, is_counter=True)
        owners = {int(region): int(block) for _, region, block in trace.given.tolist()}
        for region in range(trace.n_regions):
            first = trace.header.regions
            block = owners.get(region, int(first[region]) if region < first.size else 0)
            self._track(_REGIONS + region, f"region {region} (block {block})", _RUN)

    def _counters(self) -> None:
        trace = self.trace
        columns = {
            "frontier": trace.frontier_sizes,
            "interactions": trace.interactions,
            "deferred": trace.deferral_sizes,
            "contended": trace.contention_sizes,
            "parked": trace.parked,
            "cells in use": _cells_in_use(trace),
        }
        for place, name in enumerate(_COUNTED):
            for p, value in enumerate(columns[name].tolist()):
                packet = self._packet(int(self.starts[p]))
                packet.track_event.type = self.protos.TrackEvent.TYPE_COUNTER
                packet.track_event.track_uuid = _COUNTERS + place
                packet.track_event.counter_value = int(value)
                self._put(packet)

    def _slices(self, p0: int, p1: int) -> None:
        """One slice for each pass and region that had entries, with what became of them."""
        for p, region, counts in _by_region(self.trace, p0, p1):
            uuid = _REGIONS + region
            packet = self._packet(int(self.starts[p]))
            event = packet.track_event
            event.type, event.track_uuid, event.name = self.protos.TrackEvent.TYPE_SLICE_BEGIN, uuid, f"pass {p}"
            for name, value in counts.items():
                note = event.debug_annotations.add()
                note.name, note.uint_value = name, value
            self._put(packet)
            packet = self._packet(int(self.starts[p + 1]) - 1)
            packet.track_event.type = self.protos.TrackEvent.TYPE_SLICE_END
            packet.track_event.track_uuid = uuid
            self._put(packet)

    def _flows(self) -> None:
        """Draw an arrow from where a task stops, in its region, to where it goes on, in the region of the slot."""
        found = self.trace.deferrals()[:FLOWS_MAX]
        columns = (found[name].tolist() for name in ("opened", "closed", "loc", "slot", "home", "owner", "reason"))
        for number, row in enumerate(zip(*columns, strict=True), 1):
            opened, closed, loc, slot, home, owner, reason = row
            middle = int(self.starts[opened] + self.starts[opened + 1]) // 2
            self._instant(middle, home, f"task {loc} waits at slot {slot} ({REASONS[reason]})", begins=number)
            if closed >= 0:
                middle = int(self.starts[closed] + self.starts[closed + 1]) // 2
                self._instant(middle, owner, f"slot {slot} answers task {loc}", ends=number)

    def _instant(self, time: int, region: int, name: str, *, begins: int = 0, ends: int = 0) -> None:
        packet = self._packet(time)
        event = packet.track_event
        event.type, event.track_uuid, event.name = self.protos.TrackEvent.TYPE_INSTANT, _REGIONS + region, name
        if begins:
            event.flow_ids.append(begins)
        if ends:
            event.terminating_flow_ids.append(ends)
        self._put(packet)


def _cells_in_use(trace: Trace) -> NDArray[np.int64]:
    """Add up the cells in use in all regions, at the end of each pass."""
    table = trace.cells
    total, used = np.zeros(trace.n_passes, np.int64), np.zeros(table.width, np.int64)
    for p in range(trace.n_passes):
        entries = slice(int(table.offsets[p]), int(table.offsets[p + 1]))
        used[table.keys[entries]] = table.states[entries]
        total[p] = used.sum()
    return total


def _by_region(trace: Trace, p0: int, p1: int) -> Iterator[tuple[int, int, dict[str, int]]]:
    """Count what became of the entries of each pass and region."""
    events = trace.events(p0, p1)
    if not events.size:
        return
    keys = trace.passes(p0, p1) * trace.n_regions + events["loc"] // np.uint32(trace.region_size)
    found, place = np.unique(keys, return_inverse=True)
    counts = np.zeros((found.size, len(OUTCOMES)), np.int64)
    np.add.at(counts, (place, events["outcome"]), 1)
    sums = {name: np.bincount(place, events[name], found.size).astype(np.int64) for name in ("interactions", "cells")}
    for row, key in enumerate(found.tolist()):
        p, region = divmod(key, trace.n_regions)
        by_outcome = {OUTCOMES[code]: int(counts[row, code]) for code in np.flatnonzero(counts[row]).tolist()}
        yield p, region, {**by_outcome, **{name: int(column[row]) for name, column in sums.items()}}
