"""The map of threads: what is on the axes is what was counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hvm4viz.figures import thread_map
from hvm4viz.measure import thread_map as count_by_thread
from tests.trace.records import record, wide_passes, worked_example


@pytest.mark.parametrize("against", ["pass", "region"])
def test_the_picture_holds_the_counts(against: str) -> None:
    trace = record(wide_passes([3, 40, 7]))
    figure = thread_map(trace, against=against)  # type: ignore[arg-type]
    ax = figure.axes[0]
    image: Any = ax.images[0]
    counted = count_by_thread(trace, against)  # type: ignore[arg-type]
    assert np.array_equal(np.ma.filled(image.get_array(), 0), counted.values)
    assert ax.get_xlabel() == against
    assert ax.get_ylim() == (7.5, -0.5)


def test_it_says_how_evenly_the_work_is_spread() -> None:
    title = thread_map(worked_example()).axes[0].get_title(loc="left")
    assert "of 12 threads busy" in title


def test_what_is_gathered_is_said() -> None:
    title = thread_map(record(wide_passes([2] * 5000))).axes[0].get_title(loc="left")
    assert "each pixel: max of" in title


def test_anything_else_is_refused() -> None:
    with pytest.raises(ValueError, match="against='slot'"):
        thread_map(worked_example(), against="slot")  # type: ignore[arg-type]
