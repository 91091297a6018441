"""Results as Python sees them: terms read back from a heap."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from hvm4viz.syntax.span import printable
from hvm4viz.term import CHR, CON, NIL, OPERATORS, SUB_BIT, SUC, ZER, Tag, arity_of, ext_of, has_sub, tag_of, val_of

if TYPE_CHECKING:
    from hvm4viz.book import Book
    from hvm4viz.syntax.printer import Words

_ENDS = (Tag.VAR, Tag.DP0, Tag.DP1)


class Term:
    """A term of a result.

    Parameters
    ----------
    words : ndarray of uint64, or list of int
        A heap image without frames.
    loc : int
        Cell that holds the term.
    book : Book
        Names of constructors and definitions.
    quoted : bool
        Whether variables are quoted (collapse mode).
    call : object
        The call of a primitive that the term was made for, if any: only that call may give it back.
    """

    def __init__(self, words: Words, loc: int, book: Book, *, quoted: bool = False, call: object = None) -> None:
        self._words = words
        self._call = call
        self._loc = loc
        self._word = self._follow(int(words[loc]))
        self._book = book
        self._quoted = quoted

    @cached_property
    def text(self) -> str:
        """The term as HVM4 prints it."""
        from hvm4viz.syntax.printer import show

        return show(self._words, self._loc, self._book, quoted=self._quoted)

    def fixed(self) -> Term:
        """Print the term now, while its cells are what they are; return itself."""
        _ = self.text
        return self

    @classmethod
    def told(cls, words: Words, loc: int, book: Book, text: str) -> Term:
        """Return a result of a collapse that was printed before, when its cells were what they were then."""
        term = cls(words, loc, book, quoted=True)
        term.__dict__["text"] = text
        return term

    @property
    def cell(self) -> int:
        """Cell that holds it."""
        return self._loc

    @property
    def word(self) -> int:
        """The term's word; substitutions are followed."""
        return self._word

    @property
    def call(self) -> object:
        """The call of a primitive that it was made for, or None."""
        return self._call

    @property
    def kind(self) -> str:
        """Name of its tag; constructors are ``"CTR"`` whatever their arity."""
        tag = tag_of(self._word)
        return "CTR" if Tag.C00 <= tag <= Tag.C16 else Tag(tag).name

    @property
    def label(self) -> int | None:
        """Label of a superposition or of an end of a duplication; None elsewhere."""
        return ext_of(self._word) if tag_of(self._word) in (Tag.SUP, Tag.DP0, Tag.DP1) else None

    @property
    def name(self) -> str | None:
        """Name of a constructor, case or definition, or sign of an operator; None elsewhere."""
        tag, ext = tag_of(self._word), ext_of(self._word)
        if Tag.C00 <= tag <= Tag.C16 or tag == Tag.MAT:
            return self._book.ctor_names.get(ext)
        if tag == Tag.REF:
            return self._book.names[ext]
        return OPERATORS[ext] if tag == Tag.OP2 else None

    @property
    def children(self) -> tuple[Term, ...]:
        """Terms of its fields, in slot order; substitutions are followed."""
        loc = val_of(self._word)
        cells = range(loc, loc + arity_of(self._word))
        return tuple(Term(self._words, cell, self._book, quoted=self._quoted, call=self._call) for cell in cells)

    def _follow(self, word: int) -> int:
        word &= ~SUB_BIT
        while tag_of(word) in _ENDS:
            inside = int(self._words[val_of(word)])
            if not has_sub(inside):
                break
            word = inside & ~SUB_BIT
        return word

    def python(self) -> Any:
        """Return the value as Python data: numbers and nats as int, lists as list, strings as str, pairs as tuple.

        Raises
        ------
        ValueError
            If the term holds anything else.
        """
        root: list[Any] = []
        # each entry: where the value goes, and the term's word
        work: list[tuple[list[Any], int]] = [(root, self._word)]
        closers: list[tuple[list[Any], list[Any], str]] = []
        while work:
            into, word = work.pop()
            word = self._follow(word)
            tag, ext, loc = tag_of(word), ext_of(word), val_of(word)
            if tag == Tag.NUM:
                into.append(loc)
            elif ext in (ZER, SUC) and Tag.C00 <= tag <= Tag.C16:
                into.append(self._nat(word))
            elif ext in (NIL, CON) and Tag.C00 <= tag <= Tag.C16:
                items: list[Any] = []
                cells = self._list(word)
                closers.append((into, items, "list"))
                slots: list[list[Any]] = [[] for _ in cells]
                items.append(slots)
                work += [(slot, int(self._words[cell])) for slot, cell in zip(slots, cells, strict=True)]
            elif ext == CHR and tag == Tag.C00 + 1:
                items = []
                closers.append((into, items, "char"))
                slots = [[]]
                items.append(slots)
                work.append((slots[0], int(self._words[loc])))
            elif Tag.C00 <= tag <= Tag.C16:
                items = []
                closers.append((into, items, "tuple"))
                slots = [[] for _ in range(tag - Tag.C00)]
                items.append(slots)
                work += [(slot, int(self._words[loc + i])) for i, slot in enumerate(slots)]
            else:
                raise ValueError(f"a {Tag(tag).name} has no Python form; .text prints it")
        for into, items, form in reversed(closers):
            values = [slot[0] for slot in items[0]]
            if form == "char":
                into.append(_Char(chr(values[0])))
            elif form == "tuple":
                into.append(tuple(values))
            elif values and all(isinstance(value, _Char) for value in values):
                into.append("".join(values))
            else:
                into.append(values)
        value = root[0]
        return str(value) if isinstance(value, _Char) else value

    def _nat(self, word: int) -> int:
        count = 0
        while ext_of(word) == SUC and tag_of(word) == Tag.C00 + 1:
            count += 1
            word = self._follow(int(self._words[val_of(word)]))
        if ext_of(word) != ZER:
            raise ValueError("an open nat has no Python form; .text prints it")
        return count

    def _list(self, word: int) -> list[int]:
        cells: list[int] = []
        while ext_of(word) == CON and tag_of(word) == Tag.C00 + 2:
            cells.append(val_of(word))
            word = self._follow(int(self._words[val_of(word) + 1]))
        if ext_of(word) != NIL or tag_of(word) != Tag.C00:
            raise ValueError("an open list has no Python form; .text prints it")
        return cells

    def __repr__(self) -> str:
        """Show the text, cut after 200 characters, without what a terminal would obey."""
        text = printable(self.text)
        return text if len(text) <= 200 else f"{text[:200]}… ({len(text):,} characters)"


class _Char(str):
    """A character inside a list that may turn out to be a string."""

    __slots__ = ()
