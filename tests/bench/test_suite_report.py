"""The suite's numbers as text, as JSON and as a figure."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from hvm4viz.bench.suite import Timed
from hvm4viz.bench.suite_report import as_figure, as_json, as_markdown

_NONE: dict[str, Any] = {field.name: None for field in fields(Timed)}


def timed(name: str, **numbers: Any) -> Timed:
    given = {"interactions": 1_000_000, "passes": 10, "deferrals": 0, "words": 1_500_000, "rounds": 5}
    return Timed(**{**_NONE, **given, "name": name, "status": "done", "problems": (), **numbers})


ALONE = timed(
    "loop", seconds=0.25, ips=4e6, host_us_per_pass=12.34, words_per_interaction=1.5, peak_bytes=12 << 20,
    bytes_per_cell=8.39,
)  # fmt: skip
RACED = timed(
    "tree", seconds=0.5, ips=2e6, rival_seconds=1.0, rival_process_seconds=1.25, rival_peak_bytes=100 << 20, ratio=2.0
)
SLOW = timed("slow", seconds=4.0, ips=2.5e5, rival_seconds=2.0, rival_process_seconds=2.0, ratio=0.5)


def test_a_row_a_program() -> None:
    assert as_markdown([ALONE]).splitlines()[2:] == [
        "| `loop` | 250 | 1,000,000 | 4 | 10 | 0 | 12.3 | 1.5 | 12 | 8.39 |"
    ]


def test_the_rival_stands_behind_and_the_mean_of_ratios_below() -> None:
    lines = as_markdown([RACED, SLOW, ALONE], against="other").splitlines()
    assert lines[2].endswith(" | – | – | – | – | 1,000 | 1,250 | 100 | 2.00 |")
    assert lines[4].endswith(" | 8.39 | – | – | – | – |")
    assert lines[6] == "Geometric mean of 2 ratios, the time of other over ours: 1.00"
    assert len({line.count("|") for line in lines[:5]}) == 1


def test_json_has_programs_and_nothing_else() -> None:
    found = json.loads(as_json([ALONE, RACED]))
    assert list(found) == ["programs"]
    assert list(found["programs"][0])[:5] == ["name", "seconds", "interactions", "rival_seconds", "ratio"]
    assert [each["ratio"] for each in found["programs"]] == [None, 2.0]


def test_the_figure_shows_ratios_or_speeds() -> None:
    raced: Any = as_figure([RACED, SLOW, ALONE], against="other", note="here")
    assert raced.alt == "time of other over ours: tree 2, slow 0.5."
    assert raced.provenance == "here"
    alone: Any = as_figure([ALONE])
    assert alone.alt == "million interactions a second: loop 4."
