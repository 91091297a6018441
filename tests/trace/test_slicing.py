"""Some passes of a trace, as a trace."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.trace import Trace, open_trace, recorder
from tests.trace.records import full_passes, header, record, wide_passes
from tests.trace.time_travel import PROGRAMS

WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]
BOUNDS = [(0, 3), (2, 5), (3, 8), (7, 8), (4, 4), (0, 8), (-3, None), (None, -2)]


@pytest.fixture(params=[1 << 20, 2000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.setattr(recorder, "CHUNK_BYTES", request.param)
    return record(wide_passes(WIDTHS))


@pytest.mark.parametrize(("p0", "p1"), BOUNDS)
def test_a_slice_is_what_its_passes_are(trace: Trace, p0: int | None, p1: int | None, tmp_path: Path) -> None:
    start, stop, _ = slice(p0, p1).indices(8)
    part = trace.slice(p0, p1)
    for found in (part, open_trace(part.save(tmp_path / "part.hvt"))):
        assert found.n_passes == stop - start
        assert np.array_equal(found.rows, trace.rows[start:stop])
        assert np.array_equal(found.events(), trace.events(start, stop))
        assert np.array_equal(found.outcomes, trace.outcomes[start:stop])
        for name in ("rules", "remote"):
            counts = getattr(found, name).dense()
            assert np.array_equal(counts, getattr(trace, name).dense()[start:stop, : counts.shape[1]])
        if found.n_passes:
            cells = found.cells.dense()
            assert np.array_equal(cells, trace.cells.dense()[start:stop, : cells.shape[1]])
        assert found.header.skipped == start
        assert (found.end is None) == (stop < 8)
        if (start, stop) != (0, 8):
            with pytest.raises(TraceError, match="no digest"):
                found.digest()


def test_the_whole_of_a_trace_is_itself(trace: Trace) -> None:
    assert trace.slice() is trace
    assert trace.slice(0, 99) is trace


def test_a_slice_of_counts_and_of_a_cut_trace() -> None:
    counts = record(wide_passes(WIDTHS), level="counts")
    assert np.array_equal(counts.slice(2, 6).outcomes, counts.outcomes[2:6])
    cut = record(wide_passes(WIDTHS), limit_bytes=7000)
    part = cut.slice(3, 7)
    assert part.events_until == 2
    assert part.dropped == sum(WIDTHS[5:7])


def test_heaps_of_a_slice(tmp_path: Path) -> None:
    program = hv.load(PROGRAMS / "queens.hvm4")
    machine = hv.Machine(blocks=3, region_size=64)
    whole = hv.run(program, machine=machine, record="full", progress=False).trace
    part = whole.slice(20, 45)
    for found in (part, open_trace(part.save(tmp_path / "part.hvt"))):
        for p in range(26):
            assert found.at(p).digest() == whole.at(20 + p).digest()
            assert found.at(p).stamps == whole.at(20 + p).stamps
        assert [found.owner(r, 5) for r in range(20)] == [whole.owner(r, 25) for r in range(20)]
        with pytest.raises(TraceError, match="part of a longer trace"):
            found.resume(3)
    again = part.slice(5, 10)
    assert again.header.skipped == 25
    assert again.at(0).digest() == whole.at(25).digest()


HEAD = dataclasses.replace(header(), regions=(np.arange(64) % 4).astype(np.uint32))


def test_the_rest_of_a_cut_trace_knows_its_first_heap_alone() -> None:
    passes = full_passes([3, 3, 3, 3])
    size = sum(192 + each.events.nbytes + each.ops.nbytes + each.deltas.nbytes for each in passes[:2])
    cut = record(passes, level="full", limit_bytes=size, head=HEAD)
    assert cut.events_until == 2
    for start in (1, 2):
        assert np.array_equal(cut.slice(start).at(0).words, cut.at(start).words)
    assert cut.slice(1).header.stamps == cut.header.stamps + 1
    assert cut.slice(3).header.heap.size == cut.header.heap.size == 0


@pytest.mark.parametrize(("p0", "p1", "state"), [(1, 4, "damaged"), (2, None, "damaged"), (0, 3, "interrupted")])
def test_a_slice_ends_as_its_trace_does_if_it_has_its_end(p0: int, p1: int | None, state: str) -> None:
    kept = record(full_passes([1, 2, 3, 4]), level="full", head=HEAD)
    trace = Trace(kept.header, kept.end, kept.chunks, level="full", devices=("cpu",), state="damaged", final_state=b"s")
    part = trace.slice(p0, p1)
    assert (part.state, part.final_state) == (state, b"s" if state == "damaged" else b"")
    stop = 4 if p1 is None else p1
    assert part.note == f"passes {p0} to {stop} of a trace of 4, numbered from 0"
    assert part.devices == ("cpu",)
