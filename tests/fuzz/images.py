"""Bytes to heap images: nodes, binders, slots and closures built one on the other, then any word overwritten."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.admit import free_variables
from hvm4viz.book import Book
from hvm4viz.program import parse
from hvm4viz.settings import Machine
from hvm4viz.term import CON, LAM_ERA, NIL, SUB_BIT, SUC, ZER, Tag, pack

CELLS_MAX: Final = 448
REGION: Final = 64

PROGRAM: Final = """
@id = λx. x
@twice = λ&f. λx. f(f(x))
@add = λ{0n: λb. b; 1n+: λa. λb. 1n+@add(a, b)}
@sum = λ{[]: 0; <>: λh. λt. h + @sum(t)}
@pick = λ{#A: λa. a; #B: λa. λb. &L{a, b}; λd. d}
@num = λ{0: 5; 1: λ&n. n * n; λ&n. n - @num(n - 1)}
@open = λ&x. ! f = λ y; #A{f(x), y}
@strict = λ{λx. x + 1}
@eq = λ&a. λ&b. [a === b, a .&. b, b .|. a, ↑a, (a ~> b), &(a){1, b}, &{}, *, %gnf(a)]
@dyn = λ&l. λv. ! x &(l) = v; #P{x₀, x₁, ! &z = l; z(z)}
@loop = @loop
"""

MACHINES: Final = tuple(
    Machine(blocks=blocks, threads_per_block=tpb, region_size=REGION, fuel=64, **settings)  # pyright: ignore[reportArgumentType]
    for blocks, tpb, settings in (
        (1, 1, {}),
        (2, 2, {}),
        (2, 2, {"fork": "off", "defer": "return"}),
        (2, 2, {"owner_unit": "block"}),
        (2, 2, {"dup": "claim"}),
        (2, 2, {"dup": "atomic"}),
        (4, 1, {"visibility": "live"}),
        (4, 1, {"dup": "claim", "fork": "off"}),
    )
)
"""One of each protocol."""

_NODES: Final = (
    Tag.APP, Tag.APP, Tag.SUP, Tag.OP2, Tag.OP2, Tag.MAT, Tag.SWI, Tag.USE, Tag.DSU, Tag.DDU, Tag.RED, Tag.EQL, Tag.AND,
    Tag.OR, Tag.INC, Tag.UNS, Tag.DRY, Tag.PRI, Tag.C00 + 1, Tag.C00 + 2, Tag.C00 + 3, Tag.C00 + 5, Tag.C16,
)  # fmt: skip
_ARITIES: Final[dict[int, int]] = {Tag.USE: 1, Tag.INC: 1, Tag.UNS: 1, Tag.PRI: 1, Tag.DSU: 3, Tag.DDU: 3}
_IDS: Final = (ZER, SUC, NIL, CON, 1, 2)
_ATOMS: Final = (Tag.ERA, Tag.ANY, Tag.NAM, Tag.BJV, Tag.C00, Tag.REF)


@cache
def book() -> Book:
    """Return the static terms that closures point into."""
    return parse(PROGRAM).book


@dataclass(frozen=True, slots=True)
class Image:
    """What is run: a heap for a machine, and how."""

    machine: Machine
    is_lifting: bool
    fuel: int
    passes: int
    words: NDArray[np.uint64]


class _Bytes:
    """Bytes, one after the other; 0 behind the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def next(self) -> int:
        at = self.at
        self.at += 1
        return self.data[at] if at < len(self.data) else 0


class _Builder:
    """A heap in the making: words that nothing points to yet are in the pool."""

    def __init__(self, machine: Machine) -> None:
        self.slot_cells, self.binder_cells = (2, 2) if machine.threads == 1 else (4, 3)
        self.words = [0] * CELLS_MAX
        self.at = 1
        self.pool: list[int] = []

    def room(self, cells: int) -> int:
        """Return where so many cells begin, or 0."""
        if self.at + cells > CELLS_MAX:
            return 0
        self.at += cells
        return self.at - cells

    def taken(self) -> int:
        return self.pool.pop() if self.pool else pack(Tag.NUM, 0, 3)

    def node(self, tag: int, ext: int, arity: int) -> None:
        first = self.room(arity)
        if first:
            for i in range(arity):
                self.words[first + i] = self.taken()
            self.pool.append(pack(tag, ext, first))

    def binder(self) -> None:
        """Add a lambda and its variable."""
        loc = self.room(self.binder_cells)
        if loc:
            self.words[loc] = self.taken()
            self.pool += [pack(Tag.VAR, 0, loc), pack(Tag.LAM, 0, loc)]

    def eraser(self) -> None:
        loc = self.room(self.binder_cells)
        if loc:
            self.words[loc] = self.taken()
            self.pool.append(pack(Tag.LAM, LAM_ERA, loc))

    def slot(self, label: int) -> int:
        """Add a slot and both its ends."""
        loc = self.room(self.slot_cells)
        if loc:
            self.words[loc] = self.taken()
            self.pool += [pack(Tag.DP0, label, loc), pack(Tag.DP1, label, loc)]
        return loc

    def closure(self, cell: int) -> None:
        """Add a closure, with an environment as it wants one."""
        wanted = dict[int, set[int]]()
        for index, tag in free_variables(book(), cell):
            wanted.setdefault(index, set()).add(tag)
        env = 0
        for index in range(max(wanted, default=-1), -1, -1):
            tags = wanted.get(index, {Tag.BJV})
            loc = self.room(self.slot_cells if tags & {Tag.BJ0, Tag.BJ1} else 2)
            if not loc:
                return
            self.words[loc] = self.taken()
            self.words[loc + 1] = env
            if Tag.BJV in tags:
                self.words[loc] |= SUB_BIT
                self.words[loc + 1] |= 0x80000000 << 32
            else:
                for tag, end in ((Tag.BJ0, Tag.DP0), (Tag.BJ1, Tag.DP1)):
                    if tag not in tags:
                        self.pool.append(pack(end, 7, loc))
            env = loc
        self.pool.append(pack(Tag.ALO, cell, env))

    def finish(self) -> None:
        """Put what is left under the root."""
        while len(self.pool) > 16:
            self.node(Tag.C00 + 2, CON, 2)
            if self.at + 2 > CELLS_MAX:
                del self.pool[:-16]
        fields = len(self.pool)
        first = self.room(fields)
        if not first or fields == 1:
            self.words[0] = self.pool[-1] if self.pool else pack(Tag.NUM, 0, 1)
            return
        self.words[first : first + fields] = self.pool
        self.words[0] = pack(Tag.C00 + fields, 9, first)


def decode(data: bytes) -> Image:
    """Turn bytes into an image: a head of four, what to build up to a byte 255, then words to overwrite."""
    source = _Bytes(data)
    head = [source.next() for _ in range(4)]
    machine = MACHINES[head[0] % len(MACHINES)]
    builder = _Builder(machine)
    n_static = len(book().code)
    while source and (op := source.next()) != 255:
        _build(builder, op, source, n_static)
    builder.finish()
    words = np.array(builder.words, np.uint64)
    while source:
        cell = source.next() | source.next() << 8
        byte, value = source.next(), source.next()
        words.view(np.uint8)[(cell % builder.at) * 8 + byte % 8] = value
    size = -(-builder.at // REGION) * REGION
    return Image(machine, bool(head[3] & 1), 1 + head[1], 1 + head[2] % 64, words[:size])


def _build(builder: _Builder, op: int, source: _Bytes, n_static: int) -> None:
    kind, extra = op % 8, op // 8
    if kind == 0:
        builder.pool.append(pack(Tag.NUM, 0, (0, 1, 2, 31, 32, 0x7FFFFFFF, 0xFFFFFFFF, extra)[extra % 8]))
    elif kind == 1:
        tag = _ATOMS[extra % len(_ATOMS)]
        ext = source.next()
        builder.pool.append(pack(tag, ext % len(book().roots) if tag == Tag.REF else _IDS[ext % len(_IDS)]))
    elif kind == 2:
        builder.binder()
    elif kind == 3:
        builder.slot(extra % 4)
    elif kind == 4:
        builder.closure(1 + (source.next() | (extra & 1) << 8) % (n_static - 1))
    elif kind == 5:
        builder.eraser()
    elif kind == 6 and builder.pool:  # who comes next
        builder.pool.insert(0, builder.pool.pop(-1 - extra % len(builder.pool)))
    else:
        tag = _NODES[extra % len(_NODES)]
        arity = tag - Tag.C00 if Tag.C00 < tag <= Tag.C16 else _ARITIES.get(tag, 2)
        ext = source.next()
        ids = _IDS[ext % len(_IDS)] if Tag.C00 < tag <= Tag.C16 or tag == Tag.MAT else ext % 17
        builder.node(tag, 1 if tag == Tag.PRI else ids, arity)
