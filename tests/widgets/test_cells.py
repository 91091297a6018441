from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.widgets.cells import (
    ERROR,
    FREED,
    FRONTIER,
    IDLE,
    NEVER,
    NONE,
    REDUCED,
    SUB,
    WAITING,
    cell_times,
    difference_frame,
    states_frame,
    statuses,
    words_at,
)  # fmt: skip
from tests.widgets.samples import seven_cells, shared
from tests.widgets.unpacking import unpack


@pytest.mark.parametrize("record", ["events", "full"])
def test_times_are_the_first_ones(record: str) -> None:
    trace = shared(record).trace
    times = cell_times(trace)
    done: dict[int, int] = {}
    seen: dict[int, int] = {}
    for p in range(trace.n_passes + 1):
        if record == "full":
            for cell in np.flatnonzero(trace.at(p).words).tolist():
                seen.setdefault(cell, p)
        if p == trace.n_passes:
            break
        for event in trace.events(p, p + 1):
            for cell in (int(event["loc"]), int(event["slot"])):
                if cell or cell == event["loc"]:
                    seen[cell] = min(seen.get(cell, p), p)
            if event["outcome"] == 1:
                done.setdefault(int(event["loc"]), p)
    assert times.cells.tolist() == sorted(seen)
    assert dict(zip(times.cells.tolist(), times.seen.tolist(), strict=True)) == seen
    found = {c: d for c, d in zip(times.cells.tolist(), times.done.tolist(), strict=True) if d != NEVER}
    assert found == done


def test_statuses_of_the_worked_example_follow_the_protocol() -> None:
    trace = seven_cells().trace
    times = cell_times(trace)

    def at(p: int) -> dict[int, int]:
        return dict(zip(times.cells.tolist(), statuses(trace, times, p).tolist(), strict=True))

    assert at(0) == {0: FRONTIER, 1: IDLE, 3: NONE, 5: IDLE, 6: IDLE, 8: IDLE, 9: IDLE, 17: IDLE, 18: IDLE}
    assert {c: at(1)[c] for c in (0, 8, 9)} == {0: REDUCED, 8: WAITING, 9: FRONTIER}
    assert {c: at(2)[c] for c in (1, 8, 17, 18)} == {1: IDLE, 8: FRONTIER, 17: FRONTIER, 18: WAITING}
    assert {c: at(3)[c] for c in (1, 8, 18)} == {1: SUB, 8: REDUCED, 18: FRONTIER}
    assert {c: at(4)[c] for c in (1, 8, 18)} == {1: SUB, 8: REDUCED, 18: REDUCED}


def test_an_error_is_shown_where_it_happened() -> None:
    run = hv.run("@main = #Pair{1(2), 3}", record="full")
    assert run.status == "error"
    times = cell_times(run.trace)
    assert ERROR in statuses(run.trace, times, run.trace.n_passes - 1)


@pytest.mark.parametrize("record", ["events", "full"])
def test_states_are_statuses_without_those_at_work(record: str) -> None:
    trace = shared(record).trace
    times = cell_times(trace)
    for p in range(trace.n_passes + 1):
        codes = unpack(states_frame(trace, times, p, 0, 1 << 30))["code"]
        all_of_them = statuses(trace, times, p)
        rest = (all_of_them != FRONTIER) & (all_of_them != WAITING)
        assert (codes[rest] & 7).tolist() == all_of_them[rest].tolist()
        assert set((codes & 7).tolist()) <= {NONE, FREED, IDLE, REDUCED, SUB}
        part = states_frame(trace, times, p, 10, 50)
        inside = (times.cells >= 10) & (times.cells < 50)
        assert unpack(part)["code"].tolist() == codes[inside].tolist()


def test_a_difference_tells_what_was_added_freed_and_changed() -> None:
    trace = shared().trace
    times = cell_times(trace)
    for a, b in ((0, trace.n_passes), (trace.n_passes, 3), (5, 6), (4, 4)):
        codes = unpack(difference_frame(trace, times, a, b, 0, 1 << 30))["code"].tolist()
        was, now = (words_at(trace, p)[times.cells].tolist() for p in (a, b))
        expected = [0 if x == y else 1 if not x else 2 if not y else 3 for x, y in zip(was, now, strict=True)]
        assert codes == expected
        assert (a == b) != any(codes)
