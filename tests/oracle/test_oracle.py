"""The oracle on everything whose answer is known: text, order, error kind and interaction count."""

from __future__ import annotations

import pytest

from tests.case_files import Case, cases, programs
from tests.oracle.evaluate import evaluate

QUICK_INTERACTIONS = 50_000


@pytest.mark.parametrize("case", cases(), ids=str)
def test_case_gives_expected_output_and_count(case: Case) -> None:
    outcome = evaluate(case.source_path, mode=case.mode, limit=case.limit)

    assert outcome.error == case.error, outcome.message
    assert outcome.text == case.output
    assert case.interactions in (None, outcome.interactions)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(p, marks=[pytest.mark.slow] if (p.interactions or 0) > QUICK_INTERACTIONS else [])
        for p in programs()
    ],
    ids=str,
)
def test_program_gives_expected_output_and_count(program: Case) -> None:
    outcome = evaluate(program.source_path, mode=program.mode, limit=program.limit, max_steps=100_000_000)

    assert (outcome.text, outcome.error) == (program.output, None)
    assert program.interactions in (None, outcome.interactions)
