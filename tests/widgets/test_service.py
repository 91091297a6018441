from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.widgets.service import TraceService
from tests.widgets.samples import MACHINE, SHARED, shared
from tests.widgets.unpacking import unpack


@pytest.fixture(scope="module")
def service() -> TraceService:
    return TraceService(shared().trace)


def ask(service: TraceService, kind: str, **more: Any) -> dict[str, Any]:
    frame = service.answer({"kind": kind, "id": 7, "part": 0, **more})
    return {**frame.head, **unpack(frame)}


def test_counters_are_those_of_the_trace(service: TraceService) -> None:
    trace, found = service.trace, ask(service, "counters")
    for name, column in (
        ("frontier", trace.frontier_sizes),
        ("interactions", trace.interactions),
        ("longest", trace.longest),
        ("parked", trace.parked),
        ("deferred", trace.deferral_sizes),
        ("contended", trace.contention_sizes),
        ("used", trace.cells.dense().sum(axis=1)),
        ("deltas", [trace.deltas(p, p + 1).size for p in range(trace.n_passes)]),
    ):
        assert found[name].tolist() == list(column), name


def test_a_window_holds_what_its_passes_did(service: TraceService) -> None:
    trace = service.trace
    p0, p1 = 2, 9
    found = ask(service, "window", p0=p0, p1=p1)
    events = trace.events(p0, p1)
    for name in events.dtype.names or ():
        assert found[name].tolist() == events[name].tolist()
    deltas = trace.deltas(p0, p1)
    for name in ("cell", "before", "after"):
        assert found[f"delta_{name}"].tolist() == deltas[name].tolist()
    for p in range(p0, p1):
        lo, hi = found["event_offsets"][p - p0 : p - p0 + 2].tolist()
        assert hi - lo == trace.events(p, p + 1).size
    waits = trace.deferrals()
    is_open = (waits["opened"] < p1) & ((waits["closed"] < 0) | (waits["closed"] >= p0))
    assert found["wait_loc"].tolist() == waits["loc"][is_open].tolist()


@pytest.mark.parametrize("p", range(14))
def test_use_of_regions_follows_from_a_window(service: TraceService, p: int) -> None:
    trace = service.trace
    p0 = min(p, trace.n_passes - 1) // 4 * 4
    found = ask(service, "window", p0=p0, p1=min(p0 + 4, trace.n_passes))
    state = np.zeros(trace.n_regions, np.int64)
    state[found["base_region"]] = found["base_cells"]
    stop = found["step_offsets"][min(p, found["p1"]) - p0]
    state[found["step_region"][:stop]] = found["step_cells"][:stop]
    expected = trace.cells.at(p - 1) if p else np.zeros(trace.n_regions, np.int64)
    assert state.tolist() == expected.tolist()


def test_words_are_those_of_the_heap(service: TraceService) -> None:
    trace = service.trace
    for p in (0, 5, trace.n_passes):
        found = ask(service, "words", p=p, c0=0, c1=10**9)
        words = np.zeros(service.n_cells, np.uint64)
        words[found["cell"]] = found["word"]
        expected = trace.at(p).words[: service.n_cells]
        assert words[: expected.size].tolist() == expected.tolist()


def test_regions_tell_their_owner_and_since_when(service: TraceService) -> None:
    trace, found = service.trace, ask(service, "regions")
    for region in range(trace.n_regions):
        since = int(found["since"][region])
        assert trace.owner(region, since) == int(found["block"][region])
        assert since == 0 or trace.owner(region, since - 1) is None


def test_the_same_question_has_the_same_answer(service: TraceService) -> None:
    first = service.answer({"kind": "window", "p0": 0, "p1": 3, "id": 1, "part": 0})
    assert service.answer({"kind": "window", "p0": 0, "p1": 3, "id": 2, "part": 0}) is first


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"kind": "nothing"}, "no question 'nothing'"),
        ({}, "kind=None"),
        ({"kind": ["window"]}, "must be text"),
        ({"kind": "window", "p0": 0, "p1": 99}, "has passes 0 to 13"),
        ({"kind": "window", "p0": -1, "p1": 2}, "has passes"),
        ({"kind": "window", "p0": 3, "p1": 3}, "has passes"),
        ({"kind": "window", "p0": "0", "p1": 2}, "must be a whole number"),
        ({"kind": "window", "p0": True, "p1": 2}, "must be a whole number"),
        ({"kind": "window", "p0": 0.5, "p1": 2}, "must be a whole number"),
        ({"kind": "words", "p": 99, "c0": 0, "c1": 8}, "has passes"),
        ({"kind": "words", "p": 0, "c0": 8, "c1": 8}, "has cells"),
        ({"kind": "map", "what": "deferrals", "p0": 0, "p1": 2, "r0": 0, "r1": 99, "rows": 9, "columns": 9}, "regions"),
        ({"kind": "triples", "what": "x" * 99}, "this trace has deferrals"),
        ({"kind": "search", "query": "lok:1", "first": 0}, "did you mean loc"),
        ({"kind": "search", "query": 3, "first": 0}, "must be text"),
    ],
)
def test_what_is_no_question_is_told_so(service: TraceService, question: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        service.answer(question)


def test_contents_are_missing_below_full() -> None:
    service = TraceService(shared("events").trace)
    with pytest.raises(TraceError, match="record='full'"):
        service.answer({"kind": "words", "p": 0, "c0": 0, "c1": 8})
    assert "delta_cell" not in ask(service, "window", p0=0, p1=3)


def test_at_counts_there_are_counters_and_maps_but_no_events() -> None:
    service = TraceService(shared("counts").trace)
    found = ask(service, "window", p0=0, p1=13)
    assert found["event_offsets"].tolist() == [0] * 14
    assert not service.maps.has("frontier")
    assert int(ask(service, "triples", what="deferrals")["count"].sum()) == 11


def test_windows_cover_all_passes_once_and_keep_their_bound() -> None:
    service = TraceService(shared().trace)
    for most in (1, 2000, 1 << 20):
        windows = list(service.windows(0, 13, most))
        assert [p for lo, hi in windows for p in range(lo, hi)] == list(range(13))
    assert list(service.windows(3, 5, 1)) == [(3, 4), (4, 5)]


def test_the_whole_answers_every_question_of_a_small_trace(service: TraceService) -> None:
    kinds = [frame.head["kind"] for frame in service.whole()]
    assert kinds == ["counters", "regions", "source", "seen", *["triples"] * 5, "words", "window"]


def test_a_stalled_frontier_is_marked() -> None:
    run = hv.run("@main = @main", machine=hv.Machine(fuel=1), max_passes=20)
    found = ask(TraceService(run.trace), "counters")
    same = [
        p > 0
        and bool(np.array_equal(run.trace.frontier(p), run.trace.frontier(p - 1)))
        and not run.trace.interactions[p]
        and not run.trace.interactions[p - 1]
        for p in range(20)
    ]
    assert found["again"].tolist() == same


def test_a_search_in_slices_finds_what_the_trace_finds(service: TraceService) -> None:
    for query in ("outcome:deferred", "loc:0", "age:>0", "Pair", "tag:DP0", "op:take"):
        hits: list[tuple[int, int]] = []
        first: int | None = 0
        while first is not None:
            found = ask(service, "search", query=query, first=first)
            hits += zip(found["pass"].tolist(), found["loc"].tolist(), strict=True)
            first = found["next"]
        assert hits == [(hit.pass_index, hit.loc) for hit in service.trace.find_all(query)], query
        assert hits, query


def test_the_origin_of_a_trace_is_that_of_its_program() -> None:
    program = hv.parse(SHARED)
    run = hv.run(program, machine=MACHINE, record="full")
    found = ask(TraceService(run.trace), "source")
    assert [name for name, *_ in found["definitions"]] == list(program.book.names)
    for name, file, start, end in found["definitions"]:
        if file >= 0:
            assert SHARED[start:end].startswith(f"@{name}")
