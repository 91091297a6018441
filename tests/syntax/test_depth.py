"""Size and depth: nothing recurses, and time grows with the text alone."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hvm4viz.program import Program, parse
from hvm4viz.syntax.printer import show
from tests.syntax.reading import failure

DEEP = 100_000


def printed(program: Program) -> str:
    book = program.book
    return show(book.words, int(book.roots[book.entry("main")]), book, quoted=True)


NESTS: dict[str, Callable[[int], tuple[str, str | None]]] = {
    "parentheses": lambda n: ("(" * n + "7" + ")" * n, "7"),
    "applications": lambda n: ("@f(" * n + "1" + ")" * n, "@f(" * n + "1" + ")" * n),
    "spine": lambda n: ("@f" + "(1)" * n, None),
    "functions": lambda n: ("λx." * n + "x", None),
    "parameters": lambda n: ("λ" + ",".join(["x"] * n) + ". x", None),
    "clones": lambda n: ("λ&x." * n + "[x,x,x]", None),
    "chain": lambda n: ("λ&x. [" + "x," * n + "]", None),
    "lets": lambda n: ("!x=1;" * n + "x", None),
    "lets in values": lambda n: ("!x=" * n + "1" + ";x" * n, None),
    "duplications": lambda n: ("!x&=1;" * n + "x₀", None),
    "unscoped": lambda n: ("!f=λx;" * n + "x", None),
    "lists": lambda n: ("[" * n + "]" * n, "[" * n + "]" * n),
    "constructors": lambda n: ("#A{" * n + "}" * n, "#A{" * n + "}" * n),
    "superpositions": lambda n: ("&L{1," * n + "2" + "}" * n, "&L{1," * n + "2" + "}" * n),
    "labels": lambda n: ("&(" * n + "1" + "){1,2}" * n, "&(" * n + "1" + "){1,2}" * n),
    "label of binders": lambda n: ("λx&(" * n + "1" + "). x₀" * n, None),
    "cases": lambda n: ("λ{" * n + "1" + "}" * n, "λ{" * n + "1" + "}" * n),
    "case chain": lambda n: ("λ{" + "7:1;" * n + "}", "λ{" + ";".join(["7:1"] * n) + "}"),
    "operators": lambda n: ("1+" * n + "1", None),
    "right nested": lambda n: ("1<>" * n + "1", "1<>" * n + "1"),
    "equalities": lambda n: ("1===" * n + "1", None),
    "marks": lambda n: ("↑" * n + "1", "↑" * n + "1"),
    "stuck": lambda n: ("^(" * n + "1" + " 1)" * n, None),
    "nats": lambda n: ("1n+" * n + "@x", f"{n}n+@x"),
    "primitives": lambda n: ("%gnf(" * n + "1" + ")" * n, "%gnf(" * n + "1" + ")" * n),
    "comments": lambda n: ("//x\n" * n + "1", "1"),
    "commented items": lambda n: ("[" + "1,//c\n[2],//c\n" * n + "]", "[" + ",".join(["1,[2]"] * n) + "]"),
    "blanks": lambda n: (" \n" * n + "1", "1"),
    "strings": lambda n: ('["' + "a" * n + '"]', None),
    "escapes": lambda n: ('"' + "\\n" * n + '"', '"' + "\\n" * n + '"'),
    "digits": lambda n: ("0" * n + "1", "1"),
    "definitions": lambda n: ("1 " + "".join(f"@d{i}=@d{i + 1}\n" for i in range(n)), "1"),
}


def check(name: str, depth: int) -> None:
    source, expected = NESTS[name](depth)

    started = time.perf_counter()
    text = printed(parse(f"@main = {source}"))

    assert time.perf_counter() - started < 60, "time must grow with the text, not with its square"
    assert expected is None or text == expected


@pytest.mark.parametrize("name", NESTS)
def test_deep_terms_parse_and_print(name: str) -> None:
    check(name, 10_000)


@pytest.mark.parametrize("name", ["parentheses", "applications", "functions"])
def test_a_hundred_thousand_levels_parse_and_print(name: str) -> None:
    check(name, DEEP)


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_any_form_parses_and_prints_a_hundred_thousand_levels_deep(name: str) -> None:
    check(name, DEEP)


@pytest.mark.parametrize("name", NESTS)
def test_a_deep_term_that_ends_too_early_gives_a_short_message(name: str) -> None:
    source, _ = NESTS[name](5_000)

    error = failure(f"@main = {source[: len(source) // 2]} ;)")

    assert error is not None
    assert len(str(error)) < 2000


def test_a_million_elements_parse_and_print() -> None:
    text = "[" + ",".join(map(str, range(1_000_000))) + "]"

    program = parse(f"@main = {text}")

    assert len(program.book.words) == 2_000_002
    assert printed(program) == text


@pytest.mark.slow
def test_a_million_lists_parse_and_print() -> None:
    text = "[" + ",".join(["[1,@f]"] * 1_000_000) + "]"

    assert printed(parse(f"@main = {text}")) == text
