"""The view in a real browser, as a page without kernel and network: every key, every pane, both themes."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, sync_playwright

import hvm4viz as hv
from hvm4viz.bench.views import served
from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.widgets.cells import cell_times, statuses, words_at
from hvm4viz.widgets.trace_view import TraceView
from tests.widgets.browser import CHROMIUM, Shown, launch, offline
from tests.widgets.samples import HOSTILE, MACHINE, SHARED, hostile, seven_cells, shared

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: on Debian, apt-get install chromium")

NAMES = ("not in use", "freed", "idle", "reduced", "SUB", "frontier", "deferred", "error")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


def test_a_net_of_one_cell_says_how_to_see_more(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.wait(**{"pass": 0}).press("3").wait(heap="net")
        shown.page.get_by_text("1 cell from cell 0; select a cell or an event to start there").wait_for()
        shown.press(".").page.get_by_text("from cell").wait_for()
        assert "to start there" not in shown.page.locator(".hv-root").inner_text()
        assert not shown.complaints


COUNT_DRAWN = """() => {  // rectangles of one size in one frame, where there are most: each cell or region has one
    window.drawn = 0;
    let frame = 0, sizes = new Map();
    const fill = CanvasRenderingContext2D.prototype.fillRect;
    CanvasRenderingContext2D.prototype.fillRect = function (x, y, w, h) {
        const now = document.timeline.currentTime, key = `${w.toFixed(2)},${h.toFixed(2)}`;
        if (now !== frame) [frame, sizes] = [now, new Map()];
        sizes.set(key, (sizes.get(key) || 0) + 1);
        window.drawn = Math.max(window.drawn, sizes.get(key));
        fill.call(this, x, y, w, h);
    };
}"""


def many_cells(depth: int, region_size: int) -> TraceView:
    source = f"@tree = λ{{0: 1; λ&n. #N{{@tree(n - 1), @tree(n - 1)}}}}\n@main = @tree({depth})"
    machine = hv.Machine(blocks=8, threads_per_block=1, region_size=region_size, fuel=64)
    return TraceView(hv.run(source, machine=machine, record="full", device="cpu", progress=False), height=1600)


@pytest.mark.parametrize(("depth", "mode"), [(10, "tiles"), (11, "raster"), (12, "raster")])
def test_no_more_than_20000_cells_are_drawn_one_by_one(browser: Browser, tmp_path: Path, depth: int, mode: str) -> None:
    wide = {"viewport": {"width": 3000, "height": 1700}}
    with offline(browser, many_cells(depth, 256), tmp_path, **wide) as shown:
        shown.wait(mode=mode).press("End").settle()
        shown.page.evaluate(COUNT_DRAWN)
        drawn: list[int] = []
        for key in ("ArrowLeft", "ArrowRight", "+", "+", "-", "-"):
            shown.page.evaluate("() => { window.drawn = 0; }")
            shown.press(key).settle()
            drawn.append(int(shown.page.evaluate("() => window.drawn")))
        assert 0 < max(drawn) <= 20_000, drawn
        assert int(shown.state("cells")) > (20_000 if mode == "raster" else 10_000)


def test_no_more_than_20000_regions_are_drawn_at_once(browser: Browser, tmp_path: Path) -> None:
    wide = {"viewport": {"width": 1900, "height": 1700}}
    with offline(browser, many_cells(15, 16), tmp_path, **wide) as shown:
        shown.press("2").wait(heap="regions").press("End").settle()
        assert int(shown.state("regions").split("-")[1]) > 20_000
        shown.page.evaluate(COUNT_DRAWN)
        shown.press("ArrowLeft").settle()
        assert (
            0 < int(shown.page.evaluate("() => window.drawn")) <= 2 * 20_000
        )  # what is in use of a full one is as large


def test_every_key_does_what_the_list_says(browser: Browser, tmp_path: Path) -> None:
    trace = shared().trace
    deferring = np.flatnonzero(trace.deferral_sizes).tolist()
    first = int(trace.deferrals()["loc"][0])
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.wait(**{"pass": 0}, passes=13, heap="cells")
        shown.press("ArrowRight", "ArrowRight").wait(**{"pass": 2})
        shown.press("ArrowLeft").wait(**{"pass": 1})
        shown.press("Shift+ArrowRight").wait(**{"pass": 11})
        shown.press("Shift+ArrowLeft").wait(**{"pass": 1})
        shown.press("PageDown").wait(**{"pass": 13})
        shown.press("PageUp").wait(**{"pass": 0})
        shown.press("End").wait(**{"pass": 13})
        shown.press("Home").wait(**{"pass": 0})
        shown.press("ArrowLeft").wait(**{"pass": 0})
        shown.press(".").wait(**{"pass": deferring[0]}, selection=first)
        shown.press("End", ",").wait(**{"pass": deferring[-1]})
        home = int(shown.state("selection")) // trace.region_size
        same = [(int(d["opened"]), int(d["loc"])) for d in trace.deferrals() if d["home"] == home]
        for p, loc in same[-2:-5:-1]:
            shown.press("<").wait(**{"pass": p}, selection=loc)
        for p, loc in same[-3:]:
            shown.press(">").wait(**{"pass": p}, selection=loc)
        shown.press("2").wait(heap="regions").press("3").wait(heap="net").press("4").wait(heap="table")
        shown.press("1").wait(heap="cells")
        shown.press("+").wait(zoom=2).press("-").wait(zoom=1).press("+", "+").wait(zoom=4).press("0").wait(zoom=1)
        shown.press("Home", "w")
        near = shown.changed("range", "0-13")
        shown.press("d")
        shown.changed("range", near)
        shown.press("a").wait(range=near)
        shown.press("s", "s").wait(range="0-13")
        shown.press("x").wait(diff=0).press("End")
        assert int(shown.wait(**{"pass": 13}).state("changed")) > 10
        shown.press("x").wait(diff="")
        shown.press("b").wait(bookmarks=1)
        shown.press("f").wait(follow=True).press("f").wait(follow=False)
        shown.press("Home", ".").wait(**{"pass": deferring[0]}, selection=first)
        shown.press("r").wait(pins=first // trace.region_size).press("r").wait(pins="")
        shown.press("/")
        shown.page.keyboard.type("x")
        assert shown.page.input_value(".hv-field").endswith("x")
        shown.page.keyboard.press("Escape")
        shown.press("g")
        shown.page.keyboard.type("5")
        shown.page.keyboard.press("Enter")
        shown.wait(**{"pass": 5})
        shown.press("?")
        assert "next deferral" in shown.text(".hv-dialog")
        shown.page.keyboard.press("Escape")
        shown.press("e")
        assert "PNG of the heap" in shown.text(".hv-dialog")
        shown.page.keyboard.press("Escape")
        shown.press("c")
        assert "no second trace" in shown.text(".hv-hits")
        shown.press("Space").wait(playing=True)
        shown.press("Space").wait(playing=False)
        shown.press("Home", "Enter").wait(cursor=True)
        at = shown.state("selection")
        shown.press("ArrowLeft")
        assert shown.changed("selection", at) != at
        shown.press("ArrowRight").wait(selection=at, **{"pass": 0})
        shown.press("ArrowUp")
        shown.changed("selection", at)
        shown.press("ArrowDown").wait(cursor=True)
        shown.press("Escape").wait(cursor=False)
        shown.press("Escape")
        assert not shown.page.evaluate("() => document.querySelector('.hv-root').contains(document.activeElement)")


def test_keys_mean_nothing_without_the_focus_and_stay_inside_with_it(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.page.evaluate(
            "() => { window.got = []; document.addEventListener('keydown', (event) => window.got.push(event.key)); }"
        )
        shown.page.evaluate("() => document.activeElement.blur()")
        shown.page.keyboard.press("ArrowRight")
        assert shown.state("pass") == "0"
        shown.press("ArrowRight", "b").wait(**{"pass": 1}, bookmarks=1)
        shown.press("z")
        assert shown.page.evaluate("() => window.got") == ["ArrowRight", "z"]


def test_the_slider_is_native_and_says_where_it_is(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        box = shown.page.locator(".hv-transport .hv-slider").bounding_box()
        assert box is not None
        shown.page.mouse.move(box["x"] + 6, box["y"] + box["height"] / 2)
        shown.page.mouse.down()
        shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
        shown.page.mouse.up()
        assert 5 <= int(shown.state("pass")) <= 8
        shown.page.focus(".hv-transport .hv-slider")
        shown.page.keyboard.press("Home")
        shown.wait(**{"pass": 0})
        shown.page.keyboard.press("ArrowRight")
        shown.wait(**{"pass": 1})
        told = shown.page.get_attribute(".hv-transport .hv-slider", "aria-valuetext")
        assert told == "pass 1 of 13, 1 deferral"
        shown.page.wait_for_function(
            "(told) => document.querySelector('.hv-live').textContent === told", arg=told, timeout=3000
        )


def test_playing_goes_to_the_end_and_stops(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.page.select_option("[aria-label='Passes a second']", "60")
        shown.press("Space").wait(**{"pass": 13}, playing=False, rate=60)
        assert shown.text(".hv-readout") == "the end, after 13 passes"


@pytest.mark.parametrize("record", ["full", "events"])
@pytest.mark.parametrize("make", [shared, seven_cells])
def test_states_of_cells_are_those_of_python_at_every_pass(
    browser: Browser, tmp_path: Path, make: Any, record: str
) -> None:
    trace = make(record).trace
    times = cell_times(trace)
    with offline(browser, TraceView(make(record), height=2000), tmp_path) as shown:
        shown.press("4").wait(heap="table")
        for p in [*range(trace.n_passes + 1), *range(trace.n_passes - 1, -1, -3)]:
            while int(shown.state("pass")) != p:
                shown.press("ArrowRight" if int(shown.state("pass")) < p else "ArrowLeft")
                shown.page.wait_for_timeout(30)
            codes = statuses(trace, times, p)
            expected = [(str(cell), NAMES[code]) for cell, code in zip(times.cells, codes, strict=True) if code]
            assert [(row[0], row[4]) for row in shown.rows(".hv-table")] == expected, p


@pytest.mark.parametrize("make", [shared, seven_cells])
def test_a_trace_that_comes_in_windows_shows_the_same_states(browser: Browser, make: Any) -> None:
    trace = make().trace
    times, n = cell_times(trace), trace.n_passes
    view = TraceView(make(), height=2000)
    view.meta = {**view.meta, "is_small": False, "windows": [[p, min(p + 3, n)] for p in range(0, n, 3)]}
    steps = [p for p in (0, 1, 2, n, n - 1, 0, 6, 9, 5, n, *range(1, n, 2)) if p <= n]
    with served(browser, view) as page:
        shown = Shown(page).ready().press("4").wait(heap="table")
        for p in steps:
            shown.page.fill(".hv-slider", str(p))
            shown.wait(**{"pass": p}, ready=True, complete=True)
            codes = statuses(trace, times, p)
            expected = [(str(cell), NAMES[code]) for cell, code in zip(times.cells, codes, strict=True) if code]
            assert [(row[0], row[4]) for row in shown.rows(".hv-table")] == expected, p
        shown.press("1", "Home").wait(**{"pass": 0}).press("x", "End").wait(**{"pass": n}, diff=0)
        differing = int(np.count_nonzero(words_at(trace, 0)[times.cells] != words_at(trace, n)[times.cells]))
        shown.wait(changed=differing).press("x").wait(diff="")
        shown.page.fill(".hv-slider", str(steps[-1]))
        words = dict(zip(times.cells.tolist(), trace.at(steps[-1]).words[times.cells].tolist(), strict=True))
        shown.press("1", "Enter").wait(cursor=True)
        word = words[int(shown.state("selection"))]
        page.wait_for_function(
            "(hex) => document.querySelector('.hv-inspector').innerText.includes(hex)", arg=f"{word:016x}"
        )
        assert shown.complaints == []


def test_events_are_those_of_the_trace(browser: Browser, tmp_path: Path) -> None:
    trace = shared().trace
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.page.select_option("[aria-label='Which events']", "run")
        rows = shown.rows(".hv-events .hv-list")
        events, passes = trace.events(), trace.passes()
        assert [(int(r[0]), r[1], int(r[2]), r[8]) for r in rows] == [
            (int(p), OUTCOMES[e["outcome"]], int(e["loc"]), REASONS[e["reason"]])
            for p, e in zip(passes, events, strict=True)
        ]
        shown.page.select_option("[aria-label='Outcome of the events']", "deferred")
        shown.wait(events=trace.n_deferrals)
        shown.page.select_option("[aria-label='Which events']", "deferrals")
        rows = shown.rows(".hv-events .hv-list")
        waits = trace.deferrals()
        assert [(int(r[0]), int(r[2]), int(r[6]), r[7]) for r in rows] == [
            (int(w["opened"]), int(w["loc"]), int(w["slot"]), str(w["age"])) for w in waits
        ]
        shown.page.evaluate("() => { document.querySelector('.hv-events .hv-list').scrollTop = 0; }")
        shown.page.click(".hv-events .hv-rows .hv-row[data-index='2']")
        shown.wait(**{"pass": int(waits["opened"][2])}, selection=int(waits["loc"][2]))
        assert "why is it waiting" in shown.text(".hv-inspector")


@pytest.mark.parametrize("record", ["full", "events"])
def test_searches_find_what_the_trace_finds(browser: Browser, tmp_path: Path, record: str) -> None:
    trace = shared(record).trace
    queries = ["outcome:deferred", "loc:0", "age:>0", "age:1..2", "region:1", "reason:take", "origin:hop", "thread:1",
               "outcome:deferred region:0", "interactions:>=1", "slot:>0"]  # fmt: skip
    if record == "full":
        queries += [
            "tag:DP0",
            "tag:CTR",
            "Pair",
            "range",
            "#CON",
            "def:@main",
            "@range",
            "op:take",
            "op:publish",
            "tag:ALO",
        ]
    with offline(browser, TraceView(shared(record)), tmp_path) as shown:
        for query in queries:
            hits = list(trace.find_all(query))
            shown.search(query).wait(hits=len(hits))
            if hits:
                shown.press("Home")
                assert shown.text(".hv-hits").endswith(f"{len(hits)} hit{'s' * (len(hits) != 1)}")
        hits = list(trace.find_all("outcome:deferred"))
        shown.press("Home")
        shown.search("outcome:deferred").wait(**{"pass": hits[0].pass_index}, selection=hits[0].loc, hit=0)
        shown.press("n").wait(**{"pass": hits[1].pass_index}, hit=1)
        shown.press("N", "N").wait(**{"pass": hits[-1].pass_index}, hit=len(hits) - 1)
        wrongs = {"lok:1": "no key lok", "outcome:bad": "there are", "loc:x": "write a number", "loc:": "nothing"}
        for wrong, says in wrongs.items():
            shown.search(wrong).wait(hits=0)
            assert says in shown.text(".hv-hits")
        if record == "events":
            shown.search("tag:DP0")
            assert "record='full'" in shown.text(".hv-hits")


def test_diff_tells_what_changed(browser: Browser, tmp_path: Path) -> None:
    trace = seven_cells().trace
    with offline(browser, TraceView(seven_cells()), tmp_path) as shown:
        shown.press("x", "End").wait(diff=0, **{"pass": 4})
        before, after = trace.at(0).words, trace.at(4).words
        times = cell_times(trace)
        changed = int(np.count_nonzero(before[times.cells] != after[times.cells]))
        assert shown.state("changed") == str(changed)
        assert f"{changed} " in shown.text(".hv-heap .hv-note") or "added" in shown.text(".hv-heap .hv-note")


def test_the_inspector_tells_the_life_of_a_cell(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(seven_cells()), tmp_path) as shown:
        shown.press(".").wait(**{"pass": 1}, selection=8)
        text = shown.text(".hv-inspector")
        for part in ("cell 8", "DP0", "region", "1, owner B1/t0", "deferred (take) by B1/t0 at slot 1", "done by B0/t0",
                     "DP0 e → 1", "why is it waiting", "its owner is B0/t0 of region 0", "age 1"):  # fmt: skip
            assert part in text, part
        shown.page.click(".hv-why button:has-text('slot 1')")
        shown.wait(selection=1)
        text = shown.text(".hv-inspector")
        assert "&e{1,2}" in text
        assert "take by B0/t0 for cell 8" in text
        assert "publish by B0/t0 for cell 8" in text
        shown.page.click(".hv-inspector dd:has-text('8') button:text-is('8') >> nth=0")
        shown.wait(selection=8)


def test_source_and_heap_point_at_each_other(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.page.click(".hv-source summary")
        assert SHARED.splitlines()[0] in shown.text(".hv-code")
        shown.press("Home", "Enter").wait(selection=0)
        assert shown.text(".hv-code mark").startswith("@main")
        shown.page.click(".hv-definition >> nth=0")
        shown.wait(query="def:@range", search="done")
        assert int(shown.state("hits")) == len(list(shared().trace.find_all("def:@range")))


def test_the_overview_zooms_by_dragging_and_seeks_by_clicking(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        box = shown.page.locator(".hv-map").bounding_box()
        assert box is not None
        x, wide, y = box["x"] + 46, box["width"] - 56, box["y"] + 70
        shown.page.mouse.click(x + wide * 6.5 / 13, y)
        shown.wait(**{"pass": 6})
        shown.page.mouse.move(x + wide * 3.2 / 13, y)
        shown.page.mouse.down()
        shown.page.mouse.move(x + wide * 8.8 / 13, y, steps=4)
        shown.page.mouse.up()
        shown.wait(range="3-9")
        assert "passes 3–8" in shown.text(".hv-overview .hv-note")
        shown.page.mouse.dblclick(x + wide / 2, y)
        shown.wait(range="0-13")
        shown.page.focus(".hv-root")
        shown.page.mouse.wheel(0, -300)
        shown.page.wait_for_function("() => document.querySelector('.hv-root').dataset.range !== '0-13'")
        shown.page.mouse.move(x + wide / 2, y + 1)
        assert "region" in shown.text(".hv-tip")
        for what in ("frontier", "takes", "writes", "occupancy", "deferrals"):
            shown.page.select_option("[aria-label='Measure of the overview']", what)
            shown.wait(measure=what)


def test_bookmarks_bring_back_pass_selection_and_view(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.press(".", "2", "b").wait(bookmarks=1)
        marked = shown.state("pass"), shown.state("selection")
        shown.press("End", "1", "Enter").wait(heap="cells")
        shown.page.select_option("[aria-label='Bookmarks']", "0")
        shown.wait(heap="regions", **{"pass": marked[0]}, selection=marked[1])


def test_two_traces_stand_beside_each_other(browser: Browser, tmp_path: Path) -> None:
    other = hv.run(
        SHARED, machine=hv.Machine(blocks=2, threads_per_block=1, region_size=64, dup="claim"), record="full"
    )
    view = TraceView(shared(), compare=other)
    with offline(browser, view, tmp_path) as shown:
        shown.wait(compare=True, passB=0)
        shown.press("ArrowRight", "ArrowRight").wait(**{"pass": 2}, passB=2)
        shown.page.select_option("[aria-label='How the two playheads go together']", "work")
        shown.press("End").wait(**{"pass": 13})
        shown.press("ArrowLeft", "ArrowLeft")
        mine = shared().trace.interactions[:11].sum()
        theirs = np.concatenate([[0], np.cumsum(other.trace.interactions)])
        shown.wait(passB=min(int(np.searchsorted(theirs, mine)), other.trace.n_passes))
        shown.page.select_option("[aria-label='How the two playheads go together']", "free")
        at = shown.state("passB")
        shown.press("Home").wait(**{"pass": 0}, passB=at)
        shown.page.click(".hv-compare button")
        shown.wait(**{"pass": view.meta["difference"]["pass"]})
        shown.press("c").wait(compare=False).press("c").wait(compare=True)


def test_both_themes_and_their_change(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared(), theme="dark"), tmp_path) as shown:
        shown.wait(theme="dark")
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.wait(theme="light")
        light = shown.page.locator(".hv-scroll canvas").screenshot()
        shown.page.evaluate(
            """() => {
                document.querySelector('.hv-root').classList.remove('hv-light');
                document.body.style.setProperty('--jp-layout-color1', '#111111');
                document.body.style.setProperty('--jp-ui-font-color0', '#eeeeee');
            }"""
        )
        shown.wait(theme="dark")
        shown.page.wait_for_timeout(100)
        assert shown.page.locator(".hv-scroll canvas").screenshot() != light


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the accessibility checker axe-core, from npm."""
    folder, npm = tmp_path_factory.mktemp("axe"), shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here to bring axe-core along")
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "axe-core@4"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    if done.returncode:
        pytest.skip(f"npm could not bring axe-core along: {done.stderr.decode()[-200:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, tmp_path: Path, axe: str, theme: Any) -> None:
    view = TraceView(shared(), compare=seven_cells(), theme=theme)
    with offline(browser, view, tmp_path) as shown:

        def look(where: str) -> None:
            shown.page.wait_for_timeout(150)
            found = shown.page.evaluate(
                "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"
            )
            assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == [], where

        shown.page.evaluate(axe)
        shown.page.click(".hv-source summary")
        shown.press(".", "b")
        shown.search("outcome:deferred")
        for by in ("kind", "owner", "status"):
            shown.page.select_option("[aria-label='What colours show'] >> nth=0", by)
            look(by)
        shown.press("x", "End")
        for key in ("1", "2", "3", "4"):
            shown.press(key)
            look(key)
        for key in ("?", "e"):
            shown.press(key)
            look(key)
            shown.page.keyboard.press("Escape")


def test_motion_is_left_out_when_asked_for(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.press("ArrowRight", "ArrowRight").wait(**{"pass": 2}, moves=2)
        shown.press("Shift+ArrowRight").wait(**{"pass": 12}, moves=2)
    with offline(browser, TraceView(shared()), tmp_path, reduced_motion="reduce") as shown:
        shown.press("ArrowRight", "ArrowRight").wait(**{"pass": 2}, moves=0)


def test_a_narrow_page_stacks_and_shows_everything(browser: Browser, tmp_path: Path) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.page.set_viewport_size({"width": 480, "height": 900})
        shown.wait(narrow=True)
        assert shown.page.evaluate("() => document.documentElement.scrollWidth") <= 480
        for part in (".hv-map", ".hv-scroll canvas", ".hv-slider", ".hv-inspector", ".hv-events .hv-list"):
            box = shown.page.locator(f"{part} >> nth=0").bounding_box()
            assert box is not None
            assert box["width"] > 250 or part == ".hv-slider", part
            assert box["x"] + box["width"] <= 480
        small = shown.page.evaluate(
            """() => [...document.querySelectorAll('.hv-root :is(button:not(.hv-link), select, input)')]
                .map((node) => node.getBoundingClientRect())
                .filter((box) => box.width && (box.height < 24 || box.width < 24)).length"""
        )
        assert small == 0


@pytest.mark.parametrize("width", [480, 640, 880, 920, 1000, 1200])
def test_the_events_fit_beside_or_below_the_heap_at_every_width(browser: Browser, tmp_path: Path, width: int) -> None:
    with offline(browser, TraceView(shared()), tmp_path) as shown:
        shown.page.set_viewport_size({"width": width, "height": 900})
        shown.press(".").settle()
        over = shown.page.evaluate(
            "() => { const {scrollWidth, clientWidth} = document.querySelector('.hv-events .hv-list');"
            "return scrollWidth - clientWidth; }"
        )
        assert over == 0
        assert shown.page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_the_columns_of_the_heap_table_stand_below_their_titles_however_long_a_row_is(
    browser: Browser, tmp_path: Path
) -> None:
    fields = ",".join(f"#A{{{n}}}" for n in range(16))
    with offline(browser, TraceView(hv.run(f"@main = #Wide{{{fields}}}", record="full").trace), tmp_path) as shown:
        shown.page.set_viewport_size({"width": 920, "height": 900})
        shown.press("End", "4").settle()
        places = shown.page.evaluate(
            "() => [...document.querySelectorAll('.hv-table .hv-row')].filter((row) => row.offsetHeight)"
            ".map((row) => [...row.children].map((cell) => cell.offsetLeft).join())"
        )
        assert len(places) > 10
        assert len(set(places)) == 1


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (lambda: hv.run("@main = &A{1,2}", mode="collapse", limit=0), "0 passes: nothing was run"),
        (lambda: hv.run(SHARED, machine=MACHINE, record="counts"), "recorded at level counts"),
        (lambda: hv.run(SHARED, machine=MACHINE), "record='full' shows cell contents"),
        (lambda: hv.run(SHARED, machine=MACHINE, trace_limit=1), "cut trace"),
        (lambda: hv.run(SHARED, machine=MACHINE, max_passes=4), "pass limit"),
        (lambda: hv.run(SHARED, machine=hv.Machine(dup="atomic")), "not order-stable"),
        (lambda: hv.run("@main = 1(2)", record="full"), "RUNTIME_ERROR"),
    ],
    ids=["nothing", "counts", "events", "cut", "limit", "order", "error"],
)
def test_what_is_missing_is_said(browser: Browser, tmp_path: Path, run: Any, says: str) -> None:
    made = run()
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 800})
    shown = Shown(context.new_page())
    shown.page.goto(TraceView(made).to_html(tmp_path / "a.html").as_uri())
    shown.page.wait_for_selector(".hv-root[data-passes]")
    shown.press("End")
    shown.page.wait_for_timeout(300)
    whole = shown.page.inner_text(".hv-root") + str(shown.page.get_attribute(".hv-scroll canvas", "aria-label"))
    drawn = shown.page.get_attribute(".hv-map", "aria-label") or ""
    assert says in whole + drawn or (says.startswith("recorded") and "level counts" in whole), whole
    assert shown.complaints == []
    context.close()


def test_a_busy_kernel_and_one_that_is_gone_are_told_and_what_is_here_goes_on(browser: Browser) -> None:
    view = TraceView(shared())
    n = view.trace.n_passes
    view.meta = {**view.meta, "is_small": False, "windows": [[p, min(p + 1, n)] for p in range(n)]}
    free = threading.Event()
    answer = view.answer

    def slow(asked: Any) -> tuple[dict[str, Any], bytes]:
        if asked["kind"] in ("seen", "states", "window"):
            assert free.wait(20)
        return answer(asked)

    view.answer = slow  # pyright: ignore[reportAttributeAccessIssue]
    with served(browser, view) as page:
        shown = Shown(page)
        page.wait_for_selector(".hv-root[data-pass]")

        # While it loads: the overview first, then that the kernel is busy.
        assert "deferrals by home region" in str(page.get_attribute(".hv-map", "aria-label"))
        assert shown.state("ready") == "false"
        shown.wait(link="busy")
        assert shown.text(".hv-head").endswith("kernel busy: cached passes only\n?")
        free.set()
        shown.wait(link="ready", ready=True, complete=True)
        assert "busy" not in shown.text(".hv-head")

        # What is here can be stepped through while nothing answers; what is not is hatched below the slider.
        shown.press("ArrowRight", "ArrowRight", "ArrowLeft").wait(**{"pass": 1}, complete=True)
        free.clear()
        shown.press("End", "ArrowLeft").wait(**{"pass": n - 1}, link="busy", ready=False)
        assert "contents on their way" in shown.text(".hv-heap .hv-note")
        assert "still pass " in shown.text(".hv-heap .hv-note")
        hatched = page.evaluate(
            """() => {
                const strip = document.querySelector('.hv-strip');
                const { data } = strip.getContext('2d').getImageData(strip.width / 2, 2, strip.width / 3, 1);
                return new Set(data.filter((_, i) => i % 4 === 3)).size;
            }"""
        )
        assert hatched > 1
        shown.press("Home", "ArrowRight").wait(**{"pass": 1}, ready=True, complete=True)

        # Gone for good: the same, and how to come by the rest.
        page.evaluate("() => window.lostKernel()")
        shown.wait(link="gone")
        assert "kernel gone: re-run the cell to load more" in shown.text(".hv-head")
        shown.press("ArrowLeft").wait(**{"pass": 0}, complete=True)
        shown.press("End").wait(**{"pass": n})
        free.set()
        assert shown.complaints == []


@pytest.mark.parametrize("said_here", ["Press ArrowRight", "Choose a rate", "nothing"])
def test_what_python_says_last_holds(browser: Browser, said_here: str) -> None:
    """Also within the tenth of a second in which what was said in the view has not gone out yet."""
    view = TraceView(shared())
    with served(browser, view) as page:
        shown = Shown(page).ready()
        page.evaluate(
            """(said) => {
                const root = document.querySelector('.hv-root');
                if (said.startsWith('Press')) root.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
                if (said.startsWith('Choose')) {
                    const rates = root.querySelector("[aria-label='Passes a second']");
                    rates.value = '8';
                    rates.dispatchEvent(new Event('change'));
                }
                window.kernelSays({ pass_index: 5, selection: { loc: 3 }, bookmarks: [{ pass: 2, note: 'a' }] });
            }""",
            said_here,
        )
        for _ in range(2):
            shown.wait(**{"pass": 5}, selection=3, bookmarks=1, rate=8 if said_here == "Choose a rate" else 4)
            page.wait_for_timeout(300)
        assert page.evaluate("() => window.kernelKnows('pass_index')") == 5
        assert shown.complaints == []


def test_very_many_cells_come_when_they_are_asked_for(browser: Browser) -> None:
    view = TraceView(shared())
    view.meta = {**view.meta, "is_small": False, "n_cells": 100_000_000}
    with served(browser, view) as page:
        shown = Shown(page).ready().wait(cells=0)
        assert "its 100,000,000 cells take up to 1.8 GiB of the browser's memory: load anyway" in shown.text(
            ".hv-banner"
        )
        shown.press("ArrowRight").wait(**{"pass": 1}, ready=True)
        page.click(".hv-banner button")
        assert int(shown.changed("cells", "0")) == cell_times(view.trace).cells.size
        shown.wait(complete=True)
        assert not page.is_visible(".hv-banner")
        assert shown.complaints == []


def test_a_stall_is_named_and_leads_to_where_it_began(browser: Browser, tmp_path: Path) -> None:
    run = hv.run("@main = @main", machine=hv.Machine(fuel=1), max_passes=20)
    table = hv.load(Path(__file__).parents[2] / "notebooks/programs/shared_table.hvm4")
    waits = hv.run(table, machine=hv.Machine(fuel=100, fork="off"))
    old = waits.trace.deferrals()
    longest = old[np.argmax(old["age"])]
    assert longest["age"] > 10
    p = int(longest["opened"]) + 10
    with offline(browser, TraceView(waits, pass_index=p), tmp_path) as shown:
        assert "has waited" in shown.text(".hv-banner")
        shown.page.click(".hv-banner button")
        assert int(shown.changed("pass", str(p))) < p
    with offline(browser, TraceView(run, pass_index=15), tmp_path) as shown:
        assert shown.state("passes") == "20"


def test_nobody_is_said_to_wait_where_events_were_not_kept(browser: Browser, tmp_path: Path) -> None:
    table = hv.load(Path(__file__).parents[2] / "notebooks/programs/shared_table.hvm4")
    cut = hv.run(table, machine=hv.Machine(fuel=100, fork="off"), trace_limit=16_000)
    assert cut.trace.dropped
    assert (cut.trace.deferrals()["closed"] < 0).any()
    with offline(browser, TraceView(cut, pass_index=cut.trace.n_passes // 2), tmp_path) as shown:
        said = shown.text(".hv-banner")
        assert "not kept" in said
        assert "has waited" not in said


def test_a_part_of_a_trace_says_so_and_steps_inside_it(browser: Browser, tmp_path: Path) -> None:
    view = TraceView(shared(), pass_index=4)
    path = view.to_html(tmp_path / "part.html", passes=(3, 7))
    context = browser.new_context(offline=True)
    shown = Shown(context.new_page())
    shown.page.goto(path.as_uri())
    shown.ready().press("ArrowRight").wait(**{"pass": 5})
    assert "part of a trace" in shown.text(".hv-head")
    assert int(shown.state("events")) == shared().trace.events(5, 6).size
    shown.press("End").wait(**{"pass": 13})
    assert shown.complaints == []
    context.close()


def test_hostile_text_is_text_in_every_pane(browser: Browser, tmp_path: Path) -> None:
    for at in range(0, len(HOSTILE), 15):
        text = " ".join(each[:200] for each in HOSTILE[at : at + 15])
        with offline(browser, TraceView(hostile(text)), tmp_path) as shown:
            shown.page.click(".hv-source summary")
            shown.press("End", "4", "x")
            for query in (text[:60], "def:@main"):
                shown.page.fill(".hv-field", query)
                shown.page.press(".hv-field", "Enter")
            shown.page.wait_for_timeout(60)
            made = shown.page.evaluate(
                "() => [...document.querySelectorAll('.hv-root *')].map((node) => node.tagName.toLowerCase())"
            )
            assert not {"script", "img", "svg", "iframe", "a", "style", "object", "math"} & set(made)


def test_an_embedded_view_lives_in_a_frame_of_its_own(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{hv.embed(seven_cells()).data}</body>", encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 800})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator(".hv-root[data-ready=true]").wait_for(timeout=10_000)
    frame.locator(".hv-root").press("ArrowRight")
    frame.locator(".hv-root[data-pass='1']").wait_for(timeout=5_000)
    assert complaints == []
    context.close()
