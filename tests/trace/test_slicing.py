"""Some passes of a trace, as a trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.trace import Trace, open_trace, recorder
from tests.trace.records import record, wide_passes
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
