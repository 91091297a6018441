"""Still and moving pictures of traces, for screens and for paper."""

from hvm4viz.figures.animate import animate
from hvm4viz.figures.compare_heatmap import compare_heatmap
from hvm4viz.figures.comparison_matrix import comparison_matrix
from hvm4viz.figures.deferral_age import deferral_age
from hvm4viz.figures.deferral_heatmap import deferral_heatmap
from hvm4viz.figures.filmstrip import filmstrip
from hvm4viz.figures.frontier_profile import frontier_profile
from hvm4viz.figures.interaction_mix import interaction_mix
from hvm4viz.figures.net_diagram import net_diagram
from hvm4viz.figures.overview import overview
from hvm4viz.figures.ownership_map import ownership_map
from hvm4viz.figures.pass_diagram import pass_diagram
from hvm4viz.figures.region_occupancy import region_occupancy
from hvm4viz.figures.save import save
from hvm4viz.figures.scaling import scaling
from hvm4viz.figures.speed_bars import speed_bars
from hvm4viz.figures.style import style
from hvm4viz.figures.thread_map import thread_map

__all__ = [
    "animate",
    "compare_heatmap",
    "comparison_matrix",
    "deferral_age",
    "deferral_heatmap",
    "filmstrip",
    "frontier_profile",
    "interaction_mix",
    "net_diagram",
    "overview",
    "ownership_map",
    "pass_diagram",
    "region_occupancy",
    "save",
    "scaling",
    "speed_bars",
    "style",
    "thread_map",
]
