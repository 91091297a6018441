"""Habits from other languages and editors, told apart by what they leave in a text: what to write here instead."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from hvm4viz.syntax.scope import SUBSCRIPTS
from hvm4viz.syntax.tokens import NAME

_LET, _IF = "a let is ! x = value; body", "a choice is λ{0: otherwise; λn. then}(condition)"
_CASES = "a case function is λ{#A: a; #B: λx. b; default}, applied to the value: λ{...}(value)"
FUNCTION: Final = (
    "a function is λx. body; λ (U+03BB) has no other spelling: copy it from here, or in a notebook type \\lambda "
    "and Tab"
)
_NUMBERS = "0 is false, and every other number is true"
PRINT: Final = (
    'to print, write %log("text"); what @main gives is printed anyway, and %nf and %gnf only reduce what they get'
)
prints: Final = re.compile(r"print|log|echo|debug|dbg|show|trace|put|write|display|say", re.IGNORECASE).match
"""Whether a primitive that is not there was to print, by how its name begins."""
WORDS: Final = {
    "let": _LET,
    "if": _IF,
    "match": _CASES,
    "case": _CASES,
    "switch": _CASES,
    "lambda": FUNCTION,
    "fn": FUNCTION,
    "fun": FUNCTION,
    "def": "a definition is @name = term",
    "true": _NUMBERS,
    "false": _NUMBERS,
}
"""What words of other languages are here."""

_COMMENT: Final = re.compile(r"^(?:(?!//)[^\"'`\n])*?(?<!\S)(#)\s", re.MULTILINE).search
"""A ``#`` that stands alone, before any string or comment of its line: no constructor is written so."""

_FLAT: Final = re.compile(r"[^{}\n]{1,40}\}").match
"""Sides of a superposition, if they are short and plain."""

_NAMES: Final = re.compile(r"([^{}\n]{1,40})\{").match
_PLAIN_BRANCHES: Final = re.compile(r"([^{}\n;!λ\"'`]{1,40});([^{}\n;!λ\"'`]{1,40});?\s*\}").match
"""Branches of a fork, if they are short and nothing in them can hide a name."""


def file_habit(text: str, offset: int) -> str:
    """Tell what is wrong with the file or the lines, rather than with the term that stops at this character.

    Returns
    -------
    hint : str
        Empty if there is nothing to tell.
    """
    if not offset and text.startswith(("\xff\xfe", "\xfe\xff")):
        return "the file is UTF-16; a program is UTF-8: save it as that"
    if not text[offset].isprintable():
        is_control = unicodedata.category(text[offset]) == "Cc"
        kind, do = ("control", "; is this a text file?") if is_control else ("invisible", ", or write a plain blank")
        return f"{kind} character U+{ord(text[offset]):04X} here: remove it{do}"
    if text[offset] > "\x7f" and text[offset] not in "λ↑₀₁":
        return (
            "outside strings and comments the only signs beyond ASCII are λ ↑ ₀ ₁; if that is not what you wrote, save "
            "the file as UTF-8"
        )
    if comment_start(text, offset) is not None:
        return "a comment starts with //, not with #"
    return ""


def comment_start(text: str, offset: int) -> int | None:
    """Return where a comment with ``#`` begins that the text at this character belongs to, if it does."""
    start = text.rfind("\n", 0, offset) + 1
    is_first = not text[start:offset].strip()
    if is_first:  # the text of a comment may end in what is a constructor's name: then the next line does not fit
        start = text.rfind("\n", 0, len(text[:start].rstrip())) + 1
    if text[offset] == "#" and (is_first or not text[offset + 1 : offset + 2].isalpha()):
        return offset
    found = _COMMENT(text[start:offset])
    return start + found.start(1) if found else None


def labelled(text: str, start: int) -> str:
    """Write a superposition whose sides start here with a label: with these sides if they are short and plain."""
    sides = _FLAT(text, start)
    return f"&A{{{sides[0] if sides and ',' in sides[0] else 'a, b}'}"


def fork_written_out(text: str, start: int, names_start: int) -> str:
    """Write a fork without one: with its own branches if they are short and plain.

    Parameters
    ----------
    text : str
    start, names_start : int
        Offsets of its ``&``, and of what follows its ``λ``.
    """
    label = "".join(text[start + 1 : names_start - 1].split())
    found = _NAMES(text, names_start)
    names: list[str] = re.findall(NAME, found[1]) if found else []
    plain = _PLAIN_BRANCHES(text, found.end()) if found and names else None
    branches = ["...", "..."]
    if plain:
        bare = rf"(?<![\w$@#%&^])({'|'.join(map(re.escape, names))})(?![\w$₀₁])"
        branches = [re.sub(bare, rf"\1{side}", plain[1 + i].strip()) for i, side in enumerate(SUBSCRIPTS)]
    return f"{''.join(f'λ{name}&{label}. ' for name in names or ['x'])}&{label}{{{', '.join(branches)}}}"
