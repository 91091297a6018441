"""The commonest mistakes, in programs, options and files, each with the message that it gets (``messages.yaml``)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from IPython.core.error import UsageError

from hvm4viz.cli import main
from hvm4viz.errors import Hvm4vizError
from hvm4viz.magics import Hvm4Magics
from hvm4viz.syntax import names

PLAIN: Final = "p.hvm4"
MISTAKES: Final[list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "messages.yaml").read_text(encoding="utf-8")
)


BYTES: Final = re.compile(r"\d[\d,]*(?= bytes)|(?<=byte )\d+(?:,\d{3})*")
"""How many bytes, and where, is not the same under every version of pyarrow."""


class Notebook:
    """What the magics use of a shell."""

    user_ns: dict[str, Any]

    def __init__(self) -> None:
        self.user_ns = {}

    def set_hook(self, *_: object, **__: object) -> None: ...

    def register_magic_function(self, *_: object, **__: object) -> None: ...


def prepare(mistake: dict[str, Any], folder: Path) -> None:
    """Lay out the files, run what is to be run before, and spoil a byte of a file."""
    for name, text in mistake.get("files", {PLAIN: mistake.get("program", "@main = 1\n")}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        is_plain = isinstance(text, str)
        (folder / name).write_bytes(text.encode() if is_plain else text["text"].encode(text["encoding"]))
    for command in mistake.get("before", ()):
        main(shlex.split(command))
    for name, place in mistake.get("spoil", {}).items():
        data = bytearray((folder / name).read_bytes())
        data[place] ^= 0xFF
        (folder / name).write_bytes(data)


def said(mistake: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Make a mistake in a folder of its own; return the exit code and what was said, without the usage lines."""
    prepare(mistake, folder)
    capsys.readouterr()
    try:
        code = main(shlex.split(mistake.get("command", f"run {PLAIN}")))
    except SystemExit as stop:
        code = int(stop.code or 0)
    shown = capsys.readouterr()
    lines = (shown.out + shown.err if mistake.get("answer") else shown.err).splitlines()
    usage = [i for i, line in enumerate(lines) if line.startswith("usage: ")]
    while usage and len(lines) > usage[0] and (lines[usage[0]].startswith(("usage: ", " "))):
        del lines[usage[0]]
    return code, "\n".join(line for line in lines if " | " not in line).rstrip()


def said_in_a_notebook(mistake: dict[str, Any], folder: Path) -> str:
    """Make a mistake in a line or a cell of a notebook; return what IPython shows."""
    prepare(mistake, folder)
    line, _, cell = mistake["cell"].partition("\n")
    line = line.lstrip("%").removeprefix("hvm4").strip()
    with pytest.raises((UsageError, Hvm4vizError)) as caught:
        Hvm4Magics(Notebook()).hvm4(line, cell or None)
    shown: Any = caught.value
    return f"UsageError: {shown}" if isinstance(shown, UsageError) else "\n".join(shown._render_traceback_())


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: str(mistake["mistake"]))
def test_a_mistake_gets_its_message(
    mistake: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "_registered", {})  # other tests may have made primitives known

    if "cell" in mistake:
        code, message = None, said_in_a_notebook(mistake, tmp_path)
    else:
        code, message = said(mistake, tmp_path, capsys)

    assert BYTES.sub("N", message.replace(str(tmp_path), "FOLDER")) == mistake["message"].rstrip()
    assert code == mistake.get("exit")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: str(mistake["mistake"]))
def test_no_door_speaks_the_words_of_another(mistake: dict[str, Any]) -> None:
    """``name=value``, ``None`` and ``True`` are Python's: a message of the other doors names options."""
    said = re.sub(r"in Python, .*", "", mistake["message"])
    assert not re.search(r"Machine\(|\b(None|True)\b|(?<![\w,.-])[a-z_]+=(?!=)", said), said


def test_there_are_forty_and_none_twice() -> None:
    names = [mistake["mistake"] for mistake in MISTAKES]
    in_programs = [mistake for mistake in MISTAKES if "program" in mistake]

    assert len(in_programs) >= 40
    assert len(set(names)) == len(names)


def test_every_message_of_a_program_points_at_its_place() -> None:
    for mistake in MISTAKES:
        if mistake["message"].startswith(f"{PLAIN}:"):
            _, shown, caret, *_ = mistake["message"].splitlines()
            program: Any = mistake.get("program") or mistake["files"][PLAIN]
            if isinstance(program, str):
                assert shown.replace("\ufffd", "\x01") in program.splitlines()
            assert set(caret.strip()) == {"^"}
            assert len(caret) <= len(shown) + 1
