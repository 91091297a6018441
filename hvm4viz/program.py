"""Programs: source text in, book out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from errno import ENOENT
from pathlib import Path

from hvm4viz import limits
from hvm4viz.book import Book, build_book
from hvm4viz.errors import ProgramError, Source, Span
from hvm4viz.syntax.includes import Unreadable, read_source
from hvm4viz.syntax.names import Names, known_primitives
from hvm4viz.syntax.parser import Unit, parse_units
from hvm4viz.syntax.tokens import decode


@dataclass(frozen=True)
class Program:
    """A parsed program.

    Attributes
    ----------
    source : str
        Text of the program itself, without what it includes.
    entry : str
        Definition that a run starts from unless told otherwise.
    book : Book
        Its definitions as static cells.
    """

    source: str
    book: Book = field(repr=False)
    entry: str = "main"
    units: tuple[Unit, ...] = field(default=(), repr=False)
    texts: Mapping[Path, str] = field(default_factory=dict[Path, str], repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all definitions, in the order of first mention."""
        return tuple(name for name, root in zip(self.book.names, self.book.roots, strict=True) if root)

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Name and text of every file, in the order of reading."""
        return self.book.files

    @property
    def unit_places(self) -> tuple[int, ...]:
        """Which of ``files`` were given to be parsed, one after the other; the rest is what they include."""
        given = {id(unit.source) for unit in self.units}
        return tuple(place for place, source in enumerate(self.book.sources) if id(source) in given)

    def span(self, loc: int) -> Span | None:
        """Return where in the source a static cell came from."""
        return self.book.span(loc)

    def merge(self, *others: Program) -> Program:
        """Join programs into one.

        Parameters
        ----------
        *others : Program
            Later definitions of a name replace earlier ones.

        Returns
        -------
        program : Program
            As if the texts were read one after the other: automatic labels are drawn anew.
        """
        programs = (self, *others)
        units = tuple(unit for program in programs for unit in program.units)
        texts = {path: text for program in programs for path, text in program.texts.items()}
        return _program(units, texts)


def parse(source: str | bytes, *, name: str = "<cell>", root: str | os.PathLike[str] | None = None) -> Program:
    """Parse a program.

    Parameters
    ----------
    source : str or bytes
        The text; bytes are read as UTF-8.
    name : str
        How messages call it.
    root : path, optional
        Folder that includes start from and may not leave; the current one by default.

    Returns
    -------
    program : Program
        With its book.

    Raises
    ------
    HvmSyntaxError
        If the text does not follow the grammar; it carries ``.line``, ``.col``, ``.span`` and ``.hint``.
    IncludeError
        If an included file cannot be read, or lies outside ``root``.
    ProgramError
        If the program is larger than a book can be.
    """
    if not isinstance(source, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a program is text, not {type(source).__name__}; read a file with load()")
    text = decode(source) if isinstance(source, bytes) else source
    folder = Path(root or ".").resolve()
    return _program((Unit(_source(name, text), folder, folder),))


def load(path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None) -> Program:
    """Read and parse a program from a file.

    Parameters
    ----------
    path : path
        The file; its includes start from its folder.
    root : path, optional
        Folder that includes may not leave; the file's own by default.

    Returns
    -------
    program : Program
        With its book.

    Raises
    ------
    OSError
        If the file itself cannot be read: missing, a folder, no permission.
    HvmSyntaxError, IncludeError, ProgramError
        As ``parse``.
    """
    place = Path(path)
    try:
        text = read_source(place, regular=False)
        whole = place.resolve()
    except Unreadable as fault:
        raise ProgramError(f"{place}: {fault}") from None
    except (ValueError, RuntimeError) as fault:  # a NUL in the path, a loop of links
        raise OSError(f"{str(path)!r} is no usable path: {fault}") from None
    limit = Path(root).resolve() if root is not None else whole.parent
    return _program((Unit(_source(str(place), text), whole.parent, limit, whole),))


def reread(files: Sequence[tuple[str, str]], units: Sequence[int]) -> Program:
    """Parse a program once more from the texts that it was read from then; nothing is read from the disk.

    Parameters
    ----------
    files : sequence of (str, str)
        Name and text of every file (``Program.files``).
    units : sequence of int
        Which of them were given to be parsed (``Program.unit_places``).

    Raises
    ------
    ProgramError
        If they are no program, or not all of one.
    """
    base = Path(Path.cwd().anchor, "hvm4viz", *("files",) * 64)  # a place that is none, deep enough for names with ..
    given = set(units)
    try:
        paths = [(base / name).resolve() for name, _ in files]
    except (ValueError, OSError, RuntimeError) as fault:  # a NUL or a surrogate in the name, a loop of links
        raise ProgramError(f"a recorded file has a name that is no path: {fault}") from None
    included = {paths[place]: text for place, (_, text) in enumerate(files) if place not in given}
    parts: list[Unit] = []
    for place in units:
        (name, text), path = files[place], paths[place]
        root = Path(path.anchor)
        parts.append(Unit(_source(name, text), path.parent, root, None if path in included else path))
    return _program(tuple(parts), _Given(included))


class _Given(dict[Path, str]):
    """Texts by path that claim to be all there are: what is not among them is not looked for on the disk."""

    def __contains__(self, path: object) -> bool:
        return True

    def __missing__(self, path: Path) -> str:
        raise FileNotFoundError(ENOENT, "it is not among the texts that were kept")


def _source(name: str, text: str) -> Source:
    """Cut a text at its first NUL, which ends a file."""
    if len(text) > limits.PROGRAM_BYTES_MAX:
        raise ProgramError(f"{name}: the text has more than {limits.PROGRAM_BYTES_MAX:,} characters")
    return Source(name, text.split("\0", 1)[0])


def _program(units: tuple[Unit, ...], known: Mapping[Path, str] | None = None) -> Program:
    parsed = parse_units(units, Names(known_primitives()), known)
    return Program("\n".join(unit.source.text for unit in units), build_book(parsed), units=units, texts=parsed.texts)
