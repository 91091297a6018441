"""The comparison of protocols: every program under each of them, and nothing that is wrong goes unnoticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hvm4viz as hv
from hvm4viz.bench import LIVE, PROTOCOLS, Sample, measure_protocols, samples
from hvm4viz.errors import KernelFault
from hvm4viz.settings import CHOICES

SHARED = "@range = λ{0: []; λ&n. n <> @range(n - 1)}\n@main = ! &list = @range(20); #Pair{list, list}"


@pytest.fixture
def shared(tmp_path: Path) -> Sample:
    path = tmp_path / "shared.hvm4"
    path.write_text(SHARED, encoding="utf-8")
    return samples([path])[0]


def test_the_protocols_are_all_there_are() -> None:
    allowed: list[dict[str, str]] = []
    for dup in CHOICES["dup"]:
        for unit in CHOICES["owner_unit"]:
            for defer in CHOICES["defer"]:
                for visibility in CHOICES["visibility"]:
                    settings = {"dup": dup, "owner_unit": unit, "defer": defer, "visibility": visibility}
                    try:
                        hv.Machine(**settings)  # pyright: ignore[reportArgumentType]
                    except ValueError:
                        continue
                    allowed.append(settings)
    default = {name: getattr(hv.Machine(), name) for name in ("dup", "owner_unit", "defer", "visibility")}
    named = [default | settings for settings in (*PROTOCOLS.values(), *LIVE.values())]
    assert sorted(map(str, named)) == sorted(map(str, allowed))
    assert next(iter(PROTOCOLS.values())) == {}


def test_each_program_is_measured_under_each_protocol_in_turn(shared: Sample) -> None:
    measured = measure_protocols([shared], protocols=PROTOCOLS | LIVE, rounds=2, device="cpu")
    assert [(each.program, each.protocol) for each in measured] == [("shared", name) for name in PROTOCOLS | LIVE]
    assert {(each.status, each.runs) for each in measured} == {("done", 2)}
    by_name = {each.protocol: each for each in measured}
    for name, settings in PROTOCOLS.items():
        machine = hv.Machine(**settings)  # pyright: ignore[reportArgumentType]
        alone = hv.run(shared.program, machine=machine, device="cpu")
        found = by_name[name]
        assert found.interactions == alone.stats.interactions
        if settings.get("dup") != "atomic" and "owner_unit" not in settings:
            assert (found.passes, found.deferrals) == (alone.stats.passes, alone.stats.deferrals)
            assert found.contentions == alone.trace.n_contentions
            assert found.remote_writes == alone.trace.remote.dense().sum()
    assert by_name["owner"].deferrals > 0
    assert by_name["atomic"].deferrals == 0
    assert all(0 < each.device_s < each.wall_s for each in measured)


def test_no_new_round_begins_after_the_time_is_up_but_one_is_always_made(shared: Sample) -> None:
    measured = measure_protocols([shared], rounds=1000, seconds=0.0, device="cpu")
    assert {each.runs for each in measured} == {1}


def test_a_wrong_answer_is_no_measurement(shared: Sample) -> None:
    with pytest.raises(KernelFault, match="shared under 'owner' printed"):
        measure_protocols([replace(shared, expected=("something else",))], rounds=1, device="cpu")


def test_a_run_that_is_stopped_is_told_from_one_that_is_done(tmp_path: Path) -> None:
    path = tmp_path / "loop.hvm4"
    path.write_text("@main = @main", encoding="utf-8")
    protocols = {"owner": PROTOCOLS["owner"]}
    (measured,) = measure_protocols(samples([path]), protocols=protocols, rounds=1, timeout=0.1, device="cpu")
    assert measured.status == "timeout"


def test_no_round_at_all_is_refused(shared: Sample) -> None:
    with pytest.raises(ValueError, match="rounds=0: must be 1 or more"):
        measure_protocols([shared], rounds=0)
