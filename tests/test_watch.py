"""The log of level ``full``: it holds every operation, or says that it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz import watch
from hvm4viz.events import OPERATIONS
from hvm4viz.settings import Machine

SHARED = """
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}
@map = λ{[]: λf. []; <>: λh.λt.λ&f. f(h) <> @map(t, f)}
@main = ! &xs = @map(@range(200), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs}
"""
ALONE = Machine(blocks=1, threads_per_block=1)


def run(machine: Machine) -> hv.Run:
    return hv.run(SHARED, machine=machine, device="cpu", record="full")


def test_operations_without_room_end_the_run_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOG_ITEMS", 0)

    failed = run(ALONE)

    assert failed.status == "failed"
    assert "more on slots than record='full' has room for" in failed.message
    assert "use a smaller Machine(fuel=...)" in failed.message


def test_many_operations_in_one_pass_are_all_there() -> None:
    machine = Machine(blocks=1, threads_per_block=1, region_size=1 << 20)
    trace = hv.run(SHARED.replace("200", "5000"), machine=machine, device="cpu", record="full").trace

    ops = trace.ops()

    assert np.bincount(ops["pass"]).max() > 1 << 15
    assert (ops["op"] == OPERATIONS.index("publish")).sum() == (ops["op"] == OPERATIONS.index("take")).sum()
    assert trace.verify().offence is None
