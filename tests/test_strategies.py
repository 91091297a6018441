"""The generators: what they write parses, covers every construct, and mostly ends."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings

from hvm4viz import parse
from hvm4viz.term import Tag, tag_of
from tests.oracle.evaluate import evaluate
from tests.strategies import FEATURES, PLAIN, make_program, programs

SAMPLE = [make_program(Random(seed).randrange, features=FEATURES, size_max=80) for seed in range(600)]
NEVER_STATIC = {Tag.VAR, Tag.DP0, Tag.DP1, Tag.ALO, Tag.C16}


def test_every_program_parses_and_every_construct_occurs() -> None:
    tags = {tag_of(int(word)) for source in SAMPLE for word in parse(source).book.words[1:]}

    assert {tag for tag in Tag if tag not in tags} == NEVER_STATIC


def test_few_programs_find_no_end() -> None:
    outcomes = [evaluate(source, max_steps=20_000) for source in SAMPLE]

    assert sum(outcome.error == "steps" for outcome in outcomes) < 0.02 * len(SAMPLE)
    assert sum(outcome.error is None for outcome in outcomes) > 0.75 * len(SAMPLE)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(programs(features=PLAIN))
def test_hypothesis_draws_programs(source: str) -> None:
    assert "main" in parse(source).names
