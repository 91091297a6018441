"""``hvm4viz bench`` and its exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hvm4viz.bench.suite_command import complete
from hvm4viz.cli import main
from tests.bench.stand_in import stand_in

QUICK = ("--size", "small", "--rounds", "1", "--no-memory", "--device", "cpu", "--workers", "1")
ONE = ("--blocks", "1", "--threads-per-block", "1")
IS_SCRIPT = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")


def test_bench_without_a_word_measures_the_suite() -> None:
    assert complete(["bench"]) == ["bench", "suite"]
    assert complete(["bench", "--vs", "x"]) == ["bench", "suite", "--vs", "x"]
    for words in (["bench", "passes"], ["bench", "--help"], ["bench", "-h"], ["run", "--x"], []):
        assert complete(words) == words


@IS_SCRIPT
def test_all_programs_against_a_rival_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = main(["bench", *QUICK, *ONE, "--vs", str(stand_in(tmp_path)), "--json", "--fig", str(tmp_path / "f.png")])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    programs = json.loads(shown.out)["programs"]
    assert len(programs) >= 8
    assert all(each["ratio"] == each["rival_seconds"] / each["seconds"] for each in programs)
    assert (tmp_path / "f.png").stat().st_size > 1000
    assert "measuring tree_sum" in shown.err


def test_some_programs_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "suite", "loop", "sharing", *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("`")[1] for line in lines[2:]] == ["loop", "sharing"]


@IS_SCRIPT
def test_another_answer_of_the_rival_is_told_and_the_table_still_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["bench", "suite", "loop", *QUICK, "--vs", str(stand_in(tmp_path, "print(5)"))]) == 1
    shown = capsys.readouterr()
    assert "hvm4viz: loop: rival answers '5', not '#End{2146152485,3285875}'" in shown.err
    assert "| `loop` |" in shown.out


def test_a_run_that_is_stopped_has_the_code_of_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "suite", "search", *QUICK, "--heap", "1MiB", *ONE]) == 5
    assert "hvm4viz: search: heap full: no free region left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--vs", "no_such_binary"], "hvm4viz: no_such_binary: no such file; --vs takes the binary to compare with"),
        (["--rounds", "0"], "--rounds 0: must be 1 or more"),
        (["--timeout", "-1"], "--timeout -1.0: must be 0 or more; leave it out for 120, the default"),
        (["--seconds", "nan"], "--seconds nan: must be 0 or more; leave it out for 20, the default"),
        (["--fig", "x.gif"], "figure file 'x.gif' must end in one of .png, .pdf, .svg"),
        (["--fig", "nowhere/x.png"], "there is no folder 'nowhere'"),
        (["--size", "vast"], "invalid choice: 'vast'"),
        (["--json", "--rouns", "3"], "unknown option --rouns"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert "measuring" not in shown.err
