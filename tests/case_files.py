"""The given cases and our own programs, each with what is expected of it.

A program says what to expect in the comment lines it opens with::

    // shows: what a reader can learn from it
    // expect: one line of output          (repeated for several lines)
    // mode: snf                           (or collapse)
    // limit: 10                           (collapse only: at most so many results)
    // interactions: 1234                  (of one thread that reduces in HVM4's order)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

Mode = Literal["snf", "collapse"]

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
PROGRAMS = ROOT / "notebooks" / "programs"


@dataclass(frozen=True, slots=True)
class Case:
    """One program and its expected behaviour.

    Attributes
    ----------
    name : str
        File name without suffix.
    source_path : Path
        The ``.hvm4`` file.
    mode : {"snf", "collapse"}
        How to evaluate it.
    limit : int or None
        Most results to enumerate in collapse mode.
    output : str
        Expected output: log lines and results, without the final line break.
    interactions : int or None
        Expected count on one thread; None where it is not fixed.
    error : {"parse", "runtime"} or None
        How the program fails.
    shows : str
        What the program is for (programs only).
    """

    name: str
    source_path: Path
    mode: Mode
    limit: int | None
    output: str
    interactions: int | None
    error: Literal["parse", "runtime"] | None
    shows: str = ""

    @property
    def source(self) -> str:
        """The program text."""
        return self.source_path.read_text(encoding="utf-8")

    @property
    def is_logging(self) -> bool:
        """Whether the program uses ``%log``: its lines come in the order of evaluation."""
        return "%log" in self.source

    @property
    def is_guarded(self) -> bool:
        """Whether the program uses ``~>``, for which interaction counts are not fixed."""
        return "~>" in self.source

    def __str__(self) -> str:
        return self.name


@cache
def cases() -> tuple[Case, ...]:
    """Read the given cases, in the order of ``expected.json``."""
    expected = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))
    return tuple(Case(name=name, source_path=CASES / f"{name}.hvm4", **facts) for name, facts in expected.items())


@cache
def programs() -> tuple[Case, ...]:
    """Read the programs of ``notebooks/programs``, by name."""
    return tuple(read_program(path) for path in sorted(PROGRAMS.glob("*.hvm4")))


def read_program(path: Path) -> Case:
    """Read one program and the comment lines it opens with.

    Raises
    ------
    ValueError
        If a line is missing or not understood.
    """
    facts: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("// "):
            break
        key, colon, value = line[3:].partition(": ")
        if not colon or key not in ("shows", "expect", "mode", "limit", "interactions"):
            raise ValueError(f"{path.name}: header line not understood: {line}")
        facts.setdefault(key, []).append(value)
    for key in ("shows", "expect", "mode"):
        if key not in facts:
            raise ValueError(f"{path.name}: no '// {key}: ' line at its top")
    if facts["mode"][0] not in ("snf", "collapse"):
        raise ValueError(f"{path.name}: mode must be snf or collapse, not {facts['mode'][0]}")
    return Case(
        name=path.stem,
        source_path=path,
        mode=cast("Mode", facts["mode"][0]),
        limit=int(facts["limit"][0]) if "limit" in facts else None,
        output="\n".join(facts["expect"]),
        interactions=int(facts["interactions"][0]) if "interactions" in facts else None,
        error=None,
        shows=facts["shows"][0],
    )
