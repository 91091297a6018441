"""The night's command: parts go on from where they stopped, and what fails is counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import nightly
from tests.differential.machines import pairwise_machines
from tests.nightly import PARTS, Part, Tally, main


def test_the_parts_are_listed_and_none_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == list(PARTS)


@pytest.mark.parametrize("name", ["schedules", "programs"])
def test_numbers_are_totals_over_the_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep = tmp_path / "night.json"
    tried: list[int] = []
    for _ in range(2):
        assert main(["--minutes", "0.02", "--resume", str(keep), "--only", name]) == 0
        facts = json.loads(keep.read_text(encoding="utf-8"))[name]
        tried.append(facts["tried"])
        assert facts["failures"] == 0
    assert 0 < tried[0] < tried[1]
    row = next(line for line in capsys.readouterr().out.splitlines()[::-1] if line.startswith(name))
    assert f"{tried[1]:,}" in row
    assert PARTS[name].promise in row


def test_whatever_time_is_left_over_goes_to_the_next_part(tmp_path: Path) -> None:
    shares: list[float] = []

    def idle(tally: Tally, kept: Path, minutes: float) -> None:
        del kept
        tally.tried += 1
        shares.append(minutes)

    parts = {name: Part("P1", "", idle) for name in ("a", "b", "c")}
    assert main(["--minutes", "6", "--resume", str(tmp_path / "a.json")], parts) == 0
    assert shares == pytest.approx([2, 3, 6], rel=0.01)


def test_a_failure_is_counted_and_stays_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(): assert False\n", encoding="utf-8")

    def run(tally: Tally, kept: Path, minutes: float) -> None:
        del kept
        if minutes > 0:
            nightly.pytest(tally, str(tmp_path / "test_it.py"), "-c", str(tmp_path / "none.ini"))

    (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")
    parts = {"tests": Part("P1", "", run)}
    keep = str(tmp_path / "a.json")
    assert main(["--minutes", "1", "--resume", keep], parts) == 1
    assert main(["--minutes", "0", "--resume", keep], parts) == 1
    assert "tests           P1                       2         1" in capsys.readouterr().out


def test_a_part_that_cannot_run_is_a_failure(tmp_path: Path) -> None:
    parts = {"gone": Part("P1", "", nightly.script("no_such_script.py", counts=lambda _: (0, 0)))}
    assert main(["--minutes", "0.01", "--resume", str(tmp_path / "a.json")], parts) == 1
    assert "did not run" in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["gone"]["note"]


def product(keep: Path, minutes: str) -> dict[str, int]:
    command = [sys.executable, "tests/differential/full_product.py", "--only", "swi_chain", "--quick", "--jobs", "1"]
    subprocess.run([*command, "--minutes", minutes, "--resume", str(keep)], cwd=nightly.ROOT, check=True)
    state = json.loads(keep.read_text(encoding="utf-8"))
    return {"next": state["next"], "runs": sum(state["runs"].values()), "wrong": sum(state["wrong"].values())}


def test_a_product_goes_on_where_it_stopped_and_begins_anew_behind_its_end(tmp_path: Path) -> None:
    machines = len(pairwise_machines()) + 1
    assert product(tmp_path / "a.json", "0") == {"next": 0, "runs": 0, "wrong": 0}
    assert product(tmp_path / "a.json", "5") == {"next": 0, "runs": machines, "wrong": 0}
    state = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    (tmp_path / "a.json").write_text(json.dumps(state | {"next": machines - 3}), encoding="utf-8")
    assert product(tmp_path / "a.json", "5") == {"next": 0, "runs": machines + 3, "wrong": 0}
