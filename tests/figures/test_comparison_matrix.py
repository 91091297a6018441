"""The matrix of programs and settings: numbers as they are, or as ratios whose colour has a direction."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from hvm4viz.figures import comparison_matrix, save

VALUES = [[100.0, 50.0, 12_800.0], [0.0, 0.0, 7.0], [8.0, np.nan, 8.0]]
NAMES = ["first", "$second$\x00", "third" * 20]


def drawn(**options: Any) -> Figure:
    return comparison_matrix(VALUES, NAMES, ["a", "b, live", "c"], quantity="passes", **options)


def texts(figure: Figure) -> list[list[str]]:
    found = [text.get_text() for text in figure.axes[0].texts]
    return [found[row * 3 : row * 3 + 3] for row in range(3)]


def test_numbers_stand_as_they_are() -> None:
    assert texts(drawn()) == [["100", "50", "12,800"], ["0", "0", "7"], ["8", "–", "8"]]


def test_ratios_stand_beside_the_numbers_they_are_of() -> None:
    assert texts(drawn(base=0)) == [["100", "0.50×", "128×"], ["0", "1.0×", "∞"], ["8", "–", "1.0×"]]


@pytest.mark.parametrize(("value", "text"), [(0.001, "0.001×"), (0.0, "0"), (0.25, "0.25×"), (1.26, "1.3×")])
def test_ratios_keep_two_digits(value: float, text: str) -> None:
    figure = comparison_matrix([[1.0, value]], ["p"], ["a", "b"], quantity="s", base=0)
    assert figure.axes[0].texts[1].get_text() == text


def test_less_is_blue_more_is_red_and_the_same_is_grey() -> None:
    figure = comparison_matrix([[1.0, 0.1, 1.0, 10.0]], ["p"], list("abcd"), quantity="s", base=0)
    image: Any = figure.axes[0].images[0]
    _, less, same, more = (color[:3] for color in image.to_rgba(image.get_array())[0])
    assert less[2] > less[0] + 0.2
    assert more[0] > more[2] + 0.2
    assert max(same) - min(same) < 0.05


def test_words_on_dark_fields_are_light() -> None:
    figure = comparison_matrix([[1.0, 1000.0]], ["p"], list("ab"), quantity="s", base=0)
    assert to_rgb(figure.axes[0].texts[1].get_color()) == (1.0, 1.0, 1.0)


def test_it_says_what_the_numbers_are_and_where_they_come_from(tmp_path: Path) -> None:
    figure: Any = drawn(base=0, note="measured on a cpu")
    assert figure.axes[0].get_title(loc="left") == "passes, and as a ratio to “a”"
    assert "3 programs and 3 settings" in figure.alt
    (path,) = save(figure, tmp_path / "m", formats=("png",))
    assert b"measured on a cpu" in path.read_bytes()


def test_odd_tables_are_drawn_or_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values, rows in (([], []), ([[np.nan]], ["p"]), ([[0.0]], ["p"])):
            for base in (None, 0):
                comparison_matrix(values, rows, ["a"], quantity="s", base=base).canvas.draw()
    with pytest.raises(ValueError, match="names of columns"):
        comparison_matrix([[1, 2]], ["p"], ["a"], quantity="s")


def test_it_draws_on_given_axes() -> None:
    mine = Figure()
    ax = mine.add_subplot(1, 2, 2)
    assert drawn(ax=ax) is mine
    assert ax.texts
