"""Files of every version of the format that ever was, as they were written then: they open for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hvm4viz.trace import open_trace
from tests.trace.records import record, wide_passes

HERE = Path(__file__).parent
WIDTHS = [1, 4, 0, 30, 3]


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("format_1.hvt", "f5994a9e9e09d62400619dc4a2fd2646ab3f2a993e83e3ad627478c2391618b2"),
        ("format_2.hvt", "9fde4af95bc43593aba4bff98c7383be23df592b39157c6c24be2d3c45e3cdd9"),
    ],
)
def test_a_file_of_events_is_what_it_was(name: str, digest: str) -> None:
    opened = open_trace(HERE / name)
    expected = record(wide_passes(WIDTHS), lines=("1", "λ"))
    assert opened.complete
    assert opened.level == "events"
    assert np.array_equal(opened.events(), expected.events())
    assert np.array_equal(opened.rows, expected.rows)
    for table in ("rules", "cells", "remote"):
        assert np.array_equal(getattr(opened, table).dense(), getattr(expected, table).dense())
    assert opened.digest() == digest
    assert opened.end == expected.end


@pytest.mark.parametrize("name", ["format_1_counts.hvt"])
def test_a_file_of_counts_is_what_it_was(name: str, tmp_path: Path) -> None:
    opened = open_trace(HERE / name)
    assert opened.complete
    assert opened.frontier_sizes.tolist() == WIDTHS
    assert np.array_equal(opened.deferral_pairs(), record(wide_passes(WIDTHS), level="counts").deferral_pairs())
    assert open_trace(opened.save(tmp_path / "again.hvt")).meta == opened.meta


HEAPS = ("bda008a2", "e91136c9", "b255a4c4", "1f75d51b", "00854958", "33f225e8")
"""Start of the digest of the heap at each pass of ``format_2_full.hvt``."""


def test_a_file_of_cells_is_what_it_was() -> None:
    opened = open_trace(HERE / "format_2_full.hvt")
    assert opened.complete
    assert opened.level == "full"
    assert opened.digest() == "7110f8f5a7fe6dbd910535ebdb48038d739ecc94bee80adff8775297c8a34e70"
    for order in (range(6), reversed(range(6))):
        for p in order:
            assert opened.at(p).digest().startswith(HEAPS[p])
    assert opened.header.heap.size == 1
    assert opened.ops().size > 0
    assert opened.deltas().size > 30
    assert opened.state_passes.tolist() == [0, 5]
    found = opened.find("#P")
    assert found is not None
    assert found.text == "cell 0: C02 #P at 7"
