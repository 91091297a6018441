"""Traces to arrays, one question a file."""

from hvm4viz.measure.deferrals import deferral_ages, deferral_matrix, most_deferring, most_stopping_pass
from hvm4viz.measure.frontier import deferred_sizes, frontier_sizes, ideal_parallelism, largest_by_bin
from hvm4viz.measure.owners import owner_threads
from hvm4viz.measure.pass_text import pass_text
from hvm4viz.measure.regions import RegionMap, region_counts, region_map
from hvm4viz.measure.rules_fired import rules_fired
from hvm4viz.measure.threads import (
    ThreadMap,
    busiest_thread,
    thread_map,
    thread_speedup,
    threads_at_work,
)

__all__ = [
    "RegionMap",
    "ThreadMap",
    "busiest_thread",
    "deferral_ages",
    "deferral_matrix",
    "deferred_sizes",
    "frontier_sizes",
    "ideal_parallelism",
    "largest_by_bin",
    "most_deferring",
    "most_stopping_pass",
    "owner_threads",
    "pass_text",
    "region_counts",
    "region_map",
    "rules_fired",
    "thread_map",
    "thread_speedup",
    "threads_at_work",
]
