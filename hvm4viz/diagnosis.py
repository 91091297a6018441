"""What ``doctor`` found: each check with its verdict, as text and as a table."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass
from typing import Final, Literal

from hvm4viz.widgets.escape import html_text, terminal_text

Verdict = Literal["ok", "FIX", "optional", "not here", "note"]

_MARKS: Final[dict[Verdict, str]] = {"ok": "✓", "FIX": "✗", "optional": "–", "not here": "–", "note": "·"}
_COLUMNS_MIN: Final = 60


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
    verdict : {"ok", "FIX", "optional", "not here", "note"}
        FIX: needed, and missing; optional: missing, and most things work without; not here: cannot be on this machine.
    detail : str
        What was found.
    fix : str
        The command that puts it right, or nothing.
    """

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ``doctor`` found.

    Attributes
    ----------
    checks : tuple of Check
    """

    checks: tuple[Check, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing that is needed is missing."""
        return all(check.verdict != "FIX" for check in self.checks)

    @property
    def summary(self) -> str:
        """One sentence."""
        missing = sum(check.verdict == "FIX" for check in self.checks)
        return f"{missing} to fix; the command stands below each" if missing else "all that is needed is here"

    def __str__(self) -> str:
        """Return it as text: a check, what was found, and under it the command that puts it right."""
        names = max(len(check.name) for check in self.checks)
        indent = " " * (10 + names + 2)
        columns = max(_COLUMNS_MIN, shutil.get_terminal_size((120, 24)).columns)
        out: list[str] = []
        for check in self.checks:
            head = f"{check.verdict:8}  {check.name:{names}}  "
            out.append(_wrapped(head, check.detail, indent, columns))
            if check.fix:
                out.append(f"{indent}> {check.fix}")  # on one line, to be copied
        return terminal_text("\n".join([*out, "", self.summary]))

    def _repr_html_(self) -> str:
        rows = "".join(_row(check) for check in self.checks)
        return f"<table><tbody>{rows}</tbody></table><p>{html_text(self.summary)}</p>"


def _wrapped(head: str, text: str, indent: str, columns: int) -> str:
    return textwrap.fill(
        text, columns, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _row(check: Check) -> str:
    fix = f"<br><code>{html_text(check.fix)}</code>" if check.fix else ""
    cells = (f"{_MARKS[check.verdict]} {check.verdict}", check.name, check.detail)
    first, second, third = (html_text(cell) for cell in cells)
    weight = ";font-weight:bold" if check.verdict == "FIX" else ""
    left = f'<td style="text-align:left;vertical-align:top;padding-right:1em{weight}">'
    return f"<tr>{left}{first}</td>{left}{second}</td>{left}{third}{fix}</td></tr>"
