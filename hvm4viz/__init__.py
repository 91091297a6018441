"""Run HVM4 programs on a frontier machine, record every pass, and look at what happened.

>>> import hvm4viz as hv
>>> hv.run("@main = #Pair{1, 2}").text
'#Pair{1,2}'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hvm4viz import figures as figures
    from hvm4viz.device import devices as devices
    from hvm4viz.errors import Hvm4vizError as Hvm4vizError
    from hvm4viz.program import Program as Program
    from hvm4viz.program import load as load
    from hvm4viz.program import parse as parse
    from hvm4viz.run import Run as Run
    from hvm4viz.run import Stats as Stats
    from hvm4viz.run import Status as Status
    from hvm4viz.run import run as run
    from hvm4viz.run import run_heap as run_heap
    from hvm4viz.settings import Machine as Machine
    from hvm4viz.trace import Trace as Trace
    from hvm4viz.trace import open_trace as open_trace

_HOME = {
    "Hvm4vizError": "errors",
    "Machine": "settings",
    "Program": "program",
    "Run": "run",
    "Stats": "run",
    "Status": "run",
    "Trace": "trace",
    "devices": "device",
    "load": "program",
    "open_trace": "trace",
    "parse": "program",
    "run": "run",
    "run_heap": "run",
}

__all__ = [
    "Hvm4vizError",
    "Machine",
    "Program",
    "Run",
    "Stats",
    "Status",
    "Trace",
    "devices",
    "figures",
    "load",
    "open_trace",
    "parse",
    "run",
    "run_heap",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: start-up stays short."""
    if name == "figures":
        return import_module("hvm4viz.figures")
    if name not in _HOME:
        raise AttributeError(f"module 'hvm4viz' has no attribute {name!r}")
    value = getattr(import_module(f"hvm4viz.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """Register the magics: what ``%load_ext hvm4viz`` calls."""
    from hvm4viz.magics import register

    register(shell)
