"""Write functions of the kernel out again for the near loop, whose worker lies in registers (``kernels/near.h``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hvm4viz.kernel_text.functions import closing

_HEAD = r"^(?:FUNC|CALL|NEAR_CALL) ([^;{}()]*?\bNAME\(THREAD Worker\* w\b[^{};]*\) )\{"


def near_functions(text: str, names: Sequence[str]) -> str:
    """Return functions as overloads that take a ``Near`` in place of a ``Worker``, in the order of the text.

    Parameters
    ----------
    text : str
        Where they stand.
    names : sequence of str

    Raises
    ------
    ValueError
        If one is not there, or twice.
    """
    found: list[tuple[int, str]] = []
    for name in names:
        heads = list(re.finditer(_HEAD.replace("NAME", name), text, re.MULTILINE))
        if len(heads) != 1:
            raise ValueError(f"kernels/near.h: {name} stands {len(heads)} times in the kernel, not once")
        head = heads[0]
        end = closing(text, head.end() - 1) + 1
        whole = f"FUNC {text[head.start(1) : end]}"
        found.append((head.start(), whole.replace("THREAD Worker* w", "THREAD Near* w")))
    return "\n\n".join(function for _, function in sorted(found)) + "\n"


def near_names(text: str) -> list[str]:
    """Return what the header of ``near.h`` takes over."""
    return [name for line in re.findall(r"^// takes: (.*)$", text, re.MULTILINE) for name in line.split()]
