"""Places in source text, shown: ``file:line:col``, the line, and a caret below the fault."""

from __future__ import annotations

import unicodedata
from typing import Final

from hvm4viz.errors import Span

_BEFORE: Final = 60
"""Characters of a long line shown before the caret."""

_SHOWN: Final = 100
"""Characters of a line shown at most."""


def printable(text: str) -> str:
    """Replace what would move the cursor, reorder the line or not encode; tabs stay."""
    return "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _padding(text: str) -> str:
    """Return blanks as wide as the text, tabs kept so that the caret stands right at any tab width."""
    return "".join("\t" if c == "\t" else " " * _width(c) for c in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def excerpt(span: Span) -> str:
    """Show the line of a span and a caret line below it.

    Parameters
    ----------
    span : Span
        What to point at; an empty span gets one caret, a span over several lines is cut at the first.

    Returns
    -------
    lines : str
        Two lines. A long line is cut around the caret, unprintable characters are replaced.
    """
    start = span.source.line_starts[span.line - 1]
    end = span.source.text.find("\n", start)
    end = len(span.source.text) if end < 0 else end
    first = max(start, span.start - _BEFORE) if end - start > _SHOWN else start
    last = min(end, first + _SHOWN)
    line = printable(span.source.text[first:last].rstrip("\r"))
    before = printable(span.source.text[first : span.start].rstrip("\r"))
    marked = printable(span.source.text[span.start : min(span.end, last)].rstrip("\r"))
    left, right = "…" * (first > start), "…" * (last < end)
    carets = "^" * max(1, sum(map(_width, marked)))
    return f"{left}{line}{right}\n{' ' * len(left)}{_padding(before)}{carets}"


def report(cause: str, span: Span, *, expected: str = "", detected: str = "", hint: str = "") -> str:
    """Lay out a whole error message: place and cause, the line, a caret, and what to do."""
    notes = [("expected", expected), ("detected", detected), ("hint", hint)]
    lines = [printable(f"{span}: {cause}"), excerpt(span)]
    return "\n".join(lines + [f"- {label}: {printable(note)}" for label, note in notes if note])
