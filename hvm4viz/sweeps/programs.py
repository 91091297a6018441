"""What a sweep may be given as programs and machines, each under a name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from hvm4viz.primitives import module_of
from hvm4viz.program import Program, load, parse
from hvm4viz.settings import Machine
from hvm4viz.sweeps.table import machine_name

if TYPE_CHECKING:
    from hvm4viz.execution import Mode


class Sampled(Protocol):
    """A program that says how it is run, as ``hvm4viz.bench.samples`` reads it."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    @property
    def program(self) -> Program:
        """The program."""
        ...

    @property
    def mode(self) -> Mode:
        """How it is run."""
        ...

    @property
    def limit(self) -> int | None:
        """Most results of a collapse."""
        ...


_T = TypeVar("_T")
OneProgram = Program | str | Path | Sampled
Programs = OneProgram | Iterable[OneProgram] | Mapping[str, OneProgram]
Machines = Machine | Iterable[Machine] | Mapping[str, Machine] | None


def named_programs(programs: Any) -> dict[str, Program | Sampled]:
    """Return the programs (``Programs``), read and parsed, each under a name of its own.

    Raises
    ------
    OSError, ProgramError
        If one of them cannot be read, or is no program.
    """
    given: Any = programs
    if isinstance(given, Mapping):
        return {str(name): _read(each) for name, each in cast("dict[Any, Any]", given).items()}
    out: dict[str, Program | Sampled] = {}
    for each in [given] if _is_one(given) else given:
        read = _read(each)
        _put(out, _name(read), read)
    return out


def named_machines(machines: Any) -> dict[str, Machine]:
    """Return the machines (``Machines``), each under a name of its own: the settings that are not the default's."""
    if isinstance(machines, Mapping):
        return {str(name): machine for name, machine in cast("dict[Any, Machine]", machines).items()}
    out: dict[str, Machine] = {}
    for machine in [machines or Machine()] if machines is None or isinstance(machines, Machine) else machines:
        _put(out, machine_name(machine), machine)
    return out


def registered(modules: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Import the modules that register primitives; return each with the digest of its text.

    Raises
    ------
    ImportError
        If there is no such module.
    """
    out: list[tuple[str, str]] = []
    for name in [modules] if isinstance(modules, str) else modules:
        file = import_module(name).__file__
        text = Path(file).read_bytes() if file and Path(file).is_file() else b""
        out.append((name, hashlib.sha256(text).hexdigest()))
    return tuple(out)


def check_primitives(name: str, program: Program, entry: str, modules: Iterable[str]) -> None:
    """Refuse a program whose primitives a worker process would not find.

    Raises
    ------
    ValueError
        With the primitive, where it is defined, and what to do.
    """
    known = set(modules)
    for called, _ in program.book.reachable_prims(program.book.entry(entry)):
        module = module_of(called)
        if module == "__main__":
            raise ValueError(
                f"{name} calls %{called}, which is defined in this script or notebook: other processes cannot see it "
                f"there. Move it into a module, say mine.py, and name that: sweep(..., primitives=['mine'])"
            )
        if module is not None and not known:
            raise ValueError(
                f"{name} calls %{called}: name the module that defines it, sweep(..., primitives=[{module!r}])"
            )


def _is_one(given: object) -> bool:
    return isinstance(given, Program | str | Path) or isinstance(getattr(given, "program", None), Program)


def _read(given: Any) -> Program | Sampled:
    if isinstance(given, str):
        return parse(given)
    return load(given) if isinstance(given, Path) else given


def _name(program: Program | Sampled) -> str:
    if not isinstance(program, Program):
        return program.name
    file = program.files[0][0] if program.files else ""
    return Path(file.strip("<>").replace("\\", "/")).stem or "program"


def _put(names: dict[str, _T], name: str, value: _T) -> None:
    """Put a value under a name, with a number behind it if others have that name."""
    free, number = name, 1
    while free in names:
        number += 1
        free = f"{name} ({number})"
    names[free] = value
