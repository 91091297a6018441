"""Every schedule of the small models, under every protocol; ``explore.py`` shows them one by one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.events import OPERATIONS, OUTCOMES, PassRecord
from hvm4viz.kernel_text.source import kernel
from tests.differential.machines import protocols
from tests.schedules.explore import answer, explore, is_deterministic, is_light
from tests.schedules.models import MODELS, VARIANTS, Model

KNOWN = {model.name: model for model in MODELS}
answer_of = cache(answer)


def light(**wanted: str) -> list[Any]:
    """Models with the protocols under which all their schedules can be run."""
    return [
        pytest.param(model, protocol, id=f"{model}-{'-'.join(protocol.values())}")
        for model in MODELS
        for protocol in protocols()
        if wanted.items() <= protocol.items() and is_light(model, model.machine(**protocol))
    ]


@pytest.mark.parametrize(("model", "protocol"), light())
def test_every_schedule_gives_the_same_result(model: Model, protocol: dict[str, str]) -> None:
    machine = model.machine(**protocol)

    found = explore(model.start(), machine, expected=answer_of(model), is_counted=model.is_counted)

    assert not found.offence
    assert found.is_complete
    assert len(found.outcomes) == 1
    if is_deterministic(machine):
        assert found.ends == found.passes


@pytest.mark.parametrize("protocol", protocols(), ids=lambda protocol: "-".join(protocol.values()))
def test_slots_that_are_given_back_give_the_same_result_at_any_time(protocol: dict[str, str]) -> None:
    for model in VARIANTS[::4]:
        machine = model.machine(**protocol)
        if not is_light(model, machine):
            continue
        found = explore(model.start(), machine, expected=answer_of(model), is_counted=False)

        assert not found.offence, f"{model}: {found.offence}"
        assert found.is_complete, model


@pytest.mark.parametrize(("model", "protocol"), light(visibility="pass"))
def test_no_schedule_makes_threads_meet_where_they_must_not(model: Model, protocol: dict[str, str]) -> None:
    found = explore(model.start(), model.machine(**protocol), kernel=kernel().watched("shadow"), is_counted=False)

    assert not found.offence
    assert found.is_complete


@pytest.mark.parametrize("dup", ["owner", "claim"])
@pytest.mark.parametrize(
    "name", ["pair_others", "nested", "stuck", "filled_late_by_other", "cancelled_holder", "room_9"]
)
def test_what_is_logged_is_the_same_under_every_schedule(name: str, dup: str) -> None:
    model = KNOWN[name]

    found = explore(model.start(), model.machine(dup=dup), record="full", is_counted=model.is_counted)

    assert not found.offence
    assert found.is_complete
    assert found.ends == found.passes > 0


def seen(model: Model) -> set[str]:
    """Outcomes of tasks and operations on slots, under any protocol."""
    found: set[str] = set()

    def look(record: PassRecord) -> None:
        found.update(OUTCOMES[code] for code in record.events["outcome"].tolist())
        found.update(OPERATIONS[code] for code in record.ops["op"].tolist())

    options: dict[str, Any] = {"device": "cpu", "workers": 1, "record": "full", "on_pass": look}
    for protocol in protocols():
        start, machine = model.start(), model.machine(**protocol)
        if isinstance(start, str):
            hv.run(start, machine=machine, progress=False, **options)
        else:
            hv.run_heap(start, machine=machine, **options)
    return found


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_show_what_they_are_for(model: Model) -> None:
    assert model.shows <= seen(model)


def test_slots_are_given_back_with_others_waiting() -> None:
    found = set[str]().union(*(seen(model) for model in VARIANTS[::10]))

    assert found >= {"forked", "release", "wake", "parked", "contended", "deferred"}


FULL: tuple[tuple[str, dict[str, str], int], ...] = (
    ("number", {"dup": "claim", "visibility": "live"}, 2),
    ("function", {"dup": "atomic"}, 2),
    ("crossed", {"dup": "claim", "visibility": "live"}, 2),
    ("chain_two", {"dup": "owner", "visibility": "live"}, 2),
    ("two_slots", {"dup": "claim"}, 3),
    ("pair", {"dup": "claim", "visibility": "live"}, 3),
    ("chain_three", {"dup": "owner", "visibility": "live"}, 3),
    ("filled_late_by_other", {"owner_unit": "block", "visibility": "live"}, 3),
    ("four_threads", {"dup": "claim"}, 4),
)
"""Models, protocols, busy threads."""

AT_LEAST = {2: (12, 924), 3: (12, 34_650), 4: (12, 34_650)}
"""By threads: accesses to shared words, and schedules; 924 are the interleavings of 2 x 6 steps, 34,650 of 3 x 4."""


@pytest.mark.parametrize(("name", "protocol", "threads"), FULL)
def test_in_full_schedules_are_many_and_end_alike(name: str, protocol: dict[str, str], threads: int) -> None:
    model, (steps, schedules) = KNOWN[name], AT_LEAST[threads]
    start, machine = model.start(), model.machine(**protocol)
    full, reduced = (
        explore(start, machine, is_reduced=is_reduced, is_counted=model.is_counted) for is_reduced in (False, True)
    )

    assert (full.offence, reduced.offence) == ("", "")
    assert full.busiest == threads
    assert full.longest >= steps
    assert full.schedules >= schedules
    assert (full.passes, full.ends, set(full.outcomes)) == (reduced.passes, reduced.ends, set(reduced.outcomes))
    assert full.executions > reduced.executions
