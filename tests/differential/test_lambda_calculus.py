"""Pure lambda terms: oracle and kernel against a textbook normaliser by substitution."""

from __future__ import annotations

from hypothesis import given, settings

from hvm4viz.settings import Machine
from tests.differential.answers import answer
from tests.oracle.evaluate import evaluate
from tests.oracle.lambda_calculus import Lambda, normal_form, shown_linked, shown_quoted, source_of
from tests.strategies import affine_terms, shared_terms

quietly = settings(max_examples=100, deadline=None, derandomize=True, database=None)


@quietly
@given(affine_terms())
def test_oracle_normalises_affine_terms_as_a_textbook(term: Lambda) -> None:
    outcome = evaluate(f"@main = {source_of(term)}")

    assert outcome.text == shown_linked(normal_form(term))


@quietly
@given(shared_terms())
def test_oracle_collapses_shared_terms_to_the_textbook_form(term: Lambda) -> None:
    outcome = evaluate(f"@main = {source_of(term)}", mode="collapse")

    assert outcome.text == shown_quoted(normal_form(term))


@quietly
@given(affine_terms())
def test_kernel_normalises_affine_terms_as_a_textbook(term: Lambda) -> None:
    got = answer(f"@main = {source_of(term)}", Machine(fuel=2))

    assert got.text == shown_linked(normal_form(term))


@quietly
@given(shared_terms())
def test_kernel_collapses_shared_terms_to_the_textbook_form(term: Lambda) -> None:
    got = answer(f"@main = {source_of(term)}", Machine(fuel=2), mode="collapse")

    assert got.text == shown_quoted(normal_form(term))
