"""The language of searches: ``tag:DP0 region:7``, ``age:>3``, ``outcome:deferred``, plain names."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS
from hvm4viz.syntax.tokens import NAME, name_id
from hvm4viz.term import Tag
from hvm4viz.trace.origin import FRAMES

if TYPE_CHECKING:
    from hvm4viz.book import Book

Subject = Literal["event", "deferral", "operation", "cell"]
Columns = Callable[[str], NDArray[Any]]
Test = Callable[[Columns], NDArray[np.bool_]]
"""From the columns of some events, deferrals, operations or changed cells to which of them fit."""

_COMPARED = re.compile(r"(>=|<=|>|<|=)?(\d{1,18})(?:\.\.(\d{1,18}))?")
_SUBJECTS: Final[dict[str, tuple[Subject, ...]]] = {
    "loc": ("event", "deferral", "operation", "cell"),
    "region": ("event", "deferral", "operation", "cell"),
    "thread": ("event", "deferral", "operation"),
    "slot": ("event", "deferral", "operation"),
    "side": ("event", "deferral", "operation"),
    "outcome": ("event", "deferral"),
    "reason": ("event", "deferral"),
    "origin": ("event",),
    "interactions": ("event",),
    "cells": ("event",),
    "age": ("deferral",),
    "op": ("operation",),
    "tag": ("cell",),
    "label": ("cell",),
    "def": ("cell",),
    "name": ("cell",),
}
"""What each key speaks of; ``loc`` is also fitted by the slot that an event names."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search, understood.

    Attributes
    ----------
    text : str
    subjects : tuple of str
        What is searched, all conditions together.
    tests : dict of str to list of callable
        Conditions by subject.
    """

    text: str
    subjects: tuple[Subject, ...]
    tests: dict[Subject, list[Test]]

    def fits(self, subject: Subject, columns: Columns) -> NDArray[np.bool_]:
        """Tell which of some rows fit all conditions."""
        first, *others = (test(columns) for test in self.tests[subject])
        for other in others:
            first = first & other
        return first


def parse_query(text: str, book: Book | None, *, region_size: int, is_full: bool) -> Query:
    """Understand a search.

    Parameters
    ----------
    text : str
        Conditions with blanks between them; all must hold.
    book : Book or None
        Names of the program, if it is known.
    region_size : int
        Cells a region.
    is_full : bool
        Whether changed cells can be searched.

    Raises
    ------
    ValueError
        If it is not understood, with the nearest key or name.
    """
    words = text.split()
    if not words:
        raise ValueError("the search is empty; write a name, or key:value such as outcome:deferred, loc:123, age:>3")
    pairs = [_pair(word) for word in words]
    subjects = _SUBJECTS["loc"]
    for key, _ in pairs:
        fitting: list[Subject] = [subject for subject in subjects if subject in _SUBJECTS[key]]
        if not fitting:
            before = next(other for other, _ in pairs if not {*_SUBJECTS[other]} & {*_SUBJECTS[key]})
            raise ValueError(
                f"{before}: is told of {_told(before)} and {key}: of {_told(key)}; search for one of the two"
            )
        subjects = tuple(fitting)
    keys = {key for key, _ in pairs}
    if not keys & {"age", "op", "tag", "label", "def", "name"}:  # nothing asks for more than events, and cells at full
        subjects = _narrowed(subjects, is_full=is_full)
    tests: dict[Subject, list[Test]] = {
        subject: [_test(key, value, subject, book, region_size) for key, value in pairs] for subject in subjects
    }
    return Query(text, subjects, tests)


def _narrowed(subjects: tuple[Subject, ...], *, is_full: bool) -> tuple[Subject, ...]:
    """Search tasks, and cells if they are there, where nothing asks for anything else."""
    found: list[Subject] = [s for s in subjects if s == "event" or (s == "cell" and is_full)]
    return tuple(found) or subjects


def _told(key: str) -> str:
    return {"event": "tasks", "deferral": "deferrals", "operation": "operations", "cell": "cells"}[_SUBJECTS[key][0]]


def _pair(word: str) -> tuple[str, str]:
    key, colon, value = word.partition(":")
    if not colon:
        return "name", word
    key = key.lower()
    if key not in _SUBJECTS:
        close = difflib.get_close_matches(key, _SUBJECTS, n=1)
        hint = f" (did you mean {close[0]}:?)" if close else ""
        raise ValueError(f"no key {key!r}{hint}; there are: {', '.join(_SUBJECTS)}")
    if not value:
        raise ValueError(f"{key}: is followed by nothing; write it without a blank, such as {key}:{_EXAMPLES[key]}")
    return key, value


_EXAMPLES: Final = {
    "loc": "123", "region": "7", "thread": "3", "slot": "120", "side": "0", "outcome": "deferred", "reason": "take",
    "origin": "hop", "interactions": ">100", "cells": ">0", "age": ">3", "op": "take", "tag": "DP0", "label": "L",
    "def": "@main", "name": "Pair",
}  # fmt: skip


def _test(key: str, value: str, subject: Subject, book: Book | None, region_size: int) -> Test:
    if key in ("outcome", "reason", "origin", "op"):
        known = {"outcome": OUTCOMES, "reason": REASONS, "origin": ORIGINS, "op": OPERATIONS}[key]
        code = _code(key, value, known)
        return lambda columns: columns(key) == code
    if key == "tag":
        tags = _tags(value)
        return lambda columns: np.isin(_tag(columns("after")), tags)
    if key == "label":
        return _label(value)
    if key in ("def", "name"):
        return _named(key, value, book)
    compare = _comparison(key, value)
    place = {"event": "loc", "deferral": "loc", "operation": "slot", "cell": "cell"}[subject]
    if key == "region":
        return lambda columns: compare(columns(place) // region_size)
    if key == "loc":
        if subject == "cell":
            return lambda columns: compare(columns("cell"))
        return lambda columns: compare(columns("loc")) | ((columns("slot") != 0) & compare(columns("slot")))
    return lambda columns: compare(columns(key))


def _code(key: str, value: str, known: tuple[str, ...]) -> int:
    if value not in known or not value:
        close = difflib.get_close_matches(value, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"{key}:{value}: no {key} of that name{hint}; there are: {', '.join(filter(None, known))}")
    return known.index(value)


def _comparison(key: str, value: str) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    found = _COMPARED.fullmatch(value)
    if found is None or (found[1] and found[3]):
        raise ValueError(f"{key}:{value}: write a number, >3, >=3, <3, <=3, or 3..7")
    number = int(found[2])
    if found[3]:
        last = int(found[3])
        return lambda column: (column >= number) & (column <= last)
    compare: Callable[[Any, int], Any] = _COMPARISONS.get(found[1], operator.eq)
    return lambda column: compare(column, number)


_COMPARISONS: Final = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def _tag(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return words >> np.uint64(56) & np.uint64(0x7F)


def _ext(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return words >> np.uint64(32) & np.uint64(0xFFFFFF)


def _tags(value: str) -> list[int]:
    """Return the tags of a name: ``DP0``, ``CTR`` for all constructors, ``SUB`` is no tag."""
    name = value.upper()
    known: dict[str, list[int]] = {tag.name: [int(tag)] for tag in Tag if not Tag.C00 <= tag <= Tag.C16}
    known |= {f"C{arity:02}": [Tag.C00 + arity] for arity in range(Tag.C16 - Tag.C00 + 1)}
    known |= {frame: [code] for code, frame in FRAMES.items()}
    known["CTR"] = list(range(Tag.C00, Tag.C16 + 1))
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"tag:{value}: no tag of that name{hint}; there are: {', '.join(known)}")
    return known[name]


def _label(value: str) -> Test:
    if value.isdigit() and value.isascii():
        number = int(value)
    elif re.fullmatch(NAME, value):
        number = name_id(value)
    else:
        raise ValueError(f"label:{value}: write the name of a label, or its number")
    tags = [Tag.SUP, Tag.DP0, Tag.DP1, *(code for code, name in FRAMES.items() if name in ("F_DP0", "F_DP1"))]
    return lambda columns: np.isin(_tag(columns("after")), tags) & (_ext(columns("after")) == number)


def _named(key: str, value: str, book: Book | None) -> Test:
    """Fit cells whose word carries a name (anywhere in it), or is a term of a definition of exactly that name."""
    if book is None:
        raise TraceError(f"{key}:{value}: the program cannot be parsed here, so its names are not known")
    definitions = dict(enumerate(book.names))
    if key == "def" or value.startswith("@"):
        wanted = value.removeprefix("@")
        chosen = [index for index, name in definitions.items() if name == wanted]
        if not chosen:
            close = difflib.get_close_matches(wanted, book.names, n=1)
            hint = f" (did you mean @{close[0]}?)" if close else ""
            raise ValueError(f"{key}:{value}: the program has no definition of that name{hint}")
        is_static = np.isin(book.definition, chosen)
        is_static[0] = False
        return lambda columns: _of_definition(columns("after"), is_static, chosen)
    bare = value.lstrip("#%").lower()
    constructors = [code for code, name in book.ctor_names.items() if bare in name.lower()]
    if value.startswith("#"):
        constructors = [code for code in constructors if book.ctor_names[code] == value[1:]]
    calls = [index for index, name in definitions.items() if bare in name.lower() and value[0] not in "#%"]
    primitives = [index for index, (name, _) in enumerate(book.prims) if bare in name.lower() and value[0] != "#"]
    return lambda columns: _carries(columns("after"), constructors, calls, primitives, book)


def _of_definition(words: NDArray[np.uint64], is_static: NDArray[np.bool_], chosen: list[int]) -> NDArray[np.bool_]:
    tag, ext = _tag(words), _ext(words)
    inside = np.minimum(ext, np.uint64(is_static.size - 1)).astype(np.int64)
    closures = (tag == Tag.ALO) & (ext < is_static.size) & is_static[inside]
    return closures | ((tag == Tag.REF) & np.isin(ext, chosen))


def _carries(
    words: NDArray[np.uint64], constructors: list[int], calls: list[int], primitives: list[int], book: Book
) -> NDArray[np.bool_]:
    tag, ext = _tag(words), _ext(words)
    inside = np.minimum(ext, np.uint64(max(book.code.size - 1, 0))).astype(np.int64)
    is_closure = (tag == Tag.ALO) & (ext < book.code.size)
    static = book.code[inside]
    tag, ext = np.where(is_closure, _tag(static), tag), np.where(is_closure, _ext(static), ext)
    of_constructor = ((tag >= Tag.C00) & (tag <= Tag.C16)) | (tag == Tag.MAT)
    fits = of_constructor & np.isin(ext, constructors)
    fits |= (tag == Tag.REF) & np.isin(ext, calls)
    return fits | ((tag == Tag.PRI) & np.isin(ext, primitives))
