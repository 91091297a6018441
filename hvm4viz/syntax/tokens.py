"""Lexical rules: one compiled pattern per place in the grammar, each of which skips blanks first.

Patterns are matched at a position, never searched, and use possessive repeats: reading is linear in the text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Final

BLANK: Final = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
NAME: Final = r"[A-Za-z][A-Za-z0-9_$]*+"
NUMBER: Final = r"[0-9]++"

_DIGITS: Final = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$"
_CODES: Final = {digit: code for code, digit in enumerate(_DIGITS)}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def _pattern(text: str) -> Callable[[str, int], re.Match[str] | None]:
    return re.compile(BLANK + text, re.DOTALL).match


skip_blank: Final = _pattern("")

SIGNS: Final = {sign: _pattern(re.escape(sign)) for sign in "(){}=:;,.λ!&@\"'"}
"""Matchers of single signs."""

# The first token of an atom. Groups: 1 number, 2 name, 3 its subscript, 4 one sign, 5 nat.
match_atom: Final = _pattern(rf"(?:({NUMBER})(?!n)|({NAME})(?:{BLANK}([₀₁]))?+|([λ!&#@%^↑*(\[\"`'])|({NUMBER}n\+?+))")

# What continues a term. Groups: 1 form that ignores the level, 2 operator, 3 call.
match_infix: Final = _pattern(r"(?:(~>|<>|===|\.&\.|\.\|\.)|(&&|\|\||<<|>>|<=|>=|==|!=|[-^*/%+<>~])|(\())")

match_name: Final = _pattern(f"({NAME})")
match_constructor: Final = _pattern(rf"({NAME})(?:{BLANK}(\{{))?+")
match_string: Final = re.compile(r"([\"`])((?:(?!\1)[^\\]|\\.)*+)\1", re.DOTALL).match
match_character: Final = re.compile(r"'(\\.|[^\\])'", re.DOTALL).match

# Where items start, perhaps a closing sign (group 1); behind an item, the same after an optional comma.
match_closing: Final = _pattern(r"([)\]}])?+")
match_separator: Final = _pattern(rf"(?:,{BLANK})?+([)\]}}])?")
match_comma: Final = _pattern(",?+")
match_semicolon: Final = _pattern(";?+")

# Numbers with commas between them, as far as each is a whole item, and lists of them (group 1); a bounded stretch at a
# time, since these two patterns may have to step back.
_GAP: Final = r"[ \t\r\n]*+"
_NUMBERS: Final = rf"{_GAP}{NUMBER}(?:{_GAP},{_GAP}{NUMBER}){{0,4095}}"
_FLAT_LIST: Final = rf"{_NUMBERS}{_GAP},?+{_GAP}\]"
match_flat_list: Final = re.compile(_FLAT_LIST).match
match_literals: Final = re.compile(rf"(?:{_NUMBERS}|(\[){_FLAT_LIST})(?={_GAP}[,)\]}}])").match
find_numbers: Final = re.compile(r"[0-9]++").finditer

match_definition: Final = _pattern(f"@{BLANK}({NAME}){BLANK}=")
match_include: Final = _pattern(f'#include{BLANK}"([^"]*+)"')

# The start of an entry of a case function. Groups: 1 name, 2 `[]` or `<>`, 3 and 4 nat, 5 number, 6 character.
match_case: Final = _pattern(
    rf"(?:\#{BLANK}({NAME})|(\[\]|<>)|0*(?:(0){BLANK}n|(1){BLANK}n\+)|({NUMBER})(?={BLANK}:)|('))"
)
match_default: Final = _pattern(f"_{BLANK}:")
match_unscoped: Final = _pattern(rf"λ{BLANK}({NAME}){BLANK};")
match_branch: Final = (_pattern(rf"&₀{BLANK}:"), _pattern(rf"&₁{BLANK}:"))


_NO_START: Final = re.compile(rb"[\x80-\xc1\xf5-\xff]*+").match


def _byte_values(fault: UnicodeError) -> tuple[str, int]:
    """Replace bytes that are no UTF-8: surrogates by their code points, others by their own values."""
    assert isinstance(fault, UnicodeDecodeError)
    three = fault.object[fault.start : fault.start + 3]
    try:
        return three.decode("utf-8", "surrogatepass"), fault.start + 3
    except UnicodeDecodeError:
        run = _NO_START(fault.object, fault.end)  # a whole run at once: garbage files stay fast
        assert run is not None
        return fault.object[fault.start : run.end()].decode("latin-1"), run.end()


codecs.register_error("hvm4viz", _byte_values)


def decode(source: bytes) -> str:
    """Turn source bytes into text; a byte that starts no UTF-8 sequence stands for its own value.

    A byte order mark at the start is skipped.
    """
    return source.removeprefix(codecs.BOM_UTF8).decode("utf-8", "hvm4viz")


def unescape(text: str) -> str:
    r"""Replace the escapes of a string or character: ``\n \t \r \0``, else the escaped character itself (D1)."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def number(digits: str) -> int:
    """Return the value of a number literal, modulo 2^32 (10^32 is a multiple of that)."""
    return int(digits[-32:]) & 0xFFFFFFFF


def name_id(name: str) -> int:
    """Return the 24-bit id of a name: its last four characters in base 64."""
    code = 0
    for character in name[-4:]:
        code = code << 6 | _CODES[character]
    return code


def id_name(code: int) -> str:
    """Return the name of a 24-bit id: base 64, most significant digit first, ``_`` for 0."""
    name = _DIGITS[code & 63]
    while code := code >> 6:
        name = _DIGITS[code & 63] + name
    return name
