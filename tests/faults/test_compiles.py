"""Whichever operation fails while a kernel is compiled into the cache, there is a kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hvm4viz.device.compiler import library
from tests.faults.failing_compiles import KINDS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="what fails the operations is made for Linux")
def test_whichever_operation_fails_there_is_a_kernel(tmp_path: Path) -> None:
    before = library(
        (ROOT / "tests/faults/failing.cpp").read_text(encoding="utf-8"), extra=("-ldl", "-fno-threadsafe-statics")
    )
    shown = subprocess.run(
        [sys.executable, "-m", "tests.faults.failing_compiles", str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "LD_PRELOAD": str(before)}, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    tries = [json.loads(line) for line in shown.stdout.splitlines()]

    for told in tries:
        assert (told["error"], told["gives"], told["leaked"]) == ("", 7, 0), told
    assert {told["kind"] for told in tries if told["is_done"]} == set(KINDS)
    assert all(told["is_in_cache"] for told in tries if told["is_done"])
    assert {"mkdir", "open", "write", "rename"} <= {told["failed"] for told in tries if not told["is_in_cache"]}
