"""The live view in JupyterLab: cell to browser and back, through scrolling, a busy kernel and a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import sync_playwright

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


def write_notebook(path: Path) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
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


def splash_is_gone(page: Any) -> None:
    """Wait for it: JupyterLab throws when a second change of theme comes while the splash of the first fades."""
    page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=10_000)


def test_a_view_lives_in_a_notebook(tmp_path: Path) -> None:
    root = tmp_path / "notebooks"
    root.mkdir()
    write_notebook(root / "view.ipynb")
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
        browser.close()
    assert [line for line in complaints if "WebSocket" not in line] == []
    assert {url.split("/")[2] for url in requests if url.startswith("http")} <= {address.split("/")[2]}
    saved = nbformat.read(root / "view.ipynb", as_version=4)
    for cell in saved.cells[1:3]:
        data = cell.outputs[0]["data"]
        assert {"text/plain", "image/png", "text/html", "application/vnd.jupyter.widget-view+json"} <= set(data)
        assert "#Pair{[5,4,3,2,1],[5,4,3,2,1]}" in data["text/plain"]
    assert (root / "view.ipynb").stat().st_size < 3_000_000
