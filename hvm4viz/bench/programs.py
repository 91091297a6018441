"""The programs that measurements run: those of the package, or a user's own.

A program may say in the comment lines that it opens with how it is run and what it prints: ``// mode: collapse``,
``// limit: 10``, and one ``// expect: `` a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hvm4viz.arguments import nearest
from hvm4viz.program import Program, load


@dataclass(frozen=True, slots=True)
class Sample:
    """A program with how to run it.

    Attributes
    ----------
    name : str
    program : Program
    mode : {"snf", "collapse"}
    limit : int or None
        Most results of a collapse.
    expected : tuple of str
        Log lines and result lines that it prints; empty if it does not say.
    """

    name: str
    program: Program
    mode: Literal["snf", "collapse"]
    limit: int | None
    expected: tuple[str, ...]


def program_folder() -> Path:
    """Return the folder of the package's own programs, in an install or in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "programs"
    return installed if installed.is_dir() else package.parent / "notebooks" / "programs"


def samples(names: Sequence[str | Path] = ()) -> list[Sample]:
    """Read programs.

    Parameters
    ----------
    names : sequence of str or path-like
        Names of the package's own programs, or files; all of the package's own if empty.

    Returns
    -------
    samples : list of Sample
        In the order of the names, or by name.

    Raises
    ------
    OSError
        If a file cannot be read.
    ProgramError
        If it holds no program.
    ValueError
        If there is no program of that name, or a comment line says a mode or limit that there is not.
    """
    folder = program_folder()
    own = {path.stem: path for path in sorted(folder.glob("*.hvm4"))}
    for name in map(str, names):
        if name not in own and "." not in name and not Path(name).exists():
            raise ValueError(f"no program {name!r}{nearest(name, list(own))}; there are: {', '.join(own)}")
    return [sample_of(own.get(str(name), Path(name))) for name in names or own]


def comments(source: str) -> dict[str, list[str]]:
    """Return what the comment lines that a text opens with say, by what stands before the colon."""
    said: dict[str, list[str]] = {}
    for line in source.splitlines():
        key, colon, value = line.removeprefix("// ").partition(": ")
        if not line.startswith("// ") or not colon:
            break
        said.setdefault(key, []).append(value)
    return said


def sample_of(path: Path) -> Sample:
    """Read one program; ``samples`` says what can go wrong."""
    program = load(path)
    said = comments(program.source)
    mode, limit = said.get("mode", ["snf"])[0], said.get("limit", [None])[0]
    if mode not in ("snf", "collapse"):
        raise ValueError(f"{path}: // mode: {mode!r} must be snf or collapse")
    if limit is not None and not (limit.isdecimal() and mode == "collapse"):
        raise ValueError(f"{path}: // limit: {limit!r} must be a whole number, of a program with // mode: collapse")
    return Sample(path.stem, program, mode, None if limit is None else int(limit), tuple(said.get("expect", ())))
