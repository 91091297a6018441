"""What every widget shares: the base class, and the files that go to the browser."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import anywidget

FRONT_BYTES: Final = 150 << 10
"""Most bytes of a widget's module and style sheet together, as they are sent."""


class Widget(anywidget.AnyWidget):
    """A widget whose module and style sheet lie beside it: ``NAME.js``, ``NAME.css``."""


@cache
def asset(name: str) -> str:
    """Return a file that lies here, as it is sent: without indentation and comments, line by line as it was.

    Every view that a notebook saves holds these texts once more. No text of ours goes over a line's end, so that what
    is left out never was part of one.
    """
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n")
    stripped = (line.strip() for line in lines)
    return "\n".join("" if line.startswith("//") else line for line in stripped)
