"""The gallery is what the figures draw now, and its five lines run."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from hvm4viz.figures import gallery
from tests.figures.subjects import FIGURES

ROOT = Path(gallery.__file__).parents[2]
PAGE = gallery.FOLDER / "README.md"
PICTURES = gallery.FOLDER / gallery.IMAGES

if not (ROOT / "notebooks/programs").is_dir():
    pytest.skip("no checkout here: the gallery's lines run in one", allow_module_level=True)


def test_every_figure_is_in_the_gallery() -> None:
    assert set(gallery.ENTRIES) == set(FIGURES)
    assert {path.stem for path in PICTURES.iterdir()} == set(FIGURES)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == gallery.page(), "run python -m hvm4viz.figures.gallery"
    blocks = re.findall(r"```python\n(.*?)\n```", gallery.page(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        lines = [line for line in block.splitlines() if line]
        assert len(lines) == 5
        assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_the_five_lines_draw_the_picture(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    now, then = Image.open(gallery.draw(name, tmp_path)), Image.open(PICTURES / f"{name}.png")
    assert list(tmp_path.iterdir()) == [tmp_path / f"{name}.png"]
    assert now.size == then.size, "run python -m hvm4viz.figures.gallery"
    if then.info["Software"] != now.info["Software"]:
        pytest.skip(f"drawn by {then.info['Software']}, here is Matplotlib {mpl.__version__}: other letters")
    apart = np.abs(np.asarray(now.convert("RGB"), int) - np.asarray(then.convert("RGB"), int)).max(axis=2)
    assert (apart > 40).mean() < 0.001, "run python -m hvm4viz.figures.gallery"  # another FreeType moves some pixels
    assert now.info["Description"] == then.info["Description"], "run python -m hvm4viz.figures.gallery"
