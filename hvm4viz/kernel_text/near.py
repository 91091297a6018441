"""Write functions of the kernel out again for the near loop, whose worker lies in registers (``kernels/near.h``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from hvm4viz.kernel_text.dispatch import near_dispatch
from hvm4viz.kernel_text.functions import closing
from hvm4viz.rules import Rule

_HEAD = r"^(?:FUNC|CALL|NEAR_CALL) ([^;{}()]*?\bNAME\(THREAD Worker\* w\b[^{};]*\) )\{"
_TAKES = re.compile(r"^// takes: (.*)$", re.MULTILINE)


@lru_cache(maxsize=8)
def near_text(rules: tuple[Rule, ...], text: str, before: str, after: str) -> str:
    """Return the near loop, for the compilers that ask for it.

    Parameters
    ----------
    rules : tuple of Rule
    text : str
        The kernel before its entry points.
    before, after : str
        What stands in front of the functions that are taken over from it, and behind them; ``before`` names them.

    Raises
    ------
    ValueError
        If ``before`` names a function that ``text`` does not have, or has twice.
    """
    names = [name for line in _TAKES.findall(before) for name in line.split()]
    names += [f"rule_{rule.file}" for rule in rules if rule.is_near]
    declared, functions = near_functions(text, names)
    return "\n".join(["#ifdef NEAR_LOOP", before, declared, near_dispatch(rules), functions, after, "#endif"])


def near_functions(text: str, names: Iterable[str]) -> tuple[str, str]:
    """Return declarations, then functions, of overloads that take a ``Near`` in place of a ``Worker``.

    Raises
    ------
    ValueError
        If one is not there, or twice.
    """
    found: list[tuple[int, str, str]] = []
    for name in names:
        heads = list(re.finditer(_HEAD.replace("NAME", name), text, re.MULTILINE))
        if len(heads) != 1:
            raise ValueError(f"kernels/near.h: the kernel has {len(heads)} functions {name}, not one")
        head = heads[0]
        start, end = head.start(1), closing(text, head.end() - 1) + 1
        new = f"FUNC {text[start:end]}".replace("THREAD Worker* w", "THREAD Near* w")
        found.append((start, f"{new[: new.index('{')].rstrip()};", new))
    found.sort()
    return "\n".join(declared for _, declared, _ in found), "\n\n".join(new for _, _, new in found)
