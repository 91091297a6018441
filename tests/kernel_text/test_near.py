"""The near loop: written from the functions and rules that say so, and the same in all that a run shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hvm4viz.golden import goldens
from hvm4viz.kernel_text.dispatch import near_dispatch
from hvm4viz.kernel_text.near import near_functions, near_text
from hvm4viz.kernel_text.source import kernel
from hvm4viz.rules import rule_table

ROOT = Path(__file__).parents[2]
TEXT = """
FUNC uint twice(THREAD Worker* w, uint n) { return n + (w->flags != 0u ? n : 0u); }

// Says nothing.
CALL void often(THREAD Worker* w) {
  if (w->apply) { w->top = 0u; }
}
FUNC void often_not(THREAD Worker* w) {}
"""


def test_functions_are_written_out_again_for_the_other_worker() -> None:
    declared, functions = near_functions(TEXT, ["often", "twice"])

    assert declared.split("\n") == ["FUNC uint twice(THREAD Near* w, uint n);", "FUNC void often(THREAD Near* w);"]
    assert "FUNC void often(THREAD Near* w) {\n  if (w->apply) { w->top = 0u; }\n}" in functions
    assert "Worker" not in functions
    assert "often_not" not in functions


@pytest.mark.parametrize(("name", "times"), [("never", 0), ("twice", 2)])
def test_what_is_not_there_once_is_refused(name: str, times: int) -> None:
    with pytest.raises(ValueError, match=rf"kernels/near.h: the kernel has {times} functions {name}, not one"):
        near_functions(TEXT + TEXT if times else TEXT, [name])


def test_the_rules_that_say_so_are_in_it_and_no_others() -> None:
    near = {rule.file for rule in rule_table() if rule.is_near}
    text = kernel().text[kernel().text.index("#ifdef NEAR_LOOP") :]

    assert {"app_lam", "op2_num_num", "dup_lam"} <= near
    assert set(re.findall(r"FUNC void rule_(\w+)\(THREAD Near\* w\) \{", text)) == near
    assert set(re.findall(r"\brule_(\w+)\(w\);", near_dispatch(rule_table()))) == near


def test_a_rule_that_is_edited_is_edited_in_both() -> None:
    edited = kernel().edit("app_lam", "w->top = parent;", "w->top = parent; /* here */").text

    assert edited.count("/* here */") == 2


def test_its_text_follows_the_rules_it_is_given() -> None:
    without = tuple(rule for rule in rule_table() if not rule.is_near)

    assert "rule_" not in near_text(without, "", "struct Near;", "").replace("step_enter_rule", "")


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here, which can be told to run the near loop")
def test_a_host_that_runs_it_gets_every_golden_run(tmp_path: Path) -> None:
    told = {"HVM4VIZ_CXX": "g++ -DNEAR_LOOP", "HVM4VIZ_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "hvm4viz", "selftest", "--device", "cpu"], env={**os.environ, **told}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "{0} of {0} golden runs are the same".format(len(goldens())) in done.stdout
