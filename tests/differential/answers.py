"""What the machine answers to a program, in the form that it is compared in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import hvm4viz
from hvm4viz.errors import ProgramError
from hvm4viz.settings import Machine
from hvm4viz.trace import Trace
from tests.case_files import Case
from tests.differential.machines import ALONE

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run said.

    Attributes
    ----------
    log, results : tuple of str
        Lines of ``%log``, and of the results.
    error : str or None
        ``"parse"``, ``"runtime"``, or the status of a run that did not end well for another reason.
    interactions : int
        How many there were.
    """

    log: tuple[str, ...]
    results: tuple[str, ...]
    error: str | None
    interactions: int

    @property
    def text(self) -> str:
        """Log, then results: the order of printing when there is one result."""
        return "\n".join(self.log + self.results)


def answer(
    program: str | Path,
    machine: Machine,
    *,
    mode: Literal["snf", "collapse"] = "snf",
    limit: int | None = None,
    on_trace: Callable[[Trace], object] | None = None,
    **options: Any,
) -> Answer:
    """Run a program on a machine; ``on_trace`` gets the trace."""
    if mode == "collapse":
        options |= {"mode": mode, "limit": limit}
    try:
        parsed = hvm4viz.parse(program) if isinstance(program, str) else hvm4viz.load(program)
    except ProgramError:
        return Answer((), (), "parse", 0)
    quietly: dict[str, Any] = {"timeout": TIMEOUT_S, "record": "off", "progress": False, "on_log": str}
    run = hvm4viz.run(parsed, machine=machine, **quietly | options)
    if on_trace is not None:
        on_trace(run.trace)
    error = {"done": None, "error": "runtime"}.get(run.status, str(run.status))
    return Answer(tuple(run.log), tuple(run.lines), error, run.stats.interactions)


def faults(case: Case, machine: Machine, got: Answer) -> list[str]:
    """Name everything in which an answer differs from what the case expects; nothing when all is well."""
    found: list[str] = []
    if got.error != case.error:
        found.append(f"error {got.error}, not {case.error}")
    if case.error == "parse":
        return found
    lines, expected = got.text.split("\n"), case.output.split("\n")
    if case.is_logging and case.mode == "collapse":  # log lines and results take turns
        lines, expected = sorted(lines), sorted(expected)
    if lines != expected:
        found.append(f"{cut(got.text)}, not {cut(case.output)}")
    if is_count_fixed(case, machine) and got.interactions != case.interactions:
        found.append(f"{got.interactions} interactions, not {case.interactions}")
    return found


def is_count_fixed(case: Case, machine: Machine) -> bool:
    """Whether the count must be the reference's: always when normalising, on one thread when enumerating branches."""
    is_alone = machine.threads == ALONE.threads
    return case.interactions is not None and machine.fork == "off" and (case.mode == "snf" or is_alone)


def cut(text: str, most: int = 120) -> str:
    """A text short enough for one line of a report."""
    return repr(text if len(text) <= most else text[:most] + "…")
