"""Where something stands in the kernel's text."""

from __future__ import annotations

import re
from typing import Final

NEAR: Final = re.compile(r"(?ms)^#ifdef NEAR_LOOP\n// ==== near\.h$.*?^#endif$(?=\n// ==== pass\.metal)")
"""What the text says a second time, for GPUs."""


def places(text: str, words: str) -> int:
    """Return how often words stand in a kernel text, not counting what it says a second time."""
    return NEAR.sub("", text).count(words)
