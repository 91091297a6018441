"""What Metal's compiler would refuse in a kernel text, found without Metal: ``python -m hvm4viz.kernel_text.lint``.

Two readings of the text as Metal gets it (``metal_text.py``): word by word, for what MSL 2.3 does not have; and by
clang, with each address space a type of its own. There thread is the space of plain C++, so that a missing ``thread``
goes unnoticed; the first reading looks for it.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hvm4viz.kernel_text.functions import Function, called, cycles, functions, outside
from hvm4viz.kernel_text.metal_text import INCLUDE_MARK, METAL_VERSION, MetalText, compiled, marked, metal_text
from hvm4viz.kernel_text.source import kernel

BUFFERS_MAX: Final = 31
"""Buffers that one entry point may take."""

SPACES: Final = ("device", "thread", "constant", "threadgroup")

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

_METAL_STDLIB: Final = """\
typedef unsigned int uint;
typedef unsigned long ulong;
#define kernel
#define thread
#define device __attribute__((address_space(1)))
#define constant __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
namespace metal {
enum memory_order { memory_order_relaxed };
class atomic_uint { uint word; };
#define METAL_ATOMICS(space)                                                                     \\
  uint atomic_load_explicit(const volatile space atomic_uint*, memory_order);                    \\
  void atomic_store_explicit(volatile space atomic_uint*, uint, memory_order);                   \\
  uint atomic_fetch_add_explicit(volatile space atomic_uint*, uint, memory_order);               \\
  uint atomic_fetch_or_explicit(volatile space atomic_uint*, uint, memory_order);                \\
  uint atomic_fetch_max_explicit(volatile space atomic_uint*, uint, memory_order);               \\
  bool atomic_compare_exchange_weak_explicit(                                                    \\
      volatile space atomic_uint*, thread uint*, uint, memory_order, memory_order);
METAL_ATOMICS(device)
METAL_ATOMICS(threadgroup)
}
"""
_DIAGNOSTIC = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<what>.*)$", re.MULTILINE)
_CLANG_OPTIONS = (
    "-x",
    "c++",
    "-w",
    "-Wno-unknown-attributes",
    "-ferror-limit=200",
    "-fno-exceptions",
    "-fno-rtti",
    "-c",
)
_QUALIFIER = re.compile(
    r"(?:\b(?:const|volatile|static|inline|struct|typedef|friend|" + "|".join(SPACES) + r")\b\s*)*$"
)
_QUALIFIERS_MAX = 80  # characters in front of a type that are looked at
_BUILT_IN = ("void", "bool", "char", "short", "int", "uint", "long", "ulong", "size_t")
_GUARD = re.compile(r"\s*if \(index >= [^;]*\) return;")
_SLOT = re.compile(r"\[\[\s*buffer\((\d+)\)\s*\]\]")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that Metal would not take.

    Attributes
    ----------
    check : str
        Name of the check.
    file : str
        File of ``kernels/``.
    line : int
    what : str
    """

    check: str
    file: str
    line: int
    what: str

    def __str__(self) -> str:
        """Return it as compilers write it."""
        return f"{self.file}:{self.line}: {self.check}: {self.what}"


def find_clang() -> tuple[str, ...] | None:
    """Return the command of a clang, the one of the ``ziglang`` package if there is no other; None if there is none."""
    for name in ("clang++", "clang"):
        found = shutil.which(name)
        if found and (sys.platform != "darwin" or shutil.which("xcrun")):
            return (found,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    return None


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
    pieces = (_words(metal), _pointers(metal), _globals(metal), _calls(metal, found), _entries(metal, found))
    return [finding for piece in pieces for finding in piece]


def lint_spaces(text: str, clang: Sequence[str]) -> list[Finding]:
    """Let clang check the address space of every pointer, and the types.

    Parameters
    ----------
    text : str
    clang : sequence of str
        Command of a clang, such as ``find_clang()`` returns.
    """
    before, include, after = marked(text).partition("#include <metal_stdlib>")
    number = before[before.rfind("#line 1 ") :].count("\n") + 1
    stdlib = f'{_METAL_STDLIB}#line {number} "dialect.h"' if include else ""
    whole = f"#define __METAL_VERSION__ {METAL_VERSION}\n{before}{stdlib}{after}"
    done = compiled(whole, clang, _CLANG_OPTIONS)
    findings = [
        Finding("address space", Path(each["file"]).name, int(each["line"]), each["what"])
        for each in _DIAGNOSTIC.finditer(done.stderr)
    ]
    if done.returncode != 0 and not findings:
        findings.append(Finding("address space", "text", 0, done.stderr.strip() or "clang failed without a word"))
    return findings


def _at(metal: MetalText, check: str, offset: int, what: str) -> Finding:
    return Finding(check, *metal.place(offset), what)


def _words(metal: MetalText) -> Iterator[Finding]:
    for check, (pattern, why) in _WORDS.items():
        for found in re.finditer(pattern, metal.text):
            word = " ".join(found[0].split()).removeprefix(INCLUDE_MARK).strip("()=, ")
            yield _at(metal, check, found.start(), f"{word!r}: {why}")


def _pointers(metal: MetalText) -> Iterator[Finding]:
    """Find pointers and references that do not say what they point into."""
    types = {*_BUILT_IN, "atomic_uint", *re.findall(r"\bstruct\s+(\w+)", metal.text)}
    types |= set(re.findall(r"\btypedef\b[^;{]*?\b(\w+)\s*;", metal.text))
    names = "|".join(sorted(types, key=len, reverse=True))
    for found in re.finditer(rf"\b({names})\s*(?:\bconst\s*)?(\*|&(?!&))", metal.text):
        before = _QUALIFIER.search(metal.text[max(0, found.start() - _QUALIFIERS_MAX) : found.start()])
        if before is None or not set(before[0].split()) & set(SPACES):
            kind = "pointer" if found[2] == "*" else "reference"
            yield _at(metal, "missing address space", found.start(), f"a {kind} to {found[1]}; say {', '.join(SPACES)}")


def _globals(metal: MetalText) -> Iterator[Finding]:
    for offset, statement in outside(metal.text):
        is_declared = re.match(r"(?:typedef|struct|using|enum|namespace)\b|$", statement) or "(" in statement
        if not is_declared and "constant" not in statement.split():
            yield _at(metal, "global", offset, f"{statement!r}: variables outside functions must be constant")
    for function in functions(metal.text):
        for found in re.finditer(r"\bstatic\b", function.body):
            yield _at(metal, "global", function.start + found.start(), f"a static variable in {function.name}")


def _calls(metal: MetalText, found: Sequence[Function]) -> Iterator[Finding]:
    names = {function.name for function in found}
    graph = {name: set[str]() for name in names}
    overloaded = {name for name in names if sum(function.name == name for function in found) > 1}
    for function in found:
        graph[function.name] |= called(function, names) - ({function.name} & overloaded)
        for use in re.finditer(r"(?<![\w.>])(\w+)\b(?!\s*\()", function.body):
            if use[1] in names and use[1] != function.name and not _is_variable(function, use[1]):
                yield _at(metal, "function pointer", function.start + use.start(), f"{use[1]} is used without a call")
    starts = {function.name: function.start for function in found}
    for ring in cycles(graph):
        yield _at(metal, "recursion", starts[ring[0]], " calls ".join([*ring, ring[0]]))


def _is_variable(function: Function, name: str) -> bool:
    return re.search(rf"\b(?:\w+)[\s*&]+{name}\s*(?:[=;,)\[]|$)", f"{function.parameters};{function.body}") is not None


def _entries(metal: MetalText, found: Sequence[Function]) -> Iterator[Finding]:
    """Look at the entry points: the grid is rounded up, and buffers are bound by their order."""
    for function in found:
        if not re.search(r"\bkernel\b", function.head):
            continue
        slots = [int(slot) for slot in _SLOT.findall(function.parameters)]
        if not _GUARD.match(function.body):
            yield _at(metal, "guard", function.start, f"{function.name} must begin with 'if (index >= ...) return;'")
        if slots != list(range(len(slots))) or len(slots) > BUFFERS_MAX:
            text = f"{function.name} binds {slots}: they must be 0, 1, 2 ... in order, at most {BUFFERS_MAX}"
            yield _at(metal, "buffers", function.start, text)


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
