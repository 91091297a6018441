"""The golden runs as data: program or heap, machine, and what came of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from hvm4viz.heap import Heap
from hvm4viz.settings import Machine

FILE: Final = Path(__file__).with_name("golden.json")
HEAP_DIGITS: Final = 16
"""Digits that are kept of the digest of a heap."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run did.

    Attributes
    ----------
    status : str
    lines, log : tuple of str
    passes, interactions : int
    trace : str
        Trace digest.
    heaps : tuple of str
        Start of the heap digest after each pass; empty where the order of events is not the program's.
    """

    status: str
    lines: tuple[str, ...]
    log: tuple[str, ...]
    passes: int
    interactions: int
    trace: str
    heaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Golden:
    """One run.

    Attributes
    ----------
    name, shows : str
        What it is called, and what it is there for.
    source : str
        Program text; empty if a heap was laid out by hand.
    words : tuple of str
        That heap, in hexadecimal.
    settings : dict
        The machine: every setting but heap and memory, so that a change of defaults changes no golden.
    mode : {"snf", "collapse"}
    limit : int or None
    expected : Expected
    """

    name: str
    shows: str
    settings: dict[str, Any]
    source: str = ""
    words: tuple[str, ...] = ()
    mode: Literal["snf", "collapse"] = "snf"
    limit: int | None = None
    expected: Expected = field(default_factory=lambda: Expected("", (), (), 0, 0, "", ()))

    @property
    def machine(self) -> Machine:
        """The machine that it runs on."""
        return Machine(heap="64 MiB", **self.settings)

    @property
    def heap(self) -> Heap | None:
        """The heap that was laid out by hand."""
        return Heap(np.array([int(word, 16) for word in self.words], np.uint64)) if self.words else None

    @property
    def is_ordered(self) -> bool:
        """Whether the order of events follows from program and settings alone."""
        chosen = self.settings
        return chosen["dup"] != "atomic" and chosen["owner_unit"] != "block" and chosen["visibility"] != "live"


@cache
def goldens() -> tuple[Golden, ...]:
    """Read the golden runs."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(read(each) for each in kept["runs"])


def made_with() -> str:
    """Return the digest of the kernel text that the golden runs were made with."""
    return str(json.loads(FILE.read_text(encoding="utf-8"))["kernel"])


def read(kept: dict[str, Any]) -> Golden:
    """Turn one run of the file into data."""
    found: dict[str, Any] = {name: _frozen(value) for name, value in kept["expected"].items()}
    fields: dict[str, Any] = {name: _frozen(value) for name, value in kept.items()}
    fields["expected"] = Expected(**found)
    return Golden(**fields)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def written(runs: list[Golden], kernel: str) -> str:
    """Return the text of the file."""
    kept: dict[str, Any] = {"kernel": kernel, "runs": [asdict(run) for run in runs]}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
