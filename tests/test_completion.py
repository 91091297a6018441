from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hvm4viz.settings import CHOICES


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[InteractiveShell]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/words.hvm4").touch()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "hvm4viz")
    shell.user_ns["my_run"] = SimpleNamespace(trace=None)
    shell.run_cell_magic("hvm4", "--name lib", "@one = 1")
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.filterwarnings("ignore:`Completer.complete` is pending")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%%hvm4 --blo", ["--blocks"]),
        ("%%hvm4 -B 3 --sha", ["--shard"]),
        ("%%hvm4 --shard ", ["address", "idle", "index"]),
        ("%%hvm4 --dup ", sorted(CHOICES["dup"])),
        ("%%hvm4 --device c", ["cpu", "cuda"]),
        ("%%hvm4 --import ", ["lib"]),
        ("%%hvm4 --fig over", ["overview"]),
        ("%%hvm4 --save pro", ["programs/"]),
        ("%hvm4 fi", ["figure"]),
        ("%hvm4 figure my", ["my_run"]),
        ("%hvm4 view my", ["my_run"]),
        ("%hvm4 compare my_run my", ["my_run"]),
        ("%hvm4 options vi", ["view="]),
        ("%%hvm4 --view wi", ["widget"]),
        ("%hvm4 figure my_run over", ["overview"]),
        ("%hvm4 run programs/", ["programs/words.hvm4"]),
        ("%hvm4 run no/such/", []),
        ("%hvm4 run x --time", ["--timeout"]),
    ],
)
def test_the_tab_key_offers_what_fits(shell: InteractiveShell, line: str, offered: list[str]) -> None:
    _, found = shell.complete(line.rsplit(" ", 1)[-1], line, len(line))
    assert sorted(found) == offered
