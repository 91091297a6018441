"""Maps of what only level ``full`` knows; the rest is in ``tests/measure``."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.trace import Trace, recorder
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module", params=[1 << 20, 3000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_BYTES", request.param)
        machine = hv.Machine(region_size=128)
        return hv.run(hv.load(PROGRAMS / "sat.hvm4"), machine=machine, record="full", progress=False).trace


@pytest.mark.parametrize("what", ["takes", "writes"])
def test_every_take_and_every_write_is_counted_where_it_was(trace: Trace, what: str) -> None:
    expected = np.zeros((trace.n_regions, trace.n_passes))
    for p in range(trace.n_passes):
        cells = trace.ops(p, p + 1, kind="take")["slot"] if what == "takes" else trace.deltas(p, p + 1)["cell"]
        np.add.at(expected[:, p], cells // trace.region_size, 1)
    found = trace.heatmap(what, shape=(10**6, 10**6))  # type: ignore[arg-type]
    assert np.array_equal(found.values, expected)
    gathered = trace.heatmap(what, shape=(7, 5))  # type: ignore[arg-type]
    assert gathered.values.sum() == expected.sum() > 0
    assert gathered.values.shape <= (7, 5)
    largest = trace.heatmap(what, shape=(7, 5), reduce="max")  # type: ignore[arg-type]
    assert largest.values.max() == expected.max()


def test_below_full_there_are_none() -> None:
    trace = hv.run("@main = 1").trace
    for what in ("takes", "writes"):
        with pytest.raises(TraceError, match="record='full'"):
            trace.heatmap(what)  # type: ignore[arg-type]
