"""Still pictures of traces, for screens and for paper."""

from hvm4viz.figures.comparison_matrix import comparison_matrix
from hvm4viz.figures.deferral_heatmap import deferral_heatmap
from hvm4viz.figures.filmstrip import filmstrip
from hvm4viz.figures.frontier_profile import frontier_profile
from hvm4viz.figures.overview import overview
from hvm4viz.figures.pass_diagram import pass_diagram
from hvm4viz.figures.save import save
from hvm4viz.figures.style import style
from hvm4viz.figures.thread_map import thread_map

__all__ = [
    "comparison_matrix",
    "deferral_heatmap",
    "filmstrip",
    "frontier_profile",
    "overview",
    "pass_diagram",
    "save",
    "style",
    "thread_map",
]
