from __future__ import annotations

from pathlib import Path

import pytest

from hvm4viz import lab

ROOT = Path(__file__).parents[1]


def test_a_checkout_opens_its_own_notebooks() -> None:
    assert lab.notebooks() == ROOT / "notebooks"


def test_an_install_opens_a_copy_and_keeps_what_was_edited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "site-packages/hvm4viz"
    (package / "_notebooks").mkdir(parents=True)
    (package / "_notebooks" / lab.FIRST).write_text("{}")
    (package / "programs").mkdir()
    (package / "programs/words.hvm4").write_text("@main = 1")
    monkeypatch.setattr(lab, "__file__", str(package / "lab.py"))
    monkeypatch.chdir(tmp_path)
    copy = lab.notebooks()
    assert (copy / lab.FIRST).read_text() == "{}"
    assert (copy / "programs/words.hvm4").is_file()
    (copy / lab.FIRST).write_text("edited")
    assert (lab.notebooks() / lab.FIRST).read_text() == "edited"


def test_without_jupyterlab_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "find_spec", {}.get)
    with pytest.raises(OSError, match=r'pip install "hvm4viz\[lab\]"'):
        lab.open_lab([])
