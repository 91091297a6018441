"""Automatic fuel: how much an entry may do in a pass."""

from __future__ import annotations

from typing import Final

PASS_INTERACTIONS: Final = 4_000_000
"""Interactions a pass does at most, roughly, with fuel="auto"."""

FUEL_MIN: Final = 64
"""Least automatic fuel, so that a very wide frontier still does more than it costs to dispatch."""

MANY: Final = 4096
"""Threads of a machine whose automatic fuel is that of the next two, once its frontier has some width."""

SOME: Final = 32
"""Entries of such a frontier, at least."""

SPREADING_FUEL, FULL_FUEL = 256, 512
"""Automatic fuel while less than half of very many threads can have an entry, and from then on; measured on an H200."""


def auto_fuel(width: int, threads: int) -> int:
    """Return the interactions an entry may spend in a pass over ``width`` entries.

    On a machine of very many threads a pass is to end before most of them have long been idle.
    """
    fuel = max(FUEL_MIN, PASS_INTERACTIONS // max(width, 1))
    if threads < MANY or width < SOME:
        return fuel
    return SPREADING_FUEL if 2 * width < threads else FULL_FUEL
