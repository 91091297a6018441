"""The tour in JupyterLab, in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parents[2] / "notebooks"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: on Debian, apt-get install chromium")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """Start JupyterLab on a copy of the notebooks; yield the address of the tour."""
    shutil.copytree(FOLDER, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
        f"--ServerApp.port={port}", "--ServerApp.token=tour", f"--ServerApp.root_dir={tmp_path / 'notebooks'}",
    ]  # fmt: skip
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=tour", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                assert server.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline, "JupyterLab did not start"
                time.sleep(0.3)
        yield f"http://127.0.0.1:{port}/lab/tree/00_tour.ipynb?token=tour&reset"
    finally:
        server.terminate()
        server.wait(30)


def run_all(page: Page) -> None:
    """Run every cell once the kernel answers; return when the last one has ended."""
    page.wait_for_function(
        """() => {
            const session = window.jupyterapp?.shell.currentWidget?.sessionContext?.session;
            return session?.kernel?.connectionStatus === 'connected' && session.kernel.status === 'idle';
        }""",
        timeout=60_000,
    )
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(
        """() => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(p => p.textContent);
            return prompts.length > 5 && prompts.every(text => /\\[\\d+\\]/.test(text));
        }""",
        timeout=120_000,
    )


def test_the_tour_runs_and_shows_its_pictures(lab: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 8000})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(lab)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        run_all(page)
        text = page.inner_text(".jp-Notebook")
        pictures = page.evaluate(
            """() => [...document.querySelectorAll('.jp-OutputArea img')]
                .map(image => [image.complete && image.naturalWidth, image.getBoundingClientRect().width])"""
        )
        browser.close()
    assert re.search(r"done \| 31 passes \| 17,724 interactions \| 66 deferrals", text)
    assert "UnboundName: cell:1:22: undefined variable 'y'" in text
    assert "Traceback" not in text
    assert len(pictures) == 3
    for pixels, width in pictures:
        assert 600 < width <= 900
        assert pixels >= width, "drawn at less than one pixel a pixel"
    assert complaints == []
