"""The machines that every program must give the same answer on."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import Any

from hvm4viz.settings import Machine
from tests.case_files import Case

GRID: dict[str, tuple[Any, ...]] = {
    "blocks": (1, 2, 3, 7, 8, 64),
    "region_size": (64, 4096),
    "threads_per_block": (1, 4),
    "fuel": (1, 16, "auto"),
    "shard": ("index", "address", "idle"),
    "dup": ("owner", "atomic", "claim"),
    "owner_unit": ("thread", "block"),
    "visibility": ("pass", "live"),
    "defer": ("migrate", "return"),
    "fork": ("off", "auto"),
}
"""Rows that ``Machine`` refuses are left out."""

FUEL_ONE_INTERACTIONS = 100_000
"""Above this, one interaction a pass takes too long to be a test."""

ALONE = Machine(blocks=1, threads_per_block=1)
"""One thread: it reduces in HVM4's own order, and nothing is ever foreign to it."""


def every_machine() -> list[Machine]:
    """The full product of the grid."""
    return [machine(row) for row in rows()]


@cache
def rows() -> tuple[tuple[Any, ...], ...]:
    """Every row of the grid that is a machine."""
    return tuple(row for row in product(*GRID.values()) if is_machine(row))


def is_machine(row: tuple[Any, ...]) -> bool:
    """Whether these settings go together."""
    try:
        machine(row)
    except ValueError:
        return False
    return True


def machine(row: tuple[Any, ...]) -> Machine:
    """The machine of a row."""
    return Machine(**dict(zip(GRID, row, strict=True)))


@cache
def protocols() -> tuple[dict[str, Any], ...]:
    """The settings of each duplication protocol."""
    names = [name for name in GRID if name in {"dup", "owner_unit", "visibility", "defer"}]
    found = {tuple(row[list(GRID).index(name)] for name in names) for row in rows()}
    return tuple(dict(zip(names, values, strict=True)) for values in sorted(found))


def pairwise_machines() -> list[Machine]:
    """Few machines in which every two values of two settings meet at least once (greedy, always the same)."""
    left = {row: pairs(row) for row in rows()}
    wanted = wanted_pairs()
    chosen: list[Machine] = []
    while wanted:
        best = max(left, key=lambda row: len(wanted & left[row]))
        wanted -= left.pop(best)
        chosen.append(machine(best))
    return chosen


def wanted_pairs() -> set[tuple[int, Any, int, Any]]:
    """Every two values of two settings that can meet in a machine."""
    return {pair for row in rows() for pair in pairs(row)}


def pairs(row: tuple[Any, ...]) -> set[tuple[int, Any, int, Any]]:
    """Every two settings of a row, with their values."""
    return {(i, a, j, b) for (i, a), (j, b) in combinations(enumerate(row), 2)}


def is_affordable(case: Case, machine: Machine) -> bool:
    """Whether a case runs on a machine in reasonable time."""
    return machine.fuel != 1 or (case.interactions or 0) <= FUEL_ONE_INTERACTIONS


def name_of(machine: Machine) -> str:
    """The settings of the grid, short enough for a test's name."""
    return "-".join(f"{key[0]}{getattr(machine, key)}" for key in GRID)
