"""Writing figures to files, the same bytes for the same input."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib.figure import Figure

from hvm4viz.interrupt import kept_interrupts
from hvm4viz.trace.whole import write_whole

FORMATS: Final = ("pdf", "png", "svg")

PRINT_DPI: Final = 200
"""Pixels an inch from which on a picture is for print."""


def save(
    fig: Figure,
    path: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    dpi: float | None = None,
    reproducible: bool = True,
    svg_text: Literal["paths", "text"] = "paths",
) -> list[Path]:
    """Write a figure once in each format; each file is there completely or not at all, and replaces what was there.

    Parameters
    ----------
    fig : Figure
    path : path-like
        Name without ending; each format adds its own.
    formats : sequence of {"pdf", "png", "svg"}
    dpi : float, optional
        Pixels an inch of PNG files; if left out, what the figure was drawn for: 100 for screens, 300 for print. Maps
        have as many fields as they then have pixels, so that a lone one may be lost below that.
    reproducible : bool
        Leave dates out and fix ids, so that equal figures are equal files under one version of Matplotlib.
    svg_text : {"paths", "text"}
        Whether SVG files hold words as outlines, which look the same everywhere, or as text, which can be searched.

    Returns
    -------
    paths : list of Path

    Raises
    ------
    ValueError
        If a format, or ``svg_text``, is not one of these.
    TraceError
        If a file cannot be written.
    """
    path = Path(path)
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format {name!r}: must be one of {', '.join(FORMATS)}")
    if svg_text not in ("paths", "text"):
        raise ValueError(f"svg_text={svg_text!r}: must be 'paths' or 'text'")
    paths = [path.with_name(f"{path.name}.{name}") for name in formats]
    settings: Any = {
        "svg.hashsalt": "hvm4viz" if reproducible else None,
        "svg.fonttype": "none" if svg_text == "text" else "path",
        "pdf.fonttype": 42,  # TrueType: what publishers take
        "pdf.compression": 6,
        "pdf.use14corefonts": False,
        "savefig.bbox": None,  # a page is as wide as a column, whatever the user's own settings are
        "savefig.transparent": False,
        "path.simplify": True,
        "agg.path.chunksize": 0,
    }
    if (fig.dpi if dpi is None else dpi) >= PRINT_DPI:
        settings["text.hinting"] = "none"  # fine pixels need none, and words are as wide as in PDF
    with kept_interrupts(), mpl.rc_context(settings):
        for name, target in zip(formats, paths, strict=True):
            metadata = _words(fig, name) | (_NO_DATES[name] if reproducible else {})
            drawn = io.BytesIO()
            fig.savefig(drawn, format=name, dpi=fig.dpi if dpi is None else dpi, metadata=metadata)
            write_whole(target, drawn.getvalue(), overwrite=True, what="figure")
    return paths


_NO_DATES: Final[dict[str, dict[str, Any]]] = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {},
    "svg": {"Date": None},
}


def _words(fig: Figure, name: str) -> dict[str, Any]:
    """Return what a figure says of itself, under the names of a format."""
    alt, provenance = getattr(fig, "alt", ""), getattr(fig, "provenance", "")
    keys = {"pdf": ("Subject", "Keywords"), "png": ("Description", "Source"), "svg": ("Description", "Source")}[name]
    return {key: _printable(text) for key, text in zip(keys, (alt, provenance), strict=True) if text}


def _printable(text: str) -> str:
    """Replace what no file of words can hold: XML takes no control characters, UTF-8 no halves of a pair."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
