"""Measurements over the programs that come with the package: what a setting costs, and the command that says so."""

from hvm4viz.bench.measured import Measured
from hvm4viz.bench.programs import Sample, samples
from hvm4viz.bench.protocols import LIVE, PROTOCOLS, measure_protocols
from hvm4viz.bench.report import as_markdown, as_table, provenance

__all__ = [
    "LIVE",
    "PROTOCOLS",
    "Measured",
    "Sample",
    "as_markdown",
    "as_table",
    "measure_protocols",
    "provenance",
    "samples",
]
