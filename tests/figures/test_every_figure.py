"""Every figure draws every kind of trace: labelled, legible, small, without touching anything outside itself."""

from __future__ import annotations

import inspect
import io
import warnings
from pathlib import Path
from typing import Any, get_args

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from hvm4viz import figures
from hvm4viz.figures.save import save
from hvm4viz.trace import Trace
from tests.figures.subjects import FIGURES, KINDS, LONE, LONE_OWNER, ON_AXES, TRACES, huge
from tests.trace.records import event, one_pass, record, worked_example

FOLDER = Path(figures.__file__).parent
MAPS = [name for name, draw in KINDS.items() if "reduce" in inspect.signature(draw).parameters]


@pytest.fixture(scope="module", params=TRACES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return TRACES[request.param]()


def png(figure: Figure, dpi: int = 100) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=dpi)
    return sink.getvalue()


def drawn_texts(figure: Figure) -> list[Any]:
    """Return the texts that are drawn: not those of ticks beyond the limits of their axis."""
    beyond: set[Any] = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            hidden = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
            beyond |= {label for tick in hidden for label in (tick.label1, tick.label2)}
    found: list[Any] = figure.findobj(Text)
    return [text for text in found if text.get_visible() and text.get_text() and text not in beyond]


def test_every_figure_has_a_file_of_its_name_and_is_exported() -> None:
    assert set(FIGURES) >= {
        "overview", "frontier_profile", "deferral_heatmap", "region_occupancy", "deferral_age", "pass_diagram",
        "filmstrip", "net_diagram", "scaling", "compare_heatmap", "interaction_mix", "ownership_map", "thread_map",
    }  # fmt: skip
    for name in FIGURES:
        assert (FOLDER / f"{name}.py").is_file()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_every_trace(name: str, trace: Trace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = FIGURES[name](trace)
        size = len(png(figure))
    assert size <= 150 << 10
    assert any(ax.get_xlabel() for ax in figure.axes)
    assert figure.axes[0].get_ylabel()
    described: Any = figure
    assert described.alt.endswith(".")
    assert described.provenance.startswith("hvm4viz ")
    assert all(text.get_text().replace("\n", " ").isprintable() for text in drawn_texts(figure))
    if hasattr(figure, "trace"):
        assert any(f"{trace.n_passes:,} pass" in text.get_text() for text in figure.texts)


@pytest.mark.parametrize(("width", "dark"), [("column", False), ("text", True)])
@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off_or_too_small_in_print(name: str, width: Any, dark: bool) -> None:  # noqa: FBT001
    for trace in (worked_example(), TRACES["wide"](), TRACES["format_2_full.hvt"]()):
        with figures.style("acm", width, dark=dark):
            figure = FIGURES[name](trace)
        figure.canvas.draw()
        page = figure.bbox
        for text in drawn_texts(figure):
            assert text.get_fontsize() >= 7, text
            box = text.get_window_extent()
            is_inside = (
                page.x0 <= box.x0 + 1 and box.x1 <= page.x1 + 1 and page.y0 <= box.y0 + 1 and box.y1 <= page.y1 + 1
            )
            assert is_inside, (text.get_text(), box.extents, page.extents)


@pytest.mark.parametrize("width", ["column", "text"])
@pytest.mark.parametrize("name", FIGURES)
def test_words_above_the_axes_do_not_lie_on_each_other(name: str, width: Any) -> None:
    for trace in (worked_example(), TRACES["wide"](), TRACES["format_2_full.hvt"]()):
        with figures.style("acm", width):
            figure = FIGURES[name](trace)
        figure.canvas.draw()
        boxes: list[Any] = [text.get_window_extent() for text in figure.texts]
        axes: list[Any] = list(figure.axes)
        for ax in axes:
            legend = ax.get_legend()
            boxes += [legend.get_window_extent()] if legend else []
            boxes += [ax._left_title.get_window_extent()] if ax._left_title.get_text() else []
        for index, one in enumerate(boxes):
            for other in boxes[:index]:
                wide = min(one.x1, other.x1) - max(one.x0, other.x0)
                high = min(one.y1, other.y1) - max(one.y0, other.y0)
                assert wide <= 2 or high <= 5, (name, one, other)


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_outside_is_touched(name: str) -> None:
    before = dict(mpl.rcParams)
    FIGURES[name](worked_example())
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in vars(figures)


@pytest.mark.parametrize("name", ON_AXES)
def test_figures_draw_on_given_axes(name: str) -> None:
    for trace in (worked_example(), TRACES["empty"](), TRACES["format_2_full.hvt"]()):
        mine = Figure()
        ax = mine.add_subplot(2, 1, 2)
        size = mine.get_size_inches().tolist()
        assert FIGURES[name](trace, ax=ax) is mine
        assert ax.get_children()
        assert mine.get_size_inches().tolist() == size


def test_every_figure_but_the_overview_takes_axes() -> None:
    assert set(FIGURES) - set(ON_AXES) == {"overview"}


@pytest.mark.parametrize("width", ["column", "text"])
@pytest.mark.parametrize("what", ["deferrals", "deferrals to"])
def test_one_lone_deferral_among_a_hundred_million_places_is_seen_in_the_file(
    what: Any, width: Any, tmp_path: Path
) -> None:
    lone = huge(deferred=0)
    assert (lone.n_deferrals, lone.n_passes, lone.n_regions) == (1, 10_000, 10_000)
    for name in MAPS:
        with figures.style("acm", width):
            draw: Any = KINDS[name]
            subjects = (record([]), lone) if name == "compare_heatmap" else (lone,)
            figure = draw(*subjects, what=what)
        (path,) = save(figure, tmp_path / name, formats=("png",))
        pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
        ax = next(ax for ax in figure.axes if ax.images)
        x, y = ax.transData.transform((LONE[1], LONE[0] if what == "deferrals" else LONE_OWNER))
        column, row = int(x), pixels.shape[0] - 1 - int(y)
        near = pixels[max(row - 3, 0) : row + 4, column - 3 : column + 4]
        zero = np.array([0xE9, 0xE9, 0xEC])
        assert 1 <= (np.abs(near - zero).sum(axis=2) > 200).sum() <= 12


@pytest.mark.parametrize("name", MAPS)
def test_maps_take_all_of_their_options(name: str) -> None:
    trace = TRACES["format_2_full.hvt"]()
    options = inspect.signature(KINDS[name]).parameters
    assert {"ax", "what", "shape", "reduce", "norm", "zero", "colorbar"} <= set(options)
    for what in get_args(figures.deferral_heatmap.__globals__["What"]):
        for more in ({"reduce": "sum"}, {"reduce": "mean", "norm": "linear"}, {"shape": (2, 3), "colorbar": False}):
            png(FIGURES[name](trace, what=what, zero="#ffffff", **more))
    with pytest.raises(ValueError, match="what='x'"):
        FIGURES[name](trace, what="x")
    with pytest.raises(ValueError, match="reduce='x'"):
        FIGURES[name](trace, reduce="x")


def test_a_map_has_no_more_fields_than_pixels_and_says_what_one_is() -> None:
    with figures.style("acm"):
        figure = figures.deferral_heatmap(huge())
    image: Any = figure.axes[0].images[0]
    box = figure.axes[0].get_window_extent()
    rows, columns = image.get_array().shape
    assert box.height / 2 < rows <= box.height
    assert box.width / 2 < columns <= box.width
    assert "each pixel: max of" in figure.axes[0].get_title(loc="left")


def test_zeros_are_named_beside_the_scale() -> None:
    figure = figures.deferral_heatmap(TRACES["wide"]())
    assert "0" in [text.get_text() for text in figure.texts]
    assert "0" not in [text.get_text() for text in figures.deferral_heatmap(TRACES["wide"](), colorbar=False).texts]
    assert "same" in [text.get_text() for text in FIGURES["compare_heatmap"](TRACES["wide"]()).texts]


def test_marks_are_lines_at_their_passes() -> None:
    figure = figures.deferral_heatmap(worked_example(), marks=[1, 3])
    assert [line.get_xdata()[0] for line in figure.axes[0].lines] == [1, 3]  # type: ignore[index]


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_not_there_is_said_in_words(name: str) -> None:
    nothing = record([])
    figure = FIGURES[name](nothing)
    said = " ".join(text.get_text() for text in drawn_texts(figure))
    assert "nothing was run" in said or "level events" in said or name == "scaling"
    still = record([one_pass(p, [event(3)]) for p in range(4)])
    assert len(png(FIGURES[name](still))) > 1000
