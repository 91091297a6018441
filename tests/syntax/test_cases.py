"""Case functions (``language.md`` 8)."""

from __future__ import annotations

import pytest

from hvm4viz import limits
from tests.syntax.reading import core, refused

CASES = {
    "λ{}": "&{}",
    "λ { }": "&{}",
    "λ{@f}": "λ{@f}",
    "λ{5}": "λ{5}",
    "λ{5 + 1}": "λ{(5 + 1)}",
    "λ{2n}": "λ{2n}",
    "λ{1n}": "λ{1n}",
    "λ{#A: 1}": "λ{#A:1}",
    "λ{#A: 1; #B: 2; 3}": "λ{#A:1;#B:2;3}",
    "λ{#A: 1 #B: 2 3}": "λ{#A:1;#B:2;3}",
    "λ{#A: 1; _: 3}": "λ{#A:1;3}",
    "λ{#A: 1; _ : #B}": "λ{#A:1;#B{}}",
    "λ{#A: 1; (#B)}": "λ{#A:1;#B{}}",
    "λ{#A: 1; 0}": "λ{#A:1}",
    "λ{# A : 1 ;}": "λ{#A:1}",
    "λ{[]: 0; <>: 1}": "λ{[]:0;<>:1}",
    "λ{[] : 0; <> : 1; 2}": "λ{[]:0;<>:1;2}",
    "λ{0n: 0; 1n+: 1}": "λ{0n:0;1n+:1}",
    "λ{00n: 0; 01n+: 1}": "λ{0n:0;1n+:1}",
    "λ{0 n: 0; 1 n+: 1}": "λ{0n:0;1n+:1}",
    "λ{0: 1; 12 : 2; 3}": "λ{0:1;12:2;3}",
    "λ{'a': 1; '\\n': 2}": "λ{97:1;10:2}",
    "λ{''': 1}": "λ{39:1}",
    "λ{#A: λ{#B: 1; 2}; 3}": "λ{#A:λ{#B:1;2};3}",
    "λ{#A: 1; λ{#B: 2}}": "λ{#A:1;#B:2}",  # the same term
    "λ{#A: 1; λ{@f}}": "λ{#A:1;@f}",
    "λ{#A: 1; 7: 2; [1]}": "λ{#A:1;7:2;[1]}",
    "λ{#A: 1; [ ]}": "λ{#A:1;[]}",
    "λ{16777215: 1}": "λ{16777215:1}",
    "λ{4294967297: 1}": "λ{1:1}",
}


@pytest.mark.parametrize(("source", "expected"), CASES.items(), ids=CASES)
def test_cases_nest_to_the_right(source: str, expected: str) -> None:
    assert core(source) == expected


@pytest.mark.parametrize(
    ("source", "cause"),
    {
        "λ{#A: 1; #B}": "expected: :",
        "λ{[]}": "expected: :",
        "λ{'a'}": "expected: :",
        "λ{0n}": "expected: :",
        "λ{_: 1}": "expected: name",
        "λ{2n: 1; 0}": "expected: }",
        "λ{1n: 1}": "expected: }",
        "λ{#A: 1; 2; 3}": "expected: }",
        "λ{#A: 1;; 2}": "expected: name",
        "λ{#A: 1": "expected: }",
        "λ{[]: 0 <>: 1}": "expected: name",
        "λ{'ab': 1}": "expected: '",
    }.items(),
)
def test_what_is_no_case_is_refused(source: str, cause: str) -> None:
    assert cause in str(refused(f"@main = {source}"))


def test_a_number_that_a_case_cannot_hold_is_refused() -> None:
    # D5
    error = refused(f"@main = λ{{1: 2; {limits.EXT_END}: 1}}")

    assert "16777216" in str(error)
    assert (error.line, error.col) == (1, 17)
