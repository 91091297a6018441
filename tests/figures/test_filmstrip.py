"""The strip of passes: a task that is not done is followed to its next entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from hvm4viz.figures import filmstrip
from hvm4viz.figures.filmstrip import BOXES
from tests.trace.records import DEFERRED, FUEL, event, one_pass, record, wide_passes, worked_example


def parts(figure: Figure, kind: type) -> list[Any]:
    return [patch for patch in figure.axes[0].patches if type(patch) is kind]


def ways(figure: Figure) -> list[tuple[int, str, int, str]]:
    """Return the lines: from which column and row to which."""
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    found = [arrow._path_original.vertices for arrow in parts(figure, FancyArrowPatch)]
    return sorted(
        (int(path[0][0]), names[round(path[0][1])], round(path[-1][0]), names[round(path[-1][1])]) for path in found
    )


def columns(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_xticklabels()]


def test_the_worked_example_is_all_there() -> None:
    figure = filmstrip(worked_example())
    assert columns(figure) == ["0", "1", "2", "3"]
    assert {text.get_text() for text in figure.axes[0].texts} == {"0", "8", "9", "17", "18"}
    assert ways(figure) == [(1, "B1/t0", 2, "B0/t0"), (2, "B2/t1", 3, "B0/t0")]


def test_a_task_that_stays_is_told_from_one_that_moves() -> None:
    stays = record([one_pass(p, [event(3, FUEL if p < 2 else 1, thread=1)]) for p in range(3)])
    figure = filmstrip(stays)
    assert ways(figure) == [(0, "B0/t1", 1, "B0/t1"), (1, "B0/t1", 2, "B0/t1")]
    legend = figure.axes[0].get_legend()
    assert legend
    named = [text.get_text() for text in legend.get_texts()]
    assert named == ["done", "fuel", "goes on where it is"]


def test_a_task_that_skips_a_pass_is_followed() -> None:
    passes = [[event(3, DEFERRED, slot=1)], [event(5)], [event(3)]]
    assert ways(filmstrip(record([one_pass(p, some) for p, some in enumerate(passes)]))) == [(0, "B0/t0", 2, "B0/t0")]


def test_a_gap_between_passes_breaks_the_lines() -> None:
    trace = record([one_pass(p, [event(3, FUEL)]) for p in range(6)])
    figure = filmstrip(trace, [-1, 0, 1])
    assert columns(figure) == ["0", "1", "5"]
    assert ways(figure) == [(0, "B0/t0", 1, "B0/t0")]
    assert len(figure.axes[0].lines) == 1
    assert "3 of 6 passes" in figure.axes[0].get_title(loc="left")


def test_of_a_long_run_twelve_passes_are_shown_with_the_one_that_tells_most() -> None:
    passes = [one_pass(p, [event(3)]) for p in range(100)]
    passes[70] = one_pass(70, [event(3, DEFERRED, slot=1)])
    assert columns(filmstrip(record(passes))) == [str(p) for p in range(66, 78)]
    assert len(columns(filmstrip(record([one_pass(p, [event(3)]) for p in range(12)])))) == 12


def test_wide_passes_keep_their_number_of_entries() -> None:
    trace = record(wide_passes([4000, 4000]))
    bars = [bar for bar in parts(filmstrip(trace), Rectangle) if bar.get_height() < 0.8]  # the others are bands
    most = max(int(np.bincount(trace.events(p, p + 1)["thread"]).max()) for p in range(2))
    assert len(bars) <= 2 * 8 * 3
    assert sum(bar.get_width() for bar in bars) / BOXES * most == pytest.approx(8000)


def test_what_was_not_kept_is_said() -> None:
    cut = record(wide_passes([10] * 60), limit_bytes=9000, status="timeout")
    assert "no entries were kept" in filmstrip(cut, range(60)).axes[0].get_title(loc="left")
    with pytest.raises(IndexError, match="pass 60"):
        filmstrip(cut, [60])
    assert [text.get_text() for text in filmstrip(cut, []).axes[0].texts] == ["no pass was chosen"]
