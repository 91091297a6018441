"""JupyterLab with notebooks of ours, and what a browser does there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IDLE = """() => {
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext?.session;
    return session?.kernel?.connectionStatus === 'connected' && session.kernel.status === 'idle';
}"""


@contextmanager
def jupyterlab(folder: Path, root: Path) -> Iterator[str]:
    """Start JupyterLab on a folder; yield the address up to a notebook's name, with ``{}`` in its place."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTER_DATA_DIR": str(folder / "data")}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
        f"--ServerApp.port={port}", "--ServerApp.token=tour", f"--ServerApp.root_dir={root}",
    ]  # fmt: skip
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=tour", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, "JupyterLab did not start"
                time.sleep(0.3)
        yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token=tour&reset"
    finally:
        server.terminate()
        server.wait(30)


def open_notebook(page: Page, address: str) -> None:
    """Open a notebook and wait until its kernel answers."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_function(IDLE, timeout=60_000)


def run_all(page: Page, *, cells: int) -> None:
    """Run every cell; return when the last one has ended."""
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(
        """(cells) => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(p => p.textContent);
            return prompts.length >= cells && prompts.every(text => /\\[\\d+\\]/.test(text));
        }""",
        arg=cells,
        timeout=120_000,
    )
