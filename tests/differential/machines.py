"""The machines that every program must give the same answer on."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from hvm4viz.settings import Machine
from tests.case_files import Case

GRID: dict[str, tuple[Any, ...]] = {
    "blocks": (1, 2, 3, 7, 8, 64),
    "region_size": (64, 4096),
    "threads_per_block": (1, 4),
    "fuel": (1, 16, "auto"),
    "shard": ("index", "address"),
    "dup": ("owner", "atomic", "claim"),
}

FUEL_ONE_INTERACTIONS = 100_000
"""Above this, one interaction a pass takes too long to be a test."""

ALONE = Machine(blocks=1, threads_per_block=1)
"""One thread: it reduces in HVM4's own order, and nothing is ever foreign to it."""


def every_machine() -> list[Machine]:
    """The full product of the grid."""
    return [Machine(**dict(zip(GRID, row, strict=True))) for row in product(*GRID.values())]


def pairwise_machines() -> list[Machine]:
    """Few machines in which every two values of two settings meet at least once (greedy, always the same)."""
    rows = list(product(*GRID.values()))
    wanted = {pair for row in rows for pair in pairs(row)}
    chosen: list[Machine] = []
    while wanted:
        best = max(rows, key=lambda row: len(wanted & pairs(row)))
        wanted -= pairs(best)
        chosen.append(Machine(**dict(zip(GRID, best, strict=True))))
    return chosen


def pairs(row: tuple[Any, ...]) -> set[tuple[int, Any, int, Any]]:
    """Every two settings of a row, with their values."""
    return {(i, a, j, b) for (i, a), (j, b) in combinations(enumerate(row), 2)}


def is_affordable(case: Case, machine: Machine) -> bool:
    """Whether a case runs on a machine in reasonable time."""
    return machine.fuel != 1 or (case.interactions or 0) <= FUEL_ONE_INTERACTIONS


def name_of(machine: Machine) -> str:
    """The settings of the grid, short enough for a test's name."""
    return "-".join(f"{key[0]}{getattr(machine, key)}" for key in GRID)
