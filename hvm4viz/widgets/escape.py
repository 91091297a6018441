"""The one module that makes foreign text fit to be shown: no other module builds markup from program text.

Text of programs, traces and compilers may hold anything. Here control and bidirectional characters become visible
escapes, and HTML's own characters become entities.
"""

from __future__ import annotations

import html
import json
from typing import Final

_CONTROLS: Final = [*range(0x20), *range(0x7F, 0xA0)]
_DIRECTIONS: Final = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_BREAKS: Final = [0x2028, 0x2029, 0xFEFF]
_SURROGATES: Final = range(0xD800, 0xE000)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_VISIBLE: Final = {code: _escape(code) for code in [*_CONTROLS, *_DIRECTIONS, *_BREAKS, *_SURROGATES]}
_LAYOUT: Final = {ord("\n"), ord("\t")}
_TERMINAL: Final = {code: text for code, text in _VISIBLE.items() if code not in _LAYOUT}


def terminal_text(text: str) -> str:
    r"""Make control and bidirectional characters visible; line breaks and tabs stay.

    >>> terminal_text("a\x1b[31m")
    'a\\x1b[31m'
    """
    return text.translate(_TERMINAL)


def line_text(text: str, *, most: int = 200) -> str:
    """Make text fit for one line of a picture or a list: no break, no control character, cut after ``most``."""
    line = text[:most].translate(_VISIBLE)
    return line if len(text) <= most and len(line) <= most else line[: most - 1] + "…"


def html_text(text: str) -> str:
    """Make text fit to stand between HTML tags, or inside a double-quoted attribute."""
    return html.escape(terminal_text(text), quote=True)


_SCRIPT: Final = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def script_json(value: object) -> str:
    r"""Write a value as JSON that may stand inside a ``<script>`` element: nothing in it can end the element.

    >>> print(script_json("</script>"))
    "\u003c/script\u003e"
    """
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_SCRIPT)
