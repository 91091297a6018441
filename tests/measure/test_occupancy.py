from __future__ import annotations

import numpy as np
import pytest

from hvm4viz.measure import region_occupancy
from tests.trace.records import record, wide_passes


def test_it_is_what_was_recorded_at_the_end_of_a_pass() -> None:
    trace = record(wide_passes([4, 30, 7]))
    dense = np.asarray(trace.cells)
    for p in (0, 1, 2, -1):
        assert region_occupancy(trace, p).tolist() == dense[p].tolist()
    with pytest.raises(IndexError, match="pass 3"):
        region_occupancy(trace, 3)
