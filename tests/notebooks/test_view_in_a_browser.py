"""The live view in JupyterLab: cell to browser and back, through scrolling, a busy kernel and a restart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page, sync_playwright

from tests.notebooks.jupyter import CHROMIUM, IDLE, jupyterlab, open_notebook, run_all
from tests.widgets.browser import Shown
from tests.widgets.samples import SHARED

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: on Debian, apt-get install chromium")

CELLS = (
    "%load_ext hvm4viz\nimport hvm4viz as hv, time",
    f"%%hvm4 -o run --record full --blocks 2 --threads-per-block 1 --region-size 64 --pass 1\n{SHARED}",
    "view = run.view(height=500)\nview",
    "view.goto(3)\nview.bookmark('from Python')",
    "hv.run('@main = @main', machine=hv.Machine(fuel=1), max_passes=40, record='events').view(theme='dark')",
    "%hvm4 compare run run",
    "\n".join(f"# {line}" for line in range(120)),
)
TOLD = "(view.pass_index, view.selection, len(view.bookmarks), view.query, view.playing)"


def write_notebook(path: Path, sources: Sequence[str]) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def execute(page: Any, code: str) -> str:
    """Run code in the notebook's kernel; return what it printed."""
    return page.evaluate(
        """async (code) => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            let text = '';
            const future = kernel.requestExecute({ code });
            future.onIOPub = (message) => { if (message.header.msg_type === 'stream') text += message.content.text; };
            await future.done;
            return text;
        }""",
        code,
    )


def picture(cell: Any) -> Any:
    """Return what a saved cell shows of its run; on a slow machine, a line of progress stands before it."""
    return next(output["data"] for output in cell.outputs if "image/png" in output.get("data", {}))


def splash_is_gone(page: Any) -> None:
    """Wait for it: JupyterLab throws when a second change of theme comes while the splash of the first fades."""
    page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=10_000)


def step_through_everything(page: Page, view: Shown) -> None:
    """Press every key of a view, and use every control, inside the notebook."""
    view.press("Home").wait(**{"pass": 0})
    for key, p in (
        ("ArrowRight", 1), ("Shift+ArrowRight", 11), ("ArrowLeft", 10), ("Shift+ArrowLeft", 0), ("PageDown", 13),
        ("PageUp", 0), ("End", 13), ("Home", 0),
    ):  # fmt: skip
        view.press(key).wait(**{"pass": p})
    view.press(".")
    view.wait(**{"pass": view.state("pass")}, events=view.state("events"))
    deferred = view.state("pass"), view.state("selection")
    assert deferred[0] != "0"
    assert "why is it waiting" in view.text(".hv-inspector")
    view.press(".", ",").wait(**{"pass": deferred[0]}, selection=deferred[1])
    view.press(">", "<").wait(**{"pass": deferred[0]}, selection=deferred[1])

    # The four views of the heap, and how near they are.
    for key, kind in (("2", "regions"), ("3", "net"), ("4", "table"), ("1", "cells")):
        view.press(key).wait(heap=kind)
    view.press("+").wait(zoom=2).press("-").wait(zoom=1).press("+", "0").wait(zoom=1)
    view.press("w")
    near = view.changed("range", "0-13")
    view.press("d")
    view.changed("range", near)
    view.press("a").wait(range=near).press("0").wait(range="0-13")

    # A cursor over cells; following; a bookmark.
    view.press("Enter").wait(cursor=True)
    at = view.state("selection")
    view.press("ArrowRight")
    view.changed("selection", at)
    view.press("ArrowLeft", "Escape").wait(cursor=False, selection=at)
    view.press("f").wait(follow=True).press("f").wait(follow=False)

    # Search, and hits to and fro.
    view.search("outcome:deferred").wait(hits=11, hit=int(view.state("hit")))
    hit, hits = int(view.state("hit")), int(view.state("hits"))
    view.press("n").wait(hit=(hit + 1) % hits).press("N").wait(hit=hit)
    view.press("/")
    assert page.evaluate("() => document.activeElement.className") == "hv-field"
    page.keyboard.press("Escape")
    view.press("g")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    view.wait(**{"pass": 5})

    # Differences of two passes.
    view.press("Home", "x", "End").wait(**{"pass": 13}, diff=0)
    assert int(view.state("changed")) > 10
    assert "added" in view.text(".hv-heap .hv-note")
    view.press("x").wait(diff="")

    # The slider by hand, and playing.
    box = page.locator(f"{view.root} .hv-transport .hv-slider").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    assert 5 <= int(view.state("pass")) <= 8
    page.select_option(f"{view.root} [aria-label='Passes a second']", "60")
    view.press("Home", "Space").wait(**{"pass": 13}, playing=False, rate=60)

    # What opens: keys, export.
    view.press("?")
    assert "next deferral" in view.text(".hv-dialog")
    page.keyboard.press("Escape")
    view.press("e")
    assert "CSV of the listed events" in view.text(".hv-dialog")
    page.keyboard.press("Escape")
    view.press("c")
    assert "no second trace" in view.text(".hv-hits")


def test_a_view_lives_in_a_notebook(tmp_path: Path) -> None:
    root = tmp_path / "notebooks"
    root.mkdir()
    write_notebook(root / "view.ipynb", CELLS)
    write_notebook(root / "one.ipynb", CELLS[:2])
    with jupyterlab(tmp_path, root) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1600})
        first = Shown(page, ".jp-CodeCell:nth-child(2) .hv-root")
        second = Shown(page, ".jp-CodeCell:nth-child(3) .hv-root")
        open_notebook(page, address.format("view.ipynb"))
        run_all(page, cells=len(CELLS))
        asked = len(first.requests)

        # A cell shows its run by itself, where its options say; the answer stands above.
        first.ready().wait(**{"pass": 1}, passes=13, heap="cells")
        assert "#Pair{[5,4,3,2,1],[5,4,3,2,1]}" in first.text(".hv-answer")
        assert first.state("loaded") == "1/1"

        # Python moves the view; the view moves Python's; views of one run are independent.
        second.ready().wait(**{"pass": 3}, bookmarks=1)
        second.press("ArrowRight", ".", "b")
        second.wait(bookmarks=2)
        second.search("outcome:deferred")
        page.wait_for_timeout(400)
        told = execute(page, f"print({TOLD})").strip()
        assert told == f"({second.state('pass')}, {{'loc': {second.state('selection')}}}, 2, 'outcome:deferred', False)"
        assert first.state("pass") == "1"
        execute(page, "view.pass_index = 12; view.selection = {'loc': 0}; view.rate = 60.0")
        second.wait(**{"pass": 12}, selection=0, rate=60)
        execute(page, "view.pass_index = 0; view.playing = True")
        second.wait(**{"pass": 13}, playing=False)

        step_through_everything(page, second)

        # Keys of the notebook are not pressed by those of the view.
        cells = page.locator(".jp-Cell").count()
        second.press("a", "b", "x", "d", "x").wait(diff="")
        assert page.locator(".jp-Cell").count() == cells

        # Scrubbing asks the kernel for nothing.
        before = second.state("asked")
        second.press("Home", "End", "PageUp", "ArrowRight", "Shift+ArrowRight").wait(**{"pass": 11})
        assert second.state("asked") == before

        # A busy kernel does not freeze it.
        page.evaluate(
            """() => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
                .requestExecute({ code: 'time.sleep(2)' }); }"""
        )
        second.press("Home").wait(**{"pass": 0}).press("ArrowRight").wait(**{"pass": 1})
        page.wait_for_function(IDLE, timeout=20_000)

        # Scrolled away and back, it is where it was.
        second.press("ArrowRight", "2").wait(**{"pass": 2}, heap="regions")
        page.evaluate("() => { document.querySelector('.jp-WindowedPanel-outer').scrollTop = 1e6; }")
        page.wait_for_timeout(500)
        page.evaluate("() => { document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0; }")
        second.ready().wait(**{"pass": 2}, heap="regions")

        # The theme of JupyterLab is followed, unless a view has its own.
        first.wait(theme="light")
        for theme in ("dark", "light"):
            page.evaluate(
                "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
                f"JupyterLab {theme.capitalize()}",
            )
            first.wait(theme=theme)
            splash_is_gone(page)

        # Two traces of one run differ nowhere.
        page.evaluate("() => { document.querySelector('.jp-CodeCell:nth-child(6)').scrollIntoView(); }")
        two = Shown(page, ".jp-CodeCell:nth-child(6) .hv-root").ready()
        assert "no difference" in two.text(".hv-compare")
        two.press("ArrowRight").wait(**{"pass": 1}, passB=1).press("c").wait(compare=False).press("c").wait(
            compare=True
        )
        dark = Shown(page, ".jp-CodeCell:nth-child(5) .hv-root").ready()
        dark.wait(theme="dark", passes=40)

        # After a restart, what is here can still be looked at, and it says what would bring more.
        page.evaluate("() => { document.querySelector('.jp-CodeCell:nth-child(3)').scrollIntoView(); }")
        page.evaluate(
            "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"
        )
        page.wait_for_function(IDLE, timeout=60_000)
        second.wait(link="gone")
        assert "re-run the cell" in second.text(".hv-head")
        second.press("End").wait(**{"pass": 13}).press("1", "ArrowLeft").wait(**{"pass": 12}, heap="cells")

        # A saved notebook holds pictures and text for places without scripts, and little else.
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(1500)
        complaints, requests = second.complaints, first.requests[asked:]

        # One view takes little room, too.
        open_notebook(page, address.format("one.ipynb"))
        run_all(page, cells=2)
        first.ready()
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(1000)
        browser.close()
    assert [line for line in complaints if "WebSocket" not in line] == []
    assert {url.split("/")[2] for url in requests if url.startswith("http")} <= {address.split("/")[2]}
    saved = nbformat.read(root / "view.ipynb", as_version=4)
    for cell in saved.cells[1:3]:
        data = picture(cell)
        assert set(data) == {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"}
        assert "#Pair{[5,4,3,2,1],[5,4,3,2,1]}" in data["text/plain"]
    assert (root / "view.ipynb").stat().st_size < 3_000_000
    one = nbformat.read(root / "one.ipynb", as_version=4)
    assert "widget-view+json" in str(picture(one.cells[1]).keys())
    assert (root / "one.ipynb").stat().st_size <= 1.5 * 2**20

    # Where no state of widgets was saved, nbconvert shows the poster, which has the answer; where HTML is cleaned, too.
    one.metadata.pop("widgets", None)
    for cleaned in (False, True):
        page_text, _ = HTMLExporter(sanitize_html=cleaned).from_notebook_node(one)
        assert re.search(r'<img [^>]*src="data:image/png;base64,', page_text)
