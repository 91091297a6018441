"""The commonest mistakes, in programs, options and files, each with the message that it gets (``messages.yaml``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hvm4viz.cli import main
from hvm4viz.syntax import names

PLAIN: Final = "p.hvm4"
MISTAKES: Final[list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "messages.yaml").read_text(encoding="utf-8")
)


def said(mistake: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Make a mistake in a folder of its own; return the exit code and what was said, without the usage lines."""
    for name, text in mistake.get("files", {PLAIN: mistake.get("program", "@main = 1\n")}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    try:
        code = main(mistake.get("command", f"run {PLAIN}").split(" "))
    except SystemExit as stop:
        code = int(stop.code or 0)
    lines = capsys.readouterr().err.splitlines()
    usage = [i for i, line in enumerate(lines) if line.startswith("usage: ")]
    while usage and len(lines) > usage[0] and (lines[usage[0]].startswith(("usage: ", " "))):
        del lines[usage[0]]
    return code, "\n".join(line for line in lines if " | " not in line).rstrip()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: str(mistake["mistake"]))
def test_a_mistake_gets_its_message(
    mistake: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "_registered", {})  # other tests may have made primitives known

    code, message = said(mistake, tmp_path, capsys)

    assert message.replace(str(tmp_path), "FOLDER") == mistake["message"].rstrip()
    assert code == mistake["exit"]


def test_there_are_forty_and_none_twice() -> None:
    names = [mistake["mistake"] for mistake in MISTAKES]

    assert len(names) >= 40
    assert len(set(names)) == len(names)


def test_every_message_of_a_program_points_at_its_place() -> None:
    for mistake in MISTAKES:
        if mistake["message"].startswith(f"{PLAIN}:"):
            _, shown, caret, *_ = mistake["message"].splitlines()
            program: str = mistake.get("program") or mistake["files"][PLAIN]
            assert shown.replace("\ufffd", "\x01") in program.splitlines()
            assert set(caret.strip()) == {"^"}
            assert len(caret) <= len(shown) + 1
