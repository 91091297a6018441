"""Every notebook runs from top to bottom, as it is saved."""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from hvm4viz.sweeps.shelf import default_folder

FOLDER = Path(__file__).parents[2] / "notebooks"
SECONDS_MAX = 120


def left_behind() -> dict[str, bytes]:
    """Return what a notebook could leave behind: files beside it, and runs in the user's cache."""
    beside = {str(path): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    return beside | {str(path): b"" for path in default_folder().rglob("*.json")}


def executed(path: Path) -> nbformat.NotebookNode:
    book, before, begun = nbformat.read(path, as_version=4), left_behind(), time.monotonic()
    NotebookClient(book, timeout=SECONDS_MAX, resources={"metadata": {"path": str(FOLDER)}}).execute()
    assert time.monotonic() - begun < SECONDS_MAX
    assert left_behind() == before, "a notebook leaves nothing behind"
    return book


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs_and_tells_under_every_figure_what_it_shows(path: Path) -> None:
    book = executed(path)
    pictures = 0
    for cell in book.cells:
        outputs = cell.get("outputs", [])
        shown = [output.data for output in outputs if "data" in output]
        for data in shown:
            if "image/png" in data:
                pictures += 1
                words = str(data.get("text/html", data["text/plain"])) + "".join(o.text for o in outputs if "text" in o)
                for part in ("program ", " blocks of ", "heap ", "hvm4viz 0."):
                    assert part in words
        for output in outputs:
            if output.output_type == "error":
                assert "raises-exception" in cell.metadata.get("tags", [])
                assert "hvm4viz/" not in "\n".join(output.traceback), "frames of the package are shown"
    assert pictures, "a notebook without a picture"


def test_the_tour_says_what_it_finds() -> None:
    book = executed(FOLDER / "00_tour.ipynb")
    text = "\n".join(str(output) for cell in book.cells for output in cell.get("outputs", []))
    answer = book.cells[0].source
    assert "31 passes of at most 23 tasks" in answer
    assert "Sixty-six times" in answer
    assert "done | 31 passes | 17,724 interactions | 66 deferrals" in text
    assert "(['star 3', 'twinkle 2', 'how 2'], 31, 23)" in text
