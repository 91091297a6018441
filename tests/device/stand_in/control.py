"""What the stand-in is to do wrong, and what it has seen: shared by all copies of the module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Control:
    """Settings of the stand-in, and its counters.

    Attributes
    ----------
    group : int
        Threads of a hardware threadgroup: grids are rounded up to whole ones.
    has_device : bool
    fails_from : int or None
        Dispatches from this one on (probes do not count, 0 is the first) go wrong.
    how : {"nothing", "half", "forget", "refuse"}
        What then happens: nothing runs, every second thread runs, all run but what they wrote is lost, or the call
        raises.
    fails_probes : bool
        Whether measuring what a dispatch costs goes wrong as well, once something does.
    refused_text : str
        If it occurs in a kernel text, that text does not compile.
    buffer_bytes_max : int
    dispatches, opened, in_flight, most_in_flight : int
    dispatched : list of str
        Names of the entry points that were dispatched, probes left out.
    compiled : dict
        Entry points by kernel text.
    """

    group: int = 48
    has_device: bool = True
    fails_from: int | None = None
    how: str = "nothing"
    fails_probes: bool = False
    refused_text: str = ""
    buffer_bytes_max: int = 1 << 40
    dispatches: int = 0
    opened: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    dispatched: list[str] = field(default_factory=list[str])
    compiled: dict[str, dict[str, tuple[Any, int]]] = field(default_factory=dict[str, dict[str, tuple[Any, int]]])

    def fails_now(self) -> bool:
        """Tell whether the next dispatch goes wrong, and count it."""
        self.dispatches += 1
        return self.fails_from is not None and self.dispatches > self.fails_from


control = Control()


def reset() -> Control:
    """Make the stand-in well behaved again; what is compiled stays so."""
    compiled = control.compiled
    control.__init__()
    control.compiled = compiled
    return control
