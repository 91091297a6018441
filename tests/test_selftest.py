"""The command that proves a device, and the code it ends with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hvm4viz import selftest as module
from hvm4viz.cli import main
from hvm4viz.golden import goldens
from hvm4viz.golden.report import Report, Row

FIRST = goldens()[0]


@pytest.mark.parametrize(
    ("verdict", "code"), [("same", 0), ("refused", 0), ("DIFFERS", 1), ("FAILED", 4)]
)  # fmt: skip
def test_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verdict: str, code: int
) -> None:
    report = Report("cpu (here)", (Row(FIRST, verdict, 12, 28, 0.01, "" if verdict == "same" else "this is why"),))
    monkeypatch.setattr(module, "selftest", lambda *_, **__: report)

    assert main(["selftest"]) == code
    out = capsys.readouterr().out
    assert verdict in out
    assert ("this is why" in out) is (verdict != "same")
    assert out.splitlines()[1] == "device cpu (here)"


def test_a_device_that_is_not_here_is_four(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--device", "abacus"]) == 4
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "there is no device 'abacus'; GPUs are cuda (NVIDIA) and metal (Mac); others: auto, cpu" in shown.err


def test_table_is_aligned_and_names_what_was_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--device", "cpu", "--workers", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith("hvm4viz 0.")
    head = next(line for line in lines if line.startswith("run "))
    rows = lines[lines.index(head) + 1 : -2]
    assert len(rows) == len(goldens())
    assert len({line.index("same") for line in rows}) == 1
    assert lines[-1].startswith(f"{len(rows)} of {len(rows)} golden runs are the same on cpu")


def test_a_difference_stands_under_its_run() -> None:
    row = Row(replace(FIRST, name="it"), "DIFFERS", 1, 2, 0.0, "pass 3, cell 4: expected 0x1, got 0x2\nand more")

    shown = str(Report("d", (row,))).splitlines()

    at = next(i for i, line in enumerate(shown) if line.startswith("it "))
    assert shown[at + 1 : at + 3] == ["    pass 3, cell 4: expected 0x1, got 0x2", "    and more"]
