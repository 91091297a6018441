"""Make a program that shows a fault as small as it gets, by making its stream of choices small."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.strategies import Below

Choices = list[int]


def recorded(random: Random, choices: Choices) -> Below:
    """A source of choices that writes down what it gave."""

    def below(bound: int) -> int:
        choices.append(random.randrange(bound))
        return choices[-1]

    return below


def replayed(choices: Choices) -> Below:
    """A source of the choices written down; when they run out, the simplest ones."""
    at = 0

    def below(bound: int) -> int:
        nonlocal at
        choice = choices[at] % bound if at < len(choices) else 0
        at += 1
        return choice

    return below


def shrunk(choices: Choices, is_fault: Callable[[Choices], bool], *, tries_max: int = 3000) -> Choices:
    """Take away and lower choices while the fault stays."""
    tries = 0

    def still(candidate: Choices) -> bool:
        nonlocal tries
        tries += 1
        return tries <= tries_max and is_fault(candidate)

    is_smaller = True
    while is_smaller and tries < tries_max:
        is_smaller = False
        for width in (64, 16, 8, 4, 3, 2, 1):
            at = 0
            while at < len(choices):
                candidate = choices[:at] + choices[at + width :]
                if still(candidate):
                    choices, is_smaller = candidate, True
                else:
                    at += width
        for at, choice in enumerate(choices):
            for lower in dict.fromkeys((0, choice // 2, choice - 1)):
                if 0 <= lower < choice and still([*choices[:at], lower, *choices[at + 1 :]]):
                    choices, is_smaller = [*choices[:at], lower, *choices[at + 1 :]], True
                    break
    return choices
