from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from hvm4viz.measure import region_map
from hvm4viz.measure.regions import What
from hvm4viz.widgets.maps import MEASURES, Maps
from tests.widgets.samples import shared
from tests.widgets.unpacking import unpack


@pytest.fixture(scope="module")
def maps() -> Maps:
    return Maps(shared().trace)


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (64, 64)])
@pytest.mark.parametrize(
    ("what", "same"), [("deferrals", "deferrals"), ("frontier", "entries"), ("occupancy", "cells")]
)
def test_a_map_of_all_is_the_one_that_figures_draw(maps: Maps, what: str, same: str, shape: tuple[int, int]) -> None:
    trace = maps.trace
    frame = maps.frame(what, 0, trace.n_passes, 0, trace.n_regions, shape)
    expected = region_map(trace, cast("What", same), shape=shape)
    values = unpack(frame)["values"].reshape(frame.head["rows"], frame.head["columns"])
    assert values.tolist() == expected.values.tolist()
    assert (frame.head["per_region"], frame.head["per_pass"]) == (expected.regions_per_bin, expected.passes_per_bin)


@pytest.mark.parametrize("what", MEASURES)
def test_a_map_of_a_part_is_that_part(maps: Maps, what: str) -> None:
    trace = maps.trace
    n, regions = trace.n_passes, trace.n_regions
    whole = unpack(maps.frame(what, 0, n, 0, regions, (regions, n)))["values"].reshape(regions, n)
    for p0, p1, r0, r1 in ((0, 1, 0, 1), (3, 9, 1, regions), (n - 1, n, 0, regions)):
        part = unpack(maps.frame(what, p0, p1, r0, r1, (regions, n)))["values"].reshape(r1 - r0, p1 - p0)
        assert part.tolist() == whole[r0:r1, p0:p1].tolist()


def test_takes_and_writes_count_what_full_records(maps: Maps) -> None:
    trace = maps.trace
    _, _, takes = maps.triples("takes")
    assert int(takes.sum()) == int(np.count_nonzero(trace.ops(0, trace.n_passes)["op"] == 2))
    _, _, writes = maps.triples("writes")
    assert int(writes.sum()) == trace.deltas().size


def test_what_is_shown_first() -> None:
    assert Maps(shared().trace).first() == "deferrals"
    assert not Maps(shared("events").trace).has("takes")
