"""What every widget shares: the base class, and the files that go to the browser."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import anywidget

_COMMENT: Final = re.compile(r"(^\s*|\s\s)// .*$")

_HARD: Final = re.compile(r"['`/\\]")
"""What a line has that may hold a pattern, a division or a text with more in it than characters: it stays as it is."""

_TEXT: Final = re.compile(r'("[^"]*")')
_BLANKS: Final = re.compile(r"\s*([=(){},;:<>?&|!*\[\]])\s*")
"""Blanks that mean nothing between texts."""

_CSS_BLANKS: Final = re.compile(r"\s*([{};])\s*")
"""Blanks that mean nothing in a style sheet, wherever they stand."""

FRONT_BYTES: Final = 150 << 10
"""Most bytes of a widget's module and style sheet together, as they are sent."""


class Widget(anywidget.AnyWidget):
    """A widget whose module and style sheet lie beside it: ``NAME.js``, ``NAME.css``."""


@cache
def asset(name: str) -> str:
    """Return a file that lies here, as it is sent: without indentation, comments and empty lines.

    Every view that a notebook saves holds these texts once more. No text of ours goes over a line's end, and a comment
    behind code stands behind two blanks, so that what is left out never was part of a text.
    """
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n")
    lines = [stripped for line in lines if (stripped := _COMMENT.sub("", line).strip())]
    if name.endswith(".css"):
        return _CSS_BLANKS.sub(r"\1", "\n".join(lines))
    return "\n".join(line if _HARD.search(line) else _dense(line) for line in lines)


def _dense(line: str) -> str:
    parts = _TEXT.split(line)
    return "".join(part if i % 2 else _BLANKS.sub(r"\1", part) for i, part in enumerate(parts))
