"""A disk that is full for real: a small file system of its own, mounted where no other process sees it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from hvm4viz.trace import open_trace

ROOT = Path(__file__).parents[2]
MOUNTED: Final = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'

RUN: Final = """
import gc, json, shutil, sys
from pathlib import Path
import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.trace import open_trace

disk, kept = map(Path, sys.argv[1:])
acknowledged, size = 0, 0

def told_of(record):  # of a pass that is in the file: each is a batch of its own
    global acknowledged, size
    now = (disk / "run.hvt").stat().st_size
    if now > size:
        acknowledged, size = record.index + 1, now

options = dict(device="cpu", machine=hv.Machine(fuel=50), record="full", progress=False)
run = hv.run("@main = @main", save=disk / "run.hvt", on_pass=told_of, max_passes=3000, **options)
shutil.copyfile(disk / "run.hvt", kept / "run.hvt")
opened = open_trace(disk / "run.hvt")
found = {"opened": opened.n_passes, "state": opened.state}
del opened
gc.collect()  # it maps the file, which takes room for as long

errors = []
page = disk / "a.html"
(disk / "old.hvt").write_bytes(b"")
for save in (lambda: run.trace.save(disk / "again.hvt"), lambda: run.view().to_html(page),
             lambda: run.trace.save(disk / "old.hvt", overwrite=True)):
    try:
        save()
        errors.append("")
    except TraceError as error:
        errors.append(str(error))
(disk / "run.hvt").unlink()
after = str(open_trace(hv.run("@main = 1", **options).trace.save(disk / "small.hvt")).state)
print(json.dumps({
    "status": run.status, "message": run.message, "passes": run.trace.n_passes, "acknowledged": acknowledged,
    **found, "errors": errors, "after": after,
    "names": sorted(each.name for each in disk.iterdir()), "old": (disk / "old.hvt").stat().st_size,
}))
"""


def on_a_small_disk(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare here: nothing mounts a file system for one process")
    whole = [unshare, "--mount", "--map-root-user", "sh", "-c", MOUNTED, str(folder)]
    tried = subprocess.run([*whole, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"a file system cannot be mounted here: {tried.stderr.strip()}")
    return subprocess.run([*whole, *command], capture_output=True, text=True, cwd=ROOT, check=False)


def test_a_disk_that_is_full_is_told_of_and_what_was_acknowledged_is_readable(tmp_path: Path) -> None:
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    shown = on_a_small_disk(disk, sys.executable, "-c", RUN, str(disk), str(kept))
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)

    assert told["passes"] == 3000  # the recording goes on in memory
    assert "No space left on device" in told["message"]
    assert str(disk / "run.hvt") in told["message"]
    assert "more bytes were due" in told["message"]
    assert 0 < told["acknowledged"] <= told["opened"] < 3000
    assert told["state"] == "interrupted"
    assert open_trace(kept / "run.hvt").n_passes == told["opened"]

    for name, error in zip(("again.hvt", "a.html", "old.hvt"), told["errors"], strict=True):
        assert error.startswith(f"{disk / name}: the ")
        assert "No space left on device" in error
        assert "bytes are free there" in error
    assert told["names"] == ["old.hvt", "small.hvt"]
    assert told["old"] == 0
    assert told["after"] == "complete"
