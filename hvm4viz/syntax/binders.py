"""Binders: the variables of a λ, and the two ends of a duplication.

Before the body of a binder its variables come into scope; behind it they leave, their uses are checked, and the core
term is built from the inside out.
"""

from __future__ import annotations

from typing import Final

from hvm4viz.errors import NotAffine
from hvm4viz.syntax.core import AUTO, CHAIN
from hvm4viz.syntax.reader import Reader
from hvm4viz.syntax.scope import SUBSCRIPTS
from hvm4viz.syntax.tokens import match_name
from hvm4viz.term import LAM_ERA, Tag

_LAM: Final = int(Tag.LAM)
_DUP: Final = int(Tag.DUP)


class Plain:
    """A variable written without subscript."""

    __slots__ = ("clonable", "cloned", "name", "variable")

    def __init__(self, reader: Reader, name: str, *, cloned: bool = False, clonable: bool = True) -> None:
        self.name = name
        self.cloned = cloned
        self.clonable = clonable
        self.variable = reader.scope.new()
        reader.scope.open(reader.scope.plain, name, self.variable)

    def wrap(self, reader: Reader, body: int, span: int, *, erasable: bool = False) -> int:
        """Build the function of this variable around a body."""
        reader.scope.close(reader.scope.plain, self.name)
        if self.cloned:
            body = _clone(reader, self.variable, body, span)
        else:
            _check(reader, self.variable, self.name, "", clonable=self.clonable)
        return _function(reader, self.variable, body, span, erasable=erasable)


class Ends:
    """Both ends of a duplication, with a fixed label (a number, or ``AUTO`` and its place) or a computed one."""

    __slots__ = ("clonable", "cloned", "computed", "label", "label_span", "name", "variable")
    variable: int

    def __init__(
        self,
        name: str,
        label: int,
        label_span: int = 0,
        *,
        cloned: bool = False,
        clonable: bool = True,
        computed: bool = False,
    ) -> None:
        self.name = name
        self.label = label
        self.label_span = label_span
        self.cloned = cloned
        self.clonable = clonable
        self.computed = computed

    def open(self, reader: Reader) -> None:
        """Bring the ends into scope."""
        self.variable = reader.scope.new()
        reader.scope.new()
        reader.scope.open(reader.scope.ends, self.name, self.variable)

    def wrap(self, reader: Reader, value: int, value_span: int, body: int, span: int) -> int:
        """Build the duplication of a value around a body."""
        reader.scope.close(reader.scope.ends, self.name)
        order = (0, 1) if self.computed else (1, 0)  # whose chain is inside, and draws first
        for side in order:
            if self.cloned:
                body = _clone(reader, self.variable + side, body, span)
            else:
                _check(reader, self.variable + side, self.name, SUBSCRIPTS[side], clonable=self.clonable)
        if not self.computed:
            cells = [value, body, self.variable, self.label]
            return reader.core.node(_DUP, 0, cells, [value_span, span, span, span])
        for side in (1, 0):
            body = _function(reader, self.variable + side, body, span)
        return reader.core.node(Tag.DDU, 0, [self.label, value, body], [self.label_span, value_span, span])

    def wrap_parameter(self, reader: Reader, body: int, span: int) -> int:
        """Build the function whose parameter is duplicated at once."""
        parameter = reader.scope.new()
        value = reader.scope.use(parameter, span)
        return _function(reader, parameter, self.wrap(reader, value, span, body, span), span)


def read_label(reader: Reader) -> int:
    """Read the fixed label behind ``&``, or draw one if none stands there."""
    match = reader.try_match(match_name)
    return reader.names.label(match[1]) if match else AUTO | reader.scope.draw().start


def _check(reader: Reader, variable: int, name: str, subscript: str, *, clonable: bool) -> None:
    uses = reader.scope.uses[variable]
    shown = name + subscript
    if uses > 1:
        hint = f"declare variable as '&{name}' to allow multiple uses: λ&{name}. or ! &{name} = ...;"
        raise reader.fault(
            f"variable '{shown}' used {uses} times",
            reader.scope.where[variable],
            kind=NotAffine,
            expected="at most one use, all cases and branches taken together",
            hint=hint if clonable else f"duplicate it: ! d &L = {shown}; ... d₀ ... d₁",
        )


def _clone(reader: Reader, variable: int, body: int, span: int) -> int:
    if not reader.scope.chain(variable):
        return body
    return reader.core.two(CHAIN, 0, body, span, variable, span)


def _function(reader: Reader, variable: int, body: int, span: int, *, erasable: bool = False) -> int:
    erases = erasable and not reader.scope.uses[variable]
    return reader.core.two(_LAM, LAM_ERA * erases, body, span, variable, span)
