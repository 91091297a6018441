"""The book: all definitions of a program as read-only static cells (``terms.md`` 1, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hvm4viz import limits
from hvm4viz.errors import EntryNotFound, ProgramError, Source, Span
from hvm4viz.syntax.parser import Parsed
from hvm4viz.syntax.span import printable
from hvm4viz.syntax.writer import BookFull, Writer
from hvm4viz.term import EXT_MASK, EXT_SHIFT, TAG_SHIFT, Tag


@dataclass(frozen=True)
class Book:
    """Static cells and the tables that name what they hold.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_cells,)
        Static cells, cell 0 unused; variables carry levels.
    code : ndarray of uint64, shape (n_cells,)
        The same cells as the kernel reads them: variables carry how many environment entries lie between the place
        and their binder's. Every LAM without ``LAM_ERA`` and every DUP makes an entry for what is inside.
    roots : ndarray of uint32, shape (n_definitions,)
        Location of the root cell of each definition, 0 where it is mentioned alone.
    names : tuple of str
        Name of each definition.
    ctor_names : dict of int to str
        Name of each constructor id.
    prims : tuple of (str, int)
        Name and arity of each primitive id.
    spans : ndarray of uint32, shape (n_cells, 3)
        File, first character and end of the form that each cell came from.
    definition : ndarray of uint32, shape (n_cells,)
        Definition that each cell belongs to.
    sources : tuple of Source
        Texts in the order of reading.
    has_unscoped : bool
        Whether any definition holds an unscoped pair.
    """

    words: NDArray[np.uint64]
    code: NDArray[np.uint64]
    roots: NDArray[np.uint32]
    names: tuple[str, ...]
    ctor_names: dict[int, str]
    prims: tuple[tuple[str, int], ...]
    spans: NDArray[np.uint32]
    definition: NDArray[np.uint32]
    sources: tuple[Source, ...]
    has_unscoped: bool

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each definition by name."""
        return {name: index for index, name in enumerate(self.names)}

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Name and text of every file, in the order of reading."""
        return tuple((source.name, source.text) for source in self.sources)

    def entry(self, name: str) -> int:
        """Return the id of a definition to run: its name, with or without ``@`` before it.

        Raises
        ------
        EntryNotFound
            If the program does not define it.
        """
        name = name.removeprefix("@")
        index = self.ids.get(name)
        if index is None or not self.roots[index]:
            raise self._not_found(printable(name))
        return index

    def _not_found(self, name: str) -> EntryNotFound:
        """Tell that there is no such entry, and what the program has instead."""
        file = printable(self.sources[0].called) if self.sources else "the program"
        known = [known for known, root in zip(self.names, self.roots, strict=True) if root]
        if not known:
            is_empty = not any(source.text.strip() for source in self.sources)
            cause = f"{file} is empty" if is_empty else f"@{name} not defined: {file} has no definition"
            return EntryNotFound(cause, hint=f"write @{name} = ...")
        hint = f"write @{name} = ..., or name another entry with entry='NAME'"
        for close in get_close_matches(name, known, n=1):
            place = self._definition_place(close)
            hint = f"@{close} at {place} is close to it: rename it @{name}, or run it with entry={close!r}"
        return EntryNotFound(f"@{name} not defined in {file}", hint=hint)

    def _definition_place(self, name: str) -> str:
        """Return where a definition starts: at the last @ before its term."""
        span = self.span(int(self.roots[self.ids[name]]))
        assert span is not None
        start = max(span.source.text.rfind("@", 0, span.start), 0)
        return printable(str(Span(span.source, start, start)))

    def span(self, loc: int) -> Span | None:
        """Return where in the source a static cell came from, or None for no such cell."""
        if not 0 < loc < len(self.words):
            return None
        file, start, end = (int(part) for part in self.spans[loc])
        return Span(self.sources[file], start, end)

    def reachable_prims(self, def_id: int) -> list[tuple[str, Span]]:
        """List the primitives that a definition may reach, each use once, in the order of cells.

        Parameters
        ----------
        def_id : int
            Where to start.
        """
        uses, calls = self._mentions
        reached = {def_id}
        todo = [def_id]
        while todo:
            new = calls.get(todo.pop(), set()) - reached
            reached |= new
            todo += new
        found: list[tuple[str, Span]] = []
        for cell in uses:
            span = self.span(cell)
            if span is not None and int(self.definition[cell]) in reached:
                found.append((self.prims[int(self.words[cell]) >> EXT_SHIFT & EXT_MASK][0], span))
        return found

    @cached_property
    def _mentions(self) -> tuple[list[int], dict[int, set[int]]]:
        """Cells that hold a primitive, and the definitions that each definition mentions."""
        tags = self.words >> np.uint64(TAG_SHIFT)
        uses: list[int] = np.flatnonzero(tags == Tag.PRI).tolist()
        cells = np.flatnonzero(tags == Tag.REF)
        targets = self.words[cells] >> np.uint64(EXT_SHIFT) & np.uint64(EXT_MASK)
        calls: dict[int, set[int]] = {}
        for pair in np.unique(np.stack([self.definition[cells].astype(np.uint64), targets]), axis=1).T:
            calls.setdefault(int(pair[0]), set()).add(int(pair[1]))
        return uses, calls


def build_book(parsed: Parsed) -> Book:
    """Lay out parsed definitions as static cells.

    Parameters
    ----------
    parsed : Parsed
        All definitions of a program.

    Raises
    ------
    ProgramError
        If they need more cells, levels or automatic labels than words can address.
    """
    names = tuple(parsed.names.definitions)
    roots = np.zeros(len(names), np.uint32)
    owners: list[tuple[int, int, int]] = []  # definition, its file, its number of cells
    index = -1
    try:
        writer = Writer(parsed)
        for index, definition in parsed.definitions.items():
            start = len(writer.words)
            roots[index] = writer.write(definition)
            owners.append((index, definition.file, len(writer.words) - start))
    except BookFull:
        raise _too_large(parsed, index) from None
    words = np.array(writer.words, np.uint64)
    code = words.copy()
    places = np.array(writer.places, np.uint32)
    code[places] = code[places] & ~np.uint64(0xFFFFFFFF) | np.array(writer.indices, np.uint64)
    packed = np.array(writer.spans, np.uint64)
    counts = [1, *(count for _, _, count in owners)]
    spans = np.empty((len(words), 3), np.uint32)
    spans[:, 0] = np.repeat(np.array([0, *(file for _, file, _ in owners)], np.uint32), counts)
    spans[:, 1] = packed >> np.uint64(32)
    spans[:, 2] = packed & np.uint64(0xFFFFFFFF)
    for array in (words, code, roots, spans):
        array.flags.writeable = False
    return Book(
        words=words,
        code=code,
        roots=roots,
        names=names,
        ctor_names={index: name for name, index in parsed.names.constructors.items()},
        prims=parsed.names.primitives,
        spans=spans,
        definition=np.repeat(np.array([0, *(index for index, _, _ in owners)], np.uint32), counts),
        sources=parsed.files,
        has_unscoped=bool(np.any(words >> np.uint64(TAG_SHIFT) == Tag.UNS)),
    )


def _too_large(parsed: Parsed, index: int) -> ProgramError:
    definition = parsed.definitions.get(index)
    place, span = "", None
    if definition is not None:
        span = Span(parsed.files[definition.file], definition.span >> 32, definition.span & 0xFFFFFFFF)
        place = f"{span}: @{definition.name}: "
    return ProgramError(
        f"{place}the program needs more than {limits.STATIC_CELLS_MAX:,} static cells, "
        f"{limits.LEVELS_MAX:,} nested binders or {limits.AUTO_LABEL_START:,} automatic labels",
        span=span,
        hint="compute large literals while the program runs",
    )
