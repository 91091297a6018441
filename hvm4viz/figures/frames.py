"""The frames of an animation: a pass each, below the profile of the run."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hvm4viz.figures.above import legend_above
from hvm4viz.figures.frontier_profile import draw_profile, legend_inches
from hvm4viz.figures.layout import BOTTOM, describe, heading, new_figure, pixels_of, place
from hvm4viz.figures.pass_diagram import draw_pass, which_pass
from hvm4viz.figures.region_occupancy import draw_occupancy
from hvm4viz.figures.style import ERROR, drawing
from hvm4viz.figures.thread_rows import ROW_INCHES, ThreadRows, draw_note, draw_thread_axis, thread_rows, why_no_events
from hvm4viz.trace.trace import Trace

DPI: Final = 100

PROFILE_SHARE: Final = 0.24
"""Share of the room that the profile takes."""


_WORDS_INCHES: Final = 0.42
"""Height that the words and the legend above a pass take."""


class Frames:
    """Pictures of passes that differ in nothing but what happened: same rows, same axes.

    Parameters
    ----------
    trace : Trace
        Below level ``events``, frames show the cells in use of each region.
    passes : sequence of int
    size : (int, int)
        Width and height in pixels.
    """

    def __init__(self, trace: Trace, passes: Sequence[int], size: tuple[int, int]) -> None:
        self.trace = trace
        self.passes = passes
        self.size = size
        with drawing():
            self.page: tuple[float, float, float] = to_rgb(mpl.rcParams["figure.facecolor"])
            """Colour of what nothing is drawn on."""

    def __len__(self) -> int:
        return len(self.passes)

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Draw one frame after the other.

        Yields
        ------
        p : int
            The pass.
        pixels : ndarray of uint8, shape (height, width, 3)
            Red, green, blue.
        """
        trace, (width, height) = self.trace, self.size
        with drawing((width / DPI, height / DPI)):
            figure = new_figure((width / DPI, height / DPI))
            figure.set_dpi(DPI)
            describe(figure, trace, f"Animation of {len(self.passes)} passes")
            high = height / DPI
            taken = heading(figure, trace) + legend_inches(figure)
            share = (high - taken - 2 * BOTTOM - _WORDS_INCHES) * PROFILE_SHARE
            above = place(figure, bottom=high - taken - share, top=taken, right=0.2)
            below = place(figure, bottom=BOTTOM, top=taken + share + BOTTOM * 0.6 + _WORDS_INCHES, right=0.2)
            draw_profile(above, trace)
            above.set_xlabel("")
            cursor = above.axvline(0, color=ERROR.color, lw=1.5)
            room = max(int(pixels_of(below)[0] / DPI / ROW_INCHES), 1)
            rows, longest = self._rows(room)
            for p in self.passes:
                cursor.set_xdata([p, p])
                below.clear()
                if trace.level in ("off", "counts"):
                    draw_occupancy(below, trace, p)
                else:
                    self._pass(below, p, rows, longest)
                yield p, _pixels(figure)

    def _rows(self, room: int) -> tuple[ThreadRows, int]:
        """Choose rows that all frames have room for, and the length of the axis: the entries of the busiest thread."""
        trace = self.trace
        kept = [p for p in self.passes if not why_no_events(trace, p)]
        threads = [trace.events(p, p + 1)["thread"] for p in kept]
        involved = np.unique(np.concatenate([np.empty(0, np.uint32), *map(np.unique, threads)]))
        rows = thread_rows(trace, involved, room)
        return rows, max([1, *(int(np.bincount(rows.of(each)).max(initial=0)) for each in threads)])

    def _pass(self, ax: Any, p: int, rows: ThreadRows, longest: int) -> None:
        trace = self.trace
        ax.set_xlabel("entries of a thread, in order")
        why = why_no_events(trace, p)
        if why:
            draw_note(ax, why)
            legend_above(ax, [], which_pass(trace, p), grow=False)
            return
        events = trace.events(p, p + 1)
        if events.size:
            draw_pass(ax, trace, p, rows, events, longest=longest, grow=False)
        else:
            draw_thread_axis(ax, rows)
            ax.set_xlim(0, longest)
            legend_above(ax, [], which_pass(trace, p), grow=False)


def _pixels(figure: Figure) -> NDArray[np.uint8]:
    canvas: Any = figure.canvas
    canvas.draw()
    return np.asarray(canvas.buffer_rgba(), np.uint8)[..., :3].copy()
