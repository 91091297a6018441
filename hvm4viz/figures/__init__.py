"""Still pictures of traces, for screens and for paper."""

from hvm4viz.figures.deferral_heatmap import deferral_heatmap
from hvm4viz.figures.frontier_profile import frontier_profile
from hvm4viz.figures.overview import overview
from hvm4viz.figures.save import save
from hvm4viz.figures.style import style

__all__ = ["deferral_heatmap", "frontier_profile", "overview", "save", "style"]
