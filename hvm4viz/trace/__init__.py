"""Recordings of runs: taken by ``Recorder``, kept in ``.hvt`` files, asked through ``Trace``."""

from hvm4viz.trace.reader import Trace, open_trace
from hvm4viz.trace.recorder import Level, Recorder

__all__ = ["Level", "Recorder", "Trace", "open_trace"]
