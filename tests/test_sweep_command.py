"""``hvm4viz sweep``: settings in series, a table in a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow.feather
import pyarrow.parquet
import pytest

from hvm4viz.cli import main


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["sweep", *argv, "--device", "cpu", "--processes", "1"])
    out, err = capsys.readouterr()
    return code, out, err


def test_settings_in_series_make_every_combination(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    series = ("--blocks", "1,4", "--dup", "owner,claim", "--fuel", "auto,100", "--cache", str(tmp_path / "kept"))
    code, out, _ = run(capsys, "words", *series)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["blocks"], row["dup"], row["fuel"]) for row in rows] == [
        (blocks, dup, fuel) for blocks in ("1", "4") for dup in ("owner", "claim") for fuel in ("", "100")
    ]
    assert {row["status"] for row in rows} == {"done"}

    for ending in ("parquet", "arrow", "csv"):
        code, out, err = run(capsys, "words", *series, "-o", str(tmp_path / f"runs.{ending}"))
        assert (code, out, err) == (0, "", f"table: {tmp_path / f'runs.{ending}'}, 8 runs\n")
    table = pyarrow.parquet.read_table(tmp_path / "runs.parquet")
    assert table.equals(pyarrow.feather.read_table(tmp_path / "runs.arrow"))
    assert [str(count) for count in table.column("passes").to_pylist()] == [row["passes"] for row in rows]
    assert len(list(csv.reader(io.StringIO((tmp_path / "runs.csv").read_text(encoding="utf-8"))))) == 9


def test_what_is_not_done_is_told_and_is_the_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = str(tmp_path / "runs.csv")
    code, _, err = run(capsys, "words", "--memory", "shared,private", "--no-cache", "-o", out)
    assert code == 2
    assert "words, memory=private: refused: --memory private" in err
    errors = [row["error"] for row in csv.DictReader((tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines())]
    assert errors[0] == ""
    assert errors[1].startswith("--memory private: the cpu device")
    code, _, err = run(capsys, "words", "--max-passes", "3", "--no-cache", "-o", out)
    assert code == 5
    assert "words, default: pass limit: stopped after 3 passes" in err


def test_mistakes_are_told_before_anything_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "did you mean owner?" in run(capsys, "words", "--dup", "claim,ownr")[2]
    assert "must be a whole number" in run(capsys, "words", "--blocks", "1,x")[2]
    code, _, err = run(capsys, "words", "-o", str(tmp_path / "runs.xlsx"))
    assert (code, "a table ends in .parquet, .csv, .arrow" in err) == (2, True)
    code, _, err = run(capsys, "words", "-o", str(tmp_path / "nowhere" / "runs.csv"))
    assert (code, "there is no folder" in err) == (2, True)
