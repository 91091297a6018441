"""Words that MSL 2.3 does not have, or that the kernel does without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hvm4viz.kernel_text.metal_text import INCLUDE_MARK, Finding, MetalText

_WORDS: Final[dict[str, tuple[str, str]]] = {
    "64-bit atomic": (
        r"\batomic_u?long\b|\b_?atomic\s*<[^>]*>|\batomic_(?:min|max)_explicit\b",
        "there are 32-bit atomics only",
    ),
    "foreign atomic": (r"\b(?:__atomic_|__sync_)\w+|\batomic(?:Add|Or|CAS|Exch)\b", "atomics of another compiler"),
    "memory order": (
        r"\bmemory_order_(?!relaxed\b)\w+|\b__ATOMIC_(?!RELAXED\b)[A-Z_]+|\batomic_thread_fence\b|\b__threadfence\w*",
        "there is no order but relaxed",
    ),
    "floating point": (r"\b(?:double|float|half|bfloat)\b", "fast math is always on: integers only"),
    "exception": (r"\b(?:try|catch|throw|noexcept)\b", "there are no exceptions"),
    "allocation": (r"\bnew\s+\w+|\bdelete\b|\b(?:malloc|calloc|realloc|free)\s*\(", "nothing is allocated"),
    "goto": (r"\bgoto\b", "there is none"),
    "long long": (r"\blong\s+long\b|\b\d[\dA-Fa-fx]*(?:[uU]?(?:ll|LL)|(?:ll|LL)[uU])\b", "64 bits are ulong"),
    "header": (rf"\b{INCLUDE_MARK}\((?!<metal_stdlib>\))[^)]*\)", "there is <metal_stdlib> only"),
    "function pointer": (r"\(\s*\*\s*\w*\s*\)\s*\(", "functions are called by name"),
    "class": (r"\bvirtual\b|\bdynamic_cast\b|\btypeid\b|\b(?:struct|class)\s+\w+\s*:(?!:)", "plain structs only"),
    "lambda": (r"[=(,]\s*\[[&=]?\w*\]\s*[({]", "there are none"),
    "storage": (r"\b(?:thread_local|register|volatile)\b", "not in this subset"),
    "standard library": (r"\bstd\s*::|\basm\b|\bprintf\b", "there is <metal_stdlib> only"),
}
"""Check -> what it looks for, and why."""


def foreign_words(metal: MetalText) -> Iterator[Finding]:
    """Find words that MSL 2.3, or the kernel's subset of it, does not have."""
    for check, (pattern, why) in _WORDS.items():
        for found in re.finditer(pattern, metal.text):
            word = " ".join(found[0].split()).removeprefix(INCLUDE_MARK).strip("()=, ")
            yield metal.finding(check, found.start(), f"{word!r}: {why}")
