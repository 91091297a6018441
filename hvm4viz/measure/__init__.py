"""Traces to arrays, one question a file."""

from hvm4viz.measure.deferrals import deferral_ages, deferral_matrix, most_deferring
from hvm4viz.measure.frontier import deferred_sizes, frontier_sizes, ideal_parallelism, largest_by_bin
from hvm4viz.measure.regions import RegionMap, region_counts, region_map
from hvm4viz.measure.rules_fired import rules_fired

__all__ = [
    "RegionMap",
    "deferral_ages",
    "deferral_matrix",
    "deferred_sizes",
    "frontier_sizes",
    "ideal_parallelism",
    "largest_by_bin",
    "most_deferring",
    "region_counts",
    "region_map",
    "rules_fired",
]
