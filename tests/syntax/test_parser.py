"""Every surface form against the core term that ``language.md`` 5 gives it."""

from __future__ import annotations

import pytest

from hvm4viz.program import load, parse
from tests.case_files import Case, cases
from tests.syntax.reading import core, refused

FORMS = {
    # functions
    "λx. x": "λa.a",
    "λx,y. x(y)": "λa.λb.a(b)",
    "λx,{#A: 1; 2}": "λa.λ{#A:1;2}",
    "λx,y&L,&z. [x,y₀,y₁,z,z]": "λa.λb.!C&L=b;λd.!E&F___=d;[a,C₀,C₁,E₀,E₁]",
    "λx&L. x₀(x₁)": "λa.!B&L=a;B₀(B₁)",
    "λx&. x₀(x₁)": "λa.!B&F___=a;B₀(B₁)",
    "λ x & . x ₀": "λa.!B&F___=a;B₀",
    "λx&(7). x₀(x₁)": "λa.!(7)=a;λb.λc.b(c)",
    "λl,x&(l). x₀": "λa.λb.!(a)=b;λc.λd.c",
    # calls
    "(λx.x)(1,2)": "(λa.a)(1,2)",
    "@f()": "@f",
    "@f ( 1 2 , )": "@f(1,2)",
    "@f(1)(2)": "@f(1,2)",
    # lets, duplications, unscoped pairs
    "! x = 5; x": "(λa.a)(5)",
    "! x = 5 x": "(λa.a)(5)",
    "λx. ! x = x; x": "λa.(λb.b)(a)",
    "!! x = 5; x": "λ{λa.a}(5)",
    "! ! x = 5; x": "λ{λa.a}(5)",
    "! &x = 5; [x,x]": "(λa.!B&F___=a;[B₀,B₁])(5)",
    "!! &x = 5; [x,x]": "λ{λa.!B&F___=a;[B₀,B₁]}(5)",
    "! x &L = 5; [x₁,x₀]": "!A&L=5;[A₁,A₀]",
    "! x & = 5; [x₁,x₀]": "!A&F___=5;[A₁,A₀]",
    "! x &(1) = 5; [x₁,x₀]": "!(1)=5;λa.λb.[b,a]",
    "!! x &L = 5; x₀": "!A&L=5;A₀",
    "! f = λ x ; [f(1),x]": "! a = λ b ; [a(1),b]",
    "! &f = λ x ; [f(1),x]": "! a = λ b ; [a(1),b]",
    # after `= λ` the unscoped pair backs out (D8)
    "! f = λ{0: 1}; f(2)": "(λa.a(2))(λ{0:1})",
    "! f = λ&x. x(x); f": "(λa.a)(λa.!B&F___=a;B₀(B₁))",
    "! f = λx. x; f": "(λa.a)(λa.a)",
    "! f = λ x, y. x; f": "(λa.a)(λa.λb.a)",
    # superpositions and erasure
    "&L{1,2}": "&L{1,2}",
    "& L { 1 2 }": "&L{1,2}",
    "&L{1,2,}": "&L{1,2}",
    "&(1){1,2}": "&(1){1,2}",
    "&{}": "&{}",
    "& { }": "&{}",
    "λ{}": "&{}",
    # constructors, lists, literals
    "#K": "#K{}",
    "#K{}": "#K{}",
    "# K { 1 2 , }": "#K{1,2}",
    "[1,2]": "[1,2]",
    "[1 2 3, 4,]": "[1,2,3,4]",
    "[@f, [2], 3]": "[@f,[2],3]",
    "[1 , 2,3+4, 5n, 6,]": "[1,2,(3 + 4),5n,6]",
    "[[1] , [1,2,] [ 3 4 ], [5](6), [7]<>8, [[9]]]": "[[1],[1,2],[3,4],[5](6),[7]<>8,[[9]]]",
    "#P{1, 2, [3], @f, [4], 5}": "#P{1,2,[3],@f,[4],5}",
    "@f(1, [2], 3)(4, @g)": "@f(1,[2],3,4,@g)",
    "[]": "[]",
    "1 <> 2": "1<>2",
    "1 <> []": "[1]",
    '"hi"': '"hi"',
    '""': "[]",
    "``": "[]",
    '`a"b`': '"a\\"b"',
    "'c'": "'c'",
    "'''": "'\\''",
    "'\\\\'": "'\\\\'",
    "'\\λ'": "'λ'",  # one character, not bytes (D1)
    "3n": "3n",
    "0n": "0n",
    "007n": "7n",
    "2n+@t": "2n+@t",
    "2n+3n": "5n",
    "0n+1": "1",
    "2n+1 - 1": "2n+(1 - 1)",
    "4294967297": "1",
    "99999999999999999999999999999999999999999999": "4294967295",
    # case functions
    "λ{@f}": "λ{@f}",
    "λ{#A: 1; #B: 2; 3}": "λ{#A:1;#B:2;3}",
    # the rest
    "^nm": "nm",
    "^ nm": "nm",
    "^(@f 1)": "@f(1)",
    '%log("x")': '%log("x")',
    "% gnf ( 1 )": "%gnf(1)",
    "%nf(1,)": "%nf(1)",
    "@f ~> @g": "@f ~> @g",
    "↑5": "↑5",
    "↑↑5": "↑↑5",
    "*": "*",
    "[*]": "[*]",
}


@pytest.mark.parametrize(("source", "expected"), FORMS.items(), ids=FORMS)
def test_form_means_its_core_term(source: str, expected: str) -> None:
    assert core(source) == expected


def test_a_mark_takes_an_atom_alone() -> None:
    assert core("↑@f(1)") == "↑@f(1)"
    book = parse("@main = ↑@f(1)").book
    assert book.words[1] >> 56 == 0, "an application is outermost"


def test_definitions_need_no_separator_and_the_last_of_a_name_counts() -> None:
    assert core("@a", "@a=1@a=2") == "@a"
    program = parse("@six=6@main=[@six,@six]@six=7")
    assert program.names == ("six", "main")
    assert core("[@x]", "@x = 1 // @x = 2") == "[@x]"


def test_comments_stand_between_any_two_tokens() -> None:
    assert core("λ//a\nx//b\n.//c\n!//d\ny//e\n&//f\nL//g\n=//h\nx;[y//i\n₀//j\n,y₁]//k") == "λa.!B&L=a;[B₀,B₁]"


def test_two_slashes_are_no_division() -> None:
    assert core("8 // 2") == "8"


def test_nul_ends_the_file() -> None:
    assert core("5", "\0 @@ garbage") == "5"


def test_names_count_in_full() -> None:
    # HVM4 cuts names to four characters; here they are told apart (D2)
    assert core("λabcde. λzbcde. [abcde, zbcde]") == "λa.λb.[a,b]"
    assert core("[#Widget, #dget, #Gadget{1}]") == "[#Widget{},#dget{},#Gadget{1}]"


def test_a_constructor_that_shares_the_id_of_a_built_in_is_another() -> None:
    assert core("[#aZER, #ZER, #a_ZER, #Zer]") == "[#aZER{},0n,#a_ZER{},#Zer{}]"


def test_a_label_of_id_zero_or_all_ones_is_a_label_like_others() -> None:
    # D9
    assert core("! x &a____ = 1; [x₀,x₁]") == "!A&_=1;[A₀,A₁]"
    assert core("! x &a$$$$ = 1; [x₀,x₁]") != core("! x &(1) = 1; [x₀,x₁]")


@pytest.mark.parametrize("case", [case for case in cases() if case.error != "parse"], ids=str)
def test_every_case_parses(case: Case) -> None:
    assert "main" in load(case.source_path).names


PARSE_ERRORS = {
    "err_no_definition": ["expected: definition or #include", "detected: 'm'"],
    "err_missing_equals": ["expected: =", "detected: '5'"],
    "err_missing_term": ["expected: name", "detected: EOF"],
    "err_unbound": ["undefined variable 'b'"],
    "err_affine_lam": ["variable 'x' used 2 times", "hint: declare variable as '&x' to allow multiple uses"],
    "err_affine_dup": ["variable 'd₁' used 2 times", "hint: declare variable as '&d' to allow multiple uses"],
    "err_affine_uns": ["variable 'v' used 2 times", "hint: "],
    "err_need_subscript": ["dup variable 'd' requires subscript ₀ or ₁"],
    "err_no_subscript": ["non-dup variable 'x' must be used without subscript (₀ or ₁)"],
    "err_name_underscore": ["expected: name", "detected: '_'"],
    "err_label_digit": ["expected: name", "detected: '1'"],
    "err_unclosed": ["expected: )", "detected: ']'", "hint: the '(' at 1:13 is still open"],
    "err_string_end": ["expected: character", "detected: EOF", "over line breaks"],
    "err_char_long": ["expected: '", "detected: 'b'"],
    "err_cons_arm": ["expected: name", "detected: ':'", "needs a ; before it"],
    "err_case_default_pattern": ["expected: :", "detected: '}'"],
    "err_nat_pattern": ["expected: }", "detected: ':'"],
    "err_nested_fork": ["nested forks are not allowed"],
    "err_unknown_primitive": ["expected: known primitive"],
    "err_primitive_args": ["expected: end of argument list", "detected: '\"'"],
    "err_space_apply": ["expected: )", "detected: 'x'", "write f(x)"],
}


@pytest.mark.parametrize("case", [case for case in cases() if case.error == "parse"], ids=str)
def test_every_parse_error_says_its_cause(case: Case) -> None:
    error = refused(case.source)

    for words in PARSE_ERRORS[case.name]:
        assert words in str(error)
    assert str(error).startswith(f"t.hvm4:{error.line}:{error.col}: ")
