from __future__ import annotations

from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.widgets import show_run
from hvm4viz.widgets.table import ROWS_MAX
from tests.widgets.samples import shared


def test_a_table_has_a_row_a_pass() -> None:
    shown: dict[str, Any] = show_run(shared(), view="table")
    assert set(shown) == {"text/plain", "text/html"}
    assert shown["text/html"].count("<tr>") == 14
    rows = shown["text/plain"].splitlines()[-13:]
    trace = shared().trace
    assert [int(row.split()[1]) for row in rows] == trace.frontier_sizes.tolist()
    assert [int(row.split()[2]) for row in rows] == trace.deferral_sizes.tolist()


def test_a_long_table_says_what_it_leaves_out() -> None:
    run = hv.run("@main = @main", machine=hv.Machine(fuel=1), max_passes=100)
    shown: dict[str, Any] = show_run(run, view="table")
    assert shown["text/html"].count("<tr>") == ROWS_MAX + 1
    assert f"{100 - ROWS_MAX} passes in the middle" in shown["text/plain"]


@pytest.mark.parametrize(("view", "kinds"), [("none", set()), ("text", {"text/plain"})])
def test_less_can_be_shown(view: Any, kinds: set[str]) -> None:
    assert set(show_run(shared(), view=view)) == kinds
