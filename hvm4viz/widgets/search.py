"""Searching a trace by a query such as ``outcome:deferred region:7 age:>3``, a slice of passes at a time.

The view does the same by itself where it has the whole trace; this is for traces that stay in the kernel.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.term import EXT_MASK, EXT_SHIFT, TAG_MASK, TAG_SHIFT, Tag
from hvm4viz.trace.trace import Trace
from hvm4viz.widgets import cells
from hvm4viz.widgets.origin import Origin

Numbers = NDArray[Any]
Mask = NDArray[np.bool_]

_KEYS: Final = re.compile(r"(loc|tag|region|label|age|outcome|reason|def):(.*)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"([<>]=?|=?)(\d+)")
_SIGNS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "": operator.eq,
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_LABELLED: Final = (Tag.SUP, Tag.DP0, Tag.DP1)


@dataclass
class Query:
    """A query as tests: of the columns of events, of cells and their words."""

    places: list[Callable[[Numbers], Mask]] = field(default_factory=list[Callable[[Numbers], Mask]])
    events: list[Callable[[dict[str, Numbers]], Mask]] = field(
        default_factory=list[Callable[[dict[str, Numbers]], Mask]]
    )
    words: list[Callable[[Numbers], Mask]] = field(default_factory=list[Callable[[Numbers], Mask]])

    def of_events(self, columns: dict[str, Numbers]) -> Mask:
        """Tell which events fit, contents of cells aside."""
        found = np.ones(columns["loc"].size, bool)
        for place in self.places:
            found &= place(columns["loc"])
        for test in self.events:
            found &= test(columns)
        return found

    def of_words(self, locs: Numbers, words: Numbers) -> Mask:
        """Tell which cells fit by place and content."""
        found = np.ones(locs.size, bool)
        for place in self.places:
            found &= place(locs)
        for test in self.words:
            found &= test(words)
        return found


def read_query(text: str, trace: Trace, origin: Origin) -> Query:
    """Read a query.

    Raises
    ------
    ValueError
        If a part of it is not understood, or asks for what the trace does not hold.
    """
    query = Query()
    for part in text.split():
        match = _KEYS.fullmatch(part)
        key, value = (match[1].lower(), match[2]) if match else ("", part)
        if key in ("loc", "region", "age"):
            number = _NUMBER.fullmatch(value)
            if number is None:
                example = {"loc": "123", "region": "7", "age": ">3"}[key]
                raise ValueError(f"{part}: write a number, such as {key}:{example}")
            _numeric(query, key, _SIGNS[number[1]], int(number[2]), trace)
        elif key in ("outcome", "reason"):
            names = OUTCOMES if key == "outcome" else REASONS
            if not value or value.lower() not in names:
                raise ValueError(f"{part}: there are {', '.join(filter(None, names))}")
            query.events.append(_is(key, names.index(value.lower())))
        elif not cells.has_words(trace):
            named = value.lower()
            if key or named not in (*OUTCOMES, *REASONS):
                raise ValueError(f"{part}: names and contents of cells need a trace recorded with record='full'")
            query.events.append(_is("outcome", OUTCOMES.index(named)) if named in OUTCOMES else
                                _is("reason", REASONS.index(named)))  # fmt: skip
        else:
            query.words.append(_content(key, value, part, origin))
    return query


def _is(column: str, code: int) -> Callable[[dict[str, Numbers]], Mask]:
    return lambda columns: columns[column] == code


def _numeric(query: Query, key: str, fits: Callable[[Any, int], Any], number: int, trace: Trace) -> None:
    if key == "loc":
        query.places.append(lambda locs: fits(locs, number))
    elif key == "region":
        query.places.append(lambda locs: fits(locs // np.uint32(trace.region_size), number))
    else:
        query.events.append(lambda columns: (columns["age"] >= 0) & fits(columns["age"], number))


def _content(key: str, value: str, part: str, origin: Origin) -> Callable[[Numbers], Mask]:
    book = origin.book
    if key == "tag":
        name = value.upper()
        codes = [tag.value for tag in Tag if tag.name == name]
        if not codes:
            raise ValueError(f"{part}: there are {', '.join(tag.name for tag in Tag)}")
        return lambda words: _tags(words) == codes[0]
    if key == "label":
        from hvm4viz.syntax.tokens import name_id

        try:
            code = int(value) if value.isdigit() else name_id(value)
        except KeyError:
            raise ValueError(f"{part}: no label has such a name") from None
        return lambda words: np.isin(_tags(words), _LABELLED) & (_exts(words) == code)
    if book is None:
        raise ValueError(f"{part}: the definitions of this program are not known here; search by tag: or label:")
    names = {name.lower(): index for index, name in enumerate(book.names)}
    found = names.get(value.removeprefix("@").lower())
    if key == "def":
        if found is None:
            raise ValueError(f"{part}: no such definition")
        of = book.definition
        return lambda words: (
            (_tags(words) == Tag.REF) & (_exts(words) == found)
            | (_tags(words) == Tag.ALO) & (of[np.minimum(_exts(words), of.size - 1)] == found)
        )
    constructors = [code for code, name in book.ctor_names.items() if value.removeprefix("#").lower() in name.lower()]
    definitions = [index for name, index in names.items() if value.removeprefix("@").lower() in name]
    return lambda words: (
        (_tags(words) >= Tag.C00) & (_tags(words) <= Tag.C16) & np.isin(_exts(words), constructors)
        | (_tags(words) == Tag.REF) & np.isin(_exts(words), definitions)
    )


def _tags(words: Numbers) -> Numbers:
    return words >> np.uint64(TAG_SHIFT) & np.uint64(TAG_MASK)


def _exts(words: Numbers) -> Numbers:
    return (words >> np.uint64(EXT_SHIFT) & np.uint64(EXT_MASK)).astype(np.int64)


def hits(trace: Trace, query: Query, p0: int, p1: int) -> tuple[Numbers, Numbers]:
    """Find what fits in passes p0 to p1 (without p1).

    Returns
    -------
    passes, locs : ndarray
        An event that fits counts in its pass; a cell, if nothing is asked of events, in the first pass at whose start
        it fits.
    """
    found: list[tuple[Numbers, Numbers]] = []
    if query.words and not query.events:
        found = _cell_hits(trace, query, p0, p1)
    else:
        found = [_event_hits(trace, query, p0, p1)]
    passes, locs = (np.concatenate([np.empty(0, np.int64), *part]) for part in zip(*found, strict=True)) if found else (
        np.empty(0, np.int64), np.empty(0, np.int64)
    )  # fmt: skip
    order = np.lexsort((locs, passes)) if query.words and not query.events else np.argsort(passes, kind="stable")
    return passes[order], locs[order]


def _event_hits(trace: Trace, query: Query, p0: int, p1: int) -> tuple[Numbers, Numbers]:
    columns: dict[str, Numbers] = {name: trace.column(name, p0, p1) for name in ("loc", "outcome", "reason")}
    passes = trace.passes(p0, p1)
    columns["age"] = _ages(trace, p0, p1)
    found = query.of_events(columns)
    if query.words:
        for p in np.unique(passes[found]).tolist():
            here = np.flatnonzero(found & (passes == p))
            locs = columns["loc"][here]
            found[here] = query.of_words(locs, cells.words_at(trace, p)[locs])
    return passes[found], columns["loc"][found].astype(np.int64)


def _ages(trace: Trace, p0: int, p1: int) -> Numbers:
    """Return the age of the deferral that each event opens; −1 for one that opens none."""
    first = int(trace.event_offsets[p0])
    ages = np.full(int(trace.event_offsets[p1]) - first, -1, np.int64)
    waits = trace.deferrals()
    lo, hi = np.searchsorted(waits["opened"], [p0, p1]).tolist()
    waits = waits[lo:hi]
    ages[waits["event"] - first] = np.where(
        waits["age"] < 0, trace.n_passes - waits["opened"].astype(np.int64), waits["age"]
    )
    return ages


def _cell_hits(trace: Trace, query: Query, p0: int, p1: int) -> list[tuple[Numbers, Numbers]]:
    found: list[tuple[Numbers, Numbers]] = []
    if p0 == 0:
        words = cells.words_at(trace, 0)
        locs = np.flatnonzero(words)
        fits = query.of_words(locs, words[locs])
        found.append((np.zeros(int(fits.sum()), np.int64), locs[fits]))
    table = cells.deltas(trace, p0, p1)
    locs = table["delta_cell"].astype(np.int64)
    before, after = (query.of_words(locs, table[f"delta_{when}"]) for when in ("before", "after"))
    passes = np.repeat(np.arange(p0 + 1, p1 + 1), np.diff(table["delta_offsets"].astype(np.int64)))
    new = after & ~(before & (table["delta_before"] != 0))
    found.append((passes[new], locs[new]))
    return found
