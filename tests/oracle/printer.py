"""Results as text (``printing.md``), without recursion: a stack holds the text and terms still to be printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hvm4viz.term import CHR, CON, NIL, OPERATORS, SUC, ZER, Tag
from tests.oracle.terms import CASE_TAGS, CTR_TAGS, Binder, Slot, Term

if TYPE_CHECKING:
    from hvm4viz.book import Book

DIGITS = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$"
CALL_ARGUMENTS_MAX = 256
CASE_NAMES = {ZER: "0n", SUC: "1n+", NIL: "[]", CON: "<>"}
ESCAPES = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"}
CONNECTIVES = {Tag.EQL: "===", Tag.AND: ".&.", Tag.OR: ".|."}

Piece = str | tuple[Term, int]


def name_of(number: int) -> str:
    """A label or name id in base 64."""
    text = ""
    while number > 0:
        text = DIGITS[number & 63] + text
        number >>= 6
    return text or "_"


def alpha(number: int, first: str = "a") -> str:
    """``a`` to ``z``, ``aa`` ... for 1, 2 ...; ``_`` for 0."""
    text = ""
    while number > 0:
        number -= 1
        text = chr(ord(first) + number % 26) + text
        number //= 26
    return text or "_"


def is_showable(code: int) -> bool:
    """Whether a character can stand in a string."""
    if code in (0, 9, 10, 13):
        return True
    return 0x20 <= code <= 0x10FFFF and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF


def is_ctr(term: Term, name: int, arity: int) -> bool:
    """Whether a term is this built-in constructor."""
    return term.tag == Tag.C00 + arity and term.ext == name


def char_code(term: Term) -> int | None:
    """The code of a showable ``#CHR{n}``."""
    if is_ctr(term, CHR, 1) and term.args[0].tag == Tag.NUM and is_showable(term.args[0].ext):
        return term.args[0].ext
    return None


class Printer:
    """The names given so far, and what is still to be printed."""

    def __init__(self, book: Book, *, is_quoted: bool) -> None:
        self.book = book
        self.is_quoted = is_quoted
        self.lower: dict[Binder, str] = {}
        self.upper: dict[Slot, str] = {}
        self.floating: list[tuple[Slot, int]] = []

    def show(self, term: Term) -> str:
        """Print a result and the duplications that float beside it."""
        out = [self.text_of(term)]
        for slot, label in self.floating:  # grows while it is walked
            out.append(f"!{self.upper[slot]}&{name_of(label)}={self.text_of(slot.term)}")
        return ";".join(out) + (";" if self.floating else "")

    def text_of(self, term: Term) -> str:
        """Print one term."""
        out: list[str] = []
        todo: list[Piece] = [(term, 0)]
        while todo:
            piece = todo.pop()
            if isinstance(piece, str):
                out.append(piece)
            else:
                todo.extend(reversed(self.pieces(*piece)))
        return "".join(out)

    def lower_name(self, binder: Binder) -> str:
        """The name of a linked variable, drawn on first meeting."""
        return self.lower.setdefault(binder, alpha(len(self.lower) + 1))

    def pieces(self, term: Term, depth: int) -> list[Piece]:
        """One layer of a term."""
        tag = term.tag
        if tag in CTR_TAGS:
            return self.constructor(term, depth)
        if tag in CASE_TAGS:
            return self.cases(term, depth)
        if tag in CONNECTIVES or tag == Tag.OP2:
            sign = OPERATORS[term.ext] if tag == Tag.OP2 else CONNECTIVES[Tag(tag)]
            return ["(", (term.args[0], depth), f" {sign} ", (term.args[1], depth), ")"]
        if tag in (Tag.APP, Tag.DRY):
            return self.call(term, depth)
        match tag:
            case Tag.NUM:
                return [str(term.ext)]
            case Tag.NAM:
                return [name_of(term.ext)]
            case Tag.REF:
                return ["@" + self.book.names[term.ext]]
            case Tag.ERA:
                return ["&{}"]
            case Tag.ANY:
                return ["*"]
            case Tag.VAR:
                filled = term.binder().filled
                if filled is not None:
                    return [(filled, depth)]
                return ["_" if self.is_quoted else self.lower_name(term.binder())]
            case Tag.BJV:
                return [alpha(term.ext) if term.ext <= depth else "_"]
            case Tag.DP0 | Tag.DP1:
                return self.end(term, depth)
            case Tag.LAM:
                name = alpha(depth + 1) if self.is_quoted else self.lower_name(term.binder())
                return [f"λ{name}.", (term.args[0], depth + 1)]
            case Tag.SUP:
                return [f"&{name_of(term.ext)}{{", *listed(term.args, depth), "}"]
            case Tag.USE:
                return ["λ{", (term.args[0], depth), "}"]
            case Tag.DSU:
                return ["&(", (term.args[0], depth), "){", *listed(term.args[1:], depth), "}"]
            case Tag.DDU:
                return ["!(", (term.args[0], depth), ")=", (term.args[1], depth), ";", (term.args[2], depth)]
            case Tag.RED:
                return [(term.args[0], depth), " ~> ", (term.args[1], depth)]
            case Tag.INC:
                return ["↑", (term.args[0], depth)]
            case _:
                return [f"@{{{Tag(tag).name}}}"]  # unevaluated: never in a complete result

    def end(self, term: Term, depth: int) -> list[Piece]:
        """An end of a duplication."""
        slot = term.slot()
        if slot.published is not None:
            return [(slot.published, depth)]
        if slot not in self.upper:
            self.upper[slot] = alpha(len(self.upper) + 1, "A")
            self.floating.append((slot, term.ext))
        return [self.upper[slot] + ("₀" if term.tag == Tag.DP0 else "₁")]

    def call(self, term: Term, depth: int) -> list[Piece]:
        """A spine of applications."""
        arguments: list[Term] = []
        while term.tag in (Tag.APP, Tag.DRY):
            arguments.append(term.args[1])
            term = term.args[0]
        arguments.reverse()
        pieces: list[Piece] = ["(", (term, depth), ")"] if term.tag == Tag.LAM else [(term, depth)]
        first = len(arguments) % CALL_ARGUMENTS_MAX
        starts = [*([0] if first else []), *range(first, len(arguments), CALL_ARGUMENTS_MAX)]
        for start, stop in zip(starts, [*starts[1:], len(arguments)], strict=True):
            pieces += ["(", *listed(arguments[start:stop], depth), ")"]
        return pieces

    def cases(self, term: Term, depth: int) -> list[Piece]:
        """A chain of cases."""
        pieces: list[Piece] = ["λ{"]
        while term.tag in CASE_TAGS:
            if len(pieces) > 1:
                pieces.append(";")
            if term.tag == Tag.SWI:
                pieces.append(f"{term.ext}:")
            else:
                pieces.append(f"{CASE_NAMES.get(term.ext) or '#' + self.book.ctor_names[term.ext]}:")
            pieces.append((term.args[0], depth))
            term = term.args[1]
        if term.tag == Tag.USE:
            pieces += [";", (term.args[0], depth)]
        elif (term.tag, term.ext) != (Tag.NUM, 0):
            pieces += [";", (term, depth)]
        return [*pieces, "}"]

    def constructor(self, term: Term, depth: int) -> list[Piece]:
        """A constructor, with the sugar for numbers in unary, characters, strings and lists."""
        if is_ctr(term, ZER, 0) or is_ctr(term, SUC, 1):
            layers = 0
            while is_ctr(term, SUC, 1):
                layers += 1
                term = term.args[0]
            return [f"{layers}n"] if is_ctr(term, ZER, 0) else [f"{layers}n+", (term, depth)]
        code = char_code(term)
        if code is not None:
            return ["'" + ("\\'" if code == ord("'") else ESCAPES.get(code) or chr(code)) + "'"]
        if is_ctr(term, NIL, 0):
            return ["[]"]
        if is_ctr(term, CON, 2):
            items: list[Term] = []
            rest = term
            while is_ctr(rest, CON, 2):
                items.append(rest.args[0])
                rest = rest.args[1]
            if not is_ctr(rest, NIL, 0):
                return [(term.args[0], depth), "<>", (term.args[1], depth)]
            codes = [char_code(item) for item in items]
            if None not in codes:
                text = "".join('\\"' if c == ord('"') else ESCAPES.get(c) or chr(c) for c in codes if c is not None)
                return [f'"{text}"']
            return ["[", *listed(items, depth), "]"]
        return [f"#{self.book.ctor_names[term.ext]}{{", *listed(term.args, depth), "}"]


def listed(terms: list[Term], depth: int) -> list[Piece]:
    """Terms with commas between them."""
    pieces: list[Piece] = []
    for term in terms:
        pieces += [",", (term, depth)]
    return pieces[1:]
