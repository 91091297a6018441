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


ENDS = """
import sys
from pathlib import Path
kept = Path(sys.argv[sys.argv.index("--resume") + 1])
if not kept.exists():
    kept.write_text("3")
{rest}
"""


@pytest.mark.parametrize(
    ("rest", "failures", "note"),
    [
        ("", 0, ""),
        ("raise ValueError('of its own')", 1, "ended with code 1: ValueError: of its own"),
        ("sys.exit(7)", 1, "ended with code 7"),
        ("kept.write_text('wrong')", 1, "ValueError"),
        ("import time; time.sleep(60)", 1, "did not stop at its time"),
    ],
)
def test_a_script_that_ends_badly_has_failed_though_it_found_nothing(
    rest: str, failures: int, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightly, "GRACE_MIN", 1 / 60)
    (tmp_path / "script.py").write_text(ENDS.format(rest=rest), encoding="utf-8")
    ran: list[str] = []
    parts = {
        "script": Part("P1", "", nightly.script(str(tmp_path / "script.py"), counts=lambda text: (int(text), 0))),
        "next": Part("P1", "", lambda *_: ran.append("it runs all the same")),
    }
    keep = tmp_path / "a.json"

    assert main(["--minutes", "0.02", "--resume", str(keep)], parts) == (1 if failures else 0)

    facts = json.loads(keep.read_text(encoding="utf-8"))["script"]
    assert facts["failures"] == failures
    assert note in facts["note"]
    assert ran


def test_what_a_script_broke_stays_counted_when_it_is_well_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ENDS.format(rest="sys.exit(7)"), encoding="utf-8")
    parts = {"script": Part("P1", "", nightly.script(str(tmp_path / "script.py"), counts=lambda text: (int(text), 0)))}
    keep = str(tmp_path / "a.json")
    assert main(["--minutes", "0.02", "--resume", keep], parts) == 1
    (tmp_path / "script.py").write_text(ENDS.format(rest=""), encoding="utf-8")
    assert main(["--minutes", "0.02", "--resume", keep], parts) == 1


def test_tests_that_cannot_be_run_are_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text("#!/bin/sh\necho No module named pytest; exit 1\n")
    (tmp_path / "python").chmod(0o755)
    nightly.pytest(tally, "tests")
    assert (tally.failures, tally.note) == (1, "ended with code 1: No module named pytest")


def test_slow_tests_are_run_one_by_one_from_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    text = "import pytest\n@pytest.mark.slow\ndef test_a(): pass\n@pytest.mark.slow\ndef test_b(): assert 0\n"
    (tmp_path / "tests" / "test_it.py").write_text(text + "def test_c(): assert 0\n", encoding="utf-8")
    run = nightly.in_turn("-m", "slow", where=("tests",), mark="mark.slow")
    tally = Tally()
    run(tally, tmp_path, 0.0)  # however short the time, one is run
    assert (tally.next, tally.tried, tally.failures) == (1, 1, 0)
    run(tally, tmp_path, 0.0)
    assert (tally.next, tally.tried, tally.failures) == (2, 2, 1)


def test_every_module_that_is_mutated_has_its_turn() -> None:
    listed = "import tests.mutation.run as run; print(*run.MODULES)"
    said = subprocess.run([sys.executable, "-c", listed], cwd=nightly.ROOT, capture_output=True, text=True, check=True)
    assert tuple(said.stdout.split()) == nightly.MODULES


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
