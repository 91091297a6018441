"""Curves from a table of runs: medians, spread, what is missing said by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hvm4viz as hv
from hvm4viz.measure import scaling

ROWS: dict[str, list[Any]] = {
    "program": ["a", "a", "a", "b", "a", "a", "a", "b"],
    "device": ["cpu"] * 8,
    "blocks": [4, 2, 2, 2, 4, 2, 4, 4],
    "repeat": [0, 0, 1, 0, 1, 2, 2, 0],
    "seconds": [1.0, 2.0, 4.0, 8.0, 0.5, 3.0, None, 4.0],
    "interactions": [100, 100, 100, 800, 100, 100, 100, 800],
    "status": ["done"] * 5 + ["timeout"] + ["done"] * 2,
}


@pytest.mark.parametrize("runs", [ROWS, pa.table(ROWS)], ids=["mapping", "arrow"])
def test_a_curve_a_program_with_medians_and_spread(runs: Any) -> None:
    found = scaling(runs, "blocks", "seconds")
    assert found.by == ("program", "device")
    assert (found.runs, found.left_out) == (6, 2)
    a, b = found.curves
    assert (a.group, b.group) == (("a", "cpu"), ("b", "cpu"))
    assert a.x.tolist() == [2, 4]
    assert a.median.tolist() == [3, 0.75]
    assert a.low.tolist() == [2, 0.5]
    assert a.high.tolist() == [4, 1]
    assert a.repeats.tolist() == [2, 2]
    assert b.median.tolist() == [8, 4]


def test_interactions_a_second_and_speedup_are_worked_out() -> None:
    a, b = scaling(ROWS, "blocks").curves
    assert a.median.tolist() == [(50 + 25) / 2, 150]
    assert b.median.tolist() == [100, 200]
    a, b = scaling(ROWS, "blocks", "speedup").curves
    assert a.median.tolist() == [(3 / 2 + 3 / 4) / 2, (3 / 1 + 3 / 0.5) / 2]
    assert b.median.tolist() == [1, 2]


def test_a_column_of_that_name_goes_before_what_is_worked_out() -> None:
    (curve,) = scaling({"regions": [1, 2], "ips": [7, 9]}).curves
    assert curve.group == ()
    assert curve.median.tolist() == [7, 9]


def test_curves_are_told_apart_by_what_is_asked() -> None:
    assert [curve.group for curve in scaling(ROWS, "blocks", by=("repeat",)).curves] == [("0",), ("1",)]
    (one,) = scaling(ROWS, "blocks", by=()).curves
    assert one.repeats.tolist() == [3, 3]


def test_curves_may_be_told_apart_by_what_a_quantity_is_worked_out_from() -> None:
    a, b = scaling(ROWS, "blocks", by=("interactions",)).curves
    assert (a.group, b.group) == (("100",), ("800",))
    assert b.median.tolist() == [100, 200]


def test_a_run_with_an_error_is_left_out() -> None:
    rows = {"x": [1, 1, 2], "y": [5, 6, 7], "error": [None, "it fell", ""]}
    found = scaling(rows, "x", "y")
    assert (found.runs, found.left_out) == (2, 1)
    assert found.curves[0].median.tolist() == [5, 7]


@pytest.mark.parametrize(
    ("x", "y", "by", "says"),
    [
        ("regions", "ips", None, r"no column 'regions'; x=, y= and by= may name 'program', 'device', 'blocks'"),
        ("blocks", "power", None, "no column 'power'"),
        ("blocks", "seconds", ("dup",), "no column 'dup'"),
        ("program", "seconds", None, "column 'program' holds 'a', which is no number"),
        ("blocks", "seconds", ("blocks",), "by= names 'blocks', which x= takes: curves are told apart by other"),
        ("blocks", "seconds", ("program", "seconds"), "by= names 'seconds', which y= takes"),
    ],
)
def test_what_is_missing_is_named(x: str, y: str, by: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        scaling(pa.table(ROWS), x, y, by=by)


def test_what_a_worked_out_quantity_needs_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"no column 'seconds' \(for y='ips'\); x=, y= and by= may name 'blocks', 'interactions'"
    ):
        scaling({"blocks": [1], "interactions": [2]}, "blocks")
    with pytest.raises(ValueError, match="no column at all"):
        scaling([])
    with pytest.raises(ValueError, match="int is no run; give a table"):
        scaling([3])


def test_runs_are_taken_as_they_are() -> None:
    runs = [hv.run("@main = (1 + 2)", machine=hv.Machine(blocks=n), device="cpu") for n in (1, 2, 2)]
    found = scaling(runs, "blocks", "interactions")
    assert found.curves[0].group == ("cell", "cpu")
    assert found.curves[0].repeats.tolist() == [1, 2]
    assert np.all(found.curves[0].median == runs[0].stats.interactions)
    assert scaling(runs, "regions").curves[0].median.min() > 0
