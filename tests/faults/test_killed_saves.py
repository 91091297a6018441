"""A process that is killed while it saves leaves the old file or the new one, whole."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.faults.saves import SAVERS

ROOT = Path(__file__).parents[2]
REPLACING: Final = [name for name in SAVERS if name != "notebooks"]  # a copy of these stays as it is
QUICK: Final = ("trace", "figure as png", "page", "table as parquet")


def kill(name: str, folder: Path, kills: int, seed: int) -> int:
    """Kill a saver so often; return how many kills met one in the middle of a save."""
    shown = subprocess.run(
        [sys.executable, "-m", "tests.faults.killed_saves", name, str(folder), str(kills), str(seed)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, f"{name}, seed {seed}: {shown.stderr}"
    *found, last = map(json.loads, shown.stdout.splitlines())
    assert len(found) == kills
    for number, each in enumerate(found):
        assert each["is_whole"], f"{name}, seed {seed}, kill {number}: half a file"
        assert each["parts"] <= 1, f"{name}, seed {seed}, kill {number}: parts of dead processes pile up"
    assert last == {"is_whole": True, "parts": 0}, f"{name}, seed {seed}: a save leaves parts of dead processes"
    return sum(each["parts"] for each in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_twenty_kills_leave_no_half_file(tmp_path: Path) -> None:
    met = 0
    for seed, name in enumerate(QUICK):
        met += kill(name, tmp_path / str(seed), 5, seed)
    assert met >= 5, "else the kills do not aim at the saves"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("name", REPLACING)
def test_a_thousand_kills_leave_no_half_file(name: str, tmp_path: Path) -> None:
    if name == "perfetto" and importlib.util.find_spec("perfetto") is None:
        pytest.skip("the package perfetto is not installed here")
    kills = -(-1000 // len(REPLACING))
    assert kill(name, tmp_path, kills, 1000) >= kills / 10
