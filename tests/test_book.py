"""The book: cells, levels and indices, tables, spans, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hvm4viz import limits
from hvm4viz.book import Book
from hvm4viz.errors import EntryNotFound, ProgramError
from hvm4viz.program import load, parse
from hvm4viz.term import CHR, CON, LAM_ERA, NIL, SUC, ZER, Tag, arity_of, ext_of, pack, tag_of, val_of
from tests.case_files import Case, cases
from tests.strategies import programs


def check_book(book: Book) -> None:
    """Walk every definition: levels and indices agree, fields lie behind each other, no cell is lost or shared."""
    seen = np.zeros(len(book.words), bool)
    for root in book.roots[book.roots > 0].tolist():
        definition = int(book.definition[root])
        todo: list[tuple[int, list[tuple[int, int]], int]] = [(root, [], 0)]  # cell, entries (level, label), binders
        while todo:
            cell, entries, level = todo.pop()
            assert not seen[cell]
            seen[cell] = True
            assert book.definition[cell] == definition
            start, end = book.spans[cell, 1:].tolist()
            assert 0 <= start <= end <= len(book.sources[int(book.spans[cell, 0])].text)
            word, code = int(book.words[cell]), int(book.code[cell])
            tag, ext, place = tag_of(word), ext_of(word), val_of(word)
            if tag in {Tag.BJV, Tag.BJ0, Tag.BJ1}:
                assert (tag_of(code), ext_of(code)) == (tag, ext)
                assert entries[-1 - val_of(code)] == (place, ext)
                continue
            assert word == code
            if tag == Tag.LAM:
                assert ext & ~LAM_ERA == level + 1
                inside = entries if ext & LAM_ERA else [*entries, (level + 1, 0)]
                todo.append((place, inside, level + 1))
            elif tag == Tag.DUP:
                todo += [(place, entries, level), (place + 1, [*entries, (level + 1, ext)], level + 1)]
            else:
                arity = arity_of(word, book.prims[ext][1] if tag == Tag.PRI else 0)
                todo += [(place + index, entries, level) for index in range(arity)]
    assert seen[1:].all()
    assert not seen[0]


@pytest.mark.parametrize("case", [case for case in cases() if case.error != "parse"], ids=str)
def test_book_of_every_case_is_sound(case: Case) -> None:
    check_book(load(case.source_path).book)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_book_of_any_program_is_sound(source: str) -> None:
    check_book(parse(source).book)


FORKED = '@main = λ&l. &(l + (λ&q. q + q)(l))λx,y{[x, λ&z. z(z, y)]; ["text", 3n+y, [x, 1, 2]]}'


def test_book_of_copied_labels_is_sound() -> None:
    check_book(parse(FORKED).book)


def test_cells_of_the_smallest_program() -> None:
    book = parse("@main = λx. x").book

    assert book.words.tolist() == [0, pack(Tag.LAM, 1, 2), pack(Tag.BJV, 0, 1)]
    assert book.code.tolist() == [0, pack(Tag.LAM, 1, 2), pack(Tag.BJV, 0, 0)]
    assert book.roots.tolist() == [1]
    assert (book.words.dtype, book.code.dtype, book.roots.dtype) == (np.uint64, np.uint64, np.uint32)
    assert not book.words.flags.writeable
    assert book.spans.tolist() == [[0, 0, 0], [0, 8, 13], [0, 12, 13]]


def test_index_skips_binders_without_uses() -> None:
    book = parse("@main = λx. λy. x").book

    assert ext_of(int(book.words[2])) == LAM_ERA | 2
    assert val_of(int(book.words[3])) == 1
    assert val_of(int(book.code[3])) == 0


@pytest.mark.parametrize("source", ["! x = 1; 2", "! f = λ x ; 2", "! x &(1) = 2; 3", "λx&L. 3", "λ&x&(2). 3"])
def test_only_plain_functions_are_marked_as_erasing(source: str) -> None:
    book = parse(f"@main = {source}").book

    words = [int(word) for word in book.words]
    assert not any(tag_of(word) == Tag.LAM and ext_of(word) & LAM_ERA for word in words)


def test_definitions_are_numbered_by_first_mention() -> None:
    book = parse("@b = @c @a = @b @c = @nowhere").book

    assert book.names == ("b", "c", "a", "nowhere")
    assert book.roots[3] == 0
    assert book.entry("c") == book.entry("@c") == 1


@pytest.mark.parametrize("name", ["nowhere", "main", ""])
def test_an_entry_that_is_not_defined_is_told(name: str) -> None:
    with pytest.raises(EntryNotFound, match=f"@{name} not defined"):
        parse("@b = @nowhere").book.entry(name)


def test_constructors_keep_their_ids_and_names() -> None:
    book = parse("@main = [#ZER, #SUC, #NIL, #CON, #CHR, #ab, #a_ZER, #b_ZER]").book

    names = {name: index for index, name in book.ctor_names.items()}
    assert {n: names[n] for n in ("ZER", "SUC", "NIL", "CON", "CHR")} == {
        "ZER": ZER,
        "SUC": SUC,
        "NIL": NIL,
        "CON": CON,
        "CHR": CHR,
    }
    assert names["ab"] == 66
    assert (names["a_ZER"], names["b_ZER"]) == (ZER + 1, ZER + 2), "the next that are free"
    assert len(set(names.values())) == len(names)


def test_ids_of_constructors_go_on_from_the_last_to_the_first() -> None:
    names = parse("@main = [#a$$$$, #b$$$$, #a____]").book.ctor_names

    assert [names[index] for index in (limits.EXT_END - 1, 0, 1)] == ["a$$$$", "b$$$$", "a____"]


def test_spans_lead_back_to_the_source() -> None:
    source = '@main = λabc. [1, #P{abc, 2 + 3}]\n@g = "hi"'
    program = parse(source)

    texts = {span.text for cell in range(1, len(program.book.words)) if (span := program.span(cell))}
    assert {"λabc. [1, #P{abc, 2 + 3}]", "1", "abc", "2 + 3", "2", "3", "#P{abc, 2 + 3}", '"hi"'} <= texts
    assert program.span(0) is None
    assert program.span(10**9) is None
    root = program.span(int(program.book.roots[1]))
    assert root is not None
    assert (root.line, root.col) == (2, 6)


def test_primitives_are_found_through_references() -> None:
    book = parse('@main = @a @a = [@b, @a, %nf(1)] @b = %log("x") @c = %gnf(%log("y"))').book

    found = [(name, span.text) for name, span in book.reachable_prims(book.entry("main"))]
    assert sorted(found) == [("log", '%log("x")'), ("nf", "%nf(1)")]
    assert [name for name, _ in book.reachable_prims(book.entry("c"))] == ["gnf", "log"]
    assert parse("@main = 1").book.reachable_prims(0) == []


def test_unscoped_pairs_are_flagged() -> None:
    assert parse("@main = ! f = λ x ; f(x)").book.has_unscoped
    assert not parse("@main = ! f = λx. x; f").book.has_unscoped


@pytest.mark.parametrize(
    "source", ["[1,2,3]", '"abc"', "6n", "#P{1,2,3,4,5,6}", "λ&x.[x,x,x]", "λa.λb.λc.λd.λe.6", "1+2+3+4", "λ&x.[x,x]"]
)
def test_static_cells_have_a_limit(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    source = f"@main = {source}"
    cells = len(parse(source).book.words)
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", cells)
    parse(source)
    monkeypatch.setattr(limits, "STATIC_CELLS_MAX", cells - 1)

    with pytest.raises(ProgramError) as caught:
        parse(source)

    assert caught.value.line == 1


@pytest.mark.parametrize("source", ["20000000n", "99999999999999999999n", "@f(1, 30000000n)", "9" * 10_000 + "n+1"])
def test_unary_numbers_that_no_book_holds_are_refused(source: str) -> None:
    with pytest.raises(ProgramError, match="too large"):
        parse(f"@main = {source}")


def test_levels_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEVELS_MAX", 3)
    parse("@main = λx,y,z. x")

    with pytest.raises(ProgramError):
        parse("@main = λx,y,z,w. x")


def test_automatic_labels_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "AUTO_LABEL_START", limits.EXT_END - 3)
    parse("@main = λ&x. [x,x,x,x]")

    for source in ("λ&x. [x,x,x,x,x]", "&$$$${λ&x. [x,x,x,x],1}".replace("$$$$", "a$$$$")):
        with pytest.raises(ProgramError):
            parse(f"@main = {source}")


def test_fields_have_a_limit() -> None:
    # D3
    parse(f"@main = #K{{{'1,' * limits.FIELDS_MAX}}}")

    with pytest.raises(ProgramError, match="17 fields"):
        parse(f"@main = #K{{{'1,' * (limits.FIELDS_MAX + 1)}}}")
