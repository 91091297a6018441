"""The programs of the suite, each in up to four sizes, and what each prints and counts.

A program of the suite opens with the comment lines that every program of ours may have (``programs.py``), which speak
of the size that stands in it, and one ``// interactions: `` besides. Other sizes follow: ``// small: 6`` is what
``@size`` then is, and ``// small expect: `` and ``// small interactions: `` are what comes of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from hvm4viz.arguments import nearest
from hvm4viz.bench.programs import Sample, comments, program_folder, sample_of
from hvm4viz.program import parse

Size = Literal["small", "medium", "large", "huge"]

SIZES: Final[tuple[Size, ...]] = ("small", "medium", "large", "huge")
"""To try the suite out; up to a second on one thread; a hundred million interactions and more, for a GPU; and, where a
program says so, what fills a GPU of 2^17 threads, which may be more than a rival's heap holds."""

_SIZE: Final = re.compile(r"^@size = \d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SuiteProgram(Sample):
    """A program of the suite at one size.

    Attributes
    ----------
    interactions : int
        What it takes on one thread, in HVM4's order.
    """

    interactions: int


def suite_folder() -> Path:
    """Return the folder of the suite's programs, in an install or in a checkout."""
    return program_folder() / "suite"


def suite(names: Sequence[str] = (), *, size: Size = "medium") -> list[SuiteProgram]:
    """Read programs of the suite.

    Parameters
    ----------
    names : sequence of str
        All of them if empty.
    size : {"small", "medium", "large", "huge"}
        A program that says nothing of ``huge`` is as for ``large``.

    Returns
    -------
    programs : list of SuiteProgram
        In the order of the names, or by name.

    Raises
    ------
    ValueError
        If there is no program of that name, or no such size.
    """
    if size not in SIZES:
        raise ValueError(f"size={size!r}: must be one of {', '.join(SIZES)}")
    own = {path.stem: path for path in sorted(suite_folder().glob("*.hvm4"))}
    for name in names:
        if name not in own:
            raise ValueError(f"no program {name!r} in the suite{nearest(name, list(own))}; there are: {', '.join(own)}")
    return [_read(own[name], size) for name in names or own]


def _read(path: Path, size: Size) -> SuiteProgram:
    sample = sample_of(path)
    said = comments(sample.program.source)
    if size == "medium":
        program, expected, counted = sample.program, sample.expected, said["interactions"]
    else:
        size = size if size in said else "large"
        text = _SIZE.sub(f"@size = {int(said[size][0])}", sample.program.source)
        program = parse(text, name=f"{path.stem}_{size}.hvm4")
        expected, counted = tuple(said[f"{size} expect"]), said[f"{size} interactions"]
    return SuiteProgram(path.stem, program, sample.mode, sample.limit, expected, int(counted[0]))
