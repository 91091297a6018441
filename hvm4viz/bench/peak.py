"""How much memory a run takes at most, measured in a process of its own: ``python -m hvm4viz.bench.peak``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from hvm4viz.bench.suite_programs import SuiteProgram
from hvm4viz.settings import Machine

_LEAST: Final = Machine(blocks=1, threads_per_block=1, heap="256 KiB")
"""What runs before: its buffers, which the next run may get, are too small to count."""

_STATUS: Final = Path("/proc/self/status")


def own_peak(
    program: SuiteProgram, machine: Machine, *, device: str, workers: int | None, timeout: float
) -> int | None:
    """Return the bytes that memory grows by at most during one run of a program.

    What Python, the package and the compiled kernel take is not in it: the process has run ``@main = 1`` before.

    Returns
    -------
    nbytes : int or None
        None if the system does not say, or the run did not end well.
    """
    asked = {
        "text": program.program.source,
        "mode": program.mode,
        "limit": program.limit,
        "machine": machine.settings(),
        "device": device,
        "workers": workers,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hvm4viz.bench.peak"],
            input=json.dumps(asked).encode(),
            capture_output=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return None
    out = done.stdout.strip()
    return int(out) if done.returncode == 0 and out.isdigit() else None


def memory_bytes(which: str) -> int | None:
    """Return the memory of this process: now (``VmRSS``), or the most so far (``VmHWM``); None if it is not known."""
    try:
        found = re.search(rf"^{which}:\s+(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def _measure(asked: dict[str, Any]) -> int | None:
    from hvm4viz.device import open_device
    from hvm4viz.run import run

    device, machine = open_device(asked["device"], workers=asked["workers"]), Machine(**asked["machine"])
    run("@main = 1", device=device, machine=_LEAST, record="off", progress=False)
    before = memory_bytes("VmRSS")
    done = run(
        asked["text"], mode=asked["mode"], limit=asked["limit"], device=device, machine=machine, record="off",
        progress=False,
    )  # fmt: skip
    most = memory_bytes("VmHWM")
    if done.status != "done" or before is None or most is None:
        return None
    return max(most - before, 0)


if __name__ == "__main__":
    found = _measure(json.loads(sys.stdin.buffer.read()))
    sys.stdout.write("" if found is None else str(found))
