"""How full each region is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.trace import Trace


def region_occupancy(trace: Trace, p: int) -> NDArray[np.int64]:
    """Return the cells in use at the end of pass p, by region.

    Parameters
    ----------
    trace : Trace
        Recorded at ``counts`` or more.
    p : int
        -1 is the last pass.

    Returns
    -------
    cells : ndarray of int64, shape (n_regions,)
        0 to ``trace.region_size``.

    Raises
    ------
    IndexError
        If there is no such pass.
    """
    return trace.cells.at(p)
