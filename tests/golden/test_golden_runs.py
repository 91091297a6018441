"""The golden runs are what the kernel does, reach all of it, and a device that does something else is found out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz import selftest as module
from hvm4viz.device.base import Buffer, view
from hvm4viz.device.cpu import CpuDevice, CpuKernel
from hvm4viz.errors import DeviceFailed
from hvm4viz.events import EVENT, PassRecord
from hvm4viz.golden import goldens
from hvm4viz.golden.chosen import runs
from hvm4viz.golden.make import made_anew
from hvm4viz.golden.report import Report
from hvm4viz.golden.runs import FILE, Golden, made_with, written
from hvm4viz.kernel_text.source import kernel
from hvm4viz.selftest import selftest


def test_the_file_is_what_make_writes() -> None:
    kept = FILE.read_text(encoding="utf-8")

    assert written(made_anew(), made_with()) == kept, "python -m hvm4viz.golden.make writes it anew"


def test_every_rule_fires_in_some_golden_run() -> None:
    fired = np.zeros(len(kernel().rules), np.uint64)

    def add(record: PassRecord) -> None:
        fired[:] += record.rules

    for golden in goldens():
        if golden.source:
            chosen: dict[str, Any] = {"mode": golden.mode, "limit": golden.limit, "machine": golden.machine}
            hv.run(golden.source, device="cpu", on_log=lambda _: None, on_pass=add, **chosen)

    assert [name for name, count in zip(kernel().names, fired, strict=True) if not count] == []


def test_they_cover_protocols_machines_and_ways_to_stop() -> None:
    seen: dict[str, set[Any]] = {name: {g.settings[name] for g in goldens()} for name in goldens()[0].settings}

    assert seen["dup"] == {"owner", "claim", "atomic"}
    assert seen["owner_unit"] == {"thread", "block"}
    assert seen["defer"] == {"migrate", "return"}
    assert seen["visibility"] == {"pass", "live"}
    assert seen["shard"] == {"index", "address", "idle"}
    assert seen["fork"] == {"auto", "off"}
    assert max(golden.machine.threads for golden in goldens()) > 1024
    assert {golden.expected.status for golden in goldens()} == {"done", "error", "heap_full"}
    assert {golden.mode for golden in goldens()} == {"snf", "collapse"}
    assert any(golden.limit for golden in goldens())
    assert any(golden.expected.log for golden in goldens())
    assert len({golden.name for golden in goldens()}) == len(goldens()) == len(runs())


def test_bit_for_bit_where_the_order_of_events_is_the_programs() -> None:
    for golden in goldens():
        assert len(golden.expected.heaps) == (golden.expected.passes if golden.is_ordered else 0) or (
            golden.expected.status != "done"
        )


def test_the_cpu_does_what_it_must() -> None:
    report = selftest("cpu", workers=2)

    assert report.is_same
    assert not report.has_failed
    assert str(report).endswith(report.summary)
    assert report.summary.startswith(f"{len(goldens())} of {len(goldens())} golden runs are the same on cpu")


def few(names: set[str]) -> tuple[Golden, ...]:
    return tuple(golden for golden in goldens() if golden.name in names)


STEP = re.findall(
    r"BUFFER\([\w ]+, (\w+), \d+\)", kernel().text.split("ENTRY(step_frontier)(")[1].split("GRID_INDEX")[0]
)
"""Names of the buffers of a pass, in order."""


class Wrong(CpuDevice):
    """A device that changes one word of the heap behind pass 7."""

    def __init__(self, cell: int) -> None:
        super().__init__(1)
        self.cell = cell
        self.passes = 0

    def kernel(self, source: str) -> CpuKernel:
        device, real = self, super().kernel(source)

        class Kernel(CpuKernel):
            def __init__(self) -> None:
                pass

            def function(self, name: str) -> Any:
                return real.function(name)

            def serial(self, name: str) -> Any:
                return real.serial(name)

            def ways(self, name: str) -> Any:
                return tuple(replace(way, function=device.broken(way.function)) for way in real.ways(name))

        return Kernel()

    def broken(self, function: Any) -> Any:
        self.passes = 0

        def call(count: int, *buffers: Buffer) -> Any:
            done = function(count, *buffers)
            self.passes += 1
            if self.passes == 7 + 1:
                view(buffers[STEP.index("heap")], np.uint64)[self.cell] ^= np.uint64(1 << 40)
            return done

        return call


def test_a_wrong_word_is_named_with_pass_cell_and_both_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "goldens", lambda: few({"many readers"}))

    report = selftest(Wrong(cell=250))

    (row,) = report.rows
    assert (row.verdict, report.is_same, report.has_failed) == ("DIFFERS", False, False)
    assert row.what.startswith("pass 7, cell 250 (region 7): expected 0x")
    expected, got = (int(part.split(";")[0].split()[-1].rstrip(","), 16) for part in row.what.split("got"))
    assert expected ^ got == 1 << 40
    assert row.what.endswith("; 1 cells differ")
    assert f"    {row.what}" in str(report)


def test_a_wrong_event_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (golden,) = few({"shared pair"})
    monkeypatch.setattr(module, "goldens", lambda: (golden,))

    class Late(Wrong):
        def broken(self, function: Any) -> Any:
            def call(count: int, *buffers: Buffer) -> Any:
                done = function(count, *buffers)
                view(buffers[STEP.index("events")], EVENT)["cells"][0] += 1
                return done

            return call

    (row,) = selftest(Late(0)).rows
    assert row.verdict == "DIFFERS"
    assert "trace: expected" in row.what
    assert "pass 0, event 0, cell 0: cells 0 is 1" in row.what


def test_a_device_that_says_that_it_failed_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "goldens", lambda: few({"many readers", "app"}))

    class Failing(Wrong):
        def broken(self, function: Any) -> Any:
            def call(count: int, *buffers: Buffer) -> Any:
                self.passes += 1
                if self.passes > 14:
                    raise DeviceFailed("it is gone")
                return function(count, *buffers)

            return call

    report = selftest(Failing(0))

    assert [row.verdict for row in report.rows] == ["same", "FAILED"]
    assert report.rows[1].what == "it is gone"
    assert report.has_failed
    assert not report.is_same


def test_what_a_device_does_not_have_is_refused_and_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "goldens", lambda: few({"many readers, live", "app"}))

    class NoOrder(CpuDevice):
        def check(self, machine: hv.Machine) -> None:
            if machine.visibility == "live":
                raise ValueError("no order here")

    report = selftest(NoOrder(1))

    assert [row.verdict for row in report.rows] == ["same", "refused"]
    assert report.is_same
    assert report.summary.startswith("1 of 1 ")


def test_a_changed_kernel_is_told_from_a_wrong_device(monkeypatch: pytest.MonkeyPatch) -> None:
    (golden,) = few({"sort"})
    changed = replace(golden, expected=replace(golden.expected, heaps=("0" * 16, *golden.expected.heaps[1:])))
    monkeypatch.setattr(module, "goldens", lambda: (changed,))
    monkeypatch.setattr("hvm4viz.golden.compare.made_with", lambda: "another")

    (row,) = selftest("cpu", workers=1).rows

    assert row.what.startswith("pass 0: the heap differs, and on the cpu device too: the kernel has changed since")


def test_a_report_in_a_notebook_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "goldens", lambda: few({"app"}))
    report: Report = selftest("cpu", workers=1)

    assert report._repr_html_().startswith("<pre>hvm4viz ")
    assert "&lt;" in Report("<b>", report.rows)._repr_html_()
