"""What a run looks like in a notebook.

``show_run`` is the one door: ``Run`` asks it for its display. It shows the live view where a front end can, and always
beside it a picture and text, for places that show nothing else.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from hvm4viz.outcome import Run

__all__ = ["View", "has_front_end", "show_run"]

View = Literal["auto", "widget", "static", "table", "text", "none"]


def has_front_end() -> bool:
    """Tell whether this process is the kernel of a notebook, so that a widget has somebody to talk to."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def show_run(run: Run, *, message: bool = True, view: View | None = None, **options: Any) -> dict[str, object]:
    """Return a run's display, by MIME type.

    Parameters
    ----------
    run : Run
        Finished or stopped.
    message : bool
        Whether to say why it stopped; an exception that follows says it, too.
    view : {"auto", "widget", "static", "table", "text", "none"}, optional
        "auto": the widget where a notebook listens, with picture and text beside it; "static": without the widget;
        "table": passes as a table; "text": words alone; "none": nothing. By default what ``set_options`` says.
    **options
        First state of the view, as ``TraceView`` takes it.

    Returns
    -------
    bundle : dict
        What Jupyter's ``_repr_mimebundle_`` wants; ``text/plain`` is there unless nothing is to be shown.
    """
    from hvm4viz.preferences import preference
    from hvm4viz.widgets.static import beside_widget, bundle, words

    chosen = view or preference("view")
    said = run.message if message else ""
    if chosen == "none":
        return {}
    if chosen == "text":
        return {"text/plain": words(run, said)}
    if chosen == "table":
        from hvm4viz.widgets.table import pass_table

        return pass_table(run, said)
    if chosen == "widget" or (chosen == "auto" and has_front_end() and run.trace.level != "off"):
        from hvm4viz.widgets.trace_view import TraceView

        return beside_widget(run, message=said) | TraceView(run, **options).live_bundle()
    return bundle(run, message=said)
