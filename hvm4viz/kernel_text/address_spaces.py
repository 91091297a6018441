"""Let clang read a kernel text as Metal would, with each address space a type of its own."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hvm4viz.kernel_text.metal_text import METAL_VERSION, Finding, compiled, marked

_METAL_STDLIB: Final = """\
typedef unsigned char uchar;
typedef unsigned short ushort;
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


def find_clang() -> tuple[str, ...] | None:
    """Return the command of a clang, the one of the ``ziglang`` package if there is no other; None if there is none."""
    for name in ("clang++", "clang"):
        found = shutil.which(name)
        if found and (sys.platform != "darwin" or shutil.which("xcrun")):
            return (found,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    return None


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
