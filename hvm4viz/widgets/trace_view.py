"""The view of a trace in a notebook: the live widget, its offline page, its picture."""

# ipywidgets and traitlets are untyped where they make traits.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import traitlets
from traitlets import Bool, Dict, Float, Int, List, Unicode

from hvm4viz.errors import Hvm4vizError
from hvm4viz.preferences import CHOICES, preference
from hvm4viz.settings import parse_size
from hvm4viz.trace.trace import Trace
from hvm4viz.widgets.base import Widget, asset
from hvm4viz.widgets.facts import facts
from hvm4viz.widgets.frames import Frame
from hvm4viz.widgets.maps import FIRST_SHAPE
from hvm4viz.widgets.origin import Origin
from hvm4viz.widgets.service import TraceService, failure

if TYPE_CHECKING:
    from hvm4viz.outcome import Run

PANELS: Final = ("overview", "heap", "inspector", "events")

Theme = Literal["auto", "light", "dark"]
Palette = Literal["okabe_ito", "grey"]


class TraceView(Widget):
    """Shows a trace: step through it, look into the heap, find who waits for whom.

    Parameters
    ----------
    trace : Trace or Run
        What to show.
    compare : Trace or Run, optional
        A second one, shown beside it.
    height : int
        Pixels, from 320 to 2,000.
    pass_index : int
        Pass to begin with; ``n_passes`` is the end.
    panels : sequence of {"overview", "heap", "inspector", "events"}
    palette : {"okabe_ito", "grey"}, optional
    theme : {"auto", "light", "dark"}, optional
        "auto" follows the notebook. By default what ``set_options`` says.
    cache : int or str
        Most bytes that the browser keeps of a trace that is too large to have whole.

    Attributes
    ----------
    pass_index : int
        The playhead. Two-way, as are the following.
    selection : dict or None
        ``{"loc": cell}``.
    playing : bool
    rate : float
        Passes a second.
    query : str
        What is searched for.
    bookmarks : list of dict
        ``pass``, ``selection``, ``viewport``, ``note``.

    Raises
    ------
    ValueError
        If an option is not one of its choices, or out of range.
    """

    _esm = asset("trace_view.js")
    _css = asset("trace_view.css")

    meta = Dict().tag(sync=True)
    overview_heads = List().tag(sync=True)
    overviews = List().tag(sync=True)
    height = Int(560).tag(sync=True)
    panels = List(Unicode()).tag(sync=True)
    palette = Unicode("okabe_ito").tag(sync=True)
    theme = Unicode("auto").tag(sync=True)
    cache = Int(128 << 20).tag(sync=True)

    pass_index = Int(0).tag(sync=True)
    selection = Dict(allow_none=True, default_value=None).tag(sync=True)
    playing = Bool(default_value=False).tag(sync=True)
    rate = Float(4.0).tag(sync=True)
    query = Unicode("").tag(sync=True)
    bookmarks = List(Dict()).tag(sync=True)

    def __init__(
        self,
        trace: Trace | Run,
        *,
        compare: Trace | Run | None = None,
        height: int = 560,
        pass_index: int = 0,
        panels: Sequence[str] = PANELS,
        palette: Palette | None = None,
        theme: Theme | None = None,
        cache: int | str = "128 MiB",
    ) -> None:
        palette = palette or preference("palette")
        theme = theme or preference("theme")
        _choose("palette", palette, CHOICES["palette"])
        _choose("theme", theme, CHOICES["theme"])
        for panel in panels:
            _choose("panels", panel, PANELS)
        if not 320 <= height <= 2000:
            raise ValueError(f"height={height!r}: must be from 320 to 2,000 pixels")
        self._subject = trace
        subjects = [trace] if compare is None else [trace, compare]
        self._services = [_service(subject) for subject in subjects]
        self.trace: Trace = self._services[0].trace
        meta, *others = (_facts(s, subject) for s, subject in zip(self._services, subjects, strict=True))
        if others:
            meta["other"] = others[0]
            meta["difference"] = _difference(self.trace, self._services[1].trace)
        first = [_overview(service) for service in self._services]
        self.first_heads = [frame.head if frame else None for frame in first]
        self.first_data = [frame.data if frame else b"" for frame in first]
        # All at once: the front end begins with what is there when the widget is made.
        super().__init__(
            meta=meta,
            overview_heads=self.first_heads,
            overviews=self.first_data,
            height=height,
            panels=list(panels),
            palette=palette,
            theme=theme,
            cache=parse_size(cache),
            pass_index=min(max(pass_index, 0), self.trace.n_passes),
        )
        self.on_msg(self._take)

    @traitlets.validate("pass_index")
    def _within(self, proposal: Mapping[str, Any]) -> int:
        return min(max(int(proposal["value"]), 0), self.trace.n_passes)

    def _take(self, _: object, asked: object, buffers: object) -> None:
        """Answer a question of the browser."""
        del buffers
        if not isinstance(asked, dict) or not isinstance(asked.get("id"), int):
            return
        head, data = self.answer(cast("dict[str, Any]", asked))
        self.send(head, buffers=[data] if data else None)

    def answer(self, asked: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Answer one question: the head of the message, and the bytes of the part that was asked for.

        Parameters
        ----------
        asked : mapping
            ``id``, ``kind``, ``t`` (0, or 1 for the second trace), ``part``, and what the kind wants.
        """
        name = {"id": asked.get("id")}
        try:
            frame, part = self._frame(asked)
        except (Hvm4vizError, ValueError, IndexError, OverflowError) as error:
            return {**name, "error": failure(error)}, b""
        head = frame.head if part == 0 or part == frame.n_parts - 1 else {}
        return {**head, **name, "parts": frame.n_parts}, frame.part(part)

    def _frame(self, asked: Mapping[str, Any]) -> tuple[Frame, int]:
        side, part = asked.get("t", 0), asked.get("part", 0)
        if side not in range(len(self._services)) or not isinstance(part, int) or part < 0:
            raise ValueError(f"t={side!r}, part={part!r}: there is no such trace or part")
        return self._services[side].answer(asked), part

    # Showing.

    def live_bundle(self) -> dict[str, object]:
        """Return the display of the widget alone, for a notebook that can run it."""
        shown: Any = super()._repr_mimebundle_()
        live: dict[str, object] = shown[0]
        return {mime: data for mime, data in live.items() if mime != "text/plain"}

    def _repr_mimebundle_(self, **_: Any) -> Any:
        """Show the widget, and beside it what places without one can show."""
        return {**self._still(), **self.live_bundle()}

    def _still(self) -> dict[str, object]:
        from hvm4viz.widgets.static import beside_widget, poster
        from hvm4viz.widgets.summary import trace_summary

        if not isinstance(self._subject, Trace):
            return beside_widget(self._subject, message=self._subject.message)
        words: dict[str, object] = {"text/plain": trace_summary(self.trace)}
        return words | ({"image/png": poster(self.trace)} if self.trace.n_passes else {})

    # Moving.

    def goto(self, p: int) -> None:
        """Go to pass p; like a list, -1 is the last pass.

        Raises
        ------
        IndexError
            If there is no such pass.
        """
        n = self.trace.n_passes
        if not -n <= p <= n:
            raise IndexError(f"pass {p}: the trace has passes 0 to {n - 1}; {n} is the end")
        self.pass_index = p if p >= 0 else n + p

    def next_deferral(self) -> int | None:
        """Go to the next pass that defers an entry; return it, or None if there is none."""
        sizes = self.trace.deferral_sizes
        later: list[int] = sizes[self.pass_index + 1 :].nonzero()[0].tolist()
        if not later:
            return None
        self.pass_index += 1 + later[0]
        return self.pass_index

    def bookmark(self, note: str = "") -> None:
        """Remember pass and selection, with a note."""
        mark = {"pass": self.pass_index, "selection": self.selection, "viewport": {}, "note": note}
        self.bookmarks = [*self.bookmarks, mark]

    def on_select(self, act: Callable[[int | None], object]) -> None:
        """Call a function with the cell whenever the selection changes; None when nothing is selected."""

        def changed(change: dict[str, Any]) -> None:
            chosen: dict[str, int] = change["new"] or {}
            act(chosen.get("loc"))

        self.observe(changed, names="selection")

    # Without a kernel.

    def embed(self, *, limit: int | str = "5 MiB") -> str:
        """Return HTML that holds the view and all it needs, in a frame of its own; see ``embed``."""
        from hvm4viz.widgets.page import embedded

        return embedded(self, limit=limit)

    def to_html(self, path: str | Path, *, passes: tuple[int, int] | None = None, limit: int | str = "20 MiB") -> Path:
        """Write one HTML file that needs neither a kernel nor the network; see ``page.write_page``."""
        from hvm4viz.widgets.page import write_page

        return write_page(self, Path(path), passes=passes, limit=limit)

    def image(self, p: int | None = None, *, width: int = 1200, dpr: float = 2, fmt: str = "png") -> bytes:
        """Draw pass p (default: where the playhead is) without a browser; see ``image.draw``."""
        from hvm4viz.widgets.image import draw

        return draw(self._services[0], self.pass_index if p is None else p, width=width, dpr=dpr, fmt=fmt)

    @property
    def services(self) -> tuple[TraceService, ...]:
        """What answers for each trace."""
        return tuple(self._services)


def _service(subject: Trace | Run) -> TraceService:
    trace = subject if isinstance(subject, Trace) else subject.trace
    program = None if isinstance(subject, Trace) else subject.program
    return TraceService(trace, Origin.of_program(program) if program is not None else None)


def _facts(service: TraceService, subject: Trace | Run) -> dict[str, Any]:
    if isinstance(subject, Trace):
        return facts(service)
    return facts(service, status=subject.status.value, message=subject.message, lines=subject.lines)


def _difference(a: Trace, b: Trace) -> dict[str, Any] | None:
    """Return where two traces part first, in plain values; None if they do not."""
    from hvm4viz.trace.compare import compare

    found = compare(a, b).first_difference
    if found is None:
        return None
    p, at = found.pass_index, found.entry
    is_entry = at is not None and p < a.n_passes and at < a.event_offsets[p + 1] - a.event_offsets[p]
    loc = int(a.events(p, p + 1)["loc"][at]) if is_entry else None
    return {"pass": p, "loc": loc, "text": str(found)}


def _overview(service: TraceService) -> Frame | None:
    """Return the map that a view has from the start, cropped to where something is."""
    trace, maps = service.trace, service.maps
    if not trace.n_passes or not trace.n_regions:
        return None
    what = maps.first()
    last = int(maps.triples(what)[1].max(initial=0))
    return maps.frame(what, 0, trace.n_passes, 0, min(last + 2, trace.n_regions), FIRST_SHAPE)


def _choose(name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: must be one of {', '.join(map(repr, allowed))}")


def embed(shown: TraceView | Trace | Run, *, limit: int | str = "5 MiB") -> Any:
    """Show a view that stays alive without a kernel: in an exported notebook, on a page, in an e-mail.

    Parameters
    ----------
    shown : TraceView, Trace or Run
    limit : int or str
        Most bytes; of a larger trace, as many passes as fit around the playhead, and the counters of all.

    Returns
    -------
    html : IPython.display.HTML

    Raises
    ------
    TraceTooLarge
        If not even the counters and one pass fit.
    """
    from IPython.display import HTML

    view = shown if isinstance(shown, TraceView) else TraceView(shown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # IPython would rather have an IFrame, which needs an address
        return HTML(view.embed(limit=limit))
