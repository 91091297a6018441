"""Heap images laid out by hand: what a machine may start from, and what it refuses before the kernel sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.admit import BadImage, admit, free_variables
from hvm4viz.book import Book
from hvm4viz.heap import HeapBuilder
from hvm4viz.program import parse
from hvm4viz.term import LAM_ERA, SUB_BIT, Tag, pack

ALONE = hv.Machine(blocks=1, threads_per_block=1, region_size=32)
FOUR = hv.Machine(blocks=4, threads_per_block=1, region_size=32)
CLAIM = hv.Machine(blocks=4, threads_per_block=1, region_size=32, dup="claim")
ATOMIC = hv.Machine(blocks=4, threads_per_block=1, region_size=32, dup="atomic")
PROGRAM = parse("@main = λx. λy. ! z &L = y; #P{x, z₀, z₁, λw. %log(w)}")
BOOK = PROGRAM.book
STAMP = 1 << 32
ALWAYS = 0x80000000 << 32
PUBLISHED, ARRIVED = 0x80000000, 0x10000000


def laid(**cells: int) -> HeapBuilder:
    """Lay out words by cell: ``c8=...``."""
    builder = HeapBuilder(32)
    for name, word in cells.items():
        builder.words[int(name[1:])] = word
    return builder


def check(builder: HeapBuilder, machine: hv.Machine = FOUR, book: Book = BOOK) -> list[int]:
    """Let an image in; return the cells that it takes."""
    return np.flatnonzero(admit(builder.words, 0, book, machine)).tolist()


def inner(tag: int) -> int:
    """Return the static cell of the first term of a tag."""
    return int(np.flatnonzero(BOOK.code >> np.uint64(56) == tag)[0])


def num(n: int) -> int:
    return pack(Tag.NUM, 0, n)


GOOD: dict[str, tuple[HeapBuilder, hv.Machine, list[int]]] = {
    "a number": (laid(c0=num(7)), FOUR, [0]),
    "names and reserved atoms": (
        laid(c0=pack(Tag.C00 + 3, 1, 4), c4=pack(Tag.BJ0, 0, 99), c5=pack(Tag.NAM, 3), c6=pack(Tag.BJV, 0, 8)),
        FOUR,
        [0, 4, 5, 6],
    ),
    "a lambda and its variable": (laid(c0=pack(Tag.LAM, 0, 4), c4=pack(Tag.VAR, 0, 4)), FOUR, [0, 4, 5, 6]),
    "of one thread, in two cells": (laid(c0=pack(Tag.LAM, 0, 4), c4=pack(Tag.VAR, 0, 4)), ALONE, [0, 4, 5]),
    "an open variable": (laid(c0=pack(Tag.VAR, 0, 4), c4=num(1)), FOUR, [0, 4, 5, 6]),
    "a filled variable": (
        laid(c0=pack(Tag.VAR, 0, 4), c4=pack(Tag.INC, 0, 9) | SUB_BIT, c5=STAMP, c9=num(1)),
        FOUR,
        [0, 4, 5, 6, 9],
    ),
    "an environment entry in two cells": (
        laid(c0=pack(Tag.VAR, 0, 30), c30=num(1) | SUB_BIT, c31=ALWAYS),
        FOUR,
        [0, 30, 31],
    ),
    "a slot whose words lie behind the image": (laid(c0=pack(Tag.DP0, 5, 31), c31=num(1)), ALONE, [0, 31]),
    "a slot with both ends, of itself": (
        laid(c0=pack(Tag.DP0, 5, 4), c4=pack(Tag.DP1, 5, 4)),
        FOUR,
        [0, 4, 5, 6, 7],
    ),
    "a published atom with both ends": (
        laid(c0=pack(Tag.C00 + 2, 1, 2), c2=pack(Tag.DP0, 5, 4), c3=pack(Tag.DP1, 5, 4), c4=num(1) | SUB_BIT,
             c6=PUBLISHED | PUBLISHED << 32),
        FOUR,
        [0, 2, 3, 4, 5, 6, 7],
    ),
    "a published node with one end": (
        laid(c0=pack(Tag.DP0, 5, 4), c4=pack(Tag.INC, 0, 9) | SUB_BIT, c6=PUBLISHED << 32, c9=num(1)),
        FOUR,
        [0, 4, 5, 6, 7, 9],
    ),
    "a lock word where nobody parks": (
        laid(c0=pack(Tag.DP0, 5, 4), c4=num(1), c6=ARRIVED, c7=7),
        ATOMIC,
        [0, 4, 5, 6, 7],
    ),
    "a definition": (laid(c0=pack(Tag.REF, 0)), FOUR, [0]),
    "a call of a primitive": (laid(c0=pack(Tag.PRI, 0, 4), c4=num(1)), FOUR, [0, 4]),
    "a closure without variables": (laid(c0=pack(Tag.ALO, int(BOOK.roots[0]))), FOUR, [0]),
    "cells that nothing points to": (laid(c0=num(1), c20=0xFF << 56), FOUR, [0, 20]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(GOOD))
def test_linear_images_are_let_in(name: str) -> None:
    builder, machine, taken = GOOD[name]
    if name.startswith("a slot whose"):
        builder.words = builder.words[:32].copy()
        taken = [0, 31]
        machine = hv.Machine(blocks=1, threads_per_block=1, region_size=64)
        taken = [0, 31, 32]

    assert check(builder, machine) == taken


BAD: dict[str, tuple[HeapBuilder, str]] = {
    "outside": (laid(c0=pack(Tag.APP, 0, 31)), "cell 0 points to cell 32; the image has cells 0 to 31"),
    "far outside": (laid(c0=pack(Tag.SUP, 5, 0xFFFFFFFF)), "points to cell 4,294,967,295"),
    "an empty cell": (laid(c0=pack(Tag.INC, 0, 4)), "cell 4 points to cell 0, which no term points to"),
    "a lambda in cell 0": (laid(c0=pack(Tag.LAM, 0, 0)), "cell 0 points to cell 0, which no term points to"),
    "a slot in cell 0": (laid(c0=pack(Tag.DP0, 0, 0)), "cell 0 points to cell 0, which no term points to"),
    "a field of two": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.INC, 0, 8), c5=pack(Tag.INC, 0, 8), c8=num(1)),
        r"cell \d points to cell 8 as a field, but that is a field already",
    ),
    "a frame": (laid(c0=pack(65, 0, 4)), "holds 0x4100000000000004: a heap has no term of tag 65 before a run"),
    "no tag": (laid(c0=pack(47)), "no term of tag 47"),
    "a static duplication": (laid(c0=pack(Tag.DUP, 0, 4)), "no term of tag 6"),
    "a substitution as a field": (laid(c0=num(1) | SUB_BIT), "is a field and holds a substitution"),
    "no such definition": (laid(c0=pack(Tag.REF, 1)), "names definition 1; the program has 1"),
    "no such primitive": (laid(c0=pack(Tag.PRI, 99, 4)), "calls primitive 99"),
    "no such static cell": (laid(c0=pack(Tag.ALO, 0xFFFFFF)), "closure of static cell 16,777,215"),
    "static cell 0": (laid(c0=pack(Tag.ALO, 0)), "closure of static cell 0"),
    "a second lambda": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.LAM, 0, 8), c5=pack(Tag.LAM, 0, 8), c8=num(1)),
        "second lambda of the binder at 8",
    ),
    "a second variable": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.VAR, 0, 8), c5=pack(Tag.VAR, 0, 8), c8=num(1)),
        "second variable of the binder at 8",
    ),
    "a lambda that was applied": (
        laid(c0=pack(Tag.LAM, 0, 8), c8=num(1) | SUB_BIT, c9=STAMP),
        "the lambda at cell 8 was applied already",
    ),
    "a lambda whose variable is filled": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.LAM, 0, 8), c5=pack(Tag.VAR, 0, 8), c8=num(1), c9=STAMP),
        "the lambda at cell 8 was applied already",
    ),
    "a body that is a substitution": (
        laid(c0=pack(Tag.LAM, 0, 8), c8=num(1) | SUB_BIT),
        "body of the lambda at cell 8",
    ),
    "a short environment": (
        laid(c0=pack(Tag.ALO, inner(Tag.C00 + 4), 8), c8=num(1)),
        "cell 0 is a closure with 3 variables, its environment is shorter",
    ),
    "a binder on a field": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.VAR, 0, 5), c5=num(1)),
        "cell 4 points to cell 5 as a binder, but that is a field already",
    ),
    "who filled it, on a field": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.VAR, 0, 2), c5=num(1)),
        "cell 4 points to cell 4 as who filled a binder, but that is a field already",
    ),
    "a slot on a binder": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.VAR, 0, 8), c5=pack(Tag.DP0, 0, 8), c8=num(1)),
        "as .* but that is a (slot|binder) already",
    ),
    "stamps on a field": (
        laid(c0=pack(Tag.C00 + 2, 1, 8), c8=pack(Tag.DP0, 0, 6), c9=num(1), c6=num(1)),
        "cell 8 points to cell 8 as stamps",
    ),
    "a second end": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.DP1, 0, 8), c5=pack(Tag.DP1, 0, 8), c8=num(1)),
        "second end 1 of the slot at 8",
    ),
    "both ends of a published node": (
        laid(c0=pack(Tag.C00 + 2, 1, 4), c4=pack(Tag.DP0, 0, 8), c5=pack(Tag.DP1, 0, 8),
             c8=pack(Tag.INC, 0, 20) | SUB_BIT, c10=PUBLISHED, c20=num(1)),
        "slot at 8 is published and has both its ends",
    ),
    "a value without a stamp": (laid(c0=pack(Tag.DP0, 0, 8), c8=num(1) | SUB_BIT), "stamps 0x0, and a value"),
    "a stamp without a value": (laid(c0=pack(Tag.DP0, 0, 8), c8=num(1), c10=PUBLISHED), "and no value"),
    "an end that has published": (
        laid(c0=pack(Tag.DP0, 0, 8), c8=pack(Tag.INC, 0, 20) | SUB_BIT, c10=PUBLISHED, c20=num(1)),
        "end 0 of the slot at 8 is there, and has published",
    ),
    "who waits at a slot": (
        laid(c0=pack(Tag.DP0, 0, 8), c8=num(1), c10=ARRIVED << 32, c11=5 << 32),
        "task 4 waits at the slot at 8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_other_images_are_refused_and_the_message_names_the_cell(name: str) -> None:
    builder, message = BAD[name]

    with pytest.raises(BadImage, match=message):
        check(builder)


def test_who_waits_matters_where_tasks_park() -> None:
    builder = laid(c0=pack(Tag.DP0, 0, 8), c8=num(1), c10=ARRIVED << 32, c11=5 << 32)

    with pytest.raises(BadImage, match="waits"):
        check(builder, CLAIM)
    assert check(builder, ATOMIC)
    builder.words[10] = (ARRIVED | 0x40000000) << 32  # the owner: it holds the slot, and nobody wakes it
    assert check(builder, CLAIM)


def test_variables_of_a_static_term_are_counted_by_entries() -> None:
    root = int(BOOK.roots[0])
    dup, pair = inner(Tag.DUP), inner(Tag.C00 + 4)

    assert free_variables(BOOK, root) == ()
    assert sorted(free_variables(BOOK, dup)) == [(0, Tag.BJV), (1, Tag.BJV)]
    assert sorted(free_variables(BOOK, pair)) == [(0, Tag.BJ0), (0, Tag.BJ1), (2, Tag.BJV)]


def closure(**cells: int) -> HeapBuilder:
    """Lay out a closure of the pair: a slot, an entry in between, the binder of x."""
    words = {
        "c0": pack(Tag.ALO, inner(Tag.C00 + 4), 8),
        "c8": num(1), "c9": 12,
        "c12": num(2) | SUB_BIT, "c13": 16 | ALWAYS,
        "c16": num(3) | SUB_BIT, "c17": ALWAYS,
    }  # fmt: skip
    return laid(**words | cells)


def test_a_closure_takes_what_its_environment_holds() -> None:
    assert check(closure()) == [0, 8, 9, 10, 11, 12, 13, 16, 17]


CLOSURES: dict[str, tuple[Callable[[], HeapBuilder], str]] = {
    "no environment": (lambda: closure(c0=pack(Tag.ALO, inner(Tag.C00 + 4), 0)), "its environment is shorter"),
    "a short one": (lambda: closure(c13=ALWAYS), "with 3 variables, its environment is shorter"),
    "one that leads outside": (lambda: closure(c9=0xFFFFFFF0), "points to cell 4,294,967,281"),
    "a slot for a binder": (
        lambda: closure(c13=8 | ALWAYS),
        r"cell 0 points to cell 8 as a (slot|binder), but that is a (binder|slot) already",
    ),
    "a variable used before": (
        lambda: laid(c0=pack(Tag.C00 + 2, 1, 2), c2=pack(Tag.VAR, 0, 16), c3=pack(Tag.ALO, inner(Tag.C00 + 4), 8),
                     c8=num(1), c9=12, c12=num(2) | SUB_BIT, c13=16 | ALWAYS, c16=num(3) | SUB_BIT, c17=ALWAYS),
        "is a second variable of the binder at 16",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CLOSURES))
def test_a_closure_whose_environment_does_not_fit_is_refused(name: str) -> None:
    lay, message = CLOSURES[name]

    with pytest.raises(BadImage, match=message):
        check(lay())


def test_an_erasing_static_lambda_makes_no_entry() -> None:
    book = parse("@main = λx. λy. λz. x").book
    body = int(np.flatnonzero(book.code >> np.uint64(56) == Tag.BJV)[0])
    erasing = [c for c in range(1, len(book.code)) if int(book.code[c]) >> 32 & LAM_ERA]

    assert free_variables(book, body) == ((0, Tag.BJV),)
    assert [free_variables(book, cell) for cell in erasing] == [((0, Tag.BJV),)] * 2


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_run_heap_refuses_what_would_reach_outside(device: str) -> None:
    for builder, message in BAD.values():
        with pytest.raises(ValueError, match=message):
            hv.run_heap(builder.heap(), machine=FOUR, device=device, program=PROGRAM)


def test_words_of_a_slot_in_another_threads_slice_are_not_given_to_new_nodes() -> None:
    """The slot at 7 has its stamps in the next region; the other block must not put its cells there."""
    settings: dict[str, Any] = {"blocks": 2, "threads_per_block": 1, "region_size": 8, "fork": "off"}
    builder = HeapBuilder(8)
    builder.put(0, Tag.C00 + 2, 9, 1).put(1, Tag.DP0, 5, 7).put(2, Tag.DP1, 5, 7)
    builder.put(7, Tag.SUP, 6, 3).numbers(3, [1, 2])
    whole = HeapBuilder(16)
    whole.words[:8] = builder.words

    with pytest.raises(BadImage, match="points to cell 8; the image has cells 0 to 7"):
        hv.run_heap(builder.heap(), machine=hv.Machine(**settings), device="cpu")
    run = hv.run_heap(whole.heap(), machine=hv.Machine(**settings), device="cpu", record="full")
    assert run.text == "#i{&f{1,2},&f{1,2}}"
    assert run.trace.verify().ok
    assert set(run.trace.deltas()["cell"].tolist()) & set(range(8, 11)) <= {8, 9, 10}


OUT = pack(Tag.INC, 0, 0xFFFF)
BELOW: dict[str, HeapBuilder] = {
    "a field": laid(c0=pack(Tag.INC, 0, 4), c4=OUT),
    "the last of many fields": laid(c0=pack(Tag.C16, 1, 4), c19=OUT, **{f"c{n}": num(n) for n in range(4, 19)}),
    "the body of a lambda": laid(c0=pack(Tag.LAM, 0, 4), c4=OUT),
    "what a variable is filled with": laid(c0=pack(Tag.VAR, 0, 4), c4=OUT | SUB_BIT, c5=STAMP),
    "the expression of a slot": laid(c0=pack(Tag.DP0, 0, 4), c4=OUT),
    "the value of a slot": laid(c0=pack(Tag.DP0, 0, 4), c4=OUT | SUB_BIT, c6=PUBLISHED << 32),
    "an environment's binder": closure(c16=OUT | SUB_BIT),
    "an environment's slot": closure(c8=OUT),
}


@pytest.mark.parametrize("name", list(BELOW))
def test_what_lies_below_is_looked_at_too(name: str) -> None:
    with pytest.raises(BadImage, match="points to cell 65,535; the image has cells 0 to 31"):
        check(BELOW[name])


@pytest.mark.parametrize(("static", "end", "other"), [(Tag.BJ0, Tag.DP0, Tag.DP1), (Tag.BJ1, Tag.DP1, Tag.DP0)])
def test_a_closure_takes_one_end_of_a_slot_and_leaves_the_other(static: Tag, end: Tag, other: Tag) -> None:
    def shared(tag: Tag) -> HeapBuilder:
        c3 = pack(Tag.ALO, inner(static), 8)
        return laid(c0=pack(Tag.C00 + 2, 1, 2), c2=pack(tag, 7, 8), c3=c3, c8=num(1))

    assert check(shared(other)) == [0, 2, 3, 8, 9, 10, 11]
    with pytest.raises(BadImage, match="second end"):
        check(shared(end))
