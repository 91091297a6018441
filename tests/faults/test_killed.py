"""A run that is killed has lost no pass that anybody was told of, whichever way it was told."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

import hvm4viz as hv
from hvm4viz.events import PassRecord
from hvm4viz.trace import open_trace

RUN: Final = """
import os, sys
from math import inf
import hvm4viz as hv
from hvm4viz import progress
from hvm4viz.trace import recorder
recorder.FLUSH_S = inf  # the clock writes nothing: what is there was written because somebody was told
progress.DELAY_S = progress.INTERVAL_S = 0.01
save, way = sys.argv[1:]
SPIN = "@main = @main"
NATS = "@nats = λ&n. &(n){n, @nats(n + 1)} @main = @nats(0)"
options = dict(save=save, device="cpu", machine=hv.Machine(fuel=50))

def say(number):
    os.write(2, b"pass %d |" % number)

if way == "on_pass":
    hv.run(SPIN, on_pass=lambda record: say(record.index), progress=False, **options)
elif way == "full":
    hv.run(SPIN, on_pass=lambda record: say(record.index), progress=False, record="full", **options)
elif way == "progress":
    hv.run(SPIN, progress=True, **options)
elif way == "on_result":
    hv.run(NATS, mode="collapse", on_result=lambda term: say(-int(term.text)), progress=False, **options)
else:
    for term in hv.results(NATS, **options):
        say(-int(term.text))
"""


def killed(path: Path, way: str, after: float) -> list[int]:
    """Kill a run some time after it has told of something; return what it told of."""
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", RUN, str(path), way], **options) as process:  # type: ignore[call-overload]
        assert process.stderr is not None
        head = b""
        while b"|" not in head:
            piece = os.read(process.stderr.fileno(), 1 << 12)
            assert piece, head.decode()
            head += piece
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        said = head + process.stderr.read()
    return [int(number) for number in re.findall(rb"pass (-?\d+) \|", said)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill here")
@pytest.mark.parametrize("way", ["on_pass", "full", "progress"])
def test_every_pass_that_was_told_of_is_in_the_file(tmp_path: Path, way: str) -> None:
    check_passes(tmp_path, way, seed=1)


def check_passes(tmp_path: Path, way: str, *, seed: int) -> None:
    """Kill a run and look at its file."""
    seen = f"{way}, seed {seed}"
    told = killed(tmp_path / "run.hvt", way, random.Random(seed).uniform(0.0, 0.3))
    trace = open_trace(tmp_path / "run.hvt")

    assert trace.state == "interrupted", seen
    assert trace.n_passes > max(told), seen
    assert trace.outcomes.sum() == trace.n_passes, seen


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill here")
@pytest.mark.parametrize("way", ["on_result", "results"])
def test_the_passes_of_every_result_that_was_told_are_in_the_file(tmp_path: Path, way: str) -> None:
    seed = 2
    seen = f"{way}, seed {seed}"
    told = -min(killed(tmp_path / "run.hvt", way, random.Random(seed).uniform(0.0, 0.3)))
    trace = open_trace(tmp_path / "run.hvt")

    assert trace.state == "interrupted", seen
    assert trace.n_passes >= passes_for(told), seen


def passes_for(result: int) -> int:
    """Count the passes until a result of the run is out."""
    source = "@nats = λ&n. &(n){n, @nats(n + 1)} @main = @nats(0)"
    passes = 0

    def count(record: PassRecord) -> None:
        nonlocal passes
        passes = record.index + 1

    found = hv.results(source, device="cpu", machine=hv.Machine(fuel=50), on_pass=count)
    for term in found:
        if int(term.text) == result:
            break
    before = passes
    found.close()
    return before


@pytest.mark.slow
@pytest.mark.parametrize("way", ["on_pass", "full", "progress"])
def test_a_hundred_killed_runs(tmp_path: Path, way: str) -> None:
    for turn in range(34):
        (tmp_path / str(turn)).mkdir()
        check_passes(tmp_path / str(turn), way, seed=100 + turn)
