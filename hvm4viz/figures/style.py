"""One look for all figures: colours by role, sizes by venue, and no state outside the figure."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.colors import (
    BoundaryNorm,
    Colormap,
    LinearSegmentedColormap,
    ListedColormap,
    LogNorm,
    Normalize,
    to_rgb,
)
from numpy.typing import NDArray

from hvm4viz.interrupt import kept_interrupts


@dataclass(frozen=True, slots=True)
class Look:
    """How one role is drawn: a colour of Okabe and Ito, and a second cue for those who cannot tell it."""

    color: str
    hatch: str = ""
    line: str = "-"
    text: str = ""


IDLE: Final = Look("#8a8a8a", line=":", text="#5f5f5f")
FRONTIER: Final = Look("#0072B2", text="#005a8d")
REDUCED: Final = Look("#009E73", hatch="..", line="--", text="#00694d")
DEFERRED: Final = Look("#E69F00", hatch="////", line="-", text="#8a5a00")
PUBLISHED: Final = Look("#CC79A7", line="-.", text="#94437a")
ERROR: Final = Look("#D55E00", line="-", text="#a84300")

ZERO_COLOR: Final = "#e9e9ec"
"""What is zero in a map: told apart from every colour of the map, and from white, which is no value at all."""

ZERO_DARK: Final = "#23272e"
"""What is zero in a map on a dark page; the map then begins with a lighter colour."""

_DARK_START: Final = 0.3
"""Where the colours of a map begin on a dark page, of 0 to 1."""

COLOR_MAP: Final = "cividis"

STEPS_MAX: Final = 8
"""Whole numbers up to this one get a colour each in a map; a range wider than this many times gets a log scale."""

Venue = Literal["screen", "acm", "ieee", "nature", "lncs"]

_WIDTHS: Final[dict[str, tuple[float, float]]] = {
    "screen": (9.0, 9.0),
    "acm": (3.33, 7.0),
    "ieee": (3.5, 7.16),
    "nature": (89 / 25.4, 183 / 25.4),
    "lncs": (4.8, 4.8),
}

_BASE: Final[dict[str, Any]] = {
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.facecolor": "white",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "figure.titlesize": 11,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.labelcolor": "#222222",
    "axes.facecolor": "white",
    "axes.edgecolor": "#777777",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "hvm4viz",
    "text.usetex": False,
}

_PRINT: Final[dict[str, Any]] = {
    "font.size": 8,
    "figure.titlesize": 9,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
}

_DARK: Final[dict[str, Any]] = {
    "figure.facecolor": "#111418",
    "savefig.facecolor": "#111418",
    "axes.facecolor": "#111418",
    "axes.labelcolor": "#e8e8e8",
    "axes.edgecolor": "#9a9a9a",
    "xtick.color": "#d0d0d0",
    "ytick.color": "#d0d0d0",
    "text.color": "#e8e8e8",
    "legend.labelcolor": "#e8e8e8",
    "grid.color": "#33383f",
}

_CHOSEN: ContextVar[dict[str, Any] | None] = ContextVar("chosen", default=None)


@contextmanager
def style(
    venue: Venue = "acm", width: Literal["column", "text"] = "column", *, usetex: bool = False, dark: bool = False
) -> Generator[None]:
    """Draw the figures made inside at the width and in the type sizes of a venue; nothing else is changed.

    Raises
    ------
    ValueError
        If the venue is not known.
    """
    if venue not in _WIDTHS:
        raise ValueError(f"venue={venue!r}: must be one of {', '.join(_WIDTHS)}")
    inches = _WIDTHS[venue][width == "text"]
    small = {} if venue == "screen" else _PRINT
    chosen = {**_BASE, **small, **(_DARK if dark else {}), "text.usetex": usetex}
    chosen["figure.figsize"] = (inches, inches)
    chosen["figure.dpi"] = 100 if venue == "screen" else 300
    token = _CHOSEN.set(chosen)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


@contextmanager
def drawing(size: tuple[float, float] = (9.0, 4.2)) -> Generator[tuple[float, float]]:
    """Apply the look while a figure is drawn; yields width and height in inches, by the venue if one was chosen."""
    chosen = _CHOSEN.get() or {**_BASE, "figure.figsize": size}
    settings: Any = chosen
    with kept_interrupts(), mpl.rc_context(settings):
        width = float(chosen["figure.figsize"][0])
        yield width, size[1] * (width / size[0]) ** 0.25  # narrow ones are relatively higher: type does not shrink


def type_size(name: Literal["small", "medium", "large"]) -> float:
    """Return a type size in points, while a figure is drawn: 7 to 9 in print, a little more on screens."""
    settings: Any = mpl.rcParams
    size = settings[{"small": "legend.fontsize", "medium": "axes.titlesize", "large": "figure.titlesize"}[name]]
    return font_manager.FontProperties(size=size).get_size_in_points()


def is_dark() -> bool:
    """Tell, while a figure is drawn, whether its page is dark."""
    return sum(to_rgb(mpl.rcParams["axes.facecolor"])) < 1.5


def ink(look: Look) -> str:
    """Return the colour of lines and words of a role: dark on a light page, light on a dark one."""
    return look.color if is_dark() else look.text


def zero_color(chosen: str | None = None) -> str:
    """Return the colour of zeros in a map, unless one was chosen."""
    return chosen or (ZERO_DARK if is_dark() else ZERO_COLOR)


def color_map(name: str = COLOR_MAP) -> Colormap:
    """Return the colours of a map, all of them told apart from zeros and from the page."""
    colors = mpl.colormaps[name]
    if not is_dark():
        return colors
    return LinearSegmentedColormap.from_list(f"{name} on dark", colors(np.linspace(_DARK_START, 1, 256)))


def diverging_map() -> Colormap:
    """Return colours for what is less (blue), the same (the colour of zeros) and more (red).

    The least difference is told apart from none. Blue ends darker than red, so that a grey print keeps them apart where
    they are strong.
    """
    stops = ("#08306b", "#7fb3da", ZERO_COLOR, "#f0a283", "#c8442e")
    if is_dark():
        stops = ("#8fd0ff", "#2f5878", ZERO_DARK, "#7c4436", "#e0603c")
    return LinearSegmentedColormap.from_list("differences", list(zip((0, 0.46, 0.5, 0.54, 1), stops, strict=True)))


def map_scale(
    values: NDArray[np.float64],
    norm: Literal["log", "linear"] = "log",
    *,
    name: str = COLOR_MAP,
    zero: str | None = None,
) -> tuple[Normalize, Colormap, list[float] | None]:
    """Choose scale, colours and ticks of a map; what is not above zero is masked and has a colour of its own.

    Few whole numbers get a colour each; more get a smooth scale, logarithmic where they differ much.
    """
    positive = values[values > 0]
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)
    colors, bad = color_map(name), zero_color(zero)
    if high <= STEPS_MAX and bool((positive == np.round(positive)).all()):
        steps = int(high)
        few = colors.resampled(steps) if steps > 1 else ListedColormap([colors(0.25)])
        return BoundaryNorm(np.arange(steps + 1) + 0.5, steps), few.with_extremes(bad=bad), list(range(1, steps + 1))
    smooth = LogNorm(low, high) if norm == "log" and high > STEPS_MAX * low else Normalize(0.0, high)
    return smooth, colors.with_extremes(bad=bad), None


def short_count(value: float) -> str:
    """Write a count in few characters: 950, 12,500, 1.5M."""
    for unit, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,g}"


@cache
def _glyphs() -> dict[int, Any]:
    """Return the letters of the font, by code."""
    manager: Any = font_manager
    return manager.get_font(manager.findfont("DejaVu Sans")).get_charmap()


def plain_text(text: str, *, chars_max: int = 80) -> str:
    """Make foreign text safe to draw: one line, no control characters, only letters that the font has."""
    glyphs = _glyphs()
    shown = "".join(char if char.isprintable() and ord(char) in glyphs else "\ufffd" for char in text[: chars_max + 1])
    return shown if len(text) <= chars_max else shown[: chars_max - 1] + "…"
