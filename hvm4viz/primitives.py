"""Primitives: functions that a program calls as ``%name(…)``, run by the CPU evaluator.

A primitive is a generator: it yields what it wants reduced (``Weak``, ``Normal``, ``Gnf`` of a cell), is resumed when
that is done, and returns the word of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.syntax.names import register_primitive
from hvm4viz.term import CHR, CON, NIL, Tag, ext_of, pack, tag_of, val_of

if TYPE_CHECKING:
    from hvm4viz.evaluate import Evaluator

PASSING: Final = (Tag.ERA, Tag.INC, Tag.SUP)
"""Heads that go through a primitive: it is called again inside."""

BUILT_IN: Final = ("log", "gnf", "nf")
"""Primitives that are no functions of Python."""

_functions: Final[dict[str, Callable[..., Any]]] = {}


@dataclass(frozen=True, slots=True)
class Weak:
    """Reduce a cell to weak normal form."""

    cell: int


@dataclass(frozen=True, slots=True)
class Normal:
    """Reduce a cell to normal form on the CPU."""

    cell: int


@dataclass(frozen=True, slots=True)
class Gnf:
    """Reduce a cell to normal form on the frontier machine."""

    cell: int


Wish = Weak | Normal | Gnf
Steps = Generator[Wish, None, int]


class PrimitiveError(Exception):
    """A primitive cannot go on: a runtime error of the program."""


def primitive(name: str, *, arity: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a Python function as a primitive; programs parsed from now on may call ``%name``.

    Parameters
    ----------
    name : str
        Letters, digits, ``_`` and ``$``, a letter first.
    arity : int
        Number of arguments, checked when a program is parsed.

    Returns
    -------
    decorator : callable
        The function gets its arguments as ``Term``, in normal form, and returns a ``Term``, an int (modulo 2^32), a
        str or a list of these.

    Raises
    ------
    ValueError
        If the name is none, or taken, or the arity is out of range.
    """
    register_primitive(name, arity)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _functions[name] = function
        return function

    return register


def module_of(name: str) -> str | None:
    """Return the module whose function is registered under a name; None for a primitive that is always there."""
    function = _functions.get(name)
    return function.__module__ if function is not None else None


def steps_of(machine: Evaluator, name: str, number: int, cells: list[int]) -> Steps:
    """Return the generator that runs a primitive on argument cells."""
    if name == "log":
        return _log(machine, number, cells)
    if name == "gnf":
        return _reduce(machine, Gnf(cells[0]))
    if name == "nf":
        return _reduce(machine, Normal(cells[0]))
    return _call(machine, name, number, cells)


def replayed(machine: Evaluator, name: str, number: int, cells: list[int], taken: int) -> Steps:
    """Return the generator of a primitive as it was after so many steps: until its last one it only reads cells."""
    steps = steps_of(machine, name, number, cells)
    for _ in range(taken):
        next(steps)
    return steps


def _reduce(machine: Evaluator, wish: Wish) -> Steps:
    yield wish
    return machine.word(wish.cell)


def _call(machine: Evaluator, name: str, number: int, cells: list[int]) -> Steps:
    for cell in cells:
        yield Normal(cell)
    for place, cell in enumerate(cells):
        word = machine.word(cell)
        if tag_of(word) in PASSING:
            return _passed_on(machine, number, cells, place, word)
    function = _functions.get(name)
    if function is None:
        raise PrimitiveError(f"%{name} is not registered here; import the module that defines it")
    call = object()
    machine.has_called = True
    try:
        value = function(*(machine.term(cell, call) for cell in cells))
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the user's code: whatever it raises is the cause
        raise PrimitiveError(f"%{name} raised {_named(error)}") from error
    return machine.encode(value, name, call)


def _named(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  (a __str__ that fails itself)
        return type(error).__name__


def _passed_on(machine: Evaluator, number: int, cells: list[int], place: int, word: int) -> int:
    """Call again inside what stands at the top of an argument: ``&{}``, ``↑%p(…)``, ``&L{%p(…), %p(…)}``."""
    tag, label, loc = tag_of(word), ext_of(word), val_of(word)
    if tag == Tag.ERA:
        return word
    words = [machine.word(cell) for cell in cells]
    if tag == Tag.INC:
        words[place] = machine.word(loc)
        return pack(Tag.INC, 0, machine.node([pack(Tag.PRI, number, machine.node(words))]))
    sides: list[int] = []
    pairs = [machine.clone(label, w) if i != place else None for i, w in enumerate(words)]
    for side in (0, 1):
        fields = [pair[side] if pair else machine.word(loc + side) for pair in pairs]
        sides.append(pack(Tag.PRI, number, machine.node(fields)))
    return pack(Tag.SUP, label, machine.node(sides))


# ---- %log


def _log(machine: Evaluator, number: int, cells: list[int]) -> Steps:
    """Force a string and write it as a line (``interactions.md`` 7).

    The text read so far is kept as a function in HVM4, one application a character and one for the end: they are
    counted here, and built only where something passes through.
    """
    cell = cells[0]
    heads: list[int] = []
    line: list[str] = []
    while True:
        yield Weak(cell)
        word = machine.word(cell)
        if tag_of(word) in PASSING:
            return _log_passed(machine, number, heads, word, lambda inner: inner, None)
        if tag_of(word) == Tag.C00 and ext_of(word) == NIL:
            machine.count_log(len(heads) + 1)
            machine.write_line("".join(line))
            return word
        if tag_of(word) != Tag.C00 + 2 or ext_of(word) != CON:
            behind = "a list that ends in " * bool(heads)
            raise _no_text("a string list", behind + _named_term(machine, word))
        head_cell, cell = val_of(word), val_of(word) + 1
        yield Weak(head_cell)
        head = machine.word(head_cell)
        if tag_of(head) in PASSING:
            return _log_passed(machine, number, heads, head, lambda inner: inner, cell)
        if tag_of(head) != Tag.C00 + 1 or ext_of(head) != CHR:
            raise _no_text("#Chr head", f"a list with {_named_term(machine, head)} in it")
        yield Weak(val_of(head))
        code = machine.word(val_of(head))
        if tag_of(code) in PASSING:
            return _log_passed(
                machine, number, heads, code, lambda inner: pack(Tag.C00 + 1, CHR, machine.node([inner])), cell
            )
        if tag_of(code) != Tag.NUM:
            raise _no_text("a numeric codepoint", f"a character #CHR of {_named_term(machine, code)}")
        point = val_of(code)
        line.append(chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else "\ufffd")
        heads.append(head)


def _no_text(wanted: str, got: str) -> PrimitiveError:
    return PrimitiveError(f'%log expected {wanted}: it takes a string, such as "text"; it got {got}')


def _named_term(machine: Evaluator, word: int) -> str:
    """Say what a value is, in few words."""
    if tag_of(word) == Tag.ALO:
        word = int(machine.book.code[ext_of(word)])
    tag = tag_of(word)
    if Tag.C00 <= tag <= Tag.C16:
        name = machine.book.ctor_names.get(ext_of(word), "?")
        return "a list" if ext_of(word) in (NIL, CON) else f"a constructor #{name}"
    return f"a number ({val_of(word)})" if tag == Tag.NUM else _KINDS.get(tag, "a term that stays as it is")


_KINDS: Final[dict[int, str]] = dict.fromkeys((Tag.LAM, Tag.MAT, Tag.SWI, Tag.USE, Tag.RED), "a function")


def _log_passed(
    machine: Evaluator, number: int, heads: list[int], word: int, rebuild: Callable[[int], int], rest: int | None
) -> int:
    """``&{}``, ``↑%log(s)`` or ``&L{%log(s), %log(t)}``, with the text read so far in front again."""
    tag, label, loc = tag_of(word), ext_of(word), val_of(word)
    if tag == Tag.ERA:
        return word
    before = _before(machine, heads)

    def again(before: int, inner: int, rest: int | None) -> int:
        tail = rebuild(inner)
        if rest is not None:
            tail = pack(Tag.C00 + 2, CON, machine.node([tail, rest]))
        return pack(Tag.PRI, number, machine.node([pack(Tag.APP, 0, machine.node([before, tail]))]))

    if tag == Tag.INC:
        return pack(Tag.INC, 0, machine.node([again(before, machine.word(loc), machine.word(rest) if rest else None)]))
    befores = machine.clone(label, before)
    rests = machine.clone(label, machine.word(rest)) if rest else (None, None)
    sides = [again(befores[side], machine.word(loc + side), rests[side]) for side in (0, 1)]
    return pack(Tag.SUP, label, machine.node(sides))


def _before(machine: Evaluator, heads: list[int]) -> int:
    """Build ``λv. before(c <> v)`` for each character, around ``λv. v``."""
    binder = machine.binder()
    machine.put(binder, pack(Tag.VAR, 0, binder))
    before = pack(Tag.LAM, 0, binder)
    for head in heads:
        binder = machine.binder()
        tail = pack(Tag.C00 + 2, CON, machine.node([head, pack(Tag.VAR, 0, binder)]))
        machine.put(binder, pack(Tag.APP, 0, machine.node([before, tail])))
        before = pack(Tag.LAM, 0, binder)
    return before
