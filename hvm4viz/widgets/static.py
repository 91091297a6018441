"""A run as a still: what a notebook shows where no script runs, and the poster beside any live view."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.interrupt import kept_interrupts
from hvm4viz.widgets.escape import html_text, line_text, terminal_text
from hvm4viz.widgets.summary import answer, provenance, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hvm4viz.outcome import Run
    from hvm4viz.trace import Trace

Pixels = NDArray[np.uint8]

DPI: Final = 144
SCREEN_DPI: Final = 96
_LINE_INCHES: Final = 0.19
_POSTER_LINES: Final = 4
_POSTER_CHARS: Final = 110

BOX: Final = "max-width:80em;line-height:1.4;color:var(--jp-content-font-color1,inherit)"
_MONO: Final = "font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)"
_PRE: Final = f"{_MONO};margin:0 0 .4em;padding:0;white-space:pre-wrap;overflow-wrap:anywhere;background:none"
FINE: Final = "font-size:.85em;opacity:.8"
_IMAGE: Final = "display:block;max-width:100%;height:auto;margin:.4em 0;background:white;border-radius:3px"
_WRONG: Final = "border-left:3px solid #d55e00;padding-left:.6em"


def bundle(run: Run, *, message: str) -> dict[str, object]:
    """Return a run as plain text, as a PNG poster that holds everything, and as one page with selectable text.

    Parameters
    ----------
    run : Run
    message : str
        Why it stopped, or nothing.

    Returns
    -------
    bundle : dict
        By MIME type. The PNG is there if a pass was recorded.
    """
    shown: dict[str, object] = {"text/plain": words(run, message)}
    image = ""
    if run.trace.n_passes:
        from hvm4viz.figures import overview

        figure = overview(run.trace)
        picture = figure_pixels(figure)
        shown["image/png"] = png_bytes(_poster(run, picture, message))
        image = _image(run, picture[_heading_rows(figure) :])
    shown["text/html"] = _page(run, image, message)
    return shown


def beside_widget(run: Run, *, message: str) -> dict[str, object]:
    """Return what a notebook keeps of a run beside its live view: text and poster.

    HTML would go before the poster where no widget is shown, and may lose its picture there.
    """
    shown = bundle(run, message=message)
    if "image/png" in shown:
        del shown["text/html"]
        shown["text/plain"] = f"{words(run, message)}\n{terminal_text(provenance(run.trace))}"
    return shown


def words(run: Run, message: str) -> str:
    """Return a run as plain text: its answer, why it stopped, its statistics."""
    return terminal_text("\n".join(filter(None, [answer(run), message, summary(run)])))


def poster(trace: Trace) -> bytes:
    """Draw the overview of a trace, small enough to lie beside a live view."""
    from hvm4viz.figures import overview

    return png(overview(trace))


def png(figure: Figure) -> bytes:
    """Draw a figure as PNG bytes."""
    return png_bytes(figure_pixels(figure))


def figure_pixels(figure: Figure, *, dpi: float = DPI) -> Pixels:
    """Draw a figure into an array of rows, columns and colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    with kept_interrupts():
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def png_bytes(pixels: Pixels) -> bytes:
    """Write an array of rows, columns and colours as PNG."""
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, format="PNG", optimize=True)
    return sink.getvalue()


def _heading_rows(figure: Figure) -> int:
    """Return how many rows of a drawn picture its heading takes: the page says the same as text."""
    lowest = min((text.get_window_extent().y0 for text in figure.texts), default=None)
    return 0 if lowest is None else round(figure.get_figheight() * DPI - lowest) + 2


def _poster(run: Run, picture: Pixels, message: str) -> Pixels:
    """Write the answer above the picture, for places that show nothing but an image."""
    from matplotlib.figure import Figure as NewFigure

    lines = [message, *answer(run, chars=_POSTER_CHARS * _POSTER_LINES, lines=_POSTER_LINES).splitlines()]
    text = "\n".join(line_text(line, most=_POSTER_CHARS) for line in lines if line)
    if not text:
        return picture
    size = (picture.shape[1] / DPI, (text.count("\n") + 1) * _LINE_INCHES + 0.15)
    head: Any = NewFigure(figsize=size, facecolor="white")
    head.text(0.015, 0.5, text, va="center", fontsize=8.5, family="monospace", parse_math=False)
    return np.vstack([figure_pixels(head)[:, : picture.shape[1]], picture])


def _image(run: Run, picture: Pixels) -> str:
    """Put the picture into the page."""
    width = picture.shape[1] * SCREEN_DPI / DPI
    stats = run.stats
    alt = (
        f"Entries of each of {stats.passes:,} passes, at most {stats.max_frontier:,} at once, with "
        f"{stats.deferrals:,} deferrals; below, the regions they belong to."
    )
    return picture_tag(picture, width, alt)


def picture_tag(picture: Pixels, width: float, alt: str) -> str:
    """Write a picture into a page, ``width`` pixels of the screen wide."""
    source = f"data:image/png;base64,{base64.b64encode(png_bytes(picture)).decode()}"
    return f'<img alt="{html_text(alt)}" width="{width:.0f}" style="{_IMAGE}" src="{source}">'


def _page(run: Run, image: str, message: str) -> str:
    """Lay out the page; every text goes through ``html_text``."""
    parts: list[str] = []
    if run.lines:
        parts.append(f'<pre style="{_PRE}">{html_text(answer(run))}</pre>')
    if message:
        parts.append(f'<pre style="{_PRE};{_WRONG}">{html_text(message)}</pre>')
    parts += [
        f'<div style="{FINE}">{html_text(summary(run))}</div>',
        image,
        f'<div style="{FINE}">{html_text(provenance(run.trace))}</div>',
    ]
    return f'<div style="{BOX}">{"".join(parts)}</div>'
