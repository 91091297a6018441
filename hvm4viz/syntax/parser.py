"""The parser: files, definitions, and terms by precedence climbing, in one loop without recursion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hvm4viz import limits
from hvm4viz.errors import IncludeError, Source
from hvm4viz.syntax.amps import read_amp
from hvm4viz.syntax.bangs import read_bang
from hvm4viz.syntax.core import Core
from hvm4viz.syntax.includes import Files, Unreadable
from hvm4viz.syntax.items import read_constructor, read_list, read_primitive
from hvm4viz.syntax.lambdas import read_lambda
from hvm4viz.syntax.literals import read_character, read_nat, read_string
from hvm4viz.syntax.names import Names
from hvm4viz.syntax.operators import (
    open_call,
    open_form,
    open_operator,
    read_any,
    read_mark,
    read_parentheses,
    read_reference,
    read_stuck,
)
from hvm4viz.syntax.reader import ATOM_ONLY, Reader
from hvm4viz.syntax.scope import Scope
from hvm4viz.syntax.span import printable, report
from hvm4viz.syntax.tokens import match_atom, match_definition, match_include, match_infix, number
from hvm4viz.syntax.variables import read_variable
from hvm4viz.term import TAG_SHIFT, Tag

_NUM: Final = Tag.NUM << TAG_SHIFT

_ENDS: Final = frozenset(",;)]}")
"""Signs that surely end a term: the most common ones."""

_SIGNS: Final[dict[str, Callable[[Reader, int], int | None]]] = {
    "λ": read_lambda,
    "!": read_bang,
    "&": read_amp,
    "#": read_constructor,
    "@": read_reference,
    "%": read_primitive,
    "^": read_stuck,
    "↑": read_mark,
    "*": read_any,
    "(": read_parentheses,
    "[": read_list,
    "'": read_character,
    '"': read_string,
    "`": read_string,
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A text to parse with the folder that its includes start from, and the one that they may not leave."""

    source: Source
    folder: Path
    root: Path
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition as parsed: core term, its span, and the number of its file."""

    name: str
    term: int
    span: int
    file: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that was read; the last definition of a name counts."""

    definitions: dict[int, Definition]
    core: Core
    scope: Scope
    names: Names
    files: tuple[Source, ...]
    texts: Mapping[Path, str]


def parse_units(units: Sequence[Unit], names: Names, known: Mapping[Path, str] | None = None) -> Parsed:
    """Parse texts one after the other, and what they include where they include it.

    Parameters
    ----------
    units : sequence of Unit
        The texts.
    names : Names
        Known primitives; takes up the names of the program.
    known : mapping of Path to str, optional
        Texts of files that need not be read again.

    Raises
    ------
    ProgramError
        If a text does not follow the grammar, or an include cannot be read.
    """
    files = Files(known or {})
    parser = _Parser(Reader(names), files)
    for unit in units:
        if unit.path is not None:
            files.seen.add(unit.path)
    for unit in units:
        parser.parse(unit)
    return Parsed(
        parser.definitions, parser.reader.core, parser.reader.scope, names, tuple(parser.sources), files.texts
    )


class _Parser:
    """The loop, and the files that are open in it."""

    _file: int
    _folder: Path
    _root: Path

    def __init__(self, reader: Reader, files: Files) -> None:
        self.reader = reader
        self.files = files
        self.sources: list[Source] = []
        self.definitions: dict[int, Definition] = {}
        self._open: list[tuple[int, int, Path]] = []

    def parse(self, unit: Unit) -> None:
        """Parse a text and all that it includes."""
        self._root = unit.root
        self._enter(unit.source, unit.folder)
        while True:
            name = self._next_definition()
            if name is None:
                return
            index = self.reader.definition_id(name)
            term = read_term(self.reader)
            self.definitions[index] = Definition(name, term, self.reader.span, self._file)

    def _enter(self, source: Source, folder: Path) -> None:
        self._file = len(self.sources)
        self._folder = folder
        self.sources.append(source)
        self.reader.open(source, 0)

    def _next_definition(self) -> str | None:
        reader = self.reader
        while True:
            reader.skip()
            start = reader.pos
            if match := reader.try_match(match_definition):
                return match[1]
            if match := reader.try_match(match_include):
                self._include(match[1], match.start(1) << 32 | match.end(1))
            elif start < len(reader.text):
                self._refuse()
            elif self._open:
                self._file, pos, self._folder = self._open.pop()
                reader.open(self.sources[self._file], pos)
            else:
                return None

    def _include(self, written: str, span: int) -> None:
        reader = self.reader
        try:
            found = self.files.include(written, reader.source, self._folder, self._root)
        except Unreadable as fault:
            place = reader.where(span)
            hint = printable(str(fault))
            raise IncludeError(
                report(f"could not open '{printable(written)}'", place, hint=hint), span=place, hint=hint
            ) from None
        if found is not None:
            self._open.append((self._file, reader.pos, self._folder))
            self._enter(*found)

    def _refuse(self) -> None:
        """Tell what is wrong with text that is neither a definition nor an include."""
        reader = self.reader
        if reader.take_text("#include"):
            reader.expect('"', 'write #include "file.hvm4"')
            reader.pos = len(reader.text)
            reader.fail('"')
        if reader.take("@"):
            name = reader.name("a definition is @name = term")
            reader.expect("=", f"a definition is @{name} = term")
        hint = "a definition is @name = term"
        if self.definitions and reader.text[reader.pos] in ")]}":
            hint = f"this {reader.text[reader.pos]} closes nothing: no bracket is open here; take it out"
        elif reader.text.startswith(".", reader.pos) and reader.text[reader.pos - 1 : reader.pos].isdigit():
            hint = "numbers are whole: from 0 to 4294967295"
        elif self.definitions and reader.text.startswith("=", reader.pos):
            hint = f"whether two terms are equal is a == b for numbers, a === b for all; {hint}"
        elif self.definitions:
            hint = f"the term before has ended here: to apply f to x write f(x), not f x; {hint}"
        reader.fail("definition or #include", hint)


def read_term(reader: Reader) -> int:
    """Read one term, of any depth, at the reader's level."""
    stack = reader.stack
    bottom = len(stack)
    cells = reader.core.cells
    term: int | None = None
    while True:
        if term is None:
            term = _read_atom(reader)
            # A core term has at most two cells for each of the book's: stop early.
            if len(stack) > limits.NESTING_MAX or len(cells) > 2 * limits.STATIC_CELLS_MAX:
                raise reader.too_large(reader.pos << 32 | reader.pos)
            continue
        text, pos = reader.text, reader.pos
        if text[pos : pos + 1] not in _ENDS and reader.level != ATOM_ONLY and (match := match_infix(text, pos)):
            kind = match.lastindex
            if kind == 1:
                reader.pos = match.end()
                open_form(reader, term, match[1])
                term = None
                continue
            if kind == 3:
                reader.pos = match.end()
                term = open_call(reader, term, reader.pos - 1)
                continue
            if open_operator(reader, term, match[2]):
                reader.pos = match.end()
                term = None
                continue
        if len(stack) == bottom:
            return term
        term = stack.pop().resume(reader, term)


def _read_atom(reader: Reader) -> int | None:
    match = match_atom(reader.text, reader.pos)
    if match is None:
        reader.fail("name")
    kind = match.lastindex
    reader.pos = end = match.end()
    if kind == 1:
        reader.span = match.start(1) << 32 | end
        return _NUM | number(match[1])
    if kind == 4:
        return _SIGNS[match[4]](reader, end - 1)
    if kind == 5:
        return read_nat(reader, match.start(5), match[5])
    return read_variable(reader, match[2], match[3], match.start(2) << 32 | end)
