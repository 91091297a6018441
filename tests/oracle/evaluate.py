"""The oracle's one door: program text in, lines and count out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from hvm4viz.errors import ProgramError
from hvm4viz.program import Program, load, parse
from hvm4viz.term import Tag
from tests.oracle.collapse import collapse, collapse_ahead
from tests.oracle.machine import Machine, OutOfSteps
from tests.oracle.normalise import Order, depth_first, normalise
from tests.oracle.printer import Printer
from tests.oracle.steps import OracleError
from tests.oracle.terms import Term

MAX_STEPS = 2_000_000


@dataclass(slots=True)
class Outcome:
    """What a program did.

    Attributes
    ----------
    lines : list of str
        Log lines and results, in the order printed.
    interactions : int
        How many there were.
    error : {"parse", "runtime", "steps"} or None
        Why it stopped early; ``"steps"``: it took too long, and may never end.
    message : str
        The error's text.
    """

    lines: list[str] = field(default_factory=list[str])
    interactions: int = 0
    error: Literal["parse", "runtime", "steps"] | None = None
    message: str = ""

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


def evaluate(
    program: str | Path | Program,
    *,
    mode: Literal["snf", "collapse"] = "snf",
    limit: int | None = None,
    max_steps: int = MAX_STEPS,
    order: Order | None = None,
) -> Outcome:
    """Run the ``@main`` of a text, a file or a program on the oracle.

    An ``order`` other than the reference's is that of visiting fields; in collapse mode, that of lifting branches, all
    of them before any is enumerated.
    """
    try:
        if isinstance(program, str):
            program = parse(program)
        elif isinstance(program, Path):
            program = load(program)
    except ProgramError as error:
        return Outcome(error="parse", message=str(error))
    book = program.book
    if "main" not in book.names or not book.roots[book.names.index("main")]:
        return Outcome(error="parse", message="no @main")
    main = Term(Tag.REF, book.names.index("main"))
    m = Machine(book, max_steps=max_steps, is_collapsing=mode == "collapse")
    outcome = Outcome(lines=m.lines)
    try:
        if mode == "snf":
            m.lines.append(Printer(book, is_quoted=False).show(normalise(m, main, order or depth_first)))
        else:
            results = collapse(m, main, limit) if order is None else islice(collapse_ahead(m, main, order), limit)
            for result in results:
                m.lines.append(Printer(book, is_quoted=True).show(result))
    except OracleError as error:
        outcome.error, outcome.message = "runtime", str(error)
    except OutOfSteps:
        outcome.error = "steps"
    outcome.interactions = m.interactions
    return outcome
