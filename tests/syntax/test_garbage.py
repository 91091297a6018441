"""Whatever the text: a program, or an error of ours that points into it."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.case_files import cases
from tests.syntax.reading import failure

SIGNS = [
    *"λ!&#@%^↑*()[]{}<>=:;,.|~+-/\\'\"`_$₀₁ \n\t\0a",
    *("x", "Nm", "0n", "1n+", "12", "&L", "~>", "<>", "===", ".&.", ".|.", "#include", "//", "@main", "@main = "),
    *("λx.", "λ&x.", "! x = ", "! x &L = ", "&L{", "&(", "λ{", "#A{", "x₀", "%log(", "&₀:", "é", "\u2028", "\ud800"),
    "9" * 5000,
]


def check(source: str | bytes) -> None:
    error = failure(source)
    if error is None:
        return
    assert error.span is not None
    assert 0 <= error.span.start <= error.span.end <= len(error.span.source.text)
    assert (error.line or 0) >= 1
    assert (error.col or 0) >= 1
    str(error).encode()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(SIGNS), max_size=40).map("".join))
@example("@main = '\ud800")
@example("@main = λ")
def test_shuffled_tokens_never_raise_anything_else(source: str) -> None:
    check(source)
    check("@main = " + source)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_never_raise_anything_else(source: bytes) -> None:
    check(source)
    check(b"@main = " + source)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_text_never_raises_anything_else(source: str) -> None:
    check(source)
    check(f'@main = "{source}')


@pytest.mark.parametrize("seed", range(4))
def test_damaged_programs_never_raise_anything_else(seed: int) -> None:
    chance = random.Random(seed)
    for case in cases():
        source = case.source
        for _ in range(3):
            at = chance.randrange(len(source))
            to = at + chance.randrange(4)
            check(source[:at] + chance.choice(["", chance.choice(SIGNS)]) + source[to:])
