"""Run HVM4 programs on a frontier machine, record every pass, and look at what happened.

>>> import hvm4viz as hv
>>> hv.run("@main = #Pair{1, 2}").text
'#Pair{1,2}'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

from hvm4viz.interrupt import ends_the_command

with ends_the_command():
    from hvm4viz.doctor import doctor  # at once, for a module of that name must not stand in its place
    from hvm4viz.errors import Hvm4vizError
    from hvm4viz.preferences import option_context, set_options
    from hvm4viz.program import Program, load, parse
    from hvm4viz.run import Results, Run, Stats, Status, results, run, run_heap
    from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz import figures as figures
    from hvm4viz.device import devices as devices
    from hvm4viz.heap import Heap as Heap
    from hvm4viz.heap import HeapBuilder as HeapBuilder
    from hvm4viz.kernel_text.source import kernel as kernel
    from hvm4viz.magics import Shell
    from hvm4viz.primitives import primitive as primitive
    from hvm4viz.readback import Term as Term
    from hvm4viz.sweeps import sweep as sweep
    from hvm4viz.trace import Trace as Trace
    from hvm4viz.trace import open_trace as open_trace
    from hvm4viz.trace.compare import Comparison as Comparison
    from hvm4viz.trace.compare import compare as compare
    from hvm4viz.widgets.trace_view import TraceView as TraceView
    from hvm4viz.widgets.trace_view import embed as embed

__all__ = [
    "Comparison",
    "Heap",
    "HeapBuilder",
    "Hvm4vizError",
    "Machine",
    "Program",
    "Results",
    "Run",
    "Stats",
    "Status",
    "Term",
    "Trace",
    "TraceView",
    "compare",
    "devices",
    "doctor",
    "embed",
    "figures",
    "kernel",
    "load",
    "open_trace",
    "option_context",
    "parse",
    "primitive",
    "results",
    "run",
    "run_heap",
    "set_options",
    "sweep",
]

_LATER = {
    "Comparison": "hvm4viz.trace.compare",
    "Heap": "hvm4viz.heap",
    "HeapBuilder": "hvm4viz.heap",
    "Term": "hvm4viz.readback",
    "Trace": "hvm4viz.trace",
    "TraceView": "hvm4viz.widgets.trace_view",
    "compare": "hvm4viz.trace.compare",
    "devices": "hvm4viz.device",
    "embed": "hvm4viz.widgets.trace_view",
    "kernel": "hvm4viz.kernel_text.source",
    "open_trace": "hvm4viz.trace",
    "primitive": "hvm4viz.primitives",
    "sweep": "hvm4viz.sweeps",
}


def __getattr__(name: str) -> object:
    """Import what needs pyarrow or matplotlib when it is first asked for: start-up stays short."""
    if name == "figures":
        return import_module("hvm4viz.figures")
    if name not in _LATER:
        raise AttributeError(f"module 'hvm4viz' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Shell) -> None:
    """Register the magics: what ``%load_ext hvm4viz`` calls."""
    from hvm4viz.magics import register

    register(shell)
