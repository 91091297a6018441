"""A view as one HTML file: the same module and style sheet under a tiny host, with the data in the page."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.errors import TraceTooLarge
from hvm4viz.settings import parse_size
from hvm4viz.trace.whole import write_whole
from hvm4viz.widgets.base import asset
from hvm4viz.widgets.escape import html_text, script_json
from hvm4viz.widgets.frames import Frame

if TYPE_CHECKING:
    from hvm4viz.widgets.trace_view import TraceView

_STATE: Final = ("height", "panels", "palette", "cache", "pass_index", "selection", "rate", "bookmarks")

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
body {{ margin: 8px; background: {background}; color: {text}; font-family: system-ui, "DejaVu Sans", sans-serif; }}
h1 {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }}
{css}
</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main id="hv-here">loading…</main>
<noscript><p>{summary}</p></noscript>
<script type="application/json" id="hv-data">{data}</script>
<script type="module">
{js}
{host}
</script>
</body>
</html>
"""


def page(view: TraceView, *, passes: tuple[int, int] | None = None, limit: int | str = "20 MiB") -> str:
    """Return a view as one HTML page that needs neither a kernel nor the network.

    Parameters
    ----------
    view : TraceView
    passes : (int, int), optional
        First pass whose events and cells to put in, and the pass after the last one; by default all, or as many from
        the playhead on as fit. Counters, overview and search ticks are of all passes in any case.
    limit : int or str
        Most bytes of the page.

    Raises
    ------
    ValueError
        If there are no such passes.
    TraceTooLarge
        If not even the counters and one pass fit.
    """
    most = parse_size(limit)
    n = view.trace.n_passes
    if passes is not None and not (0 <= passes[0] < passes[1] <= n):
        raise ValueError(f"passes={passes!r}: the trace has passes 0 to {n - 1}; write (first, after the last)")
    kept = (0, n) if passes is None else passes
    while True:
        text = _page(view, kept)
        if len(text) <= most:
            return text
        width = kept[1] - kept[0]
        if passes is not None or width <= 1:
            raise TraceTooLarge(
                f"the page of passes {kept[0]} to {kept[1] - 1} takes {len(text):,} bytes, more than the {most:,} "
                f"allowed; in Python, to_html(FILE, passes=(first, end)) shows fewer, limit={len(text)} allows it"
            )
        fitting = max(int(width * most / len(text) * 0.8), 1)
        first = min(max(view.pass_index - fitting // 2, 0), n - fitting)
        kept = (first, first + fitting)


def write_page(
    view: TraceView, path: Path, *, passes: tuple[int, int] | None = None, limit: int | str = "20 MiB"
) -> Path:
    """Write a view to an HTML file, completely or not at all; one that is there is replaced. See ``page``.

    Raises
    ------
    TraceError
        If the file cannot be written.
    """
    return write_whole(path, page(view, passes=passes, limit=limit), overwrite=True, what="page")


def _page(view: TraceView, kept: tuple[int, int]) -> str:
    metas = [dict(view.meta)]
    if "other" in view.meta:
        metas.append(dict(view.meta["other"]))
        metas[0]["other"] = metas[1]
    meta = metas[0]
    frames: list[dict[str, Any]] = []
    for side, (service, facts) in enumerate(zip(view.services, metas, strict=True)):
        n = service.trace.n_passes
        first, last = (min(kept[0], max(n - 1, 0)), min(kept[1], n))
        facts |= {"digest": service.trace.digest_or_none() or "", "digest_later": False}
        facts |= {"offline": True, "is_small": True, "kept": None if (first, last) == (0, n) else [first, last],
                  "windows": list(service.windows(first, last))}  # fmt: skip
        if n:
            whole = service.whole(first, last)
            frames += ({**_asked(frame, side), "head": frame.head, "data": _deflated(frame.data)} for frame in whole)
    theme = "light" if view.theme == "auto" else view.theme
    state: dict[str, Any] = {**{name: getattr(view, name) for name in _STATE}, "meta": meta, "theme": theme}
    state |= {"playing": False, "query": "", "overview_heads": view.first_heads}
    first = [_deflated(raw) if raw else "" for raw in view.first_data]
    data = {"state": state, "overviews": first, "frames": frames}
    files = view.trace.header.source
    dark = theme == "dark"
    return _PAGE.format(
        title=html_text(f"hvm4viz: {files[0][0] if files else 'a heap laid out by hand'}"),
        background="#111418" if dark else "#ffffff",
        text="#ececec" if dark else "#1a1a1a",
        summary=html_text(f"{meta['status']}, {meta['n_passes']:,} passes; the view needs scripts to run"),
        css=asset("trace_view.css"),
        js=asset("trace_view.js"),
        host=asset("offline.js"),
        data=script_json(data),
    )


def _asked(frame: Frame, side: int) -> dict[str, Any]:
    """Return what the question of a frame has to say to be answered by it."""
    head = frame.head
    names = {"triples": ("what",), "window": ("p0", "p1")}.get(head["kind"], ())
    return {"t": side, "kind": head["kind"], **{name: head[name] for name in names}}


def _deflated(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 6)).decode()


def embedded(view: TraceView, *, limit: int | str) -> str:
    """Return HTML that shows the page of a view inside a frame of its own, where it can reach nothing else."""
    text = page(view, limit=limit)
    height = view.height + 60
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="trace view" loading="lazy" '
        f'style="width:100%;height:{height}px;border:0" srcdoc="{html_text(text)}"></iframe>'
    )
