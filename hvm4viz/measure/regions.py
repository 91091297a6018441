"""What happened in which region, in which pass; see ``Trace.heatmap``."""

from __future__ import annotations

from hvm4viz.trace.heatmap import Reduce, RegionMap, What, region_counts, region_map

__all__ = ["Reduce", "RegionMap", "What", "region_counts", "region_map"]
