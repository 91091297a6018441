"""What figures have in common: captions, styles, files, colours."""

from __future__ import annotations

import importlib
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from hvm4viz import figures
from hvm4viz.figures.overview import overview
from hvm4viz.figures.region_map import draw_map
from hvm4viz.figures.save import save
from hvm4viz.measure import region_map
from hvm4viz.trace import Trace
from tests.figures.subjects import HOSTILE, TRACES, huge
from tests.trace.records import DEFERRED, event, one_pass, record, wide_passes, worked_example

look = importlib.import_module("hvm4viz.figures.style")  # the package has a function of that name too


def test_the_overview_draws_on_a_given_figure() -> None:
    mine = Figure(figsize=(7, 5))
    assert overview(worked_example(), fig=mine) is mine
    assert len(mine.axes) == 3


def test_the_map_says_what_it_shows() -> None:
    def headings(trace: Trace) -> str:
        return " ".join(ax.get_title(loc="left") for ax in overview(trace).axes)

    assert "deferrals by home region" in headings(worked_example())
    assert "entries by home region" in headings(record([one_pass(0, [event(3)])]))
    assert "cells in use" in headings(record([one_pass(0, [event(3)])], level="counts"))
    assert "each pixel: max of" in headings(huge())


def test_the_digest_is_shown_by_its_first_four_digits() -> None:
    def words(trace: Trace) -> str:
        return " ".join(text.get_text() for text in overview(trace).texts)

    assert f"digest {worked_example().digest()[:4]}" in words(worked_example())
    assert "no digest" in words(TRACES["counts"]())


def test_a_lone_deferral_is_a_dark_dot_in_the_picture() -> None:
    passes = [one_pass(p, [event(1 + 64 * 200)]) for p in range(9000)]
    passes[4567] = one_pass(4567, [event(1 + 64 * 100, DEFERRED, slot=1)])
    figure = overview(record(passes))
    canvas: Any = figure.canvas
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())
    box = figure.axes[1].get_window_extent()
    top, bottom = picture.shape[0] - int(box.y1), picture.shape[0] - int(box.y0) - 3
    inside = picture[top:bottom, int(box.x0) + 3 : int(box.x1), :3].astype(int).sum(axis=2)
    assert 1 <= (inside < 330).sum() <= 20


@pytest.mark.parametrize("venue", ["acm", "ieee", "nature", "lncs", "screen"])
@pytest.mark.parametrize("width", ["column", "text"])
def test_venues_have_their_widths(venue: Any, width: Any) -> None:
    with figures.style(venue, width):
        figure = overview(worked_example())
    inches = {"acm": (3.33, 7.0), "ieee": (3.5, 7.16), "nature": (3.504, 7.205), "lncs": (4.8, 4.8), "screen": (9, 9)}
    assert figure.get_figwidth() == pytest.approx(inches[venue][width == "text"], abs=1e-3)
    sizes = [float(text.get_fontsize()) for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label)]
    assert min(sizes) >= 7


def test_unknown_venues_are_refused() -> None:
    with pytest.raises(ValueError, match="venue='blog'"), figures.style("blog"):  # type: ignore[arg-type]
        pass


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    one = save(overview(worked_example()), tmp_path / "one")
    two = save(overview(worked_example()), tmp_path / "two")
    assert [path.suffix for path in one] == [".pdf", ".png", ".svg"]
    for a, b in zip(one, two, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_files_name_their_run_in_words(tmp_path: Path) -> None:
    for path in save(overview(worked_example()), tmp_path / "one", formats=("png", "svg")):
        data = path.read_bytes()
        assert worked_example().digest().encode() in data
        assert b"region_size=8" in data
        assert b"4 passes" in data
        assert b"at most 3 entries in one pass" in data


def test_hostile_words_do_not_break_a_file(tmp_path: Path) -> None:
    paths = save(overview(TRACES["hostile"]()), tmp_path / "one")
    ET.parse(paths[2])
    assert b"<script>" not in paths[2].read_bytes()


def test_unknown_formats_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'bmp'"):
        save(overview(worked_example()), tmp_path / "one", formats=("png", "bmp"))
    assert not list(tmp_path.iterdir())


def test_files_are_as_large_as_the_figure_was_meant(tmp_path: Path) -> None:
    (path,) = save(overview(worked_example()), tmp_path / "screen", formats=("png",))
    assert png_size(path) == (900, 420)
    with figures.style("acm"):
        figure = overview(worked_example())
    (path,) = save(figure, tmp_path / "print", formats=("png",))
    assert png_size(path)[0] == 999
    (path,) = save(figure, tmp_path / "large", formats=("png",), dpi=600)
    assert png_size(path)[0] == 1998


def png_size(path: Path) -> tuple[int, int]:
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_a_name_with_dots_keeps_them(tmp_path: Path) -> None:
    assert save(overview(worked_example()), tmp_path / "run.1", formats=("svg",)) == [tmp_path / "run.1.svg"]


def luminance(color: str) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("role", ["IDLE", "FRONTIER", "REDUCED", "DEFERRED", "PUBLISHED", "ERROR"])
def test_roles_are_legible_and_have_a_second_cue(role: str) -> None:
    shown = getattr(look, role)
    assert contrast(shown.text, "white") >= 4.5
    others = [getattr(look, name) for name in ("IDLE", "FRONTIER", "REDUCED", "DEFERRED", "PUBLISHED") if name != role]
    if role != "ERROR":  # it is marked by its place at the end, and by words
        assert all((shown.hatch, shown.line) != (other.hatch, other.line) for other in others)


def test_zero_is_no_colour_of_the_map() -> None:
    zero = np.array(to_rgb(look.ZERO_COLOR))
    colors = mpl.colormaps[look.COLOR_MAP](np.linspace(0, 1, 256))[:, :3]
    assert np.abs(colors - zero).sum(axis=1).min() > 0.25


def test_few_counts_get_a_colour_each_and_many_a_scale() -> None:
    few = np.array([[0.0, 1, 2], [3, 0, 1]])
    _, colors, ticks = look.map_scale(few)
    assert ticks == [1, 2, 3]
    assert colors.N == 3
    many, _, ticks = look.map_scale(np.array([[1.0, 5000]]))
    assert ticks is None
    assert type(many).__name__ == "LogNorm"
    close, _, _ = look.map_scale(np.array([[900.0, 5000]]))
    assert type(close).__name__ == "Normalize"


def test_small_maps_show_their_numbers() -> None:
    figure = overview(worked_example())
    assert [text.get_text() for text in figure.axes[1].texts] == ["1", "1"]


def test_a_map_without_room_for_numbers_shows_none() -> None:
    figure = Figure(figsize=(1, 1))
    ax = figure.add_axes((0, 0, 1, 1))
    draw_map(ax, region_map(record(wide_passes([20] * 30))), scale=None)
    assert not ax.texts


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (950, "950"), (12_500, "12,500"), (1_500_000, "1.5M"), (2e9, "2G"), (0.5, "0.5")]
)
def test_counts_in_few_characters(count: float, text: str) -> None:
    assert look.short_count(count) == text


def test_foreign_text_is_made_safe() -> None:
    shown = look.plain_text(HOSTILE)
    assert shown.isprintable()
    assert len(shown) == 80
    assert look.plain_text("λ.hvm4") == "λ.hvm4"
