"""Uses of variables: the innermost binder that matches, or the reason why there is none."""

from __future__ import annotations

import difflib

from hvm4viz.errors import UnboundName
from hvm4viz.syntax.habits import WORDS, comment_start
from hvm4viz.syntax.reader import Reader


def read_variable(reader: Reader, name: str, subscript: str | None, span: int) -> int:
    """Return the core term of a variable that was read."""
    scope = reader.scope
    reader.span = span
    if subscript is None:
        stack = scope.plain.get(name)
        if stack:
            return scope.use(stack[-1], span)
    else:
        stack = scope.ends.get(name)
        if stack:
            return scope.use(stack[-1] + (subscript == "₁"), span)
    raise _unbound(reader, name, subscript, span)


def _unbound(reader: Reader, name: str, subscript: str | None, span: int) -> Exception:
    if subscript is None and reader.scope.ends.get(name):
        cause = f"dup variable '{name}' requires subscript ₀ or ₁"
        hint = (
            f"{name} is duplicated, as by ! {name} &L = ...: its two copies are {name}₀ and {name}₁; "
            "use each at most once"
        )
    elif subscript is not None and reader.scope.plain.get(name):
        cause = f"non-dup variable '{name}' must be used without subscript (₀ or ₁)"
        hint = f"write {name}, or duplicate it: ! {name} &L = {name}; ..."
    else:
        if comment_start(reader.text, span >> 32) is not None:
            reader.fail_at(span >> 32, "name")
        cause = f"undefined variable '{name}'"
        hint = _suggestion(reader, name)
    return reader.fault(cause, span, kind=UnboundName, expected="a variable in scope", hint=hint)


def _suggestion(reader: Reader, name: str) -> str:
    if name in reader.names.definitions:
        return f"the definition is written @{name}"
    known = {known for table in (reader.scope.plain, reader.scope.ends) for known, stack in table.items() if stack}
    close = difflib.get_close_matches(name[:100], sorted(known)[:1000], n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    if name in WORDS:
        return WORDS[name]
    return f"bind it with λ{name}. or ! {name} = ...; or write @{name} for a definition"
