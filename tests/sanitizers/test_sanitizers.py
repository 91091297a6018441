"""Sanitizers: a few runs without a report, and what is planted is reported. All runs: ``tests/sanitizers/run.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hvm4viz.kernel_text.source import kernel
from tests.sanitizers.devices import PLANTS, planted
from tests.sanitizers.run import COMPILER, SIGNS, Outcome, runtimes, work

SHARED = """
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}
@map = λ{[]: λf. []; <>: λh.λt.λ&f. f(h) <> @map(t, f)}
@main = ! &xs = @map(@range(20), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs, 1 << 32}
"""
REPORTS = {
    "non-owner takes at once": ("tsan", "data race", "slot_reach_owner"),
    "same pass counts as published": ("tsan", "data race", "slot_read"),
    "a cell too far": ("asan", "use-after-poison", "heap_"),
    "an event too far": ("asan", "use-after-poison", "pass_event"),
    "shift by 32": ("asan", "shift exponent 32 is too large", "op2_compute"),
}
"""By plant: which sanitizer reports it, in which words, and where in the kernel."""


def need(kind: str) -> None:
    """Skip where a sanitizer is not installed."""
    try:
        runtimes(kind)
    except FileNotFoundError as reason:
        pytest.skip(str(reason))


def said(outcome: Outcome) -> str:
    return "\n".join(f"{name}\n{text}" for name, text in outcome.reports)


@pytest.mark.parametrize("kind", ["tsan", "asan"])
def test_a_few_runs_are_without_a_report(kind: str) -> None:
    need(kind)

    outcome = work(kind, "--only", "dup_l", "--machines", "4", "--programs", "12")

    assert not outcome.reports, said(outcome)
    assert outcome.statuses["done"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("plant", list(REPORTS))
def test_what_is_planted_is_reported(plant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, words, place = REPORTS[plant]
    need(kind)
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))

    outcome = work(kind, "--source", SHARED, "--plant", plant)

    assert outcome.reports, f"{plant}: nothing was reported"
    assert words in said(outcome)
    assert place in said(outcome)


def test_every_plant_is_tested_and_has_its_place_in_the_kernel() -> None:
    assert set(REPORTS) == set(PLANTS)
    for plant in PLANTS:
        assert planted(kernel().text, (plant,)) != kernel().text


def test_a_missing_runtime_is_a_reason_to_skip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / COMPILER
    fake.write_text("#!/bin/sh\necho libtsan.so\n")  # what g++ says of a library that it does not have
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(FileNotFoundError, match=r"libtsan\.so is not installed"):
        runtimes("tsan")


@pytest.mark.parametrize("sign", SIGNS)
def test_reports_are_known_by_how_they_begin(sign: str) -> None:
    assert sign in "WARNING: ThreadSanitizer: ERROR: AddressSanitizer: kernel.cpp:1:1: runtime error: "


def test_the_compiler_runs_without_the_sanitizer(tmp_path: Path) -> None:
    wrapper, told = tmp_path / "compiler", tmp_path / "told"
    wrapper.write_text(f'#!/bin/sh\necho "preloaded: $LD_PRELOAD" >> {told}\nexit 1\n')
    wrapper.chmod(0o755)
    env = {**os.environ, "LD_PRELOAD": "libm.so.6", "HVM4VIZ_CXX": str(wrapper), "HVM4VIZ_CACHE": str(tmp_path)}
    command = [sys.executable, str(Path(__file__).parent / "work.py"), "asan", "--source", "@main = 1"]

    subprocess.run(command, env=env, capture_output=True, check=False)

    assert set(told.read_text().splitlines()) == {"preloaded: "}
