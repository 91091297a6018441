"""Why a task waits: the chain of deferrals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.events import DELTA, REASONS
from hvm4viz.term import SUB_BIT, Tag, has_sub, pack
from hvm4viz.trace import Trace
from tests.trace.records import DEFERRED, TAKE, event, one_pass, record, worked_example
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module", params=["owner", "claim"])
def trace(request: pytest.FixtureRequest) -> Trace:
    program = hv.load(PROGRAMS / "shared_table.hvm4")
    return hv.run(program, machine=hv.Machine(dup=request.param), record="full", max_passes=200, progress=False).trace


def test_every_open_deferral_has_a_cause(trace: Trace) -> None:
    found = trace.deferrals()
    longest = 0
    for each in found[:: max(found.size // 150, 1)]:
        loc, p = int(each["loc"]), int(each["opened"])
        chain = trace.why(loc, p)
        first = chain[0]
        assert (first.loc, first.slot, first.side) == (loc, int(each["slot"]), int(each["side"]))
        assert (first.opened, first.reason) == (p, REASONS[int(each["reason"])])
        assert first.closed == (int(each["closed"]) if each["closed"] >= 0 else None)
        assert (first.home, first.owner, first.thread) == tuple(int(each[n]) for n in ("home", "owner", "thread"))
        for cause, following in pairwise(chain):
            assert cause.holder == following.loc
            assert following.opened <= p
        assert len({cause.loc for cause in chain}) == len(chain)
        longest = max(longest, len(chain))
    assert longest > 1


def test_the_value_comes_in_the_pass_that_is_told(trace: Trace) -> None:
    checked = 0
    for each in trace.deferrals()[::23]:
        (cause, *_) = trace.why(int(each["loc"]), int(each["opened"]))
        if cause.value_pass is None:
            assert not has_sub(trace.cell(cause.slot).at(trace.n_passes))
            continue
        history = trace.cell(cause.slot)
        assert has_sub(history.at(cause.value_pass + 1))
        assert not has_sub(history.at(cause.value_pass))
        assert cause.value in str(cause)
        checked += 1
    assert checked


def test_the_holder_took_the_slot_and_has_not_left_it(trace: Trace) -> None:
    held = 0
    for each in trace.deferrals()[::11]:
        p = int(each["opened"])
        for cause in trace.why(int(each["loc"]), p):
            if cause.holder is not None:
                word = int(trace.at(p + 1).words[cause.slot])
                assert word >> 56 & 0x7F >= 64  # the frame of whoever reduces it
                held += 1
    assert held


def test_who_does_not_wait_has_no_cause(trace: Trace) -> None:
    assert trace.why(0, 0) == []
    assert trace.why(10**9, 3) == []
    closed = trace.deferrals()
    closed = closed[closed["closed"] >= 0]
    again = set(zip(trace.deferrals()["loc"].tolist(), trace.deferrals()["opened"].tolist(), strict=True))
    for each in closed[::29]:
        at = int(each["closed"])
        if (int(each["loc"]), at) not in again and at < trace.n_passes:
            assert trace.why(int(each["loc"]), at) == []


def test_below_full_the_chain_has_one_link() -> None:
    trace = worked_example()
    (cause,) = trace.why(8, 1)
    assert (cause.slot, cause.opened, cause.closed, cause.home, cause.owner) == (1, 1, 2, 1, 0)
    assert (cause.value_pass, cause.holder) == (None, None)
    assert str(cause) == (
        "task 8 (region 1) waits from pass 1 until pass 2 at slot 1, side 0, of region 0: deferred, take"
    )
    assert trace.why(8, 2) == []
    assert trace.why(18, -2) == trace.why(18, 2)
    with pytest.raises(IndexError, match="passes 0 to 3"):
        trace.why(8, 4)


def test_without_events_nothing_is_known() -> None:
    with pytest.raises(TraceError, match="record='events'"):
        hv.run("@main = 1", record="counts").trace.why(0, 0)


def test_the_first_value_at_the_wait_is_told_and_else_the_last_before() -> None:
    taken = [[event(8, DEFERRED, slot=1, reason=TAKE)], [event(8, DEFERRED, slot=1, reason=TAKE)], [event(8)]]
    value = [SUB_BIT | pack(Tag.NUM, 0, n) for n in range(4)]

    def told(*words: int) -> tuple[int | None, str]:
        """Give the slot these words, pass by pass, and ask for the wait from pass 1 on."""
        before = [0, *words]
        deltas = [np.array([(1, before[p], word)] if before[p] != word else [], DELTA) for p, word in enumerate(words)]
        passes = [[event(9)], taken[0], [event(8)], [event(9)]]
        each = zip(passes, deltas, strict=True)
        trace = record([one_pass(p, *part, deltas=d) for p, (*part, d) in enumerate(each)], level="full")
        (cause,) = trace.why(8, 1)
        return cause.value_pass, cause.value

    assert told(value[1], 5, value[2], 7) == (2, "SUB 2")
    assert told(value[1], 5, 7, value[3]) == (3, "SUB 3")
    assert told(value[1], 5, 7, 9) == (0, "SUB 1")
    assert told(4, 5, 7, 9) == (None, "")
