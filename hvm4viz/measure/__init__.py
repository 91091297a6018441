"""Traces to arrays, one question a file."""

from hvm4viz.measure.deferrals import (
    AgeCurve,
    deferral_age_curves,
    deferral_ages,
    deferral_matrix,
    most_deferring,
    most_stopping_pass,
)
from hvm4viz.measure.differences import DifferenceMap, region_differences
from hvm4viz.measure.frontier import deferred_sizes, frontier_sizes, ideal_parallelism, largest_by_bin
from hvm4viz.measure.occupancy import region_occupancy
from hvm4viz.measure.owners import OwnerMap, owner_map, owner_threads
from hvm4viz.measure.pass_text import pass_text
from hvm4viz.measure.regions import RegionMap, region_counts, region_map
from hvm4viz.measure.rules_fired import RuleMix, rule_mix, rules_fired
from hvm4viz.measure.scaling import Scaling, ScalingCurve, scaling
from hvm4viz.measure.term_tree import TermTree, term_tree
from hvm4viz.measure.threads import (
    ThreadMap,
    busiest_thread,
    thread_map,
    thread_speedup,
    threads_at_work,
)

__all__ = [
    "AgeCurve",
    "DifferenceMap",
    "OwnerMap",
    "RegionMap",
    "RuleMix",
    "Scaling",
    "ScalingCurve",
    "TermTree",
    "ThreadMap",
    "busiest_thread",
    "deferral_age_curves",
    "deferral_ages",
    "deferral_matrix",
    "deferred_sizes",
    "frontier_sizes",
    "ideal_parallelism",
    "largest_by_bin",
    "most_deferring",
    "most_stopping_pass",
    "owner_map",
    "owner_threads",
    "pass_text",
    "region_counts",
    "region_differences",
    "region_map",
    "region_occupancy",
    "rule_mix",
    "rules_fired",
    "scaling",
    "term_tree",
    "thread_map",
    "thread_speedup",
    "threads_at_work",
]
