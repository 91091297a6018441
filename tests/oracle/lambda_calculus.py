"""Pure lambda terms, normalised as in a textbook: by substitution, the leftmost outermost redex first.

Variables are de Bruijn indices: 0 is the innermost binder. Nothing here knows of duplications, labels or sharing, so it
is a second opinion on terms for which HVM4's labels cannot collide: affine terms, and affine terms under a chain of
shared lets, where no duplication is ever duplicated itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Var:
    """A variable: how many binders lie between it and its own."""

    index: int


@dataclass(frozen=True, slots=True)
class Lam:
    """A function."""

    body: Lambda


@dataclass(frozen=True, slots=True)
class App:
    """A call."""

    function: Lambda
    argument: Lambda


Lambda = Var | Lam | App


class NoNormalForm(Exception):
    """The term took more steps than allowed."""


def shifted(term: Lambda, by: int, cutoff: int = 0) -> Lambda:
    """Add to the indices of the variables that are free below ``cutoff`` binders."""
    match term:
        case Var(index):
            return Var(index + by) if index >= cutoff else term
        case Lam(body):
            return Lam(shifted(body, by, cutoff + 1))
        case App(function, argument):
            return App(shifted(function, by, cutoff), shifted(argument, by, cutoff))


def substituted(term: Lambda, value: Lambda, index: int = 0) -> Lambda:
    """Put a value in place of a variable whose binder goes away."""
    match term:
        case Var(own):
            if own == index:
                return shifted(value, index)
            return Var(own - 1) if own > index else term
        case Lam(body):
            return Lam(substituted(body, value, index + 1))
        case App(function, argument):
            return App(substituted(function, value, index), substituted(argument, value, index))


def stepped(term: Lambda) -> Lambda | None:
    """Contract the leftmost outermost redex; None when there is none."""
    match term:
        case App(Lam(body), argument):
            return substituted(body, argument)
        case App(function, argument):
            left = stepped(function)
            if left is not None:
                return App(left, argument)
            right = stepped(argument)
            return None if right is None else App(function, right)
        case Lam(body):
            inner = stepped(body)
            return None if inner is None else Lam(inner)
        case Var():
            return None


def normal_form(term: Lambda, *, max_steps: int = 500) -> Lambda:
    """Contract until nothing is left to contract.

    Raises
    ------
    NoNormalForm
        If that takes more than ``max_steps`` steps.
    """
    for _ in range(max_steps):
        following = stepped(term)
        if following is None:
            return term
        term = following
    raise NoNormalForm


def uses(body: Lambda, index: int = 0) -> int:
    """How often a variable occurs."""
    match body:
        case Var(own):
            return int(own == index)
        case Lam(inner):
            return uses(inner, index + 1)
        case App(function, argument):
            return uses(function, index) + uses(argument, index)


def letters(number: int) -> str:
    """``a`` to ``z``, ``aa`` ... for 1, 2 ..."""
    text = ""
    while number > 0:
        number -= 1
        text = chr(ord("a") + number % 26) + text
        number //= 26
    return text


def source_of(term: Lambda, depth: int = 0) -> str:
    """The term as HVM4 source; a variable used more than once is cloned."""
    match term:
        case Var(index):
            return f"x{depth - index}"
        case Lam(body):
            return f"(λ{'&' if uses(body) > 1 else ''}x{depth + 1}. {source_of(body, depth + 1)})"
        case App(function, argument):
            return f"{source_of(function, depth)}({source_of(argument, depth)})"


def shown_quoted(term: Lambda, depth: int = 0) -> str:
    """A normal form as collapse mode prints it: a variable is named after its depth."""
    match term:
        case Var(index):
            return letters(depth - index)
        case Lam(body):
            return f"λ{letters(depth + 1)}.{shown_quoted(body, depth + 1)}"
        case App():
            head, arguments = spine(term)
            return f"{shown_quoted(head, depth)}({','.join(shown_quoted(argument, depth) for argument in arguments)})"


def shown_linked(term: Lambda) -> str:
    """A normal form as normalising prints it: binders are named in the order in which they are met."""
    count = 0

    def shown(term: Lambda, names: tuple[str, ...]) -> str:
        nonlocal count
        match term:
            case Var(index):
                return names[index]
            case Lam(body):
                count += 1
                name = letters(count)
                return f"λ{name}.{shown(body, (name, *names))}"
            case App():
                head, arguments = spine(term)
                text = shown(head, names)
                return f"{text}({','.join(shown(argument, names) for argument in arguments)})"

    return shown(term, ())


def spine(term: Lambda) -> tuple[Lambda, list[Lambda]]:
    """The head of a call and its arguments."""
    arguments: list[Lambda] = []
    while isinstance(term, App):
        arguments.insert(0, term.argument)
        term = term.function
    return term, arguments
