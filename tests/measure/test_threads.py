"""Measures by thread against the plainest way to count them."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.measure import busiest_thread, owner_threads, thread_map, thread_speedup, threads_at_work
from hvm4viz.trace import Trace, recorder
from tests.trace.records import record, wide_passes, worked_example

WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]
N_THREADS = 8


@pytest.fixture(scope="module", params=[1 << 20, 2000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_BYTES", request.param)
        return record(wide_passes(WIDTHS))


def sums(trace: Trace) -> np.ndarray:
    """Add up the interactions by pass and thread, one event at a time."""
    out = np.zeros((trace.n_passes, N_THREADS), np.int64)
    for p in range(trace.n_passes):
        for event in trace.events(p, p + 1):
            out[p, event["thread"]] += event["interactions"]
    return out


def test_threads_at_work_are_those_with_an_entry(trace: Trace) -> None:
    expected = [len(set(trace.events(p, p + 1)["thread"].tolist())) for p in range(trace.n_passes)]
    assert threads_at_work(trace).tolist() == expected


def test_the_busiest_thread_and_the_speed_up_that_it_leaves(trace: Trace) -> None:
    by_thread = sums(trace)
    assert busiest_thread(trace).tolist() == by_thread.max(axis=1).tolist()
    assert thread_speedup(trace) == pytest.approx(by_thread.sum() / by_thread.max(axis=1).sum())
    assert thread_speedup(record([])) == 0


def test_one_thread_alone_has_no_speed_up() -> None:
    machine = hv.Machine(blocks=1, threads_per_block=1)
    assert thread_speedup(hv.run("@main = [1 + 2, 3 * 4]", machine=machine, device="cpu").trace) == 1


@pytest.mark.parametrize("against", ["pass", "region"])
@pytest.mark.parametrize("shape", [(512, 512), (3, 5)])
def test_maps_count_each_entry(trace: Trace, against: str, shape: tuple[int, int]) -> None:
    found = thread_map(trace, against, shape=shape)  # type: ignore[arg-type]
    counts = np.zeros((N_THREADS, trace.n_passes if against == "pass" else trace.n_regions))
    for p in range(trace.n_passes):
        for event in trace.events(p, p + 1):
            counts[event["thread"], p if against == "pass" else event["loc"] // trace.region_size] += 1
    rows, columns = found.threads_per_bin, found.columns_per_bin
    assert (found.n_threads, found.n_columns) == counts.shape
    assert max(found.values.shape) <= max(shape)
    for (row, column), value in np.ndenumerate(found.values):
        assert value == counts[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns].max()


def test_owners_are_threads_by_slice() -> None:
    trace = worked_example()  # regions of 8 cells, 4 threads a block: slices of 2 cells
    assert owner_threads(trace, np.array([0, 1, 2, 8, 15, 18]), 0).tolist() == [0, 0, 1, 4, 7, 9]
    assert owner_threads(trace, np.array([8 * 6]), 0).tolist() == [-1]
    assert owner_threads(trace, np.array([], np.int64), 0).size == 0


def test_without_events_there_is_nothing_to_count() -> None:
    trace = record(wide_passes([3]), level="counts")
    for ask in (threads_at_work, busiest_thread, thread_speedup, thread_map):
        with pytest.raises(TraceError, match="events"):
            ask(trace)


def test_a_map_against_anything_else_is_refused() -> None:
    with pytest.raises(ValueError, match="against='block'"):
        thread_map(worked_example(), "block")  # type: ignore[arg-type]
