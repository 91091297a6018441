"""Two traces beside each other."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.events import DELTA, PassRecord
from hvm4viz.trace import Trace, compare, open_trace
from tests.trace.records import DEFERRED, FUEL, event, header, one_pass, record, wide_passes
from tests.trace.time_travel import PROGRAMS

WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]


def passes() -> list[PassRecord]:
    return list(wide_passes(WIDTHS))


def changed(p: int, entry: int, **fields: int) -> list[PassRecord]:
    told = passes()
    for name, value in fields.items():
        told[p].events[name][entry] = value
    return told


def first(a: Trace, b: Trace, **options: Any) -> tuple[object, ...] | None:
    found = hv.compare(a, b, **options).first_difference
    return None if found is None else (found.pass_index, found.entry, found.field, found.a, found.b)


def test_a_trace_is_equal_to_itself_and_to_its_file(tmp_path: Path) -> None:
    trace = record(passes())
    opened = open_trace(trace.save(tmp_path / "run.hvt"))
    found = hv.compare(trace, opened)
    assert found.equal
    assert found.first_difference is None
    assert found.settings == {}
    assert (found.table("rule")["difference"] == 0).all()
    assert not found.heatmap().values.any()
    assert str(found) == "the same happened in both: 8 passes, 777 events"


@pytest.mark.parametrize("step", [3, 1 << 18])
@pytest.mark.parametrize(
    ("p", "entry", "name", "value"),
    [(3, 100, "loc", 7), (5, 499, "slot", 9), (1, 0, "thread", 3), (6, 5, "interactions", 10**6), (7, 1, "side", 1)],
)
def test_the_first_entry_that_differs(
    monkeypatch: pytest.MonkeyPatch, step: int, p: int, entry: int, name: str, value: int
) -> None:
    monkeypatch.setattr(compare, "STEP_EVENTS", step)
    told = changed(p, entry, **{name: value})
    if p < 7:
        told[7].events["loc"][0] = 1  # and a later one
    a, b = record(passes()), record(told)
    before = int(a.events(p, p + 1)[name][entry])
    assert first(a, b) == (p, entry, name, before, value)
    assert first(b, a) == (p, entry, name, value, before)
    assert not hv.compare(a, b).equal
    assert f"pass {p}, task {entry}: {name} is {before} in the first, {value} in the second" in str(hv.compare(a, b))


def test_outcomes_and_reasons_have_names() -> None:
    a, b = (record([one_pass(0, [event(1), event(2, outcome, slot=5)])]) for outcome in (DEFERRED, FUEL))
    assert first(a, b) == (0, 1, "outcome", "deferred", "fuel")


def test_times_devices_and_origins_do_not_count() -> None:
    told = [dataclasses.replace(each, device="cuda", device_ns=1, host_ns=2) for each in passes()]
    told[3].events["origin"] = 0
    assert hv.compare(record(passes()), record(told)).equal


@pytest.mark.parametrize("cut", [0, 17, 199])
def test_a_pass_with_fewer_entries(cut: int) -> None:
    told = passes()
    told[3] = dataclasses.replace(told[3], events=np.delete(told[3].events, cut))
    a, b = record(passes()), record(told)
    if cut == 199:
        assert first(a, b) == (3, 199, "entries", 200, 199)
    else:
        assert first(a, b) == (3, cut, "loc", *(int(t.events(3, 4)["loc"][cut]) for t in (a, b)))


def test_values_of_a_pass_and_outcomes_at_counts() -> None:
    told = passes()
    told[4] = dataclasses.replace(told[4], parked=99)
    for level in ("counts", "events"):
        a, b = record(passes(), level=level), record(told, level=level)  # type: ignore[arg-type]
        assert first(a, b) == (4, None, "parked", 0, 99)
    other = changed(3, 5, outcome=FUEL)
    a, b = record(changed(3, 5, outcome=DEFERRED), level="counts"), record(other, level="counts")
    found = first(a, b)
    assert found is not None
    assert found[:3] == (3, None, "deferred")


def test_a_trace_that_is_longer_and_other_ends() -> None:
    a, b = record(passes()), record(passes()[:6])
    assert first(a, b) == (6, None, "passes", 8, 6)
    assert first(record(passes()), record(passes(), status="timeout")) == (8, None, "status", "done", "timeout")
    assert first(record(passes()), record(passes(), lines=("#Pair{1,3}",))) == (
        8, None, "line 0", "#Pair{1,2}", "#Pair{1,3}",
    )  # fmt: skip
    assert first(record(passes()), record(passes(), lines=("#Pair{1,2}", "x"))) == (8, None, "line 1", None, "x")


def test_as_far_as_both_know() -> None:
    """A cut trace is equal to a whole one, if what it kept and counted is."""
    assert hv.compare(record(passes()), record(passes(), limit_bytes=7000)).equal
    assert not hv.compare(record(changed(2, 2, loc=1)), record(passes(), limit_bytes=7000)).equal
    assert hv.compare(record(passes(), level="counts"), record(passes())).equal


def test_cells_are_compared_at_full() -> None:
    def full(*deltas: tuple[int, int, int]) -> Trace:
        told = [one_pass(p, [event(1)], deltas=np.array([each], DELTA)) for p, each in enumerate(deltas)]
        return record(told, level="full", head=dataclasses.replace(header(), heap=np.array([5], np.uint64)))

    a, b = full((3, 0, 7), (4, 0, 8)), full((3, 0, 7), (4, 0, 9))
    assert first(a, b) == (1, None, "cell 4", 8, 9)
    assert first(full((3, 0, 7), (4, 0, 8)), full((3, 0, 7), (2, 0, 8))) == (1, None, "cell 2", 0, 8)
    assert hv.compare(a, full((3, 0, 7), (4, 0, 8))).equal
    other = record([], level="full", head=dataclasses.replace(header(), heap=np.array([6], np.uint64)))
    assert first(record([], level="full", head=a.header), other) == (0, None, "cell 0", 5, 6)


def test_tasks_in_other_passes_are_the_same_work() -> None:
    events = np.concatenate([each.events for each in passes()])
    a = record([one_pass(p, part) for p, part in enumerate(np.array_split(events, 10))])
    b = record([one_pass(p, part) for p, part in enumerate(np.array_split(events, 4))])
    assert not hv.compare(a, b).equal
    assert hv.compare(a, b, align="interactions").equal
    shorter = record([one_pass(0, events[:500])])
    found = hv.compare(a, shorter, align="interactions").first_difference
    assert found is not None
    assert (found.pass_index, found.field, found.a, found.b) == (6, "entries", 777, 500)
    moved = events.copy()
    moved["loc"][300] = 1
    found = hv.compare(a, record([one_pass(0, moved)]), align="interactions").first_difference
    assert found is not None
    assert (found.pass_index, found.other_pass, found.entry, found.field) == (3, 0, 300 - 234, "loc")
    assert "pass 3 (of the other: 0), task 66: loc is" in str(found)
    with pytest.raises(TraceError, match=r"the second trace does not hold \(level counts\); record its program again"):
        _ = hv.compare(a, record(passes(), level="counts"), align="interactions").equal


def test_words_that_are_none() -> None:
    trace = record(passes())
    with pytest.raises(ValueError, match="align='time'"):
        hv.compare(trace, trace, align="time")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="by='thread'"):
        hv.compare(trace, trace).table("thread")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cells in use are a state"):
        hv.compare(trace, trace).heatmap("cells")


def test_tables_and_maps_of_two_machines() -> None:
    program = hv.load(PROGRAMS / "shared_table.hvm4")
    runs = [hv.run(program, machine=hv.Machine(dup=dup), max_passes=150, progress=False) for dup in ("owner", "claim")]
    found = hv.compare(*runs)
    assert found.settings == {"dup": ("owner", "claim")}
    assert not found.equal
    regions = found.table("region")
    for column, run in zip("ab", runs, strict=True):
        assert regions[column].sum() == run.trace.n_deferrals
        assert found.table("rule")[column].sum() == run.stats.interactions
        assert found.table("outcome")[column].sum() == run.trace.n_events
    assert (regions["difference"] == regions["b"] - regions["a"]).all()
    assert [int(name) for name in regions["name"]] == sorted(int(name) for name in regions["name"])
    for align in ("pass", "interactions"):
        for shape in ((512, 512), (3, 7)):
            drawn = hv.compare(*runs, align=align).heatmap(shape=shape)  # type: ignore[arg-type]
            assert drawn.values.sum() == runs[0].trace.n_deferrals - runs[1].trace.n_deferrals
            assert drawn.values.shape[0] <= shape[0]
            assert drawn.values.shape[1] <= shape[1]
    alone = hv.compare(runs[0], hv.run("@main = 1")).heatmap()
    whole = runs[0].trace.heatmap(shape=(512, 512), reduce="sum")
    assert np.array_equal(alone.values[: whole.values.shape[0]], whole.values)
    assert "asked for: dup owner and claim" in str(found)


def test_two_traces_are_shown_beside_each_other() -> None:
    a, b = (hv.run("@main = #P{1, 2}", machine=hv.Machine(blocks=n)).trace for n in (1, 2))
    view = hv.compare(a, b).view()
    assert isinstance(view, hv.TraceView)


def test_settings_that_one_machine_lacks_and_programs_by_their_files() -> None:
    one, two = record(passes()), record(passes())
    two.header = dataclasses.replace(
        two.header,
        machine={**two.header.machine, "new": 1, "blocks": 9},
        source=(("other.hvm4", "@main = 2"), ("more.hvm4", "")),
        limit=3,
        device="gpu",
    )
    assert hv.compare(one, two).settings == {
        "blocks": (4, 9),
        "new": (None, 1),
        "program": ("main.hvm4", "other.hvm4, more.hvm4"),
        "limit": (None, 3),
        "device": ("cpu", "gpu"),
    }


def test_a_difference_is_told_with_its_task_if_it_has_one() -> None:
    narrower = record(passes()[:3])
    found = hv.compare(record(passes()), narrower).first_difference
    assert found is not None
    assert found.entry is None
    assert ", task" not in str(found)
    found = hv.compare(record(passes()), record(changed(3, 100, loc=7))).first_difference
    assert str(found).startswith("pass 3, task 100: loc is ")
