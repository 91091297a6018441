"""What a word says of itself: its text, and the place in the source that its term came from, where it tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hvm4viz.kernel_text import abi
from hvm4viz.term import OPERATORS, SUB_BIT, Tag, ext_of, has_sub, tag_of, val_of

if TYPE_CHECKING:
    from hvm4viz.book import Book
    from hvm4viz.errors import Span

FRAMES: Final = {value: name for name, value in vars(abi).items() if name.startswith("F_") and isinstance(value, int)}
"""Names of the tags of frames, which a task leaves in the nodes that it is reducing."""

_OTHERS: Final = {abi.FORKED: "FORKED"}

_ATOMS: Final = (Tag.NUM, Tag.ERA, Tag.ANY, Tag.NAM, Tag.C00, Tag.REF)


def tag_name(word: int) -> str:
    """Return the name of a word's tag: a constructor of terms, or a frame."""
    tag = tag_of(word)
    if tag in FRAMES or tag in _OTHERS:
        return FRAMES.get(tag) or _OTHERS[tag]
    if Tag.C00 < tag < Tag.C16:
        return f"C{tag - Tag.C00:02}"
    return Tag(tag).name if tag in Tag.__members__.values() else f"?{tag}"


def place_of(word: int, book: Book | None) -> tuple[str | None, Span | None]:
    """Return definition and source span of the static term that a word stands for.

    Only closures and references tell; the rest was made by interactions, and has none of its own.
    """
    if book is None:
        return None, None
    tag, ext = tag_of(word), ext_of(word)
    if tag == Tag.ALO and 0 < ext < len(book.words):
        return book.names[int(book.definition[ext])], book.span(ext)
    if tag == Tag.REF and ext < len(book.names):
        return book.names[ext], book.span(int(book.roots[ext]))
    return None, None


def name_of(word: int, book: Book | None) -> str | None:
    """Return the name that a word carries: of a constructor, a case, a definition or a primitive, or an operator."""
    tag, ext = tag_of(word), ext_of(word)
    if tag == Tag.OP2:
        return OPERATORS[ext] if ext < len(OPERATORS) else None
    if book is None:
        return None
    if Tag.C00 <= tag <= Tag.C16 or tag == Tag.MAT:
        name = book.ctor_names.get(ext)
        return f"#{name}" if name else None
    if tag == Tag.REF and ext < len(book.names):
        return f"@{book.names[ext]}"
    if tag == Tag.PRI and ext < len(book.prims):
        return f"%{book.prims[ext][0]}"
    if tag == Tag.ALO and ext < len(book.code):
        return name_of(int(book.code[ext]), book)
    return None


def word_text(word: int, book: Book | None = None) -> str:
    """Write a word: SUB, tag, name or label, and where it points."""
    if word == 0:
        return "empty"
    tag, ext, val = tag_of(word), ext_of(word), val_of(word)
    parts = ["SUB"] if has_sub(word) else []
    if tag == Tag.NUM:
        return " ".join([*parts, str(val)])
    parts.append(tag_name(word & ~SUB_BIT))
    name = name_of(word, book)
    if name:
        parts.append(name)
    elif tag == Tag.ALO and book is not None and ext < len(book.code):
        parts.append(tag_name(int(book.code[ext])))
    elif tag in (Tag.SUP, Tag.DP0, Tag.DP1, abi.F_DP0, abi.F_DP1):
        parts.append(f"label {ext}")
    if tag not in _ATOMS:
        parts.append(f"at {val}")
    return " ".join(parts)
