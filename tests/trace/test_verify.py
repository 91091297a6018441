"""``Trace.verify``: real traces keep every rule; whatever is planted in one is found, at its place and by its name."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag
from hvm4viz.trace import Trace
from hvm4viz.trace.checks import RULES
from hvm4viz.trace.checks.tasks import nothing_lost
from hvm4viz.trace.checks.view import View
from tests.case_files import Case, cases, programs
from tests.differential.machines import ALONE, is_affordable, pairwise_machines
from tests.trace.forging import Forgery
from tests.trace.planted import OUTCOME, PLANTS
from tests.trace.records import record, wide_passes

EVERYTHING = tuple(case for case in (*cases(), *programs()) if case.error != "parse")
MACHINES = (ALONE, *pairwise_machines())
INTERACTIONS_MAX = {"events": 2_000_000, "full": 100_000}
"""Longer cases are for the command: ``full_product.py --quick --verify LEVEL``."""

SHARED = """
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}
@map = λ{[]: λf. []; <>: λh.λt.λ&f. f(h) <> @map(t, f)}
@main = ! &xs = @map(@range(40), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs}
"""
BASES: dict[str, dict[str, Any]] = {
    "owner": {},
    "address": {"shard": "address"},
    "idle": {"shard": "idle"},
    "return": {"defer": "return"},
    "block": {"owner_unit": "block"},
    "claim": {"dup": "claim"},
    "atomic": {"dup": "atomic"},
    "fork": {"fork": "auto", "fuel": 16},
}


@cache
def base(name: str, level: str = "full") -> Trace:
    """A good trace with deferrals, parked tasks and starved blocks."""
    settings: dict[str, Any] = {"blocks": 5, "threads_per_block": 2, "region_size": 32, "fuel": 3, "fork": "off"}
    run = hv.run(SHARED, machine=hv.Machine(**settings | BASES[name]), device="cpu", record=level)  # type: ignore[arg-type]
    assert run.status == "done"
    return run.trace


# ---- what is right


@pytest.mark.parametrize("name", list(BASES))
@pytest.mark.parametrize("level", ["off", "counts", "events", "full"])
def test_a_good_trace_keeps_every_rule_that_its_level_shows(name: str, level: str) -> None:
    found = base(name, level).verify()

    assert found.offence is None, str(found)
    assert {*found.checked, *(rule for rule, _ in found.unchecked)} == {rule.name for rule in RULES}
    known = ("off", "counts", "events", "full")
    shown = {rule.name for rule in RULES if known.index(rule.needs) <= known.index(level)}
    assert set(found.checked) <= shown
    assert all(level in why for rule, why in found.unchecked if rule not in shown)


def run_of(case: Case, machine: hv.Machine, level: str) -> hv.Run:
    options: dict[str, Any] = {"mode": case.mode, "limit": case.limit} if case.mode == "collapse" else {}
    program = hv.load(case.source_path)
    options |= {"record": level, "progress": False, "on_log": lambda _line: None}
    return hv.run(program, machine=machine, device="cpu", **options)


def short_cases(level: str) -> list[Any]:
    """The cases that are recorded at a level in reasonable time, numbered."""
    most = INTERACTIONS_MAX[level]
    short = [(i, case) for i, case in enumerate(EVERYTHING) if (case.interactions or 0) <= most]
    return [pytest.param(i, case, level, id=f"{case.name}-{level}") for i, case in short]


@pytest.mark.parametrize(("number", "case", "level"), [*short_cases("events"), *short_cases("full")])
def test_every_case_keeps_the_protocol(number: int, case: Case, level: str) -> None:
    affordable = [machine for machine in MACHINES if is_affordable(case, machine)]
    machine = affordable[(2 * number + (level == "full")) % len(affordable)]

    found = run_of(case, machine, level).trace.verify()

    assert found.offence is None, f"{machine}: {found.offence}"


@pytest.mark.parametrize("status", ["pass_limit", "interrupted"])
def test_a_run_that_was_stopped_keeps_the_protocol(status: str) -> None:
    machine = base("owner").header.machine
    for passes in range(1, 30, 3):
        on_pass = (lambda r, last=passes - 1: r.index < last) if status == "interrupted" else None
        limits: dict[str, Any] = {} if on_pass else {"max_passes": passes}
        run = hv.run(SHARED, machine=hv.Machine(**machine), device="cpu", record="full", on_pass=on_pass, **limits)  # type: ignore[arg-type]
        assert run.status == status
        assert run.trace.verify().offence is None


@pytest.mark.parametrize("name", list(BASES))
def test_any_part_of_a_trace_keeps_the_protocol(name: str) -> None:
    trace = base(name)
    for start in range(0, trace.n_passes - 1, 7):
        part = trace.slice(start, start + 20)
        found = part.verify()
        assert found.offence is None, f"from {start}: {found.offence}"


def test_a_trace_that_reached_its_limit_is_checked_as_far_as_it_goes() -> None:
    machine = hv.Machine(**base("owner").header.machine)  # type: ignore[arg-type]
    run = hv.run(SHARED, machine=machine, device="cpu", record="full", trace_limit="64 KiB")
    found = run.trace.verify()

    assert run.trace.dropped
    assert found.offence is None
    assert (
        "a run that is done leaves no unfinished task",
        "the recording stops before the run does",
    ) in found.unchecked


def test_an_empty_trace_keeps_the_protocol() -> None:
    run = hv.run("@main = 1", max_passes=0, device="cpu")

    assert run.trace.verify().ok
    assert Trace(None, None, (), level="events", devices=()).verify().ok


@pytest.mark.parametrize("settings", [BASES[name] for name in ("owner", "block", "claim", "atomic")], ids=str)
def test_a_run_that_stalls_keeps_the_protocol(settings: dict[str, Any]) -> None:
    """A slot whose expression is its own other end."""
    heap = HeapBuilder(16).put(0, Tag.DP0, 5, 4).put(4, Tag.DP1, 5, 4).heap()
    machine = hv.Machine(blocks=2, threads_per_block=1, region_size=16, **settings)

    run = hv.run_heap(heap, machine=machine, device="cpu", record="full")

    assert run.status == "stalled"
    assert run.trace.verify().offence is None


@pytest.mark.parametrize("source", ["@main = %gnf(@id(λx. x))\n@id = λx. x", '@main = %log("a") + %gnf(1 + 2)'])
def test_a_run_of_the_evaluator_keeps_the_protocol(source: str) -> None:
    run = hv.run(source, device="cpu", record="full", on_log=lambda _line: None)

    assert run.trace.verify().offence is None


def test_a_million_events_take_seconds() -> None:
    trace = record(wide_passes([100_000] * 10))

    begun = time.perf_counter()
    trace.verify()

    assert time.perf_counter() - begun < 20


# ---- what is planted


@pytest.mark.parametrize("name", list(PLANTS))
def test_what_is_planted_is_found_at_its_place(name: str) -> None:
    source, rule, change = PLANTS[name]
    needs = next(known.needs for known in RULES if known.name == rule)
    forgery = Forgery(base(source, "full" if needs == "full" else "events"))

    place = change(forgery)
    offence = forgery.trace().verify().offence

    assert offence is not None
    assert (offence.rule, (offence.pass_index, offence.loc, offence.thread)) == (rule, place), str(offence)
    assert rule in str(offence)


def test_every_rule_has_something_planted_against_it() -> None:
    known = {"a frontier holds what the pass before left"}  # below: shown by counts alone

    assert {rule.name for rule in RULES} == known | {rule for _, rule, _ in PLANTS.values()}


def test_counts_alone_show_a_frontier_that_lost_its_entries() -> None:
    forgery = Forgery(base("owner", "counts"))
    outcomes = forgery.tables["outcomes"][10]
    width = int(forgery.rows["frontier"][11])
    outcomes["outcome"][0] = OUTCOME["fuel"]
    forgery.rows["frontier"][10] += width + 1 - int(outcomes["count"][0])
    outcomes["count"][0] = width + 1

    offence = forgery.trace().verify().offence

    assert offence is not None
    assert (offence.pass_index, offence.rule) == (11, "a frontier holds what the pass before left")


def test_counts_alone_show_a_run_that_is_done_with_tasks_left() -> None:
    forgery = Forgery(base("owner", "counts"))
    forgery.rows["parked"][-1] = 1

    offence = forgery.trace().verify().offence

    assert offence is not None
    assert offence.rule == "the status fits the last pass"


def test_of_several_offences_the_first_is_named() -> None:
    forgery = Forgery(base("owner", "events"))
    places = [PLANTS[name][2](forgery) for name in ("a_parked_task_more", "a_longest_that_nobody_took")]

    offence = forgery.trace().verify().offence

    assert offence is not None
    assert offence.pass_index == min(place[0] for place in places)


def test_what_was_found_is_told_in_words() -> None:
    good = base("owner", "events").verify()
    lines = str(good).splitlines()
    assert lines[0].startswith(f"the trace keeps the protocol: {good.n_passes:,} passes, ")
    assert lines[1:] == [f"  checked: {rule}" for rule in good.checked] + [
        f"  not checked: {rule} ({why})" for rule, why in good.unchecked
    ]
    forgery = Forgery(base("owner", "events"))
    forgery.rows["interactions"][7] += 1
    bad = forgery.trace().verify()
    assert not bad.ok
    assert str(bad).splitlines()[0] == str(bad.offence)


@pytest.mark.parametrize(
    ("passes", "says"),
    [
        (0, "no pass could be read, so nothing was verified"),
        (1, "pass 0 keeps the protocol; the file is damaged after it, and nothing else was verified: 1 passes"),
        (
            9,
            "passes 0 to 8 keep the protocol; the file is damaged after them, and nothing else was verified: 9 passes",
        ),
    ],
)
def test_a_damaged_trace_is_never_well(passes: int, says: str) -> None:
    trace = base("owner", "events").slice(0, passes)
    trace.state, trace.note = "damaged", "9 bytes were not used"
    found = trace.verify()
    assert (found.ok, found.offence, found.damage) == (False, None, "9 bytes were not used")
    assert str(found).startswith(says)


@pytest.mark.parametrize("fuel", ["many", None, [3], 1.5])
def test_fuel_that_is_no_number_is_not_checked(fuel: Any) -> None:
    trace = Forgery(base("owner")).trace()
    trace.header = replace(trace.header, machine={**trace.header.machine, "fuel": fuel})
    assert any("which is no number" in why for _, why in trace.verify().unchecked)


def test_an_entry_that_had_to_wait_untouched_is_not_lost() -> None:
    """It counts in the width of the pass, and runs in the next one."""
    events = Forgery(base("owner", "events")).events
    p, at = next(
        (p, at)
        for p, at in Forgery(base("owner", "events")).find(outcome=OUTCOME["fuel"])
        if all(events[p]["loc"][at] in events[q]["loc"] for q in (p - 1, p + 1))
    )
    for is_counted in (True, False):
        forgery = Forgery(base("owner", "events"))
        forgery.drop(p, at)
        forgery.rows["frontier"][p] += is_counted
        assert (nothing_lost(View(forgery.trace())) is None) == is_counted
