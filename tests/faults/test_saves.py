"""Whichever operation fails while a file is saved: the old one stays or the new one is whole, nothing else is left."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hvm4viz.device.compiler import library
from tests.faults.failing import KINDS
from tests.faults.saves import SAVERS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="what fails the operations is made for Linux")
@pytest.mark.parametrize("name", SAVERS)
def test_whichever_operation_fails_the_old_file_stays_or_the_new_one_is_whole(name: str, tmp_path: Path) -> None:
    if name == "perfetto" and importlib.util.find_spec("perfetto") is None:
        pytest.skip("the package perfetto is not installed here")
    before = library(
        (ROOT / "tests/faults/failing.cpp").read_text(encoding="utf-8"), extra=("-ldl", "-fno-threadsafe-statics")
    )
    shown = subprocess.run(
        [sys.executable, "-m", "tests.faults.failing", name, str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "LD_PRELOAD": str(before)}, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    tries = [json.loads(line) for line in shown.stdout.splitlines()]
    absent, old, new = 0, 1, 2
    for told in tries:
        has_failed = bool(told["error"])
        assert told["content"] in ((old, new) if told["is_old"] else (absent, new)), told
        assert told["content"] == new or has_failed, told
        assert told["is_ours"], told
        assert told["names"] or not has_failed or told["kind"] == "interrupt", told
        assert told["left"] == [], told
        assert told["leaked"] == 0 or told["kind"] == "interrupt", told  # between opening and giving it to somebody
    assert {told["kind"] for told in tries if told["is_done"]} == set(KINDS)
    failed = {told["failed"] for told in tries if told["error"]}
    assert {"open", "write", "fsync", "close"} <= failed
    assert "rename" in failed or name == "notebooks"
