"""Searches: what is found is what a loop over everything finds, forward and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.events import OPERATIONS, OUTCOMES, REASONS
from hvm4viz.term import Tag, ext_of, tag_of
from hvm4viz.trace import Trace, recorder
from hvm4viz.trace.find import Hit
from tests.trace.records import header, record, wide_passes
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module", params=[1 << 20, 3000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_BYTES", request.param)
        program = hv.load(PROGRAMS / "shared_table.hvm4")
        return hv.run(program, record="full", max_passes=150, progress=False).trace


Fits = Callable[[dict[str, Any]], bool]

TASKS: dict[str, Fits] = {
    "outcome:deferred": lambda e: OUTCOMES[e["outcome"]] == "deferred",
    "outcome:deferred reason:take thread:8": lambda e: (
        (OUTCOMES[e["outcome"]], REASONS[e["reason"]], e["thread"]) == ("deferred", "take", 8)
    ),
    "interactions:>3": lambda e: e["interactions"] > 3,
    "cells:>=3 outcome:done": lambda e: e["cells"] >= 3 and OUTCOMES[e["outcome"]] == "done",
    "origin:hop": lambda e: e["origin"] == 2,
    "slot:8000..9000 side:1": lambda e: 8000 <= e["slot"] <= 9000 and e["side"] == 1,
    "region:2 interactions:<1": lambda e: e["loc"] // 4096 == 2 and e["interactions"] < 1,
    "thread:<=1 outcome:done": lambda e: e["thread"] <= 1 and OUTCOMES[e["outcome"]] == "done",
}


@pytest.mark.parametrize("query", TASKS)
def test_tasks(trace: Trace, query: str) -> None:
    names = trace.events().dtype.names or ()
    rows = [dict(zip(names, row, strict=True)) for row in trace.events().tolist()]
    expected = [i for i, row in enumerate(rows) if TASKS[query](row)]
    hits = list(trace.find_all(query))
    assert [hit.index for hit in hits] == expected
    assert [hit.pass_index for hit in hits] == trace.passes()[expected].tolist()
    assert [hit.loc for hit in hits] == [rows[i]["loc"] for i in expected]
    assert all(hit.kind == "event" for hit in hits)
    assert expected


def agree(trace: Trace, query: str) -> None:
    """Compare ``find`` from every pass, both ways, with all hits."""
    hits = list(trace.find_all(query))
    assert [hit.pass_index for hit in hits] == sorted(hit.pass_index for hit in hits)
    for p in range(0, trace.n_passes, 7):
        after = [hit for hit in hits if hit.pass_index >= p]
        before = [hit for hit in hits if hit.pass_index <= p]
        assert trace.find(query, start=p) == (after[0] if after else None)
        found = trace.find(query, start=p, back=True)
        assert (found.pass_index if found else None) == (before[-1].pass_index if before else None)
        assert found is None or found in before
    assert trace.find(query) == (hits[0] if hits else None)
    assert trace.find(query, back=True) in (hits[-1:] or [None]) or len({h.kind for h in hits}) > 1


@pytest.mark.parametrize(
    "query",
    ["outcome:deferred", "age:>4", "op:take", "tag:SUP", "tag:CTR region:1", "loc:8248", "region:3", "def:fibonacci",
     "age:1 reason:take", "op:publish region:2", "outcome:starved"],
)  # fmt: skip
def test_the_next_and_the_previous_one(trace: Trace, query: str) -> None:
    agree(trace, query)


def test_deferrals_by_age(trace: Trace) -> None:
    found = trace.deferrals()
    hits = list(trace.find_all("age:>4 slot:8248"))
    expected = np.flatnonzero((found["age"] > 4) & (found["slot"] == 8248)).tolist()
    assert [hit.index for hit in hits] == expected
    assert [hit.pass_index for hit in hits] == found["opened"][expected].tolist()
    assert all("waits at slot 8248" in hit.text for hit in hits)
    assert expected


def test_operations(trace: Trace) -> None:
    ops = trace.ops()
    hits = list(trace.find_all("op:take thread:8"))
    expected = np.flatnonzero((ops["op"] == OPERATIONS.index("take")) & (ops["thread"] == 8)).tolist()
    assert [hit.index for hit in hits] == expected
    assert [(hit.loc, hit.slot) for hit in hits] == [(int(ops["loc"][i]), int(ops["slot"][i])) for i in expected]
    assert expected


def written(trace: Trace, fits: Callable[[int], bool]) -> list[tuple[int, int]]:
    found = [(0, cell) for cell, word in enumerate(trace.header.heap.tolist()) if word and fits(word)]
    for p in range(trace.n_passes):
        found += [(p, cell) for cell, _, after in trace.deltas(p, p + 1).tolist() if fits(after)]
    return found


def places(hits: list[Hit]) -> list[tuple[int, int]]:
    return [(hit.pass_index, hit.loc) for hit in hits]


@pytest.mark.parametrize(("query", "tag"), [("tag:DP1", Tag.DP1), ("tag:c02", Tag.C00 + 2), ("tag:F_OPL", 70)])
def test_cells_by_tag(trace: Trace, query: str, tag: int) -> None:
    expected = written(trace, lambda word: tag_of(word) == tag)
    assert places(list(trace.find_all(query))) == expected
    assert expected


def test_links_and_stamps_are_no_terms(trace: Trace) -> None:
    """A link between environments looks like an application: only its place tells."""
    apps = places(list(trace.find_all("tag:APP")))
    assert len(apps) < len(written(trace, lambda word: tag_of(word) == Tag.APP))
    slots = set(trace.ops()["slot"].tolist())
    assert not {cell for _, cell in apps} & {slot + place for slot in slots for place in (1, 2, 3)}
    stuck = hv.run("@main = λ&f. f(1, f(2))", record="full").trace
    assert len(list(stuck.find_all("tag:APP"))) >= 3


def test_cells_by_label(trace: Trace) -> None:
    labels = {ext_of(word) for _, _, word in trace.deltas().tolist() if tag_of(word) == Tag.DP0}
    for label in labels:
        expected = written(
            trace,
            lambda word, label=label: tag_of(word) in (Tag.SUP, Tag.DP0, Tag.DP1, 68, 69) and ext_of(word) == label,
        )
        assert places(list(trace.find_all(f"label:{label}"))) == expected


def test_labels_and_constructors_have_names() -> None:
    trace = hv.run("@main = ! x &Lab= #Thing{1}; #Pair{x₀, #Thing{x₁}}", record="full").trace
    assert trace.find("label:Lab") is not None
    assert trace.find("label:Other") is None
    assert trace.find("Thing") is not None
    assert trace.find("thi tag:C01") is not None
    assert trace.find("#Pair") is not None
    assert trace.find("#Pai") is None
    first = trace.find("@main")
    assert first is not None
    assert (first.pass_index, first.loc, first.text) == (0, 0, "cell 0: REF @main from the start")
    assert places(list(trace.find_all("def:@main"))) == places(list(trace.find_all("@main")))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "the search is empty"),
        ("lok:3", r"no key 'lok' \(did you mean loc:\?\); there are: loc, region"),
        ("loc:", "loc: is followed by nothing; write it without a blank, such as loc:123"),
        ("loc:x", "loc:x: write a number, >3, >=3"),
        ("loc:>3..5", "write a number"),
        ("loc:1e3", "write a number"),
        ("outcome:defered", r"no outcome of that name \(did you mean deferred\?\)"),
        ("outcome:", "followed by nothing"),
        ("reason:why", "no reason of that name; there are: take, publish"),
        ("tag:LAMB", r"no tag of that name \(did you mean LAM\?\)"),
        ("label:-1", "write the name of a label, or its number"),
        ("def:@min", r"the program has no definition of that name \(did you mean @main\?\)"),
        ("tag:DP0 outcome:done", "tag: is told of cells and outcome: of tasks; search for one of the two"),
        ("age:3 op:take", "age: is told of deferrals and op: of operations"),
    ],
)  # fmt: skip
def test_what_is_not_understood(query: str, says: str) -> None:
    trace = hv.run("@main = 1", record="full").trace
    with pytest.raises(ValueError, match=says):
        trace.find(query)
    with pytest.raises(ValueError, match=says):
        trace.find_all(query)


def test_below_full_only_tasks_are_searched() -> None:
    trace = hv.run("@main = #Pair{1, 2}").trace
    assert [hit.kind for hit in trace.find_all("loc:0")] == ["event"]
    for query in ("tag:DP0", "#Pair", "op:take"):
        with pytest.raises(TraceError, match="record='full'"):
            trace.find(query)
    with pytest.raises(TraceError, match="record='events'"):
        hv.run("@main = 1", record="counts").trace.find("outcome:done")


def test_a_program_that_cannot_be_parsed_here_has_no_names() -> None:
    trace = record(wide_passes([3]), level="full", head=header(source="@main = %a_primitive_of_elsewhere(1)"))
    assert trace.program is None
    assert trace.find("outcome:done") is not None
    with pytest.raises(TraceError, match="cannot be parsed here"):
        trace.find("main")


def test_below_full_nobody_knows_which_cells_hold_terms() -> None:
    with pytest.raises(TraceError, match=r"what the cells hold: .* record='full'"):
        _ = hv.run("@main = 1").trace.roles


def test_nothing_is_found_in_nothing() -> None:
    trace = hv.run("@main = 1", max_passes=0, record="full").trace
    for query in ("outcome:done", "age:>0", "op:take", "region:5"):
        assert trace.find(query) is None
        assert trace.find(query, back=True) is None
