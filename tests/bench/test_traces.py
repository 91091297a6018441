"""Measurements of recordings: every number is there, and says what was recorded."""

from __future__ import annotations

import json

import pytest

from hvm4viz.bench.programs import samples
from hvm4viz.bench.traces import LEVELS, Recording, Size, as_markdown, measure_made_up, measure_recordings
from hvm4viz.cli import main


@pytest.fixture(scope="module")
def found() -> list[Recording]:
    told: list[str] = []
    measured = measure_recordings(samples(["queens", "words"]), rounds=2, on_program=told.append)
    assert told == ["queens", "words"]
    return [*measured, measure_made_up(Size(passes=30, entries=40, cells=5000, changed=10))]


def test_every_program_is_measured_at_every_level(found: list[Recording]) -> None:
    for each in found[:2]:
        assert set(each.wall_s) == set(LEVELS)
        assert min(each.wall_s.values()) > 0
        assert each.passes > 20
        assert each.events > 100
    assert found[2].wall_s == {}
    assert (found[2].passes, found[2].events) == (30, 1200)


def test_every_question_takes_some_time(found: list[Recording]) -> None:
    for each in found:
        assert min(each.open_s, each.heap_s, each.step_s, each.next_s, each.find_s) > 0
        assert 22 < each.events_bytes < each.full_bytes


def test_the_tables_have_a_row_for_each(found: list[Recording]) -> None:
    costs, answers = as_markdown(found).split("\n\n")
    assert costs.count("\n") == 4
    assert costs.splitlines()[-1].startswith("| median |")
    assert answers.count("\n") == 4
    assert f"| `queens` | {found[0].passes:,} | {found[0].events:,} |" in costs
    assert "made up: 30 passes of 40 entries, 5,000 cells" in answers
    for table in (costs, answers):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert as_markdown(found[2:]).count("\n") == 2


def test_the_command_prints_tables_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "trace", "words", "--rounds", "1", "--made-up", "5", "6", "700", "8"]) == 0
    shown = capsys.readouterr()
    assert "| `words` |" in shown.out
    assert "made up: 5 passes of 6 entries" in shown.out
    assert "recording words" in shown.err
    assert main(["bench", "trace", "words", "--rounds", "1", "--json", "--blocks", "2"]) == 0
    (each,) = json.loads(capsys.readouterr().out)
    assert each["program"] == "words"
    assert set(each["wall_s"]) == set(LEVELS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rounds", "0"], "--rounds 0: must be 1 or more"),
        (["--rounds", "1", "--made-up", "0", "1", "1", "1"], "every number must be 1 or more"),
    ],
)
def test_numbers_out_of_range(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "trace", "words", *words]) == 2
    assert says in capsys.readouterr().err
