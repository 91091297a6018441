"""Scope, affinity, and automatic duplication (``language.md`` 6, 7)."""

from __future__ import annotations

import pytest

from hvm4viz.errors import NotAffine, UnboundName
from hvm4viz.program import parse
from hvm4viz.syntax.printer import show
from tests.syntax.reading import core, refused

CLONES = {
    "λ&x. 5": "λa.5",
    "λ&x. x": "λa.a",
    "λ&x. x(x)": "λa.!B&F___=a;B₀(B₁)",
    "λ&v. #P{v, v, v}": "λa.!B&F___=a;!C&F__a=B₁;#P{B₀,C₀,C₁}",
    # both ends: x₁ draws first, the chain of x₀ is outside
    "λ&x&L. [x₀,x₀,x₁,x₁]": "λa.!B&L=a;!C&F__a=B₀;!D&F___=B₁;[C₀,C₁,D₀,D₁]",
    "! &x &L = 5; [x₁,x₀,x₁]": "!A&L=5;!B&F___=A₁;[B₀,A₀,B₁]",
    "! &x & = 5; [x₁,x₀,x₁]": "!A&F___=5;!B&F__a=A₁;[B₀,A₀,B₁]",
    # computed labels: x₀ draws first, the chain of x₁ is outside
    "λ&x&(7). [x₀,x₀,x₁,x₁]": "λa.!(7)=a;λb.λc.!D&F__a=c;!E&F___=b;[E₀,E₁,D₀,D₁]",
    "! &x &(1) = 5; [x₁,x₀,x₁]": "!(1)=5;λa.λb.!C&F___=b;[C₀,a,C₁]",
    # inner binders draw first
    "λ&x. λ&y. [x,x,y,y]": "λa.!B&F__a=a;λc.!D&F___=c;[B₀,B₁,D₀,D₁]",
    # a label left out draws where it stands, before value and body
    "! x & = λ&y. y(y); ! z & = 1; [x₀,x₁,z₀,z₁]": "!A&F___=λa.!B&F__a=a;B₀(B₁);!B&F__b=1;[A₀,A₁,B₀,B₁]",
    # uses are numbered in the order of the core term: the body of a let before its value
    "λ&x. ! y = x; [y,x]": "λa.!B&F___=a;(λc.[c,B₀])(B₁)",
    # value before body of a duplication; label, value, body of a computed one
    "λ&x. ! y &L = x; [y₀,y₁,x]": "λa.!B&F___=a;!C&L=B₀;[C₀,C₁,B₁]",
    "λ&x. ! y &(x) = x; [y₀,x]": "λa.!B&F___=a;!C&F__a=B₁;!(B₀)=C₀;λd.λe.[d,C₁]",
    "λ&x. &(x){x,x}": "λa.!B&F___=a;!C&F__a=B₁;&(B₀){C₀,C₁}",
    "λ&x. λ{#A: x; 7: x; x}": "λa.!B&F___=a;!C&F__a=B₁;λ{#A:B₀;7:C₀;C₁}",
    "λ&x. [x, 1 + x, λy. x(y)]": "λa.!B&F___=a;!C&F__a=B₁;[B₀,(1 + C₀),λd.C₁(d)]",
    # what is bound further in shifts
    "λ&x. λy. [x,y,x]": "λa.!B&F___=a;λc.[B₀,c,B₁]",
}


@pytest.mark.parametrize(("source", "expected"), CLONES.items(), ids=CLONES)
def test_cloned_binder_is_duplicated_in_a_chain(source: str, expected: str) -> None:
    assert core(source) == expected


def test_automatic_labels_run_through_all_definitions() -> None:
    book = parse("@a = λ&x. x(x)\n@a = λ&x. x(x)\n@main = λ&x. x(x)").book

    assert show(book.words, int(book.roots[0]), book, quoted=True) == "λa.!B&F__a=a;B₀(B₁)"
    assert show(book.words, int(book.roots[1]), book, quoted=True) == "λa.!B&F__b=a;B₀(B₁)"


def test_automatic_labels_leave_out_those_that_the_program_writes() -> None:
    # D11; labels of up to three characters, and those below F___, cannot equal automatic ones
    assert core("λ&x. [x,x,x]", "@b = &F___{1,2} @c = &F__b{1,2}") == "λa.!B&F__a=a;!C&F__c=B₁;[B₀,C₀,C₁]"


SCOPES = {
    "λx. λx. x": "λa.λb.b",
    "λx. ! x &L = 1; [x, x₀, x₁]": "λa.!B&L=1;[a,B₀,B₁]",
    "! x &L = 1; λx. [x, x₀]": "!A&L=1;λb.[b,A₀]",
    "! x &L = 1; ! x &M = 2; [x₀, x₁]": "!A&L=1;!B&M=2;[B₀,B₁]",
    "λx. ! x &L = x; x₀": "λa.!B&L=a;B₀",
    "λx. ! y &(x) = 1; y₁": "λa.!(a)=1;λb.λc.c",
    "λx. λx&(x). x₀": "λa.λb.!(a)=b;λc.λd.c",
    "&Lλx{λx. x; x}": "λa.!B&L=a;&L{λc.c,B₁}",
}


@pytest.mark.parametrize(("source", "expected"), SCOPES.items(), ids=SCOPES)
def test_the_innermost_binder_of_the_kind_binds(source: str, expected: str) -> None:
    assert core(source) == expected


AFFINITY = {
    "λx. [x, x]": "variable 'x' used 2 times",
    "λx. λ{#A: x; #B: x; x}": "variable 'x' used 3 times",
    "λx. &L{x, x}": "variable 'x' used 2 times",
    "! x = 1; x + x": "variable 'x' used 2 times",
    "!! x = 1; x + x": "variable 'x' used 2 times",
    "! d &D = 1; [d₁, d₁]": "variable 'd₁' used 2 times",
    "! d &D = 1; [d₀, d₁, d₀]": "variable 'd₀' used 2 times",
    "λx&L. [x₁, x₁]": "variable 'x₁' used 2 times",
    "λx&(1). [x₁, x₁]": "variable 'x₁' used 2 times",
    "! f = λ v ; [f(1)(2), v, v]": "variable 'v' used 2 times",
    "! f = λ v ; f(f(v))": "variable 'f' used 2 times",
    # fork names (D4)
    "&Lλx{[x,x]; x}": "variable 'x₀' used 2 times",
    "&Lλx{x₁; x}": "variable 'x₁' used 2 times",
    # a fork's label stands once for each name and once for the superposition (D6)
    "λl. &(l)λx{x; x}": "variable 'l' used 2 times",
    "λl. &(l)λx,y{x; y}": "variable 'l' used 3 times",
    "λl. &(&(l)λx{x; x}(1))λx{x; x}": "variable 'l' used 4 times",
    "λm. λl. &(l + &(m)λx{x; x}(1))λx{x; x}": "variable 'l' used 2 times",
}


@pytest.mark.parametrize(("source", "cause"), AFFINITY.items(), ids=AFFINITY)
def test_a_second_use_is_refused(source: str, cause: str) -> None:
    error = refused(f"@main = {source}")

    assert isinstance(error, NotAffine)
    assert cause in str(error)
    assert error.hint


def test_the_caret_stands_below_the_last_use() -> None:
    error = refused("@main = λx.\n  [x,\n   x]")

    assert (error.line, error.col) == (3, 4)


def test_cloning_lifts_the_refusal() -> None:
    for source in AFFINITY:
        if source.startswith(("λx.", "λl.")):
            core(f"λ&{source[1:]}")


UNBOUND = {
    "b": "undefined variable 'b'",
    "λx. x₁": "non-dup variable 'x' must be used without subscript (₀ or ₁)",
    "! d &D = 1; d": "dup variable 'd' requires subscript ₀ or ₁",
    "! x &(1) = 5; x": "dup variable 'x' requires subscript ₀ or ₁",
    "! x = x; x": "undefined variable 'x'",
    "! x &L = x₀; x₀": "undefined variable 'x'",
    "(λx. x)(x)": "undefined variable 'x'",
    "λx&(x). x₀": "undefined variable 'x'",
    "λ{#A: λx. x; x}": "undefined variable 'x'",
    "[&Lλx{x; x}, x]": "undefined variable 'x'",
}


@pytest.mark.parametrize(("source", "cause"), UNBOUND.items(), ids=UNBOUND)
def test_a_name_that_nothing_binds_is_refused(source: str, cause: str) -> None:
    error = refused(f"@main = {source}")

    assert isinstance(error, UnboundName)
    assert cause in str(error)


def test_an_unbound_name_gets_the_nearest_one_or_the_definition_suggested() -> None:
    assert "did you mean 'count'?" in refused("@main = λcount. cuont").hint
    assert "@f" in refused("@f = 1 @main = f(2)").hint


@pytest.mark.parametrize(("length", "found"), [(233, True), (234, False)])
def test_the_first_hundred_letters_are_compared(length: int, found: bool) -> None:  # noqa: FBT001
    """A near name has three fifths of all letters in common: 200 of 333 are enough."""
    assert ("did you mean" in refused(f"@main = λ{'a' * length}. {'a' * 150}").hint) == found


@pytest.mark.parametrize(("others", "found"), [(999, True), (1000, False)])
def test_a_thousand_names_are_compared(others: int, found: bool) -> None:  # noqa: FBT001
    names = ",".join(f"k{index}" for index in range(others))
    assert ("did you mean 'zebra'?" in refused(f"@main = λ{names},zebra. zebr").hint) == found
