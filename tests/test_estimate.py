"""What a run may come to need is told before it begins, and a heap that is nearly full, once."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import hvm4viz as hv
from hvm4viz import estimate
from hvm4viz.estimate import ResourceNotice, memory_needs, shortages, size

GIB = 1 << 30
GROWING = """
@grow = λ{0: []; λ&n. n <> @grow(n - 1)}
@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}
@main = @sum(@grow(20000))
"""


def test_each_part_is_told_at_the_levels_that_have_it() -> None:
    machine = hv.Machine(heap="1 GiB")
    assert memory_needs(machine, "off", "512 MiB") == {"the heap": GIB}
    assert memory_needs(machine, "counts", "512 MiB") == {"the heap": GIB}
    assert memory_needs(machine, "events", "512 MiB") == {"the heap": GIB, "the trace": GIB // 2}
    full = memory_needs(machine, "full", "512 MiB")
    assert full["its copy for record='full'"] == GIB + GIB // 8
    assert sum(full.values()) == 2 * GIB + GIB // 8 + GIB // 2


def test_what_fits_is_not_spoken_of(tmp_path: Path) -> None:
    machine = hv.Machine(heap="1 GiB")
    assert shortages(machine, "events", GIB // 2, None, memory=3 * GIB // 2) == []
    (line,) = shortages(machine, "events", GIB // 2, None, memory=3 * GIB // 2 - 1)
    assert line.startswith("this run may come to need 1.5 GiB of memory (the heap 1 GiB, the trace 512 MiB); 1.5 GiB")
    assert shortages(machine, "events", 1 << 20, tmp_path / "run.hvt", memory=9 * GIB) == []
    (line,) = shortages(machine, "events", 30 << 40, tmp_path / "run.hvt", memory=1 << 62)
    assert f"the disk of {tmp_path} has" in line
    assert shortages(machine, "counts", 30 << 40, tmp_path / "run.hvt", memory=9 * GIB) == []


def test_this_system_says_what_it_has() -> None:
    memory = estimate.available_memory()
    assert memory is not None
    assert memory > 1 << 24


def test_sizes_in_words() -> None:
    assert [size(n) for n in (0, 1023, 1024, 3 << 19, 5 << 30, 1000 << 20, 1090 << 30, 3 << 39, 5000 << 40)] == [
        "0 bytes",
        "1,023 bytes",
        "1 KiB",
        "1.5 MiB",
        "5 GiB",
        "1,000 MiB",
        "1.06 TiB",
        "1.5 TiB",
        "5,000 TiB",
    ]


def test_a_run_that_may_not_fit_says_so_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "available_memory", lambda: 1 << 20)
    with pytest.warns(ResourceNotice, match="may come to need") as told:
        assert hv.run("@main = 1 + 1").text == "2"
    assert [Path(each.filename).name for each in told] == [Path(__file__).name]


def test_a_heap_that_is_nearly_full_is_told_once() -> None:
    machine = hv.Machine(blocks=1, threads_per_block=1, region_size=1024, heap=8 * 1024 * 64, fuel=100)
    with pytest.warns(ResourceNotice, match="full after pass") as told:
        done = hv.run(GROWING, machine=machine)
    assert done.status in ("done", "heap_full")
    assert len(told) == 1
    assert "of 64 regions" in str(told[0].message)


def test_a_small_run_is_quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceNotice)
        assert hv.run(GROWING).text == "200010000"


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "grow.hvm4"
    path.write_text(GROWING, encoding="utf-8")
    options = ["--blocks", "1", "--threads-per-block", "1", "--region-size", "1024", "--heap", str(8 * 1024 * 64)]
    done = subprocess.run(
        [sys.executable, "-m", "hvm4viz", "run", str(path), *options, "--fuel", "100"],
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = [line for line in done.stderr.splitlines() if "regions are given out" in line]
    assert line.startswith("hvm4viz: note: the heap is 9")


PEAK = """
import resource, sys
import hvm4viz as hv
from hvm4viz.estimate import memory_needs
hv.run("@main = 1 + 2", record="full", device="cpu", progress=False, machine=hv.Machine(heap="1 MiB"))  # imports all
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
machine = hv.Machine(heap="24 MiB", blocks=16, fuel=2000)
source = "@grow = λ&n. n <> @grow(n + 1) @main = @grow(0)"  # ever longer, never wide
run = hv.run(source, machine=machine, record=sys.argv[1], trace_limit="16 MiB", device="cpu", progress=False)
assert run.status == "heap_full", run.status
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((peak - before) * 1024, sum(memory_needs(machine, sys.argv[1], "16 MiB").values()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told in other units, or not at all")
@pytest.mark.parametrize("level", ["off", "events", "full"])
def test_the_peak_is_no_more_than_64_mib_above_what_was_told_before(level: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEAK, level], check=True, capture_output=True, text=True
    )
    peak, told = map(int, done.stdout.split())

    assert 1 << 20 < peak <= told + (64 << 20)
