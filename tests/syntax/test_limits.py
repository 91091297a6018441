"""Programs too large for their words: refused where they stand, never cut."""

from __future__ import annotations

import pytest

from hvm4viz import limits
from hvm4viz.errors import ProgramError
from hvm4viz.program import parse
from hvm4viz.syntax.names import BUILT_IN


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


def test_a_parameter_with_a_label_is_followed_by_another_one() -> None:
    one, two = parse("@main = λx&(3),y. #P{x₀, x₁, y}"), parse("@main = λx&(3). λy. #P{x₀, x₁, y}")
    assert one.book.code.tolist() == two.book.code.tolist()
