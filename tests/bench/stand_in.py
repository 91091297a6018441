"""A rival for the tests: a script that is called as HVM4's C runtime is, and does what it is told."""

from __future__ import annotations

import sys
from pathlib import Path

_SCRIPT = """#!{python}
import os, signal, sys, time
file, flags = sys.argv[1], sys.argv[2:]
said = [line[3:].strip().split(": ", 1) for line in open(file, encoding="utf-8") if line.startswith("// ")]
with open({seen!r}, "a", encoding="utf-8") as seen:
    seen.write(" ".join([os.path.basename(file), *flags]) + "\\n")
lines = [*open(file, encoding="utf-8"), "@size = 0"]
size = next(line.split("=")[1].strip() for line in lines if line.startswith("@size"))
small = [key[:-7] for key, *rest in said if key.endswith(" expect") and [key[:-7], size] in said]
key = f"{{small[0]}} expect" if small else "expect"
lines = [rest[0] for name, *rest in said if name == key] or ["1"]
{act}
"""

ANSWER = """
for line in lines:
    print(line, "\\x1b[2m#12\\x1b[0m" if flags[1:] else "", sep=" " if flags[1:] else "")
"""

TELL = """
print("- Itrs: 1234 interactions")
print("- Time: 2.500 seconds")
print("- Heap: 77 words")
print("- Perf: 1.00 M interactions/s")
"""


def stand_in(folder: Path, act: str = ANSWER + TELL) -> Path:
    """Write the script; what it was asked stands in ``seen.txt`` beside it."""
    path = folder / "rival"
    path.write_text(_SCRIPT.format(python=sys.executable, seen=str(folder / "seen.txt"), act=act), encoding="utf-8")
    path.chmod(0o755)
    return path


def seen(folder: Path) -> list[str]:
    """Return what the script was asked, in order."""
    return (folder / "seen.txt").read_text(encoding="utf-8").splitlines()
