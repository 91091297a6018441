"""Forks (``language.md`` 9), and what superpositions refuse."""

from __future__ import annotations

import pytest

from tests.syntax.reading import core, refused

FORKS = {
    "&Lλx{x; x}": "λa.!B&L=a;&L{B₀,B₁}",
    "&Lλx,y{x(y); y(x)}": "λa.!B&L=a;λc.!D&L=c;&L{B₀(D₀),D₁(B₁)}",
    "&L λ x y , { &₀: x(y) ; &₁: y(x) }": "λa.!B&L=a;λc.!D&L=c;&L{B₀(D₀),D₁(B₁)}",
    "&Lλx, y{x(y); 1}": "λa.!B&L=a;λc.!D&L=c;&L{B₀(D₀),1}",
    "&Lλx{x x}": "λa.!B&L=a;&L{B₀,B₁}",
    "&Lλx{x₁; x₀}": "λa.!B&L=a;&L{B₁,B₀}",
    "&Lλx{1; 2}": "λa.!B&L=a;&L{1,2}",
    "&(3)λx{x; x}": "λa.!(3)=a;λb.λc.&(3){b,c}",
    # each use has its own copy of the label (D6)
    "λ&l. &(l)λx,y{x(y); y(x)}": ("λa.!B&F___=a;!C&F__a=B₁;λd.!(B₀)=d;λe.λf.λg.!(C₀)=g;λh.λi.&(C₁){e(h),i(f)}"),
    "λ&z. &((λ&q. q+q)(z))λx{x;x}": (
        "λa.!B&F__a=a;λc.!((λd.!E&F___=d;(E₀ + E₁))(B₀))=c;λd.λe.&((λf.!G&F___=f;(G₀ + G₁))(B₁)){d,e}"
    ),
    "&Lλx{λ{&(1){2,3}}; x}": "λa.!B&L=a;&L{λ{&(1){2,3}},B₁}",
    # a fork in the label of another, and behind it, is no fork in a branch
    "&(&Lλy{y;y}(1))λx{x;x}": None,
    "[&Lλx{x;x}, &Lλx{x;x}]": "[λa.!B&L=a;&L{B₀,B₁},λa.!B&L=a;&L{B₀,B₁}]",
}


@pytest.mark.parametrize(("source", "expected"), FORKS.items(), ids=FORKS)
def test_fork_means_duplications_around_a_superposition(source: str, expected: str | None) -> None:
    printed = core(source)

    assert expected is None or printed == expected


@pytest.mark.parametrize(
    ("source", "cause"),
    {
        "&Fλx{&Gλy{x; y}; x}": "nested forks are not allowed",
        "&Fλx{x; λz. &Gλy{z; y}}": "nested forks are not allowed",
        "&Fλx{&(1)λy{x; y}; x}": "nested forks are not allowed",
        "&Fλ{1; 2}": "expected: name",
        "&Fλx&L{1; 2}": "expected: {",
        "&Fλx{&₁: 1; 2}": "expected: name",
        "&Fλx{1; 2; 3}": "expected: }",
        "&F{1}": "expected: name",
        "&F{1, 2, 3}": "expected: }",
        "&F": "expected: {",
        "&F(1)": "expected: {",
        "&1{2,3}": "expected: name",
        "&(1": "expected: )",
        "&{1}": "expected: a label before {",
        "&{1, 2}": "any name will do: &A{1, 2}; ",
        "&{1": "any name will do: &A{a, b}; ",
        "&{": "expected: }",
    }.items(),
)
def test_what_is_no_superposition_is_refused(source: str, cause: str) -> None:
    assert cause in str(refused(f"@main = {source}"))


@pytest.mark.parametrize(
    ("fork", "written"),
    {
        "&Gλy{x; y}": "λy&G. &G{x, y₁}",
        "&Gλy{y(y₁); #y{[yy, y]}}": "",
        "&G λ y, z { y + z ; #y{yy, y, z₀} }": "",
        "&Gλy,z{y + z; @y(z, @z)}": "λy&G. λz&G. &G{y₀ + z₀, @y(z₁, @z)}",
        "&(1)λy{y; 2}": "λy&(1). &(1){y₀, 2}",
        "&Gλy{λy. y; y}": "λy&G. &G{..., ...}",
        '&Gλy{"y"; y}': "λy&G. &G{..., ...}",
        "&Gλ{1; 2}": "λx&G. &G{..., ...}",
        "&Gλ1{2; 3}": "λx&G. &G{..., ...}",
    }.items(),
)
def test_a_fork_in_a_fork_is_written_out_in_the_words_of_the_program(fork: str, written: str) -> None:
    told = str(refused(f"@main = &Fλx{{{fork}; x}}"))
    assert not written or told.endswith(f"write the inner one out: {written}")
    if written and "..." not in written:
        assert core(f"λx. {written}") == core(f"λx. {fork}")


def test_labels_that_copy_each_other_end_in_an_error() -> None:
    label = "l"
    for _ in range(40):
        label = f"&({label})λx{{x; x}}(1)"

    assert "too large" in str(refused(f"@main = λ&l. {label}"))
