"""Numbers for the names of a program: definitions, constructors, primitives and labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hvm4viz import limits
from hvm4viz.syntax.tokens import NAME, name_id
from hvm4viz.term import CHR, CON, NIL, SUC, ZER

BUILT_IN: Final = {"ZER": ZER, "SUC": SUC, "NIL": NIL, "CON": CON, "CHR": CHR}
PRIMITIVES: Final = (("log", 1), ("gnf", 1), ("nf", 1))
"""(name, arity) of the primitives that are always there; the place is the id."""


_registered: Final[dict[str, int]] = {}


def register_primitive(name: str, arity: int) -> None:
    """Make a primitive known to every program parsed from now on.

    Parameters
    ----------
    name : str
        As it stands behind ``%``; a name registered again takes the new arity and keeps its id.
    arity : int
        How many arguments it takes.

    Raises
    ------
    ValueError
        If the name is none, or taken by a primitive that is always there, or the arity is out of range.
    """
    if re.fullmatch(NAME, name) is None:
        raise ValueError(f"{name!r} cannot name a primitive: a letter, then letters, digits, _ or $")
    if any(name == built_in for built_in, _ in PRIMITIVES):
        raise ValueError(f"%{name} is always there and cannot be replaced")
    if not 0 <= arity <= limits.FIELDS_MAX:
        raise ValueError(f"arity {arity} of %{name} is not between 0 and {limits.FIELDS_MAX}")
    _registered[name] = arity


def known_primitives() -> tuple[tuple[str, int], ...]:
    """Return name and arity of every primitive by id."""
    return PRIMITIVES + tuple(_registered.items())


class TooManyNames(Exception):
    """The 24 bits of an id are used up."""


class Names:
    """The names met so far, each kind with its ids.

    Definitions count from 0 in the order of first mention. A constructor gets the id of its name (its last four
    characters), or the next free one if another name has that: names are told apart in full (D2).
    """

    def __init__(self, primitives: Sequence[tuple[str, int]] = PRIMITIVES) -> None:
        self.definitions: dict[str, int] = {}
        self.constructors: dict[str, int] = dict(BUILT_IN)
        self.primitives = tuple(primitives)
        self.primitive_ids = {name: index for index, (name, _) in enumerate(primitives)}
        self.labels: set[int] = set()
        self._constructor_ids = set(BUILT_IN.values())

    def definition(self, name: str) -> int:
        """Return the id of a definition."""
        known = self.definitions.setdefault(name, len(self.definitions))
        if known >= limits.EXT_END:
            raise TooManyNames
        return known

    def constructor(self, name: str) -> int:
        """Return the id of a constructor."""
        known = self.constructors.get(name)
        if known is not None:
            return known
        if len(self.constructors) >= limits.EXT_END:
            raise TooManyNames
        free = name_id(name)
        while free in self._constructor_ids:
            free = (free + 1) % limits.EXT_END
        self._constructor_ids.add(free)
        self.constructors[name] = free
        return free

    def label(self, name: str) -> int:
        """Return the number of a static label, and keep automatic labels off it (D11)."""
        label = name_id(name)
        if label >= limits.AUTO_LABEL_START:
            self.labels.add(label)
        return label
