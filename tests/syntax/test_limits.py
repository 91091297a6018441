"""Programs too large for their words: refused where they stand, never cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from hvm4viz import limits
from hvm4viz.errors import ProgramError, Source, UnboundName
from hvm4viz.program import parse
from hvm4viz.syntax.names import BUILT_IN, Names
from hvm4viz.syntax.parser import Unit, parse_units
from hvm4viz.syntax.writer import BookFull, Writer
from tests.syntax.reading import failure


def refused(source: str) -> int:
    """Return the line in which a program is refused."""
    with pytest.raises(ProgramError, match="too large") as caught:
        parse(source)
    assert caught.value.line is not None
    return caught.value.line


@pytest.fixture(autouse=True)
def labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "AUTO_LABEL_START", 1)  # so that words can be small


def test_definitions_have_as_many_numbers_as_a_word_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "@a = 1\n@b = 2\n@main = @a"
    monkeypatch.setattr(limits, "EXT_END", 3)
    assert len(parse(source).book.names) == 3
    assert refused(source + "\n@c = 3") == 4


def test_constructors_have_as_many_numbers_as_a_word_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "@main = #A{#Bc{1},\n#Def{}"
    monkeypatch.setattr(limits, "EXT_END", len(BUILT_IN) + 3)
    parse(source + "}")
    assert refused(source + ", #Ghij{}}") == 2


@pytest.mark.parametrize("item", ["1", "'a'", "x"])
def test_lists_have_as_many_items_as_a_word_counts(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    binder = "λ&x. " * (item == "x")
    monkeypatch.setattr(limits, "EXT_END", 1 << 12)
    parse(f"@main = {binder}[{','.join([item] * ((1 << 12) - 1))}]")
    assert refused(f"@main = {binder}[{','.join([item] * (1 << 12))}]") == 1


def test_a_long_list_is_refused_before_all_of_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 20)
    assert refused("@main = [" + "1,\n" * 1000 + "this is no program") < 1000


@pytest.mark.parametrize("item", ["1", "9", "[1]", "(@f + @f)"])
def test_what_needs_more_cells_than_a_book_has_is_refused_where_it_does(
    item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 20)
    assert isinstance(failure(f"@main = [{20 * (item + ',')} @f, unbound]"), UnboundName)
    assert refused(f"@main = [{21 * (item + ',')} @f, unbound]") == 1


@pytest.mark.parametrize(("nat", "fits"), [("16777215", True), ("16777216", False), ("100000000", False)])
def test_unary_numbers_are_refused_where_they_stand(nat: str, fits: bool) -> None:  # noqa: FBT001
    error = failure(f"@main = [{nat}n, unbound]")
    assert isinstance(error, UnboundName) == fits
    assert fits or "too large" in str(error)


def test_nesting_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NESTING_MAX", 10)
    parse("@main = " + "(" * 10 + "1" + ")" * 10)

    error = failure("@main = " + "(" * 11 + "1" + ")" * 11)

    assert "10 nested forms" in str(error)


def test_uses_that_forks_copy_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "@main = λl. &(l + l)λx,y{x; y}"
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 6)
    assert "variable 'l' used 6 times" in str(failure(source))
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 5)
    error = failure(source)
    assert error is not None
    assert error.span is not None
    assert ("too large" in str(error), error.span.text) == (True, "l + l")


def test_the_uses_in_one_label_after_the_other_are_not_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    label = "l"
    for _ in range(6):
        label = f"&({label})λx{{x; x}}(1)"
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 250)
    assert "variable 'l' used 128 times" in str(failure(f"@main = λl. [{label}, {label}]"))
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 249)
    assert "too large" in str(failure(f"@main = λl. {label}"))


@pytest.mark.parametrize("literal", ["[1,2,3,4,5,6]", '"abcd"', "9n"])
def test_nothing_is_written_of_a_literal_that_does_not_fit(literal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = parse_units([Unit(Source("t", f"@main = {literal}"), Path(), Path())], Names())
    writer = Writer(parsed)
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", 10)

    with pytest.raises(BookFull):
        writer.write(parsed.definitions[0])

    assert len(writer.words) == 2, "the cell that is never used, and the root"


def test_a_parameter_with_a_label_is_followed_by_another_one() -> None:
    one, two = parse("@main = λx&(3),y. #P{x₀, x₁, y}"), parse("@main = λx&(3). λy. #P{x₀, x₁, y}")
    assert one.book.code.tolist() == two.book.code.tolist()
