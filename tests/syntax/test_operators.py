"""Precedence: every row of ``language.md`` 4."""

from __future__ import annotations

import itertools

import pytest

from hvm4viz.term import OPERATORS
from tests.syntax.reading import core, refused

LEVELS = {8: "^", 7: "* / %", 6: "+ -", 5: "<< >>", 4: "< <= > >=", 3: "== !=", 2: "&&", 1: "||", 0: "~"}
LEVEL = {sign: level for level, signs in LEVELS.items() for sign in signs.split()}


def test_every_operator_has_a_level() -> None:
    assert set(LEVEL) == set(OPERATORS)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(OPERATORS, repeat=2)))
def test_two_operators_nest_by_level_and_to_the_left(first: str, second: str) -> None:
    left = f"((1 {first} 2) {second} 3)"
    right = f"(1 {first} (2 {second} 3))"

    assert core(f"1 {first} 2 {second} 3") == (left if LEVEL[first] >= LEVEL[second] else right)


@pytest.mark.parametrize("sign", [sign for sign in OPERATORS if sign != "/"])
def test_operators_need_no_blanks(sign: str) -> None:
    assert core(f"1{sign}2") == f"(1 {sign} 2)"


FORMS = {
    "1 - 2 - 3": "((1 - 2) - 3)",
    "1 + 2 ~ 3": "((1 + 2) ~ 3)",
    "@a <> @b <> @c": "@a<>@b<>@c",
    "@a ~> @b ~> @c": "@a ~> @b ~> @c",
    "3 <> 4 + 5 <> 6": "3<>(4 + 5<>6)",
    "1 + @b ~> @c": "(1 + @b ~> @c)",
    "1 % @b <> @c": "(1 % @b<>@c)",
    "1 + @b === @c": "(1 + (@b === @c))",
    "@a === @b + @c": "(@a === (@b + @c))",
    "@a === @b == @c": "((@a === @b) == @c)",
    "@a === @b === @c": "(@a === (@b === @c))",
    "@a === @b < @c": "(@a === (@b < @c))",
    "@a .&. @b .|. @c": "(@a .&. (@b .|. @c))",
    "@a .|. @b .&. @c": "(@a .|. (@b .&. @c))",
    "@a < @b .&. @c < @d": "(@a < (@b .&. (@c < @d)))",
    "@a .&. @b || @c": "((@a .&. @b) || @c)",
    "@a .&. @b && @c": "(@a .&. (@b && @c))",
    "@a ~> @b ~ @c": "@a ~> (@b ~ @c)",
    "@a <> @b ~ @c": "@a<>(@b ~ @c)",
    "@a .|. @b ~ @c": "((@a .|. @b) ~ @c)",
    "@a .|. @b || @c": "(@a .|. (@b || @c))",
    "1 + @f(2) * @g (3)": "(1 + (@f(2) * @g(3)))",
    "[1 -2]": "[(1 - 2)]",
    "[@a ^nm]": None,
    "[1 %log(2)]": None,
    "[1 *]": None,
    "λ{#A: 1 (2)}": "λ{#A:1(2)}",
    "λx. x(1)": "λa.a(1)",
    "(λx. x)(1)": "(λa.a)(1)",
    "! x = 1 + 2; x * 3": "(λa.(a * 3))((1 + 2))",
    "2n+1 + 2": "2n+(1 + 2)",
    "1 + 2n+3 * 4": "(1 + 2n+(3 * 4))",
    "1 + λx. x + 2": "(1 + λa.(a + 2))",
    "1 <> λx. x <> 2": "1<>λa.a<>2",
    "↑1 + 2": "(↑1 + 2)",
    "↑1 <> 2": "↑1<>2",
    "1 +// two\n 2": "(1 + 2)",
}


@pytest.mark.parametrize(("source", "expected"), FORMS.items(), ids=FORMS)
def test_text_nests_as_the_table_says(source: str, expected: str | None) -> None:
    if expected is None:
        refused(f"@main = {source}")
    else:
        assert core(source) == expected


@pytest.mark.parametrize("sign", ["&", "!", "=", ".", "|", ":", "₀"])
def test_a_lone_sign_ends_the_term(sign: str) -> None:
    error = refused(f"@main = 1 {sign} 2")

    assert "expected: definition or #include" in str(error)
