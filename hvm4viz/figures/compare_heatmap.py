"""Where two runs differ: a map of regions and passes."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hvm4viz import __version__
from hvm4viz.figures.above import caption
from hvm4viz.figures.captions import WORDS, difference_facts, difference_title, plural
from hvm4viz.figures.difference_map import draw_differences, draw_strip
from hvm4viz.figures.layout import (
    BOTTOM,
    figure_of,
    new_figure,
    pixels_of,
    place,
    place_scale,
    write_heading,
)
from hvm4viz.figures.region_map import caption_inches
from hvm4viz.figures.style import (
    ERROR,
    drawing,
    ink,
    plain_text,
    type_size,
    zero_color,
)
from hvm4viz.measure.differences import DifferenceMap, region_differences
from hvm4viz.measure.regions import Reduce, What
from hvm4viz.trace.trace import Trace

PIXELS_MAX: Final = 2048
"""Most rows and columns drawn apart."""

STRIP_INCHES: Final = 0.5
"""Height of the strip that shows the difference of each pass, with its sign as a direction."""


def compare_heatmap(
    a: Trace,
    b: Trace,
    *,
    ax: Axes | None = None,
    what: What = "deferrals",
    shape: tuple[int, int] | None = None,
    reduce: Reduce = "max",
    norm: Literal["log", "linear"] = "log",
    zero: str | None = None,
    colorbar: bool = True,
) -> Figure:
    """Draw how much more often something happened in b than in a, by region and pass.

    The colours are centred on 0: red is more, blue is less. A strip above the map shows the difference of each pass.

    Parameters
    ----------
    a, b : Trace
        Pass p of one stands against pass p of the other; marks show where the shorter one ends.
    ax : Axes, optional
        Where to draw, without the strip; a new figure if left out.
    what : str
        As in ``deferral_heatmap``.
    shape : (int, int), optional
        Most regions and passes drawn apart; as many as the axes have pixels if left out.
    reduce : {"max", "sum", "mean"}
        What becomes of the differences that share a pixel; "max" keeps the one that is farthest from 0.
    norm : {"log", "linear"}
        Scale of the colours; both are linear around 0.
    zero : color, optional
        Where both are the same.
    colorbar : bool
        Whether to draw the scale of the colours.

    Returns
    -------
    figure : Figure

    Raises
    ------
    ValueError
        If ``what`` or ``reduce`` is none of these.
    TraceError
        If a trace does not hold it.
    """
    with drawing((9.0, 4.0)) as size:
        strip = None
        if ax is None:
            figure = new_figure(size)
            _describe(figure, a, b, what)
            taken = write_heading(figure, lambda chars: difference_title(a, b, chars_max=chars), difference_facts(a, b))
            above = taken + caption_inches(figure)
            strip = place(figure, bottom=size[1] - above - STRIP_INCHES, top=above)
            ax = place(figure, bottom=BOTTOM, top=above + STRIP_INCHES + 0.1, sharex=strip)
        bins = np.minimum(pixels_of(ax), PIXELS_MAX) if shape is None else shape
        found = region_differences(a, b, what, shape=(int(bins[0]), int(bins[1])), reduce=reduce)
        scale = place_scale(figure_of(ax), ax) if colorbar else None
        draw_differences(ax, found, scale, norm, zero_color(zero))
        if strip is not None:
            draw_strip(strip, found)
        _title(ax if strip is None else strip, found)
        if a.n_passes != b.n_passes and min(a.n_passes, b.n_passes):
            for each in filter(None, (ax, strip)):
                each.axvline(min(a.n_passes, b.n_passes) - 0.5, color=ERROR.color, ls="--", lw=0.8)
            shorter = "a" if a.n_passes < b.n_passes else "b"
            top = strip or ax
            top.annotate(
                f"{shorter} ends ", (min(a.n_passes, b.n_passes) - 0.5, 1), xycoords=("data", "axes fraction"),
                ha="right", va="top", fontsize=type_size("small"), color=ink(ERROR),
                bbox={"facecolor": mpl.rcParams["axes.facecolor"], "alpha": 0.8, "pad": 0.5, "linewidth": 0},
            )  # fmt: skip
        return figure_of(ax)


def _describe(figure: Figure, a: Trace, b: Trace, what: str) -> None:
    """Give a figure the words that ``save`` writes into its files; each run is named by its digest."""
    described: Any = figure
    facts = ", ".join(difference_facts(a, b))
    described.alt = (
        f"Map of {what} by region and pass, of a second run less those of a first one: "
        f"{difference_title(a, b, chars_max=60)}; {facts}."
    )
    runs = "; ".join(
        f"{name}: digest {trace.digest_or_none() or 'none'}, "
        + ", ".join(f"{key}={value}" for key, value in trace.header.machine.items())
        for name, trace in (("a", a), ("b", b))
    )
    described.provenance = plain_text(f"hvm4viz {__version__}; {runs}", chars_max=1500)


def _title(ax: Axes, found: DifferenceMap) -> None:
    words = [f"{WORDS[found.what]}, b − a"]
    if found.regions_per_bin > 1 or found.passes_per_bin > 1:
        kept = "the farthest from 0" if found.reduce == "max" else found.reduce
        regions = plural(found.regions_per_bin, "region", "regions")
        words.append(f"each pixel: {kept} of {regions} × {plural(found.passes_per_bin, 'pass', 'passes')}")
    caption(ax, *words)
