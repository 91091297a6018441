"""The kernel text as Metal's compiler reads it, seen without Metal: one branch of ``dialect.h``, macros expanded."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hvm4viz.device.compiler import find_compiler
from hvm4viz.errors import CompileFailed

METAL_VERSION: Final = 230
"""``metalcompute`` compiles at language version 2.3."""

INCLUDE_MARK: Final = "included_header"
_FILE = re.compile(r"^// (?:==== (\S+)|(generated from kernels/rules))$", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(\S+)[^\n]*$", re.MULTILINE)
_MARK = re.compile(r'^#(?:line)? (\d+) "((?:[^"\\]|\\.)*)"')


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


@dataclass(frozen=True, slots=True)
class MetalText:
    """Text behind the preprocessor, with where each of its lines came from.

    Attributes
    ----------
    text : str
    places : tuple of (str, int)
        File of ``kernels/`` and line of each line of the text.
    """

    text: str
    places: tuple[tuple[str, int], ...]

    def place(self, offset: int) -> tuple[str, int]:
        """Return file and line of a character."""
        return self.places[self.text.count("\n", 0, offset)]

    def finding(self, check: str, offset: int, what: str) -> Finding:
        """Say what was found at a character."""
        return Finding(check, *self.place(offset), what)


def marked(text: str) -> str:
    """Return a joined kernel text with ``#line`` in front of each of its files."""
    return _FILE.sub(lambda found: f'#line 1 "{found[1] or "the dispatch"}"', text)


def metal_text(text: str) -> MetalText:
    """Run the preprocessor as Metal would; a header that is asked for leaves ``included_header(name)`` in the text.

    Raises
    ------
    CompileFailed
        With the preprocessor's own words.
    DeviceUnavailable
        If there is no C++ compiler.
    """
    asked = _INCLUDE.sub(lambda found: f"{INCLUDE_MARK}({found[1]})", marked(text))
    done = compiled(f"#define __METAL_VERSION__ {METAL_VERSION}\n{asked}", find_compiler().command, ("-E",))
    if done.returncode != 0:
        raise CompileFailed(f"the preprocessor refuses the kernel text:\n{done.stderr.strip()}", text=done.stderr)
    lines: list[str] = []
    places: list[tuple[str, int]] = []
    file, number = "text", 0
    for line in done.stdout.split("\n"):
        mark = _MARK.match(line)
        if mark:
            file, number = Path(mark[2]).name, int(mark[1])
        elif not line.startswith("#"):
            lines.append(line)
            places.append((file, number))
            number += 1
    return MetalText("\n".join(lines), tuple(places))


def compiled(text: str, command: Sequence[str], options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Give C++ text to a compiler; ``-c`` throws away what comes out, since some wrappers know no ``-fsyntax-only``."""
    with tempfile.TemporaryDirectory(prefix="hvm4viz-lint-") as folder:
        source = Path(folder) / "kernel.cpp"
        source.write_text(text, encoding="utf-8")
        output = () if "-E" in options else ("-o", str(Path(folder) / "kernel.o"))
        return subprocess.run(  # noqa: S603  (a compiler, with arguments of ours)
            [*command, "-std=c++14", *options, str(source), *output],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    from hvm4viz.kernel_text.source import kernel

    sys.stdout.write(metal_text(kernel().text).text)
