"""The tour in JupyterLab, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.notebooks.jupyter import CHROMIUM, jupyterlab, open_notebook, run_all

FOLDER = Path(__file__).parents[2] / "notebooks"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: on Debian, apt-get install chromium")


def test_the_tour_runs_and_shows_its_views_and_pictures(tmp_path: Path) -> None:
    root = tmp_path / "notebooks"
    shutil.copytree(FOLDER, root, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with jupyterlab(tmp_path, root) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 8000})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        open_notebook(page, address.format("00_tour.ipynb"))
        run_all(page, cells=6)
        page.wait_for_function(
            "() => document.querySelectorAll('.hv-root[data-ready=true]').length >= 2", timeout=30_000
        )
        text = page.inner_text(".jp-Notebook")
        chips = page.inner_text(".hv-root .hv-head >> nth=0").split("\n")
        pictures = page.evaluate(
            """() => [...document.querySelectorAll('.jp-OutputArea img')]
                .map(image => [image.complete && image.naturalWidth, image.getBoundingClientRect().width])"""
        )
        browser.close()
    assert chips[:4] == ["done", "31 passes", "17,724 interactions", "66 deferrals"]
    assert "UnboundName: cell:1:22: undefined variable 'y'" in text
    assert "Traceback" not in text
    assert len(pictures) == 1
    for pixels, width in pictures:
        assert 600 < width <= 900
        assert pixels >= width, "drawn at less than one pixel a pixel"
    assert complaints == []
