"""The passes of a run as a table: for readers who want numbers, and for those who hear the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from hvm4viz.widgets.escape import html_text
from hvm4viz.widgets.static import words

if TYPE_CHECKING:
    from hvm4viz.outcome import Run

ROWS_MAX: Final = 60
"""Most passes that a table shows; of more, the first and last ones."""

_HEAD: Final = ("pass", "entries", "deferred", "contended", "parked", "interactions", "most of one entry")


def pass_table(run: Run, message: str) -> dict[str, object]:
    """Return the passes of a run as text and as HTML.

    Parameters
    ----------
    run : Run
    message : str
        Why it stopped, or nothing.
    """
    trace = run.trace
    columns = (
        np.arange(trace.n_passes),
        trace.frontier_sizes,
        trace.deferral_sizes,
        trace.contention_sizes,
        trace.parked,
        trace.interactions,
        trace.longest,
    )
    n = trace.n_passes
    shown = list(range(n)) if n <= ROWS_MAX else [*range(ROWS_MAX // 2), *range(n - ROWS_MAX // 2, n)]
    rows = [[f"{int(column[p]):,}" for column in columns] for p in shown]
    cut = n - len(shown)
    said = words(run, message)
    if cut:
        said += f"\n{cut:,} passes in the middle are left out: Run.trace has all of them"
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (_HEAD, *rows)]
    head = "".join(f'<th scope="col">{html_text(name)}</th>' for name in _HEAD)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    page = f"<pre>{html_text(said)}</pre><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return {"text/plain": "\n".join([said, "", *lines]), "text/html": page}
