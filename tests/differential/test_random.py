"""Kernel against oracle on random programs and machines; few here, as many as one likes as a command.

The command: ``python tests/differential/random_programs.py --count N --seed S [--minutes M]``.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.differential.disagreements import MIXES, some_program
from tests.differential.random_programs import examine
from tests.differential.shrinking import recorded, replayed, shrunk

PROGRAMS = 60


@pytest.mark.parametrize("mode", ["snf", "collapse"])
@pytest.mark.parametrize("mix", MIXES)
def test_kernel_agrees_with_oracle(mix: str, mode: str) -> None:
    totals: Counter[str] = Counter()
    faults = [examine(number, mix, mode, size=40, totals=totals, tries_max=500) for number in range(PROGRAMS)]

    assert not any(faults), "\n".join(fault for fault in faults if fault)
    assert totals["agree"] >= 0.9 * PROGRAMS


def test_a_fault_is_shrunk_to_its_core() -> None:
    def program(choices: list[int]) -> str:
        return some_program(replayed(choices), MIXES["plain"])

    def is_fault(choices: list[int]) -> bool:
        return "&A{" in program(choices) and "===" in program(choices)

    choices: list[int] = []
    number = 0
    while not is_fault(choices):
        choices.clear()
        some_program(recorded(Random(number), choices), MIXES["plain"])
        number += 1
    small = shrunk(choices, is_fault)

    assert is_fault(small)
    assert len(program(small)) < min(100, len(program(choices)))
