from __future__ import annotations

import json

import pytest

from hvm4viz.bench import figures
from hvm4viz.bench.figures import BUDGET_S, LARGE, REGION_CELLS, Drawing, as_markdown, measure_figures
from hvm4viz.bench.traces import Size
from hvm4viz.cli import main
from hvm4viz.figure_request import figure_kinds

SMALL = Size(passes=30, entries=20, cells=50 * REGION_CELLS, changed=0)


def test_the_budget_is_for_ten_thousand_passes_and_regions() -> None:
    assert (LARGE.passes, LARGE.cells // REGION_CELLS, BUDGET_S) == (10_000, 10_000, 2.0)


def test_every_figure_is_measured() -> None:
    told: list[str] = []
    found = measure_figures(SMALL, rounds=1, on_figure=told.append)
    assert told == [each.figure for each in found] == list(figure_kinds())
    assert all((each.passes, each.regions) == (30, 50) and each.seconds > 0 for each in found)


def test_the_command_says_and_returns_what_is_too_slow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, fast = Drawing("a", 1, 2, 3.0, is_in_time=False), Drawing("b", 1, 2, 0.5, is_in_time=True)
    assert as_markdown([slow, fast]).splitlines()[2:] == ["| `a` | 3.00 | no |", "| `b` | 0.50 | yes |"]
    monkeypatch.setattr(figures, "measure_figures", lambda **_: [slow, fast])
    assert main(["bench", "figures", "--json"]) == 1
    assert [each["figure"] for each in json.loads(capsys.readouterr().out)] == ["a", "b"]
    monkeypatch.setattr(figures, "measure_figures", lambda **_: [fast])
    assert main(["bench", "figures"]) == 0
    assert main(["bench", "figures", "--rounds", "0"]) == 2
