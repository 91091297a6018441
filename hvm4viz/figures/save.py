"""Writing figures to files, the same bytes for the same input."""

# matplotlib's stubs leave keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

FORMATS: Final = ("pdf", "png", "svg")


def save(
    fig: Figure,
    path: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    dpi: float | None = None,
    reproducible: bool = True,
) -> list[Path]:
    """Write a figure once in each format.

    Parameters
    ----------
    fig : Figure
    path : path-like
        Name without ending; each format adds its own.
    formats : sequence of {"pdf", "png", "svg"}
    dpi : float, optional
        Pixels an inch of PNG files; if left out, what the figure was drawn for: 100 for screens, 300 for print.
    reproducible : bool
        Leave dates out and fix ids, so that equal figures are equal files.

    Returns
    -------
    paths : list of Path

    Raises
    ------
    ValueError
        If a format is not one of these.
    """
    path = Path(path)
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format {name!r}: must be one of {', '.join(FORMATS)}")
    paths = [path.with_name(f"{path.name}.{name}") for name in formats]
    with mpl.rc_context({"svg.hashsalt": "hvm4viz" if reproducible else None, "pdf.fonttype": 42}):
        for name, target in zip(formats, paths, strict=True):
            metadata = _words(fig, name) | (_NO_DATES[name] if reproducible else {})
            fig.savefig(target, format=name, dpi=fig.dpi if dpi is None else dpi, metadata=metadata)
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
    return {key: text for key, text in zip(keys, (alt, provenance), strict=True) if text}
