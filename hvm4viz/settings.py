"""The settings of the machine: one frozen record, checked at the door."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal

THREADS_MAX = 2**20
"""Logical threads of a machine: each has a state of 64 bytes that every join looks at."""

CELLS_MAX = 2**32
"""Cells of the largest heap: a term has 32 bits for an address."""

SIZE_MAX = 2**45
"""Most bytes that a size may say."""

_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(size: int | str) -> int:
    """Turn a size such as ``"64 MiB"`` or ``1048576`` into bytes.

    Raises
    ------
    ValueError
        If the text is no size, or not positive.
    """
    given: Any = size
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise ValueError(f"size {size!r} is not a number of bytes; write an int or text such as '64 MiB'")
    if isinstance(size, int):
        total = size
    else:
        match = _SIZE.fullmatch(size)
        unit = _UNITS.get(match[2].upper()) if match else None
        if match is None or unit is None:
            raise ValueError(f"size {size!r} is not understood; write bytes or text such as '64 MiB', '1GiB'")
        total = int(Fraction(match[1]) * unit)
    if total > SIZE_MAX:
        raise ValueError(f"size {str(size)[:40]!r} is more than any machine has; the bound is {SIZE_MAX // 2**40} TiB")
    if total <= 0:
        raise ValueError(f"size {size!r} must be above 0")
    return total


Dup = Literal["owner", "atomic", "claim"]
OwnerUnit = Literal["thread", "block"]
Visibility = Literal["pass", "live"]
Shard = Literal["index", "address", "idle"]
Defer = Literal["migrate", "return"]
Fork = Literal["off", "auto"]
Memory = Literal["auto", "shared", "private"]

CHOICES: dict[str, tuple[str, ...]] = {
    "dup": ("owner", "atomic", "claim"),
    "owner_unit": ("thread", "block"),
    "visibility": ("pass", "live"),
    "shard": ("index", "address", "idle"),
    "defer": ("migrate", "return"),
    "fork": ("off", "auto"),
    "memory": ("auto", "shared", "private"),
}
"""Allowed values of each closed setting; the options of every door are read from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The frontier machine's settings; equal settings give equal traces on every device.

    Parameters
    ----------
    blocks : int
        Logical groups of threads, 1 to 65,536.
    threads_per_block : int
        Threads a block, a power of two, 1 to 1,024.
    region_size : int
        Cells a region, a power of two from 8 up; one slice of ``region_size / threads_per_block`` a thread.
    dup, owner_unit, visibility, defer : str
        The duplication protocol: who may take a slot (its owner, anyone, or two-sided stamps); whether a thread or a
        block owns; when a published value is seen (from the next pass on, or at once); what a task does that went to a
        slot's owner (stays there, or is dealt again).
    shard : {"index", "address", "idle"}
        Fresh entries go to threads in turn, to the owner of their cell, or first to threads that have nothing else to
        do, in turn: what a GPU of very many threads wants.
    fork : {"off", "auto"}
        Whether right operands of strict operators may run as tasks of their own while threads are idle. Counts may then
        exceed those of one thread, where an operand turns out not to be needed.
    fuel : int or "auto"
        Interactions an entry may spend in a pass; auto: about four million over the frontier.
    heap : int or str
        Most bytes the heap may take (8 a cell); it grows on demand.
    memory : {"auto", "shared", "private"}
        Where heap and frontier live.

    Raises
    ------
    ValueError
        If a setting is out of range, with the bound and a value that would do.
    """

    blocks: int = 8
    threads_per_block: int = 4
    region_size: int = 4096
    dup: Dup = "owner"
    owner_unit: OwnerUnit = "thread"
    visibility: Visibility = "pass"
    shard: Shard = "index"
    defer: Defer = "migrate"
    fork: Fork = "auto"
    fuel: int | Literal["auto"] = "auto"
    heap: int | str = "1 GiB"
    memory: Memory = "auto"

    def __post_init__(self) -> None:
        """Check every setting against its bound."""
        for name, low, high in (("blocks", 1, 2**16), ("threads_per_block", 1, 2**10), ("region_size", 8, 2**24)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"Machine({name}={value!r}): must be a whole number from {low} to {high:,}")
            if name != "blocks" and value & (value - 1):
                raise ValueError(f"Machine({name}={value}): must be a power of two; {1 << value.bit_length()} would do")
        if self.threads_per_block > self.region_size:
            raise ValueError(
                f"Machine(threads_per_block={self.threads_per_block}, region_size={self.region_size}): a slice would "
                f"have no cell; use region_size={self.threads_per_block * 8} or fewer threads"
            )
        fuel: Any = self.fuel
        if fuel != "auto" and (not isinstance(fuel, int) or isinstance(fuel, bool) or not 1 <= fuel < 2**32):
            raise ValueError(f"Machine(fuel={self.fuel!r}): must be 'auto' or a whole number from 1 to {2**32 - 1:,}")
        if self.threads > THREADS_MAX:
            raise ValueError(
                f"Machine(blocks={self.blocks}, threads_per_block={self.threads_per_block}): {self.threads:,} threads, "
                f"more than {THREADS_MAX:,}; use threads_per_block={max(1, THREADS_MAX // self.blocks)} or fewer blocks"
            )
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"Machine({name}={value!r}): must be one of {', '.join(map(repr, allowed))}")
        if self.owner_unit == "block" and self.dup != "owner":
            raise ValueError(
                f"Machine(owner_unit='block', dup={self.dup!r}): the unit says who may take under dup='owner'; under "
                f"dup={self.dup!r} any thread may: leave out owner_unit='block'"
            )
        if self.defer == "return" and self.dup != "owner":
            raise ValueError(
                f"Machine(defer='return', dup={self.dup!r}): it says what a task does after it went to a slot's owner "
                f"under dup='owner'; under dup={self.dup!r} no task moves: leave out defer='return'"
            )
        parse_size(self.heap)

    @property
    def threads(self) -> int:
        """Number of logical threads."""
        return self.blocks * self.threads_per_block

    @property
    def slice_cells(self) -> int:
        """Cells of one thread's slice of a region."""
        return self.region_size // self.threads_per_block

    @property
    def heap_cells(self) -> int:
        """Most cells the heap may have."""
        return min(parse_size(self.heap) // 8, CELLS_MAX)

    def settings(self) -> dict[str, object]:
        """Return every setting by name, in the order of declaration."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
