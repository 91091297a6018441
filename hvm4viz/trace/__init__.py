"""Recordings of runs: taken by ``Recorder``, kept in ``.hvt`` files, asked through ``Trace``."""

from hvm4viz.trace.reader import Trace
from hvm4viz.trace.recorder import Level, Recorder

__all__ = ["Level", "Recorder", "Trace"]
