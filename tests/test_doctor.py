"""The doctor names what is missing and the one command that puts it right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import hvm4viz as hv
from hvm4viz import doctor as module_or_function
from hvm4viz.cli import main
from hvm4viz.device import DeviceInfo
from hvm4viz.diagnosis import Check, Diagnosis
from hvm4viz.doctor import doctor

SICK = Diagnosis(
    (Check("Python", "ok", "3.12"), Check("compiler", "FIX", "none <b>was</b> found", "pip install ziglang"))
)


def test_everything_that_is_needed_is_here() -> None:
    found = doctor()

    assert found.is_well, str(found)
    names = [check.name for check in found.checks]
    assert names[:2] == ["Python", "hvm4viz"]
    assert {"C++ compiler", "cache folder", "device cpu", "device metal", "JupyterLab", "widget"} <= set(names)
    assert "runs a program" in next(check.detail for check in found.checks if check.name == "device cpu")


def test_it_is_a_public_function_whatever_was_imported_before() -> None:
    assert module_or_function is doctor
    assert hv.doctor is doctor
    assert "doctor" in hv.__all__


def test_what_metal_has_not_is_said_and_not_promised() -> None:
    notes = [check.detail for check in doctor().checks if check.verdict == "note"]

    assert any("no 64-bit exchange" in note for note in notes)
    assert any("threads_per_block counts logical threads" in note for note in notes)
    assert any("hvm4viz selftest --device metal" in note for note in notes)


def test_as_text_a_command_stands_whole_under_what_it_puts_right() -> None:
    lines = str(SICK).splitlines()

    assert lines[1].split() == ["FIX", "compiler", "none", "<b>was</b>", "found"]
    assert lines[2].strip() == "> pip install ziglang"
    assert lines[-1] == "1 to fix; the command stands below each"
    assert not SICK.is_well


def test_long_details_are_wrapped_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long = Diagnosis((Check("cache folder", "ok", "word " * 60),))

    assert max(len(line) for line in str(long).splitlines()) <= 80


def test_in_a_notebook_text_stays_text() -> None:
    page = SICK._repr_html_()

    assert "none &lt;b&gt;was&lt;/b&gt; found" in page
    assert "<code>pip install ziglang</code>" in page
    assert "✗ FIX" in page


def test_without_a_device_there_is_something_to_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys.modules["hvm4viz.doctor"], "devices", lambda: [DeviceInfo("cpu", usable=False, detail="cpu: no compiler")]
    )

    assert [check.name for check in doctor().checks if check.verdict == "FIX"] == ["devices"]


def test_the_command_ends_with_one_when_there_is_something_to_fix(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("all that is needed is here\n")
    monkeypatch.setattr(sys.modules["hvm4viz.doctor"], "doctor", lambda: SICK)

    assert main(["doctor"]) == 1
    assert "> pip install ziglang" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
