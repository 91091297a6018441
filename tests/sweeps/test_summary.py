"""Medians and the origin of a sweep."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import hvm4viz as hv
from hvm4viz.sweeps import medians, provenance


def test_medians_leave_out_what_is_not_done_and_keep_the_order() -> None:
    programs = {"b": "@main = [1, 2]", "a": "@main = (1)(2)"}
    machines = [hv.Machine(fuel="auto"), hv.Machine(fuel=100, blocks=2)]
    with ThreadPoolExecutor(1) as pool:
        runs = hv.sweep(programs, machines, "cpu", repeat=3, executor=pool, cache=False)
    values, rows, columns = medians(runs, "passes", columns="fuel")
    assert (rows, columns) == (["b", "a"], ["auto", "100"])
    assert values[0].tolist() == [3, 3]
    assert all(map(math.isnan, values[1]))
    assert medians(runs, "passes")[2] == ["default", "blocks=2, fuel=100"]
    origin = provenance(runs)
    for part in ("2 programs, program text ", "8, 2 blocks of 4 threads", "fuel auto, 100", "heap 1024 MiB", "12 runs"):
        assert part in origin
    assert origin.endswith(f"hvm4viz {hv.__version__}")
