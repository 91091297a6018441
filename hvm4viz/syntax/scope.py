"""Variables: which ones are in scope, how often each is used, and the labels of their automatic duplications.

Each λ makes one variable, each duplication two (end 0, then end 1), numbered in the order of reading.
"""

from __future__ import annotations

from typing import Final

from hvm4viz import limits
from hvm4viz.term import TAG_SHIFT, Tag

_BJV: Final = Tag.BJV << TAG_SHIFT
SUBSCRIPTS: Final = ("₀", "₁")


class TooManyUses(Exception):
    """Copies of a fork's label multiply the uses beyond what any book can hold."""


class Scope:
    """The variables of one program.

    Attributes
    ----------
    plain, ends : dict of list of int
        Variables in scope by name, innermost last: those written without subscript, and the ends 0 of those
        written with one.
    uses : list of int
        Uses of each variable so far.
    where : list of int
        Span of the latest use of each variable (start << 32 | end).
    chains : dict of range
        Places, in the sequence of automatic labels, of the labels that duplicate a variable.
    labels : int
        Automatic labels drawn so far.
    """

    def __init__(self) -> None:
        self.plain: dict[str, list[int]] = {}
        self.ends: dict[str, list[int]] = {}
        self.uses: list[int] = []
        self.where: list[int] = []
        self.chains: dict[int, range] = {}
        self.labels = 0
        self._log: list[int] = []
        self._logging = 0

    def draw(self, count: int = 1) -> range:
        """Draw the next automatic labels."""
        first = self.labels
        self.labels += count
        return range(first, self.labels)

    def new(self) -> int:
        """Make the variable of a λ, or of one end of a duplication."""
        variable = len(self.uses)
        self.uses.append(0)
        self.where.append(0)
        return variable

    def open(self, table: dict[str, list[int]], name: str, variable: int) -> None:
        """Bring a variable into scope in ``plain`` or ``ends``."""
        stack = table.get(name)
        if stack is None:
            table[name] = [variable]
        else:
            stack.append(variable)

    def close(self, table: dict[str, list[int]], name: str) -> None:
        """Take the innermost variable of this name out of scope."""
        table[name].pop()

    def use(self, variable: int, span: int) -> int:
        """Count a use of a variable; return its core term."""
        self.uses[variable] += 1
        self.where[variable] = span
        if self._logging:
            self._log.append(variable)
        return _BJV | variable

    def chain(self, variable: int) -> bool:
        """Draw the labels that duplicate a cloned variable; tell whether it needs any."""
        extra = self.uses[variable] - 1
        if extra > 0:
            self.chains[variable] = self.draw(extra)
        return variable in self.chains

    # A dynamic fork label stands once for each name and once for the superposition (D6).

    def open_label(self) -> int:
        """Start a label that may have to be copied; return the mark to end it with."""
        self._logging += 1
        return len(self._log)

    def copies(self, mark: int, count: int) -> None:
        """Count the uses made since ``mark`` again, ``count`` times."""
        again = self._log[mark:]
        if len(self._log) + len(again) * count > limits.STATIC_CELLS_MAX:
            raise TooManyUses
        for variable in again:
            self.uses[variable] += count
        self._log += again * count

    def close_label(self) -> None:
        """End the innermost label."""
        self._logging -= 1
        if not self._logging:
            self._log.clear()
