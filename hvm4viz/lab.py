"""The notebooks, opened in JupyterLab: those of the checkout, or a copy beside you of those in the install."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

FIRST: Final = "00_tour.ipynb"
COPY: Final = "hvm4viz-notebooks"


def notebooks() -> Path:
    """Return the folder of the notebooks; out of an install they are copied into the current folder first.

    A copy that is there already stays as it is: its notebooks may have been edited.

    Raises
    ------
    TraceError
        If they cannot be copied there; nothing is left of the copy.
    """
    package = Path(__file__).parent
    checkout = package.parent / "notebooks"
    if (checkout / FIRST).is_file():
        return checkout
    copy = Path(COPY)
    if not copy.exists():
        from hvm4viz.trace.whole import copy_whole

        copy_whole({package / "_notebooks": ".", package / "programs": "programs"}, copy, what="notebooks")
    return copy


def open_lab(arguments: Sequence[str]) -> int:
    """Start JupyterLab on the first notebook; arguments are passed on to it.

    Raises
    ------
    OSError
        If JupyterLab is not installed, with the command that installs it.
    """
    if find_spec("jupyterlab") is None:
        raise OSError(0, 'not installed; run: pip install "hvm4viz[lab]"', "jupyterlab")
    import_module("jupyterlab.labapp").main([str(notebooks() / FIRST), *arguments])
    return 0
