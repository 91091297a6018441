"""A figure in a notebook: shown without pyplot, and with what identifies its run below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hvm4viz.widgets.escape import html_text, terminal_text
from hvm4viz.widgets.static import BOX, DPI, FINE, SCREEN_DPI, figure_pixels, picture_tag, png_bytes
from hvm4viz.widgets.summary import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hvm4viz.trace import Trace


def show_figure(figure: Figure) -> dict[str, object] | None:
    """Return the display of one of our figures, by MIME type; None for a figure that is none of ours.

    Parameters
    ----------
    figure : Figure
        Ours carry ``alt``, and ``trace`` or ``provenance``.
    """
    drawn: Any = figure
    trace: Trace | None = getattr(drawn, "trace", None)
    origin: str | None = provenance(trace) if trace is not None else getattr(drawn, "provenance", None)
    if origin is None:
        return None
    pixels = figure_pixels(figure)
    picture = picture_tag(pixels, pixels.shape[1] * SCREEN_DPI / DPI, drawn.alt)
    return {
        "text/plain": terminal_text(f"{drawn.alt}\n{origin}"),
        "image/png": png_bytes(pixels),
        "text/html": f'<div style="{BOX}">{picture}<div style="{FINE}">{html_text(origin)}</div></div>',
    }
