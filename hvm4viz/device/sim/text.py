"""The text that the sim device compiles: the kernel with its accesses as yield points, and the scheduler behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STEP: Final = "step_frontier"
"""The entry point that is run under a schedule."""

_FILES: Final = (
    "switch.h",
    "fibers.h",
    "memory.h",
    "hooks.h",
    "shared.h",
    "image.h",
    "explore.h",
    "random.h",
)
_YIELD: Final = "#define WATCH_YIELD 1\n"
_SIGNATURE: Final = re.compile(rf"ENTRY\({STEP}\)\((.*?)GRID_INDEX\)", re.DOTALL)
_BUFFER: Final = re.compile(r"BUFFER\(\s*([\w ]+?)\s*,\s*(\w+)\s*,\s*\d+\s*\)")
_NEEDED: Final = ("params", "owner", "heap", "visited")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The buffers of ``step_frontier``, in order.

    Attributes
    ----------
    names : tuple of str
    changed : frozenset of str
        Those that a pass may change.
    watchers : frozenset of str
        Who else watches the heap: ``"log"``, ``"shadow"``.
    """

    names: tuple[str, ...]
    changed: frozenset[str]
    watchers: frozenset[str]


def with_yields(source: str) -> tuple[str, Arguments | None]:
    """Return the kernel text with yield points, and its buffers; other texts as they are, and None."""
    signature = _SIGNATURE.search(source)
    if signature is None or "WATCH_YIELD" not in source:
        return source, None
    buffers = _BUFFER.findall(signature[1])
    watchers = frozenset(name for name in ("log", "shadow") if f"#define WATCH_{name.upper()} 1\n" in source)
    arguments = Arguments(
        names=tuple(name for _, name in buffers),
        changed=frozenset(name for kind, name in buffers if not kind.startswith("const ")),
        watchers=watchers,
    )
    return source if _YIELD in source else _YIELD + source, arguments


def scheduler(arguments: Arguments) -> str:
    """Return the text that goes behind the kernel and its loops over the grid."""
    places = [f"#define SIM_{name.upper()} {arguments.names.index(name)}" for name in _NEEDED]
    folder = Path(__file__).parent
    return "\n".join([*places, *((folder / name).read_text(encoding="utf-8") for name in _FILES)])
