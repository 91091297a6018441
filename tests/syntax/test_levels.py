"""Forms inside operators: every bracket starts anew, what stands behind goes on as before; and where hints point."""

from __future__ import annotations

from pathlib import Path

import pytest

from hvm4viz.program import parse
from hvm4viz.syntax.names import PRIMITIVES, register_primitive
from hvm4viz.syntax.printer import show
from hvm4viz.term import Tag, ext_of, pack, tag_of
from tests.syntax.reading import core, refused
from tests.syntax.test_printer import BOOK


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("2 * λ{0: 1 + 2} + 3", "((2 * λ{0:(1 + 2)}) + 3)"),
        ("2 * λ{0: 1 + 2; 1: 3 + 4; 5 + 6} + 7", "((2 * λ{0:(1 + 2);1:(3 + 4);(5 + 6)}) + 7)"),
        ("2 * λ{0: 1; 1 + 2}(4) + 3", "((2 * λ{0:1;(1 + 2)}(4)) + 3)"),
        ("2 * λ{λx. x + 1} + 3", "((2 * λ{λa.(a + 1)}) + 3)"),
        ("2 * &L{1 + 2, 3 + 4} + 5", "((2 * &L{(1 + 2),(3 + 4)}) + 5)"),
        ("2 * &(1 + 2){3 + 4, 5 + 6} + 7", "((2 * &((1 + 2)){(3 + 4),(5 + 6)}) + 7)"),
        ("2 * [1 + 2, 3] + 4", "((2 * [(1 + 2),3]) + 4)"),
        ("! x &(1 + 2) = 3; 2 * x₀ + x₁", "!((1 + 2))=3;λa.λb.((2 * a) + b)"),
        ("2 * ! x &(1) = 3 + 4; x₀ + x₁", "(2 * !(1)=(3 + 4);λa.λb.(a + b))"),
        ("2 * ! x = 3 + 4; x + 1", "(2 * (λa.(a + 1))((3 + 4)))"),
        ("2 * #A{1 + 2} + 3", "((2 * #A{(1 + 2)}) + 3)"),
        ("2 * (1 + 2) + 3", "((2 * (1 + 2)) + 3)"),
        ("2 * %log(1 + 2) + 3", "((2 * %log((1 + 2))) + 3)"),
        ("2 * @main(1 + 2, 3 + 4) + 5", "((2 * @main((1 + 2),(3 + 4))) + 5)"),
        ("2 * ^(1 + 2 3 + 4) + 5", "((2 * (1 + 2)((3 + 4))) + 5)"),
        ("2 * ↑@main + 5", "((2 * ↑@main) + 5)"),
        ("2 * ! x &L = 3 + 4; x₀ + x₁", "(2 * !A&L=(3 + 4);(A₀ + A₁))"),
        ("2 * ! f = λ x ; f + x", "(2 * ! a = λ b ; (a + b))"),
        ("2 * &Lλx{1 + x; 2 * x} + 3", "((2 * λa.!B&L=a;&L{(1 + B₀),(2 * B₁)}) + 3)"),
        # a label is read once and used by each of its forks
        ("λ&a. &(a){&(a){1, 2}, 3}", "λa.!B&F___=a;&(B₀){&(B₁){1,2},3}"),
        ("λ&x. &(x){x, x}", "λa.!B&F___=a;!C&F__a=B₁;&(B₀){C₀,C₁}"),
        ("λ&a. &L{λ{0: a; a}, a}", "λa.!B&F___=a;!C&F__a=B₁;&L{λ{0:B₀;C₀},C₁}"),
    ],
)
def test_a_bracket_starts_anew_and_ends(source: str, expected: str) -> None:
    assert core(source) == expected


ENDED = "the term before has ended here: to apply f to x write f(x), not f x; a definition is @name = term"


@pytest.mark.parametrize(
    ("source", "place", "hint"),
    [
        ("@main = λ{0: 1", "1:15", "the '{' at 1:10 is still open"),
        ("@main = 1 + λ{0: 1", "1:19", "the '{' at 1:14 is still open"),
        ("@main = λ{\n  0: 1\n  ; 2", "3:6", "the '{' at 1:10 is still open"),
        ("@main = λ{λx. x", "1:16", "the '{' at 1:10 is still open"),
        ("@main = &(1", "1:12", "the '(' at 1:10 is still open"),
        ("@main = &(1 2){3, 4}", "1:13", "to apply f to x write f(x), not f x; the '(' at 1:10 is still open"),
        ("@main = ! x &(1 = 2; x₀", "1:17", "the '(' at 1:14 is still open"),
        ("@main = 1 + @main(1", "1:20", "the '(' at 1:18 is still open"),
        ("@main = [1, 2", "1:14", "the '[' at 1:9 is still open"),
        ("@main = 1 .&. (2", "1:17", "the '(' at 1:15 is still open"),
        ("@main = (1 + 2 * 3", "1:19", "the '(' at 1:9 is still open"),
        ("@main = '", "1:10", "a character ends with '"),
        ("@main = 'a", "1:11", 'a character is one sign; a string stands between "'),
        ("@main = '\\nb'", "1:12", 'a character is one sign; a string stands between "'),
        ("@main = ''", "1:11", "there is no empty character; \\' or ''' is the quote itself"),
        ("@main = '\\", "1:11", "a character ends with '"),
        ("@main = ''x", "1:11", "there is no empty character; \\' or ''' is the quote itself"),
        ("@main = &L {1", "1:14", "the '{' at 1:12 is still open"),
        ("@main = &(1) {2", "1:16", "the '{' at 1:14 is still open"),
        ("@main = &Lλx {&₀: x", "1:20", "the '{' at 1:14 is still open"),
        ("@main = &Lλx {x; x", "1:19", "the '{' at 1:14 is still open"),
        ("@main = & (1", "1:13", "the '(' at 1:11 is still open"),
        ("@main = ^ (1", "1:13", "the '(' at 1:11 is still open"),
        ("@main = ^ (1 2 3)", "1:16", "a stuck application is ^(head argument)"),
        ("@main = %log (1", "1:16", "the '(' at 1:14 is still open"),
        ("@main = λx & (1", "1:16", "the '(' at 1:14 is still open"),
        ("@main = ! x & (1", "1:17", "the '(' at 1:15 is still open"),
        ("@main = λ {0: 1", "1:16", "the '{' at 1:11 is still open"),
        ("@main = #A {1", "1:14", "the '{' at 1:12 is still open"),
        ("@main = @main (1", "1:17", "the '(' at 1:15 is still open"),
        ("@main = [1, )", "1:13", "the '[' at 1:9 is still open"),
        ("@main = ! x 5; x", "1:13", "a let is ! x = value; body, a duplication ! x &L = value; body"),
        ("@main = ! f = λ v ; [f, v, v]", "1:28", "duplicate it: ! d &L = v; ... d₀ ... d₁"),
        ("@main = &Lλx{[x,x]; x}", "1:17", "duplicate it: ! d &L = x₀; ... d₀ ... d₁"),
        ("@main = ! f = λ v ; f(f(v))", "1:23", "duplicate it: ! d &L = f; ... d₀ ... d₁"),
        ("@main = #1", "1:10", "a constructor is #Name or #Name{a, b}"),
        ("@main = %log 1", "1:14", "a primitive stands with its arguments: %log(...)"),
        (") 1", "1:1", "a definition is @name = term"),
        ("@main = 1.5", "1:10", "numbers are whole: from 0 to 4294967295"),
        ("@main = 1: 5", "1:10", ENDED),
        ("@main = @f.5", "1:11", ENDED),
        ("= 1", "1:1", "a definition is @name = term"),
        ('#include "a', "1:12", ""),
        ("#include x", "1:10", 'write #include "file.hvm4"'),
    ],
)
def test_where_it_stops_and_what_is_open(source: str, place: str, hint: str) -> None:
    error = refused(source)

    assert f"{error.line}:{error.col}" == place
    assert error.hint == hint


@pytest.mark.parametrize(
    ("source", "sign"),
    [
        ("@main = @f( ", ")"),
        ("@main = @f(1, ", ")"),
        ("@main = [ //", "]"),
        ("@main = [@f, ", "]"),
        ("@main = #A{", "}"),
    ],
)
def test_a_closing_sign_is_expected_where_the_file_ends(source: str, sign: str) -> None:
    assert f"- expected: {sign}\n- detected: EOF" in str(refused(source))


@pytest.mark.parametrize(("source", "col"), [("@main = [)1]", 10), ("@main = [ )", 11), ("@main = #A{]}", 12)])
def test_another_closing_sign_is_no_item(source: str, col: int) -> None:
    error = refused(source)

    assert error.col == col
    assert "a term is missing" in error.hint


def test_numbers_just_behind_the_last_name_are_no_names() -> None:
    for tag, known, shown in ((Tag.REF, len(BOOK.names), "@?2"), (Tag.PRI, len(BOOK.prims), f"%?{len(BOOK.prims)}()")):
        assert show([0, pack(tag, known)], 1, BOOK) == shown


def test_the_primitives_that_are_always_there_take_one_argument() -> None:
    assert PRIMITIVES == (("log", 1), ("gnf", 1), ("nf", 1))
    for arity in (-1, 17):
        with pytest.raises(ValueError, match=f"arity {arity} of %p is not between 0 and 16"):
            register_primitive("p", arity)


@pytest.mark.parametrize(("source", "place"), [("@main = %log()", "1:14"), ("@main = 1 + %log()", "1:18")])
def test_a_missing_argument_is_shown_where_it_should_stand(source: str, place: str) -> None:
    error = refused(source)

    assert (f"{error.line}:{error.col}", error.hint) == (place, "this primitive takes 1")


@pytest.mark.parametrize(
    ("source", "spans"),
    [
        ("@main = #A{'a', 1}", ["#A{'a', 1}", "'a'", "1", "'a'"]),
        ("@main = λ{0: 1}", ["λ{0: 1}", "1", "}"]),
        ("@main = λ{#B: λx. x; 3}", ["λ{#B: λx. x; 3}", "λx. x", "3", "x"]),
        ("@main = &L{1, 2}", ["&L{1, 2}", "1", "2"]),
        ("@main = 1 + &(2){3, 4}", ["1 + &(2){3, 4}", "1", "&(2){3, 4}", "2", "3", "4"]),
        ("@main = λ&a. &ab{a, a}", ["λ&a. &ab{a, a}", "&ab{a, a}", "&ab{a, a}", "&ab{a, a}", "a", "a"]),
        ("@main = 2 + @main", ["2 + @main", "2", "@main"]),
        ("@main = @main === 1", ["@main === 1", "@main", "1"]),
        ("@main = (1 + 2) + (3)", ["(1 + 2) + (3)", "(1 + 2)", "(3)", "1", "2"]),
        ("@main = ! f = λ x; f", ["! f = λ x; f", "! f = λ x; f", "f", "f"]),
        ("@main = [1, 2]", ["[1, 2]", "1", "[1, 2]", "2", "[1, 2]"]),
        ('@main = "ab"', ['"ab"'] * 7),
        ("@main = ! x = 1 + 2; x", ["! x = 1 + 2; x", "! x = 1 + 2; x", "1 + 2", "x", "1", "2"]),
        ("@main = 1 + 2 * 3", ["1 + 2 * 3", "1", "2 * 3", "2", "3"]),
        ("@main = @main(1, 2)", ["@main(1, 2)", "@main(1", "2", "@main", "1"]),
        ("@main = 1 + &{}", ["1 + &{}", "1", "&{}"]),
        ("@main = 1 + 3n", ["1 + 3n", "1", "3n", "3n", "3n", "3n"]),
        ("@main = #A{} + @f()", ["#A{} + @f()", "#A{}", "@f()"]),
        ("@main = * + ↑23", ["* + ↑23", "*", "↑23", "23"]),
        ("@main = ^(1 2) + ^ab", ["^(1 2) + ^ab", "^(1 2)", "^ab", "1", "2"]),
        ("@main = ! x &L = 1; x₀", ["! x &L = 1; x₀", "1", "x₀"]),
        ("@main = ! x &(1) = 2; x₀", ["! x &(1) = 2; x₀", "1", "2", "x₀", "x₀", "x₀"]),
        ("@main = λx, y. x", ["λx, y. x", "y. x", "x"]),
        ("@main = λx&(7), y. y", ["λx&(7), y. y", "7", "y. y", "y. y", "y. y", "y. y", "y. y", "y"]),
        ("@main = λ{0: 1; 1: 2; 3}", ["λ{0: 1; 1: 2; 3}", "1", "1: 2; 3}", "2", "3"]),
        ("@main = λ{λx. x}", ["λ{λx. x}", "λx. x", "x"]),
        ("@main = &Lλx{x; 2}", ["&Lλx{x; 2}"] * 4 + ["x", "2"]),
        ("@main = &(1)λx{x; 2}", ["&(1)λx{x; 2}"] * 6 + ["1", "1", "x", "2"]),
        ("@main = [1, [2,3], 4]", ["[1, [2,3], 4]"] * 4 + ["1", "4", "2", "3"] + ["[2,3]"] * 3),
        ("@main = 2n+λx. x", ["2n+λx. x", "λx. x", "λx. x", "x"]),
    ],
)
def test_every_cell_knows_the_form_that_it_came_from(source: str, spans: list[str]) -> None:
    book = parse(source).book
    found = [span.text for cell in range(1, len(book.words)) if (span := book.span(cell)) is not None]

    assert sorted(found) == sorted(spans)


def test_a_file_ends_at_its_first_nul_and_so_does_one_that_is_included(tmp_path: Path) -> None:
    (tmp_path / "inner.hvm4").write_bytes(b"@f = 7\n\0 no program any more (")
    program = parse('#include "inner.hvm4"\n@main = @f\0(', root=tmp_path)

    assert set(program.names) == {"f", "main"}
    assert [text for _, text in program.files] == ['#include "inner.hvm4"\n@main = @f', "@f = 7\n"]


@pytest.mark.parametrize(
    ("source", "tag"),
    [
        ("&(1){2, 3}", Tag.DSU),
        ("! x &(1) = 2; x₀ + x₁", Tag.DDU),
        ("! f = λ x; f", Tag.UNS),
        ("1 === 2", Tag.EQL),
        ("1 .&. 2", Tag.AND),
        ("1 .|. 2", Tag.OR),
        ("1 ~> 2", Tag.RED),
        ("↑1", Tag.INC),
        ("^(1 2)", Tag.DRY),
        ("@main(1)", Tag.APP),
        ("! x = 1; x", Tag.APP),
        ("!! x = 1; x", Tag.USE),
        ("λ{λx. x}", Tag.USE),
    ],
)
def test_a_node_without_a_name_has_none(source: str, tag: int) -> None:
    words = parse(f"@main = {source}").book.words

    assert [word for word in words.tolist() if tag_of(word) == tag and ext_of(word) != 0] == []
    assert any(tag_of(word) == tag for word in words.tolist())


def test_an_unscoped_variable_cannot_be_cloned() -> None:
    assert refused("@main = ! f = λ &x; f").col == 19
