"""How fast figures are of a large trace: 10,000 passes over 10,000 regions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal

from hvm4viz.bench.traces import Size, made_up
from hvm4viz.figure_request import figure_kinds, subject_of

if TYPE_CHECKING:
    from hvm4viz.trace import Trace

REGION_CELLS: Final = 4096
LARGE: Final = Size(passes=10_000, entries=20, cells=10_000 * REGION_CELLS, changed=0)
"""10,000 passes over 10,000 regions."""

BUDGET_S: Final = 2.0
"""Most seconds from a trace that was just opened to the pixels of a figure."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How long a figure takes.

    Attributes
    ----------
    figure : str
    passes, regions : int
        Size of the trace.
    seconds : float
        Median, from the opened trace to the pixels, counts and digest included.
    is_in_time : bool
        Whether that is within ``BUDGET_S``.
    """

    figure: str
    passes: int
    regions: int
    seconds: float
    is_in_time: bool


def measure_figures(
    size: Size = LARGE,
    *,
    rounds: int = 3,
    width: Literal["column", "text"] = "text",
    on_figure: Callable[[str], None] = lambda _: None,
) -> list[Drawing]:
    """Draw every figure of a made-up trace, at the width and resolution of print.

    Parameters
    ----------
    size : Size
        Of the trace; a region has 4,096 cells.
    rounds : int
        How often each is drawn; every time of a trace that was just opened, so that nothing is known of it.
    width : {"column", "text"}
        Of a page of ACM.
    on_figure : callable
        Told of each figure before it is drawn.

    Raises
    ------
    ValueError
        If ``rounds`` is below 1.
    """
    from hvm4viz.figures.style import style
    from hvm4viz.trace import open_trace

    if rounds < 1:
        raise ValueError(f"rounds={rounds}: must be 1 or more")
    found: list[Drawing] = []
    with tempfile.TemporaryDirectory(prefix="hvm4viz-") as folder:
        path = made_up(size, "events").save(Path(folder) / "large.hvt")
        _draw("overview", open_trace(path))  # fonts and modules are loaded
        for name in figure_kinds():
            on_figure(name)
            times: list[float] = []
            for _ in range(rounds):
                trace = open_trace(path)
                other = open_trace(path) if subject_of(figure_kinds()[name]) == "a" else None
                begun = time.perf_counter()
                with style("acm", width):
                    _draw(name, trace, other)
                times.append(time.perf_counter() - begun)
            seconds = median(times)
            shape = open_trace(path)
            found.append(Drawing(name, shape.n_passes, shape.n_regions, seconds, seconds < BUDGET_S))
    return found


def _draw(name: str, trace: Trace, other: Trace | None = None) -> None:
    """Draw a figure down to its pixels."""
    draw: Callable[..., Any] = figure_kinds()[name]
    takes = subject_of(draw)
    subject: Any = trace
    if takes == "runs":  # as many rows as the trace has passes
        n = trace.n_passes
        subject = {
            "program": ["made up"] * n,
            "regions": [1 << (p % 12) for p in range(n)],
            "ips": list(range(1, n + 1)),
        }
    figure = draw(subject, other) if takes == "a" else draw(subject)
    figure.canvas.draw()


def as_markdown(found: Sequence[Drawing]) -> str:
    """Write the measurements as a table."""
    rows = [["figure", "seconds", f"under {BUDGET_S:g} s"], ["---"] * 3]
    rows += [[f"`{each.figure}`", f"{each.seconds:.2f}", "yes" if each.is_in_time else "no"] for each in found]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
