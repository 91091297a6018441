"""Runs and text that several tests of the view look at."""

from __future__ import annotations

from functools import cache

import hvm4viz as hv
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag

SHARED = "@range = λ{0: []; λ&n. n <> @range(n - 1)}\n@main = ! &list = @range(5); #Pair{list, list}"
MACHINE = hv.Machine(blocks=2, threads_per_block=1, region_size=64)

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</pre><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]><svg/onload=alert(1)>",
    "\" onload='alert(1)",
    "' onfocus=alert(1) autofocus '",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<svg><script>alert(1)</script></svg>",
    "<style>*{display:none}</style>",
    "expression(alert(1))",
    "{{7*7}} ${7*7} <%= 7*7 %> #{7*7}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;b&#62;",
    "\\u003cscript\\u003e",
    "\0",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\u202egnp.exe",
    "\u2066hidden\u2069",
    "\u2028\u2029",
    "\ufeff",
    "__proto__",
    "constructor",
    "</title><script>alert(1)</script>",
    "</noscript><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=javascript:alert(1)>x</a>",
    "<math><mi//xlink:href='javascript:alert(1)'>",
    "<details open ontoggle=alert(1)>",
    "<base href=//evil>",
    "<meta http-equiv=refresh content=0>",
    "<link rel=stylesheet href=//evil>",
    "<form action=//evil><button>x",
    "<object data=//evil>",
    "<embed src=//evil>",
    "<video onerror=alert(1)><source></video>",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "`${alert(1)}`",
    "*/alert(1)/*",
    "//\nalert(1)",
    "$x^2$ \\(x\\) \\begin{x}",
    "a" * (1 << 16),
    "<" * 5_000,
]
"""Text that tries to be more than text; every way out shows it as text."""


@cache
def shared(record: str = "full", workers: int = 1) -> hv.Run:
    """Run two fields of a pair that want one list: a small run with deferrals."""
    return hv.run(SHARED, machine=MACHINE, record=record, workers=workers)  # pyright: ignore[reportArgumentType]


@cache
def seven_cells(record: str = "full") -> hv.Run:
    """Run the second worked example: seven cells in three regions."""
    builder = HeapBuilder(24)
    builder.put(0, Tag.C00 + 2, 77, 8)
    builder.put(1, Tag.SUP, 5, 5).numbers(5, [1, 2])
    builder.put(8, Tag.DP0, 5, 1).put(9, Tag.C00 + 2, 77, 17)
    builder.put(17, Tag.NUM, 0, 3).put(18, Tag.DP1, 5, 1)
    machine = hv.Machine(blocks=3, threads_per_block=4, region_size=8, shard="address")
    return hv.run_heap(builder.heap(), machine=machine, device="cpu", record=record)  # pyright: ignore[reportArgumentType]


def hostile(text: str) -> hv.Run:
    """Run a program whose name, source and answer hold a text."""
    literal = "".join(f"\\{c}" if c in '"\\' else "\\0" if c == "\0" else c for c in text[:2000])
    comment = text.replace("\n", " ").replace("\0", " ").encode("utf-8", "replace").decode()
    run = hv.run(hv.parse(f'// {comment}\n@main = "{literal}"', name=text[:200]), record="full")
    run.message = text
    return run
