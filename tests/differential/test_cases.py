"""Every case and program, on a selection of machines: the same answer everywhere, and on one thread the same count.

The full product is a command: ``python tests/differential/full_product.py``.
"""

from __future__ import annotations

import pytest

from hvm4viz.settings import Machine
from tests.case_files import Case, cases, programs
from tests.differential.answers import answer, faults
from tests.differential.machines import ALONE, GRID, is_affordable, pairs, pairwise_machines, wanted_pairs

MACHINES_A_CASE = 3
EVERYTHING = (*cases(), *programs())
PAIRWISE = pairwise_machines()


def machines_of(number: int, case: Case) -> list[Machine]:
    """One thread, and the next few of the pairwise selection, so that neighbours share the work."""
    affordable = [machine for machine in PAIRWISE if is_affordable(case, machine)]
    turn = number * MACHINES_A_CASE
    return [ALONE, *(affordable[(turn + i) % len(affordable)] for i in range(MACHINES_A_CASE))]


@pytest.mark.parametrize(("number", "case"), list(enumerate(EVERYTHING)), ids=[case.name for case in EVERYTHING])
def test_case_is_right_on_its_machines(number: int, case: Case) -> None:
    found = [
        f"{machine}: {fault}"
        for machine in machines_of(number, case)
        for fault in faults(case, machine, answer(case.source_path, machine, mode=case.mode, limit=case.limit))
    ]

    assert not found, "\n".join(found)


def test_every_two_settings_meet() -> None:
    rows = [tuple(getattr(machine, key) for key in GRID) for machine in PAIRWISE]
    met = {pair for row in rows for pair in pairs(row)}

    assert met == wanted_pairs()
