"""What a run looks like in a notebook.

``show_run`` is the one door: ``Run`` asks it for its display, and whatever shows runs better is put in behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hvm4viz.run import Run

__all__ = ["show_run"]


def show_run(run: Run, *, message: bool = True) -> dict[str, object]:
    """Return a run's display, by MIME type: text, a picture, and both as one page.

    Parameters
    ----------
    run : Run
        Finished or stopped.
    message : bool
        Whether to say why it stopped; an exception that follows says it, too.

    Returns
    -------
    bundle : dict
        What Jupyter's ``_repr_mimebundle_`` wants; ``text/plain`` is always there, the picture where a trace is.
    """
    from hvm4viz.widgets.static import bundle

    return bundle(run, message=run.message if message else "")
