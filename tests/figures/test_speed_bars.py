"""Bars of speed: from the edge, or from a value to either side."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from matplotlib.patches import Rectangle

from hvm4viz.figures import save, speed_bars


def bars(figure: Any) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


def test_bars_go_to_either_side_of_what_they_are_compared_with() -> None:
    figure: Any = speed_bars(["fast", "slow", "none"], [4.0, 0.5, None], quantity="ratio", base=1.0, note="here")
    fast, slow = bars(figure)
    assert (fast.get_x(), fast.get_x() + fast.get_width()) == (1.0, 4.0)
    assert (slow.get_x(), slow.get_x() + slow.get_width()) == (1.0, 0.5)
    assert fast.get_facecolor() != slow.get_facecolor()
    assert (fast.get_hatch(), slow.get_hatch()) == ("", "////")
    assert [text.get_text() for text in figure.axes[0].texts] == ["4", "0.5", " not measured"]
    assert (figure.alt, figure.provenance) == ("ratio: fast 4, slow 0.5.", "here")


def test_without_a_base_the_least_bar_is_to_be_seen() -> None:
    figure: Any = speed_bars(["a", "b"], [10.0, 1000.0], quantity="M/s")
    low, high = figure.axes[0].get_xlim()
    assert low < 10.0
    assert high > 1000.0
    assert all(bar.get_width() > 0 for bar in bars(figure))


@pytest.mark.parametrize("values", [[], [None], [1e-9], [1.0] * 40])
def test_any_number_of_programs_is_drawn_and_saved(values: list[float | None], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for base in (None, 1.0):
            names = ["$x$\x00" * 20] * len(values)
            save(speed_bars(names, values, quantity="$q$", base=base), tmp_path / "bars", formats=("png", "svg"))


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf")])
def test_values_that_no_bar_can_show_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="must be above zero"):
        speed_bars(["a"], [value], quantity="q")
    with pytest.raises(ValueError, match="1 values, but 2 names"):
        speed_bars(["a", "b"], [1.0], quantity="q")
