"""The diagram of a pass: every entry in its thread's row, every stopped one with its way to the owner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, PathPatch, Rectangle
from matplotlib.path import Path

from hvm4viz.events import EVENT
from hvm4viz.figures import pass_diagram, style
from hvm4viz.trace import Trace
from tests.trace.records import CONTENDED, DEFERRED, event, one_pass, record, wide_passes, worked_example


def parts(figure: Figure, kind: type) -> list[Any]:
    return [patch for patch in figure.axes[0].patches if type(patch) is kind]


def rows(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def words(figure: Figure) -> str:
    ax = figure.axes[0]
    legend = ax.get_legend()
    named = [text.get_text() for text in legend.get_texts()] if legend else []
    return " ".join([text.get_text() for text in ax.texts] + named + [ax.get_title(loc="left")])


def ways(figure: Figure) -> list[tuple[str, str]]:
    """Return from which row to which row the arrows go."""
    names = rows(figure)
    paths = [arrow._path_original.vertices for arrow in parts(figure, FancyArrowPatch)]
    return sorted((names[round(float(path[0][1]))], names[round(float(path[-1][1]))]) for path in paths)


def test_a_deferred_entry_goes_to_its_owner() -> None:
    figure = pass_diagram(worked_example(), 2)
    assert rows(figure) == [f"B{block}/t{lane}" for block in range(3) for lane in range(4)]
    assert len(parts(figure, Rectangle)) - 1 == 3  # one is the band behind block 1
    assert ways(figure) == [("B2/t1", "B0/t0")]
    assert {"8", "17", "18", "slot 1\nregion 0"} <= {text.get_text() for text in figure.axes[0].texts}
    assert "goes to the slot's owner" in words(figure)
    assert "pass 2 of 0 to 3" in words(figure)


def test_a_contended_entry_waits() -> None:
    passes = [one_pass(0, [event(8, CONTENDED, slot=1, reason=4, thread=4)])]
    figure = pass_diagram(record(passes), 0)
    assert "waits for the slot" in words(figure)
    assert "goes to" not in words(figure)


def test_the_pass_with_most_stops_is_shown_if_none_is_named() -> None:
    assert "pass 1 of" in words(pass_diagram(worked_example()))
    calm = record([one_pass(p, [event(3)] * (p + 1)) for p in range(4)])
    assert "pass 3 of" in words(pass_diagram(calm))


def test_passes_that_are_not_there_are_refused() -> None:
    with pytest.raises(IndexError, match="pass 4"):
        pass_diagram(worked_example(), 4)
    assert "pass 3 of" in words(pass_diagram(worked_example(), -1))


def test_many_entries_become_bars_and_keep_their_number() -> None:
    trace = record(wide_passes([5000]))
    figure = pass_diagram(trace, 0)
    bars = [bar for bar in parts(figure, Rectangle) if bar.get_height() < 0.8]
    assert len(bars) <= 8 * 3
    assert sum(bar.get_width() for bar in bars) == pytest.approx(5000)


def wide_block(threads: list[int]) -> Trace:
    events = np.zeros(len(threads), EVENT)
    events["thread"], events["loc"], events["outcome"] = sorted(threads), np.arange(len(threads)) + 1, 1
    return record([one_pass(0, events)], head=big_header())


def big_header() -> Any:
    from hvm4viz.settings import Machine
    from tests.trace.records import header

    return header(Machine(blocks=64, threads_per_block=16, region_size=64))


def test_of_many_threads_those_at_work_have_a_row() -> None:
    assert rows(pass_diagram(wide_block([0, 17, 900, 1023]))) == ["B0/t0", "B1/t1", "B56/t4", "B63/t15"]


def test_of_many_threads_at_work_several_share_a_row() -> None:
    figure = pass_diagram(wide_block(list(range(1024))))
    assert len(rows(figure)) <= 40
    assert "a row" in figure.axes[0].get_ylabel()
    (together,) = parts(figure, PathPatch)
    assert (together.get_path().codes == Path.MOVETO).sum() == 1024


def test_a_pass_without_kept_entries_says_so() -> None:
    assert "level counts" in words(pass_diagram(record(wide_passes([4]), level="counts")))
    cut = record(wide_passes([10] * 60), limit_bytes=9000, status="timeout")
    assert "was cut" in words(pass_diagram(cut, -1))
    assert "0 passes" in words(pass_diagram(record([])))


def test_slots_without_an_owner_have_no_arrow() -> None:
    trace = record([one_pass(0, [event(3, DEFERRED, slot=64 * 60)])])
    assert not parts(pass_diagram(trace, 0), FancyArrowPatch)


def test_print_keeps_the_names_inside_the_page() -> None:
    with style("acm"):
        figure = pass_diagram(worked_example(), 2)
    figure.canvas.draw()
    for text in figure.axes[0].texts:
        assert text.get_window_extent().x1 <= figure.bbox.x1
