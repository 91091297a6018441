"""What is fuzzed: each target takes bytes, and raises nothing, or only what says that a promise was broken.

Programs and files may be refused with our own errors. Anything else that is raised gets through, and so does
``Broken``: an input took more than a second or more than 256 MiB, or a printed program read back as another one.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from hvm4viz.book import Book
from hvm4viz.errors import Hvm4vizError, ProgramError
from hvm4viz.program import Program, parse
from hvm4viz.syntax.printer import show
from hvm4viz.term import CON, EXT_MASK, SUC, TAG_MASK, VAL_MASK, Tag, arity_of
from hvm4viz.trace import Trace, open_trace
from tests.fuzz import heaps

INPUT_BYTES: Final = 1 << 16
SECONDS: Final = 1.0
MEMORY_KIB: Final = 256 << 10
PASSES_ASKED: Final = 3
"""Passes, cells and entries of a trace that are asked about."""


class Broken(AssertionError):
    """An input took too much, or came back as something else."""


# ---- programs


@cache
def _nowhere() -> Path:
    """Return an empty folder, for what a program may include."""
    return Path(tempfile.mkdtemp(prefix="hvm4viz-fuzz-"))


def read(source: bytes | str) -> Program | None:
    """Parse a program; None if it is refused as it should be."""
    try:
        return parse(source, name="fuzz.hvm4", root=_nowhere())
    except ProgramError as error:
        str(error).encode()
        if error.span is not None and not 0 <= error.span.start <= error.span.end <= len(error.span.source.text):
            raise Broken(f"an error points outside the text: {error.span}") from None
        return None


def parser(data: bytes) -> None:
    """Any bytes are a program, or an error of ours."""
    read(data)


_INFIX: Final = {Tag.OP2, Tag.EQL, Tag.AND, Tag.OR}
_CALLS: Final = {Tag.APP, Tag.DRY}
_OPEN: Final = {Tag.LAM, Tag.RED, Tag.DUP, Tag.DDU, Tag.UNS, Tag.INC}
_OPEN_SUGAR: Final = {(Tag.C00 + 1, SUC), (Tag.C00 + 2, CON)}


def is_ambiguous(book: Book, root: int) -> bool:
    """Tell whether a form that goes on as far as it can stands left of a sign: printing leaves out its parentheses."""
    todo = [root]
    while todo:
        word = book.words.item(todo.pop())
        tag, ext, val = word >> 56 & TAG_MASK, word >> 32 & EXT_MASK, word & VAL_MASK
        fields = book.prims[ext][1] if tag == Tag.PRI else arity_of(word)
        todo += range(val, val + fields)
        if tag in _INFIX and _is_open(book, book.words.item(val)):
            return True
    return False


def _is_open(book: Book, word: int) -> bool:
    """Tell whether a term, or the head of the call that it is, has no end of its own; a λ that is called has one."""
    is_head = False
    while (tag := word >> 56 & TAG_MASK) in _CALLS:
        word, is_head = book.words.item(word & VAL_MASK), True
    if is_head and tag == Tag.LAM:
        return False
    return tag in _OPEN or (tag, word >> 32 & EXT_MASK) in _OPEN_SUGAR


def printer(data: bytes) -> None:
    """A printed definition, where it is a program again, prints as the same text."""
    program = read(data)
    if program is None:
        return
    book = program.book
    for name, root in zip(book.names, book.roots.tolist(), strict=True):
        if not root:
            continue
        text = show(book.words, root, book, quoted=True)
        again = _read_alone(name, text, book)
        if again is None:
            continue
        back = show(again.book.words, int(again.book.roots[again.book.entry(name)]), again.book, quoted=True)
        if back != text and not is_ambiguous(book, root):
            raise Broken(f"{text!r} reads back as {back!r}")


def _read_alone(name: str, text: str, book: Book) -> Program | None:
    """Parse a printed term as a definition, the others beside it as numbers."""
    others = "".join(f"@{other} = 0\n" for other in book.names if other != name)
    return read(f"@{name} = {text}\n{others}")


# ---- traces


def trace(data: bytes) -> None:
    """Any bytes open as the prefix that is whole, or are refused; what opens answers or says why not."""
    with tempfile.NamedTemporaryFile(suffix=".hvt", dir=_memory()) as file:
        file.write(data)
        file.flush()
        try:
            opened = open_trace(file.name)
        except Hvm4vizError as error:
            str(error).encode()
            return
        for question in questions(opened):
            with suppress(Hvm4vizError):
                question()


@cache
def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def questions(opened: Trace) -> Iterator[Callable[[], Any]]:
    """What people ask of a trace: all about a few passes, cells and slots of it."""
    yield lambda: (opened.meta, opened.state, opened.note, opened.rows, opened.outcomes, opened.rules.totals())
    yield lambda: (opened.cells.shape, opened.remote.totals(), opened.given, opened.n_cells, opened.nbytes)
    yield opened.deferrals
    yield opened.deferral_pairs
    yield opened.digest_or_none
    yield lambda: opened.roles
    yield opened.verify
    yield lambda: opened.program
    yield opened.heatmap
    for query in ("outcome:deferred", "age:>0", "op:take", "tag:SUP region:0"):
        yield lambda query=query: opened.find(query)
    yield lambda: _find_named(opened)
    yield opened.events
    yield opened.ops
    yield opened.deltas
    n_passes = opened.n_passes
    for p in sorted({0, n_passes // 2, n_passes} if n_passes else {0})[:PASSES_ASKED]:
        yield lambda p=p: opened.at(p)
        yield lambda p=p: opened.at(p).settled()
        yield lambda p=p: opened.graph(p)
        yield lambda p=p: opened.slice(0, p).digest_or_none()
        yield lambda p=p: opened.diff(0, p)
        if p < n_passes:
            yield lambda p=p: opened.frontier(p)
            yield lambda p=p: opened.owner(0, p)
            yield lambda p=p: _about_entries(opened, p)


def _find_named(opened: Trace) -> None:
    with suppress(ValueError):  # the program need not have a definition of that name
        opened.find("def:@main")


def _about_entries(opened: Trace, p: int) -> None:
    events = opened.events(p, p + 1)
    cells = np.unique(np.concatenate([events["loc"], events["slot"]]))[:PASSES_ASKED]
    for cell in cells.tolist():
        with suppress(Hvm4vizError):
            opened.cell(cell)
        with suppress(Hvm4vizError):
            opened.why(cell, p)


# ---- all of them

TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "parser": parser,
    "printer": printer,
    "trace": trace,
    "heaps": heaps.heaps,
}


def bounded(target: Callable[[bytes], None], data: bytes) -> None:
    """Run a target; raise ``Broken`` if it takes more time or memory than one input may."""
    before, begun = peak_kib(), time.process_time()
    target(data)
    took, grown = time.process_time() - begun, peak_kib() - before
    if took > SECONDS:
        raise Broken(f"took {took:.1f} s")
    if grown > MEMORY_KIB:
        raise Broken(f"took {grown >> 10} MiB")


def peak_kib() -> int:
    """Return the most memory that this process has had at a time."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 10 if sys.platform == "darwin" else peak


def name_of(error: BaseException) -> str:
    """Name a finding by what was raised and where: the innermost place in the package."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "hvm4viz/" in frame.filename.replace("\\", "/")] or list(frames)
    what = str(error).partition(" ")[0] if isinstance(error, Broken) else ""
    words = (type(error).__name__, what if what.isalpha() else "", Path(inside[-1].filename).stem, inside[-1].name)
    return "-".join(word.strip("<>_") for word in words if word)


_ROOT: Final = Path(__file__).resolve().parents[2]
_FIRST: Final = {"trace": "tests/golden/format_2_full.hvt", "heaps": "tests/fuzz/drive.cpp"}


def first(name: str) -> bytes:
    """Return an input of the kind that a target is for, to warm up with."""
    return (_ROOT / _FIRST.get(name, "tests/cases/dup_case.hvm4")).read_bytes()
