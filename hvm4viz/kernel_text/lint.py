"""What Metal's compiler would refuse in a kernel text, found without Metal: ``python -m hvm4viz.kernel_text.lint``.

Two readings of the text as Metal gets it (``metal_text.py``): word by word, for what MSL 2.3 does not have; and by
clang, with each address space a type of its own. There thread is the space of plain C++, so that a missing ``thread``
goes unnoticed; the first reading looks for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hvm4viz.kernel_text.address_spaces import find_clang, lint_spaces
from hvm4viz.kernel_text.functions import Function, called, cycles, functions, outside
from hvm4viz.kernel_text.metal_text import Finding, MetalText, metal_text
from hvm4viz.kernel_text.source import kernel
from hvm4viz.kernel_text.words import foreign_words

BUFFERS_MAX: Final = 31
"""Buffers that one entry point may take."""

SPACES: Final = ("device", "thread", "constant", "threadgroup")

_QUALIFIER = re.compile(
    r"(?:\b(?:const|volatile|static|inline|struct|typedef|friend|" + "|".join(SPACES) + r")\b\s*)*$"
)
_QUALIFIERS_MAX = 80  # characters in front of a type that are looked at
_BUILT_IN = ("void", "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "size_t")
_GUARD = re.compile(r"\s*if \(index >= [^;]*\) return;")
_SLOT = re.compile(r"\[\[\s*buffer\((\d+)\)\s*\]\]")


def lint(text: str) -> list[Finding]:
    """Look for what MSL 2.3 does not have, word by word.

    Parameters
    ----------
    text : str
        A joined kernel text, such as ``hvm4viz.kernel().text``.

    Returns
    -------
    findings : list of Finding
        In the order of the text, check by check; empty for a text that Metal should take.

    Raises
    ------
    CompileFailed
        If the preprocessor refuses the text.
    DeviceUnavailable
        If there is no C++ compiler.
    """
    metal = metal_text(text)
    found = functions(metal.text)
    pieces = (foreign_words(metal), _pointers(metal), _globals(metal), _calls(metal, found), _entries(metal, found))
    return [finding for piece in pieces for finding in piece]


def _pointers(metal: MetalText) -> Iterator[Finding]:
    """Find pointers and references that do not say what they point into."""
    types = {*_BUILT_IN, "atomic_uint", *re.findall(r"\bstruct\s+(\w+)", metal.text)}
    types |= set(re.findall(r"\btypedef\b[^;{]*?\b(\w+)\s*;", metal.text))
    names = "|".join(sorted(types, key=len, reverse=True))
    for found in re.finditer(rf"\b({names})\s*(?:\bconst\s*)?(\*|&(?!&))", metal.text):
        before = _QUALIFIER.search(metal.text[max(0, found.start() - _QUALIFIERS_MAX) : found.start()])
        if before is None or not set(before[0].split()) & set(SPACES):
            kind = "pointer" if found[2] == "*" else "reference"
            yield metal.finding(
                "missing address space", found.start(), f"a {kind} to {found[1]}; say {', '.join(SPACES)}"
            )


def _globals(metal: MetalText) -> Iterator[Finding]:
    for offset, statement in outside(metal.text):
        is_declared = re.match(r"(?:typedef|struct|using|enum|namespace)\b|$", statement) or "(" in statement
        if not is_declared and "constant" not in statement.split():
            yield metal.finding("global", offset, f"{statement!r}: variables outside functions must be constant")
    for function in functions(metal.text):
        for found in re.finditer(r"\bstatic\b", function.body):
            yield metal.finding("global", function.start + found.start(), f"a static variable in {function.name}")


def _calls(metal: MetalText, found: Sequence[Function]) -> Iterator[Finding]:
    names = {function.name for function in found}
    graph = {name: set[str]() for name in names}
    overloaded = {name for name in names if sum(function.name == name for function in found) > 1}
    for function in found:
        graph[function.name] |= called(function, names) - ({function.name} & overloaded)
        for use in re.finditer(r"(?<![\w.>])(\w+)\b(?!\s*\()", function.body):
            if use[1] in names and use[1] != function.name and not _is_variable(function, use[1]):
                yield metal.finding(
                    "function pointer", function.start + use.start(), f"{use[1]} is used without a call"
                )
    starts = {function.name: function.start for function in found}
    for ring in cycles(graph):
        yield metal.finding("recursion", starts[ring[0]], " calls ".join([*ring, ring[0]]))


def _is_variable(function: Function, name: str) -> bool:
    return re.search(rf"\b(?:\w+)[\s*&]+{name}\s*(?:[=;,)\[]|$)", f"{function.parameters};{function.body}") is not None


def _entries(metal: MetalText, found: Sequence[Function]) -> Iterator[Finding]:
    """Look at the entry points: the grid is rounded up, and buffers are bound by their order."""
    for function in found:
        if not re.search(r"\bkernel\b", function.head):
            continue
        slots = [int(slot) for slot in _SLOT.findall(function.parameters)]
        if not _GUARD.match(function.body):
            yield metal.finding("guard", function.start, f"{function.name} must begin with 'if (index >= ...) return;'")
        if slots != list(range(len(slots))) or len(slots) > BUFFERS_MAX:
            text = f"{function.name} binds {slots}: they must be 0, 1, 2 ... in order, at most {BUFFERS_MAX}"
            yield metal.finding("buffers", function.start, text)


def main(argv: Sequence[str] | None = None) -> int:
    """Check the kernel as shipped, or a joined text in a file; print findings, return 1 if there are any."""
    files = list(sys.argv[1:] if argv is None else argv)
    text = Path(files[0]).read_text(encoding="utf-8") if files else kernel().text
    clang = find_clang()
    findings = lint(text) + (lint_spaces(text, clang) if clang else [])
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    if clang is None:
        sys.stdout.write("address spaces were not checked: no clang is here; pip install ziglang brings one\n")
    checked = f"{text.count(chr(10)):,} lines, {len(functions(metal_text(text).text)):,} functions"
    sys.stdout.write(f"{len(findings)} findings in {checked}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
