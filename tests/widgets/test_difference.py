from __future__ import annotations

import hvm4viz as hv
from hvm4viz.widgets.difference import first_difference
from tests.widgets.samples import MACHINE, SHARED, shared


def test_a_trace_does_not_differ_from_itself() -> None:
    assert first_difference(shared().trace, shared("events", 2).trace) is None


def test_the_first_difference_is_named() -> None:
    other = hv.run(SHARED, machine=hv.Machine(blocks=2, threads_per_block=1, region_size=64, dup="claim"))
    found = first_difference(shared().trace, other.trace)
    assert found is not None
    p = found["pass"]
    assert shared().trace.events(p, p + 1).tobytes() != other.trace.events(p, p + 1).tobytes()
    for before in range(p):
        assert shared().trace.events(before, before + 1).tobytes() == other.trace.events(before, before + 1).tobytes()
    assert "A B" in found["text"]
    assert "; B B" in found["text"]


def test_a_shorter_trace_differs_where_it_ends() -> None:
    short = hv.run(SHARED, machine=MACHINE, max_passes=4)
    found = first_difference(shared().trace, short.trace)
    assert found == {"pass": 4, "loc": -1, "text": "A has 13 passes, B has 4"}
