"""Every figure draws every kind of trace: labelled, legible, small, without touching anything outside itself."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import io
import struct
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from hvm4viz import figures
from hvm4viz.events import EVENT
from hvm4viz.figures.overview import overview
from hvm4viz.figures.region_map import draw_map
from hvm4viz.figures.save import save
from hvm4viz.measure import region_map
from hvm4viz.trace import Trace
from tests.trace.records import DEFERRED, event, header, one_pass, record, wide_passes, worked_example

look = importlib.import_module("hvm4viz.figures.style")  # the package has a function of that name too

HOSTILE = "$\\frac{1}{0}$<script>\x00\u202e\ud800名\n" + "x" * 1000


@cache
def huge() -> Trace:
    """Record 10,000 passes over 10,000 regions."""
    rng = np.random.default_rng(0)

    def passes() -> Any:
        for p in range(10_000):
            events = np.zeros(20, EVENT)
            events["loc"] = rng.integers(1, 10_000 * 64, 20)
            events["outcome"] = np.where(rng.random(20) < 0.3, DEFERRED, 1)
            events["slot"] = 1
            yield one_pass(p, events)

    return record(passes())


TRACES: dict[str, Callable[[], Trace]] = {
    "empty": lambda: record([]),
    "off": lambda: record(wide_passes([3]), level="off"),
    "one pass": lambda: record([one_pass(0, [event(3)])]),
    "a pass of nothing": lambda: record([one_pass(0, [])]),
    "no deferral": lambda: record([one_pass(p, [event(3)]) for p in range(20)]),
    "all zero": lambda: record([one_pass(p, [], cells=np.zeros(8, np.uint32)) for p in range(20)], level="counts"),
    "worked example": worked_example,
    "counts": lambda: record(wide_passes([1, 40, 3]), level="counts"),
    "wide": lambda: record(wide_passes([1, 40, 900, 5000, 3])),
    "log": lambda: record(wide_passes([1] * 50 + [5000])),
    "cut": lambda: record(wide_passes([10] * 60), limit_bytes=9000, status="timeout"),
    "hostile": lambda: record(
        wide_passes([3]),
        head=dataclasses.replace(header(device=HOSTILE), source=((HOSTILE, ""),), entry=HOSTILE),
        status="error",
    ),
    "huge": huge,
}

FIGURES = {
    name: figure
    for name in figures.__all__
    if inspect.isfunction(figure := getattr(figures, name))
    and next(iter(inspect.signature(figure).parameters)) == "trace"
}


@pytest.fixture(scope="module", params=TRACES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return TRACES[request.param]()


def png(figure: Figure, dpi: int = 100) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=dpi)
    return sink.getvalue()


def test_names() -> None:
    assert set(FIGURES) >= {"overview", "frontier_profile", "deferral_heatmap"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_every_trace(name: str, trace: Trace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = FIGURES[name](trace)
        size = len(png(figure))
    assert size <= 150 << 10
    assert any(ax.get_xlabel() for ax in figure.axes)
    assert all(ax.get_ylabel() for ax in figure.axes[: 2 if name == "overview" else 1])
    words = [text.get_text() for text in figure.texts]
    if figure.texts:
        assert any(f"{trace.n_passes:,} pass" in text for text in words)
        assert all(text.isprintable() for text in words)


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_outside_is_touched(name: str) -> None:
    before = dict(mpl.rcParams)
    trace = worked_example()
    FIGURES[name](trace)
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in vars(figures)


@pytest.mark.parametrize("name", ["frontier_profile", "deferral_heatmap"])
def test_figures_draw_on_given_axes(name: str) -> None:
    mine = Figure()
    ax = mine.add_subplot(2, 1, 2)
    assert FIGURES[name](worked_example(), ax=ax) is mine
    assert ax.has_data()


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
