"""The printer on heaps laid out by hand, on books, and on instances (``printing.md``)."""

from __future__ import annotations

import numpy as np
import pytest

from hvm4viz.book import Book
from hvm4viz.program import parse
from hvm4viz.readback import Term
from hvm4viz.syntax.printer import show
from hvm4viz.syntax.spelling import alpha
from hvm4viz.syntax.tokens import name_id
from hvm4viz.term import CHR, CON, NIL, SUB_BIT, SUC, ZER, Tag, pack
from tests.syntax.reading import core

BOOK = parse("@main = #Widget{@main} @f = λx. %log(x)").book
A, D, L = name_id("a"), name_id("D"), name_id("L")


def num(value: int) -> int:
    return pack(Tag.NUM, 0, value)


def printed(*cells: int, quoted: bool = False, book: Book = BOOK) -> str:
    """Print cell 1 of a heap whose cells are given from 1."""
    words = [0, *cells]
    text = show(words, 1, book, quoted=quoted)
    assert show(np.array(words, np.uint64), 1, book, quoted=quoted) == text
    return text


@pytest.mark.parametrize(
    ("number", "name"), [(0, "_"), (1, "a"), (26, "z"), (27, "aa"), (52, "az"), (53, "ba"), (702, "zz"), (703, "aaa")]
)
def test_binders_are_counted_in_letters(number: int, name: str) -> None:
    assert alpha(number) == name


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([num(0xFFFFFFFF)], "4294967295"),
        ([pack(Tag.NAM, name_id("nm"))], "nm"),
        ([pack(Tag.REF, 0)], "@main"),
        ([pack(Tag.REF, 9)], "@?9"),
        ([pack(Tag.ERA)], "&{}"),
        ([pack(Tag.ANY)], "*"),
        ([pack(Tag.SUP, L, 2), num(1), num(2)], "&L{1,2}"),
        ([pack(Tag.DSU, 0, 2), num(1), num(2), num(3)], "&(1){2,3}"),
        ([pack(Tag.DDU, 0, 2), num(1), num(2), num(3)], "!(1)=2;3"),
        ([pack(Tag.OP2, 9, 2), num(1), num(2)], "(1 >> 2)"),
        ([pack(Tag.EQL, 0, 2), num(1), num(2)], "(1 === 2)"),
        ([pack(Tag.AND, 0, 2), num(1), num(2)], "(1 .&. 2)"),
        ([pack(Tag.OR, 0, 2), num(1), num(2)], "(1 .|. 2)"),
        ([pack(Tag.RED, 0, 2), num(1), num(2)], "1 ~> 2"),
        ([pack(Tag.INC, 0, 2), num(1)], "↑1"),
        ([pack(Tag.USE, 0, 2), num(1)], "λ{1}"),
        ([pack(Tag.PRI, 0, 2), num(1)], "%log(1)"),
        ([pack(Tag.APP, 0, 2), num(1), num(2)], "1(2)"),
        ([pack(Tag.DRY, 0, 2), pack(Tag.APP, 0, 4), num(2), num(3), num(4)], "3(4,2)"),
        ([pack(Tag.APP, 0, 2), pack(Tag.LAM, 0, 4), num(2), num(3)], "(λa.3)(2)"),
        ([pack(Tag.APP, 0, 2), pack(Tag.LAM, 0, 4), num(2), num(3) | SUB_BIT], "(λa.3)(2)"),
        ([pack(Tag.APP, 0, 2), pack(Tag.RED, 0, 4), num(1), num(3), num(4)], "3 ~> 4(1)"),
        # what is called is the variable, not what stands in its binder's body
        (
            [*(pack(tag, 0, 2 + i) for i, tag in enumerate((Tag.LAM, Tag.LAM, Tag.APP))), pack(Tag.VAR, 0, 2)],
            "λa.λb.a(?)",
        ),
        # sugar, and the arity that it asks for (D24)
        ([pack(Tag.C00, ZER)], "0n"),
        ([pack(Tag.C00, NIL)], "[]"),
        ([pack(Tag.C00 + 1, SUC, 2), pack(Tag.C00, ZER)], "1n"),
        ([pack(Tag.C00 + 1, SUC, 2), num(1)], "1n+1"),
        ([pack(Tag.C00 + 2, SUC, 2), num(1), num(2)], "#SUC{1,2}"),
        ([pack(Tag.C00 + 1, ZER, 2), num(1)], "#ZER{1}"),
        ([pack(Tag.C00 + 1, CON, 2), num(1)], "#CON{1}"),
        ([pack(Tag.C00 + 3, CON, 2), num(1), num(2), num(3)], "#CON{1,2,3}"),
        ([pack(Tag.C00 + 2, CON, 2), num(1), pack(Tag.C00, NIL)], "[1]"),
        ([pack(Tag.C00 + 2, CON, 2), num(1), pack(Tag.C00 + 1, NIL, 4), num(2)], "1<>#NIL{2}"),
        ([pack(Tag.C00 + 1, CHR, 2), num(97)], "'a'"),
        ([pack(Tag.C00 + 1, CHR, 2), pack(Tag.ERA)], "#CHR{&{}}"),
        ([pack(Tag.C00 + 2, CHR, 2), num(97), num(98)], "#CHR{97,98}"),
        ([pack(Tag.C00 + 1, name_id("Widget"), 2), num(1)], "#Widget{1}"),
        ([pack(Tag.C00 + 1, name_id("q"), 2), num(1)], "#q{1}"),
        # a duplication as a term: its slot floats
        ([pack(Tag.DUP, D, 2), num(5), pack(Tag.DP0, D, 2)], "A₀;!A&D=5;"),
        ([pack(Tag.DUP, D, 2), num(5), num(1)], "1;!A&D=5;"),
        ([pack(Tag.C16, A, 2), *map(num, range(16))], f"#a{{{','.join(map(str, range(16)))}}}"),
        # what no rule makes
        ([pack(60)], "?"),
        ([pack(Tag.OP2, 17, 2), num(1), num(2)], "(1 ? 2)"),
        ([pack(Tag.EQL, 1, 2), num(1), num(2)], "(1 ? 2)"),
        ([pack(Tag.VAR, 0, 99)], "a"),
        ([pack(Tag.DP1, D, 99)], "A₁;!A&D=?;"),
        ([pack(Tag.SUP, L, 99)], "&L{?,?}"),
    ],
)
def test_term_prints_as_its_row_says(cells: list[int], expected: str) -> None:
    assert printed(*cells) == expected


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "'\\0'"),
        (9, "'\\t'"),
        (10, "'\\n'"),
        (13, "'\\r'"),
        (0x5C, "'\\\\'"),
        (0x27, "'\\''"),
        (0x22, "'\"'"),
        (0x20, "' '"),
        (0x7E, "'~'"),
        (0xA0, "'\xa0'"),
        (0x10FFFF, "'\U0010ffff'"),
        (0xD7FF, "'\ud7ff'"),
        (0xE000, "'\ue000'"),
        *((code, f"#CHR{{{code}}}") for code in (1, 8, 11, 31, 0x7F, 0x9F, 0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF)),
    ],
)
def test_character_prints_as_one_if_it_can_be_shown(code: int, text: str) -> None:
    assert printed(pack(Tag.C00 + 1, CHR, 2), num(code)) == text


def test_string_needs_every_element_to_be_a_character() -> None:
    assert core("""['a', 'b', '"', ''']""") == '"ab\\"\'"'
    assert core("['a', #CHR{127}]") == "['a',#CHR{127}]"
    assert core("['a', 1]") == "['a',1]"
    assert core("'a' <> @t") == "'a'<>@t"


@pytest.mark.parametrize(
    ("source", "expected"),
    {
        "λ{#A: 1; 0}": "λ{#A:1}",
        "λ{#A: 1; 1}": "λ{#A:1;1}",
        "λ{#A: 1; λ{2}}": "λ{#A:1;2}",
        "λ{[]: 0; <>: 1; 0n: 2; 1n+: 3; #K: 4; 5: 6}": "λ{[]:0;<>:1;0n:2;1n+:3;#K:4;5:6}",
    }.items(),
)
def test_case_function_prints_its_chain(source: str, expected: str) -> None:
    assert core(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    {
        "(1n+@a) ^ 3": "(1n+@a ^ 3)",
        "(λc.c) === λc.@r(c)": "(λa.a === λa.@r(a))",
        "^foo": "foo",
        "(! f = λ x; f)(@a)": "! a = λ b ; a(@a)",
        "(! x &(1) = 2; x₀)(@a)": "!(1)=2;λa.λb.a(@a)",
        "(@f ~> 7)(1)": "@f ~> 7(1)",
        "(1 <> 2) <> 3": "1<>2<>3",
    }.items(),
)
def test_no_parentheses_are_added_where_the_printed_form_has_none(source: str, expected: str) -> None:
    """Such text reads back as another term, or as none: ``printing.md`` 2 says to keep it so."""
    assert core(source) == expected


def test_names_are_drawn_when_a_binder_is_first_met() -> None:
    # [x, λy. λx. y]: the variable is met before its binder
    cells = [
        pack(Tag.C00 + 2, A, 2),
        pack(Tag.VAR, 0, 5),
        pack(Tag.LAM, 0, 4),
        pack(Tag.LAM, 0, 5),
        pack(Tag.VAR, 0, 4),
    ]

    assert printed(*cells) == "#a{a,λb.λa.b}"


def test_floating_duplications_follow_in_the_order_of_meeting() -> None:
    # λu,v. ! p &P = u; ! q &Q = v; ! r &R = p₁; [q₁, r₁, p₀, q₀, r₀]
    p, q, r = (name_id(name) for name in "PQR")
    cells = [
        pack(Tag.LAM, 0, 2),
        pack(Tag.LAM, 0, 3),
        pack(Tag.C00 + 5, name_id("T"), 4),
        *(pack(Tag.DP1, q, 10), pack(Tag.DP1, r, 11), pack(Tag.DP0, p, 9), pack(Tag.DP0, q, 10), pack(Tag.DP0, r, 11)),
        *(pack(Tag.VAR, 0, 2), pack(Tag.VAR, 0, 3), pack(Tag.DP1, p, 9)),
    ]

    assert printed(*cells) == "λa.λb.#T{A₁,B₁,C₀,A₀,B₀};!A&Q=b;!B&R=C₁;!C&P=a;"


def test_substitutions_are_seen_through() -> None:
    assert printed(pack(Tag.VAR, 0, 2), num(7) | SUB_BIT) == "7"
    assert printed(pack(Tag.DP1, D, 2), num(7) | SUB_BIT) == "7"
    assert (
        printed(pack(Tag.APP, 0, 2), pack(Tag.VAR, 0, 4), num(1), pack(Tag.LAM, 0, 5) | SUB_BIT, num(2)) == "(λa.2)(1)"
    )


@pytest.mark.parametrize("length", [1, 4, 30])
def test_a_function_behind_any_number_of_substitutions_stands_in_parentheses(length: int) -> None:
    chain = [pack(Tag.VAR, 0, cell + 1) | SUB_BIT for cell in range(4, 3 + length)]
    function = pack(Tag.LAM, 0, 4 + length) | SUB_BIT

    assert printed(pack(Tag.APP, 0, 2), pack(Tag.VAR, 0, 4), num(1), *chain, function, num(2)) == "(λa.2)(1)"


def test_quoted_holes_show_the_names_that_functions_got_from_their_cells() -> None:
    cells = [pack(Tag.C00 + 2, A, 2), pack(Tag.VAR, 0, 4), pack(Tag.VAR, 0, 5), pack(Tag.LAM, 0, 5) | SUB_BIT]

    assert printed(*cells, num(1), quoted=True) == "#a{λa.1,a}"


def test_quoted_binders_are_named_by_depth() -> None:
    cells = [
        pack(Tag.LAM, 1, 2),
        pack(Tag.C00 + 2, A, 3),
        pack(Tag.BJV, 0, 1),
        pack(Tag.LAM, 2, 5),
        pack(Tag.BJV, 0, 2),
    ]

    assert printed(*cells, quoted=True) == "λa.#a{a,λb.b}"
    assert printed(pack(Tag.BJV, 0, 1), quoted=True) == "_"
    assert printed(pack(Tag.VAR, 0, 9), quoted=True) == "_", "an open hole is nobody's (D23)"


def test_cycles_are_cut() -> None:
    # D25: a cell whose content is being printed shows as an ellipsis
    loop = pack(Tag.C00 + 1, A, 2)
    assert printed(loop, pack(Tag.VAR, 0, 3), loop | SUB_BIT) == "#a{#a{…}}"
    assert printed(pack(Tag.VAR, 0, 2), pack(Tag.VAR, 0, 2) | SUB_BIT) == "…"
    assert printed(pack(Tag.APP, 0, 2), pack(Tag.VAR, 0, 4), num(1), pack(Tag.VAR, 0, 4) | SUB_BIT) == "…(1)"
    assert printed(pack(Tag.C00 + 1, SUC, 2), pack(Tag.C00 + 1, SUC, 2)) == "2n+…"
    assert printed(pack(Tag.C00 + 2, CON, 2), num(1), pack(Tag.C00 + 2, CON, 2)) == "1<>1<>…"
    assert printed(pack(Tag.APP, 0, 2), pack(Tag.APP, 0, 2), num(1)) == "…(1,1)"
    assert printed(pack(Tag.MAT, A, 2), num(1), pack(Tag.MAT, A, 2)) == "λ{#a:1;#a:1;…}"


def test_a_shared_cell_that_is_no_cycle_prints_twice() -> None:
    cells = [pack(Tag.C00 + 2, A, 2), pack(Tag.VAR, 0, 4), pack(Tag.VAR, 0, 4)]
    assert printed(*cells, num(7) | SUB_BIT) == "#a{7,7}"
    assert printed(*cells, pack(Tag.C00 + 1, A, 5) | SUB_BIT, num(7)) == "#a{#a{7},#a{7}}"


@pytest.mark.parametrize(
    ("count", "expected"), [(256, [256]), (257, [1, 256]), (512, [256, 256]), (700, [188, 256, 256])]
)
def test_long_spines_are_printed_as_calls_of_256(count: int, expected: list[int]) -> None:
    text = core("@f(" + ",".join(["1"] * count) + ")")

    assert [part.count("1") for part in text.split("(")[1:]] == expected


def test_limit_cuts_the_text() -> None:
    book = parse("@main = [1,2,3,4,5,6,7,8]").book

    assert show(book.words, 1, book, limit=5) == "[1,2,…"
    assert show(book.words, 1, book, limit=17) == "[1,2,3,4,5,6,7,8]"
    assert show(book.words, 1, book, limit=0) == "…"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1, "A…"), (2, "A₀…"), (5, "A₀;!A…"), (8, "A₀;!A&D=…"), (11, "A₀;!A&D=B₀;…"), (20, "A₀;!A&D=B₀;!B&D=5;")],
)
def test_limit_cuts_the_duplications_that_float_too(limit: int, expected: str) -> None:
    cells = [pack(Tag.DP0, D, 2), pack(Tag.DP0, D, 3), num(5)]

    assert show([0, *cells], 1, BOOK, limit=limit) == expected


def instance(source: str, *environment: int, quoted: bool = False) -> str:
    """Print the body of ``@f``, below its outermost binders, as an instance; the list holds (value) cells."""
    book = parse(f"@f = {source}").book
    loc = int(book.roots[0])
    words = [0, 0]
    entry = 0
    for content in environment:
        loc = (int(book.words[loc]) & 0xFFFFFFFF) + (int(book.words[loc]) >> 56 == Tag.DUP)
        words += [content, entry]
        entry = len(words) - 2
    words[1] = pack(Tag.ALO, loc, entry)
    return show(words, 1, book, quoted=quoted)


def test_instance_prints_its_static_term_and_what_its_variables_stand_for() -> None:
    assert instance("λx. x") == "@{λa.a}"
    assert instance("λx. #P{x, λy. y}", 0) == "@{#P{a,λa.a}}"
    assert instance("λx. λy. #P{x, y}", num(7) | SUB_BIT, 0) == "@{#P{7,a}}"
    assert instance("! d &D = 1; #P{d₀, d₁}", num(1)) == "@{#P{A₀,A₁}};!A&D=1;"
    assert instance("! d &D = 1; #P{d₀, d₁}", num(1) | SUB_BIT) == "@{#P{1,1}}"
    assert instance("λx. ! d &D = x; [d₁, d₀]", 0) == "@{!A&D=a;[A₁,A₀]}"
    assert instance("λx. λy. x", num(3) | SUB_BIT) == "@{λa.3}", "an erased binder makes no entry"
    assert instance("λx. ! f = λ y ; #P{f, y, x}", 0) == "@{! a = λ b ; #P{a,b,a}}"


def test_an_environment_ends_with_the_heap() -> None:
    book = parse("@f = λx. λy. #P{x, y}").book

    assert show([0, pack(Tag.ALO, int(book.roots[0]) + 2, 1)], 1, book) == "@{#P{_,a}}"


def test_quoted_instance_shows_holes() -> None:
    assert instance("λx. λy. #P{x, y}", 0, num(2) | SUB_BIT, quoted=True) == "@{#P{_,2}}"


def test_unscoped_pair_prints_both_names() -> None:
    cells = [pack(Tag.UNS, 0, 2), pack(Tag.LAM, 0, 3), pack(Tag.LAM, 0, 4), pack(Tag.APP, 0, 5)]

    assert printed(*cells, pack(Tag.VAR, 0, 3), pack(Tag.VAR, 0, 4)) == "! a = λ b ; a(b)"
    assert printed(pack(Tag.UNS, 0, 2), num(1)) == "! _ = λ _ ; 1"
    assert printed(pack(Tag.UNS, 0, 2), pack(Tag.LAM, 0, 3), num(1)) == "! a = λ _ ; 1"
    assert printed(*cells[:3], pack(Tag.LAM, 0, 5), num(1)) == "! a = λ b ; λc.1"


def test_variables_of_an_instance_that_are_bound_outside() -> None:
    """Levels count binders from the inside out; behind those of the instance come the entries of its environment."""
    book = parse("@f = λx. λy. λz. #P{x, y, z}\n@main = @f").book
    words = np.zeros(8, np.uint64)
    words[4] = pack(Tag.NUM, 0, 7)
    for cell, env, text in (
        (1, 0, "λa.λb.λc.#P{a,b,c}"),
        (2, 0, "λa.λb.#P{_,a,b}"),
        (3, 0, "λa.#P{_,_,a}"),
        (3, 4, "λa.#P{_,a,a}"),
        (4, 0, "#P{_,_,_}"),
        (4, 4, "#P{_,_,a}"),
        (5, 4, "_"),
        (7, 4, "a"),
    ):
        words[0] = pack(Tag.ALO, cell, env)
        assert Term(words, 0, book).text == f"@{{{text}}}"
