"""The runner: on a small module with small tests, verdicts come out as they were planted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODULE = """
LIMIT: int = 5
FIRST = [0]
UNUSED = [3]

def is_few(n):
    return n < LIMIT

def is_near(n):
    return n < 100

def emptied(some):
    while some:
        some.pop()
    return some

def never(n):
    return -n
"""
TESTS = """
import sys
import pytest
import small

def test_that_takes_the_tracer_away():
    assert small.is_near(2)
    sys.settrace(None)

@pytest.mark.parametrize("n", range(10))
def test_few(n):
    assert small.is_few(n) == (n in range(small.FIRST[0], 5))

def test_near():
    assert small.is_near(1) is True
    assert small.is_near(1000) is False

def test_emptied():
    assert small.emptied([1, 2]) == []

def test_that_fails_always():
    assert small.is_few(3) == 3
"""
VERDICTS = {
    "small.py::LIMIT: LIMIT: int = 5 => LIMIT: int = 6": "killed",
    "small.py::LIMIT: LIMIT: int = 5 => LIMIT: int = 4": "killed",
    "small.py::FIRST: FIRST = [0] => pass": "killed",
    "small.py::FIRST: FIRST = [0] => FIRST = [1]": "killed",
    "small.py::FIRST: FIRST = [0] => FIRST = [-1]": "survived",
    "small.py::UNUSED: UNUSED = [3] => pass": "survived",
    "small.py::UNUSED: UNUSED = [3] => UNUSED = [4]": "survived",
    "small.py::UNUSED: UNUSED = [3] => UNUSED = [2]": "survived",
    "small.py::is_few: return n < LIMIT => return None": "killed",
    "small.py::is_few: return n < LIMIT => return n <= LIMIT": "killed",
    "small.py::is_near: return n < 100 => return None": "killed",
    "small.py::is_near: return n < 100 => return n <= 100": "survived",
    "small.py::is_near: return n < 100 => return n < 101": "survived",
    "small.py::is_near: return n < 100 => return n < 99": "survived",
    "small.py::emptied: while some: => while not some:": "killed",
    "small.py::emptied: some.pop() => pass": "timeout",
    "small.py::emptied: return some => return None": "killed",
    "small.py::never: return -n => return None": "survived",
    "small.py::never: return -n => return n": "survived",
    "alone.py::lonely: return 1 => return None": "unreached",
    "alone.py::lonely: return 1 => return 2": "unreached",
    "alone.py::lonely: return 1 => return 0": "unreached",
}


MODULES = {"small": (("small.py", "alone.py"), ("test_small.py",))}
EQUIVALENT = "small.py::is_near: return n < 100 => return n < 99"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "small.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "alone.py").write_text("def lonely():\n    return 1\n", encoding="utf-8")
    (tmp_path / "test_small.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "equivalent.tsv").write_text(f"{EQUIVALENT}\tfor the test\n", encoding="utf-8")
    return tmp_path


def tried(root: Path, *options: str) -> tuple[int, str]:
    """Try every mutant of the two files; return the exit status and what is printed."""
    script = (
        "import sys; from pathlib import Path; from tests.mutation import run; "
        f"run.ROOT, run.MODULES, run.EQUIVALENT = Path.cwd(), {MODULES!r}, Path('equivalent.tsv'); sys.exit(run.main())"
    )
    command = [sys.executable, "-c", script, "--sample", "0", "--resume", "verdicts.jsonl", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def kept(root: Path) -> list[tuple[str, str]]:
    """Return the verdicts in the file, in the order of the names."""
    lines = (root / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((name, verdict) for name, verdict in map(json.loads, lines))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_verdicts_come_out_as_planted(root: Path, jobs: str) -> None:
    status, printed = tried(root, "--jobs", jobs)

    assert kept(root) == sorted(item for item in VERDICTS.items() if item[0] != EQUIVALENT)
    assert "left out: test_small.py::test_that_fails_always: fails" in printed
    assert "survived: small.py:10 is_near\n- return n < 100\n+ return n <= 100\n" in printed
    assert "unreached: alone.py:2 lonely\n- return 1\n+ return 2\n" in printed
    row = printed.splitlines()[-1].split()
    assert row == ["small", "21", "9", "1", "8", "3", "1", "47.6%"]
    assert status == 1


def test_a_later_run_goes_on_behind_the_verdicts_and_tries_again_what_survived(root: Path) -> None:
    counted = {name: verdict for name, verdict in VERDICTS.items() if name != EQUIVALENT}
    known = {name: "survived" if name.startswith("small.py::is_few") else "killed" for name in counted}
    (root / "verdicts.jsonl").write_text("".join(json.dumps(item) + "\n" for item in known.items()), encoding="utf-8")

    first = tried(root)
    again = tried(root, "--again")
    shown = tried(root, "--list")

    assert first[0] == 0
    assert "for 0 mutants" in first[1]
    assert again[0] == shown[0] == 0
    assert "for 2 mutants" in again[1]
    assert shown[1].splitlines()[-1].split() == ["small", "21", "21", "0", "0", "0", "1", "100.0%"]
