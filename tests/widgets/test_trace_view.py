from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hvm4viz as hv
from hvm4viz.widgets.base import FRONT_BYTES, asset
from hvm4viz.widgets.frames import Frame
from hvm4viz.widgets.trace_view import TraceView
from tests.widgets.samples import HOSTILE, MACHINE, SHARED, hostile, seven_cells, shared
from tests.widgets.unpacking import unpack

STATE_BYTES = 64 << 10
OVERVIEW_BYTES = 1 << 20


def test_module_and_style_sheet_keep_their_bound() -> None:
    sent = sum(len(asset(name).encode()) for name in ("trace_view.js", "trace_view.css"))
    assert sent <= FRONT_BYTES, sent


def test_nothing_in_the_front_end_reaches_out_or_makes_markup() -> None:
    calls = r"\b(fetch|eval|XMLHttpRequest|WebSocket|importScripts|Function|insertAdjacentHTML|write)\("
    for name in ("trace_view.js", "trace_view.css", "offline.js"):
        text = asset(name)
        assert not re.search(r"https?:|//cdn|@import|url\(|innerHTML|outerHTML", text), name
        assert not re.search(calls, text), name


def test_the_state_of_a_view_is_small_whatever_the_trace() -> None:
    for run in (shared(), seven_cells(), hv.run("@main = @main", machine=hv.Machine(fuel=1), max_passes=5000)):
        state = TraceView(run).get_state()
        overview = state.pop("overviews")
        assert sum(map(len, overview)) <= OVERVIEW_BYTES
        small = {name: value for name, value in state.items() if name not in ("_esm", "_css")}
        assert len(json.dumps(small)) <= STATE_BYTES


def test_the_playhead_stays_inside_the_trace() -> None:
    view = TraceView(shared(), pass_index=99)
    assert view.pass_index == 13
    view.pass_index = -4
    assert view.pass_index == 0
    view.goto(-1)
    assert view.pass_index == 12
    with pytest.raises(IndexError, match="has passes 0 to 12; 13 is the end"):
        view.goto(14)


def test_deferrals_are_gone_through_in_order() -> None:
    view = TraceView(shared())
    found: list[int | None] = []
    while (p := view.next_deferral()) is not None:
        found.append(p)
    assert found == np.flatnonzero(shared().trace.deferral_sizes).tolist()


def test_bookmarks_and_selection_are_told() -> None:
    view = TraceView(shared())
    told: list[int | None] = []
    view.on_select(told.append)
    view.selection = {"loc": 8}
    view.set_trait("selection", None)
    view.goto(3)
    view.bookmark("here")
    assert told == [8, None]
    assert view.bookmarks == [{"pass": 3, "selection": None, "viewport": {}, "note": "here"}]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"panels": ["heep"]}, "panels='heep'"),
        ({"palette": "red"}, "palette='red'"),
        ({"theme": "blue"}, "theme='blue'"),
        ({"height": 10}, "from 320 to 2,000"),
        ({"cache": "lots"}, "size 'lots'"),
    ],
)
def test_bad_options_are_told(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        TraceView(shared(), **options)


def test_preferences_are_taken_up() -> None:
    with hv.option_context(palette="grey", theme="dark"):
        view = TraceView(shared())
    assert (view.palette, view.theme) == ("grey", "dark")
    assert TraceView(shared()).theme == "auto"


@pytest.mark.parametrize(
    "asked", [{}, {"id": 1}, {"id": 1, "kind": "window"}, {"id": 1, "kind": "counters", "t": 5},
              {"id": 1, "kind": "counters", "part": -1}, {"id": 1, "kind": "counters", "part": "x"},
              {"id": 1, "kind": "window", "p0": 1e300, "p1": 1e301}, {"id": 1, "kind": "window", "p0": float("nan")}]
)  # fmt: skip
def test_a_bad_question_gets_an_answer_that_says_so(asked: dict[str, Any]) -> None:
    head, data = TraceView(shared()).answer(asked)
    assert head["error"]
    assert data == b""


def test_messages_are_answered_with_their_number() -> None:
    view = TraceView(shared(), compare=seven_cells())
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    view.send = lambda head, buffers=None: sent.append((head, buffers or []))  # type: ignore[method-assign]
    view._take(None, {"id": 4, "kind": "counters", "t": 1, "part": 0}, [])
    view._take(None, "no question", [])
    view._take(None, {"kind": "counters"}, [])
    ((head, buffers),) = sent
    assert head["id"] == 4
    assert unpack(Frame(head, buffers[0]))["frontier"].tolist() == [1, 2, 3, 1]


def test_a_view_shows_text_and_picture_beside_the_widget() -> None:
    for subject in (shared(), shared().trace):
        shown = TraceView(subject)._repr_mimebundle_()
        assert {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"} <= set(shown)
        assert len(shown["image/png"]) < 150 << 10
        assert "13 passes" in shown["text/plain"]


def test_runs_and_modules_offer_views() -> None:
    assert isinstance(shared().view(height=400), hv.TraceView)
    assert isinstance(shared().trace.view(), hv.TraceView)
    assert len(hv.compare(shared(), seven_cells()).view().services) == 2
    assert "srcdoc" in hv.embed(shared()).data


def test_nothing_run_is_shown_as_nothing(tmp_path: Path) -> None:
    run = hv.run("@main = &A{1, 2}", mode="collapse", limit=0)
    view = TraceView(run)
    assert run.trace.n_passes == 0
    assert view.next_deferral() is None
    assert view.to_html(tmp_path / "none.html").is_file()
    assert "image/png" not in view._repr_mimebundle_()


@pytest.mark.parametrize("record", ["off", "counts", "events", "full"])
def test_every_level_has_a_view_and_a_page(record: str, tmp_path: Path) -> None:
    view = TraceView(shared(record))
    assert view.to_html(tmp_path / "a.html").stat().st_size > 100_000
    if record != "off":
        assert view.image(1).startswith(b"\x89PNG")


def test_two_traces_make_one_view() -> None:
    other = hv.run(SHARED, machine=hv.Machine(blocks=2, threads_per_block=1, region_size=64, dup="claim"))
    view = TraceView(shared(), compare=other)
    assert view.meta["other"]["digest"] == other.trace.digest()
    assert view.meta["difference"]["pass"] > 0
    assert TraceView(shared(), compare=hv.run(SHARED, machine=MACHINE)).meta["difference"] is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_state_picture_and_bundle(text: str) -> None:
    view = TraceView(hostile(text))
    meta = view.meta
    for value in (meta["message"], meta["answer"], meta["device"]):
        assert not set("\0\x1b\u202e\u2066\u2028\ufeff") & set(value)
        assert len(value) < 3000
    shown = view._repr_mimebundle_()
    assert not set("\0\x1b\u202e\u2066\u2028\ufeff") & set(shown["text/plain"] + shown.get("text/html", ""))


def test_pictures_of_passes_have_the_size_asked_for(tmp_path: Path) -> None:
    view = TraceView(seven_cells())
    pictures = [view.image(p, width=800, dpr=1) for p in (0, 2, -1, 4)]
    assert len(set(pictures)) == 4
    for raw in pictures:
        (tmp_path / "a.png").write_bytes(raw)
        with Image.open(tmp_path / "a.png") as image:
            assert abs(image.width - 800) <= 1
    wrongs: list[dict[str, Any]] = [{"fmt": "gif"}, {"width": 10}, {"dpr": 50}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="must be"):
            view.image(0, **wrong)
    with pytest.raises(IndexError, match="has passes 0 to 3"):
        view.image(5)
