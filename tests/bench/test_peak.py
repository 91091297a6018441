"""The peak of memory of one run, taken in another process."""

from __future__ import annotations

import pytest

import hvm4viz as hv
from hvm4viz.bench.peak import memory_bytes, own_peak
from hvm4viz.bench.suite_programs import SuiteProgram, suite
from hvm4viz.program import parse

KNOWN = pytest.mark.skipif(memory_bytes("VmHWM") is None, reason="the system does not say what memory is used")


@KNOWN
def test_it_grows_with_what_the_run_takes() -> None:
    (program,) = suite(["tree_sum"], size="small")
    least = own_peak(program, hv.Machine(), device="cpu", workers=1, timeout=60)
    deeper = parse(program.program.source.replace("@size = 6", "@size = 14"))
    more = own_peak(
        SuiteProgram("deeper", deeper, "snf", None, (), 0), hv.Machine(), device="cpu", workers=1, timeout=60
    )
    cells = hv.run(deeper, device="cpu", record="off", progress=False).stats.cells_used
    assert least is not None
    assert more is not None
    assert least < more
    assert more > 8 * cells


@KNOWN
def test_the_most_is_no_less_than_what_there_is_now() -> None:
    now, most = memory_bytes("VmRSS"), memory_bytes("VmHWM")
    assert now is not None
    assert most is not None
    assert 0 < now <= most
    assert memory_bytes("VmNothing") is None


def test_a_run_that_does_not_end_well_has_none() -> None:
    (program,) = suite(["search"], size="small")
    tight = hv.Machine(heap="256 KiB", region_size=64)
    assert own_peak(program, tight, device="cpu", workers=1, timeout=60) is None
    assert own_peak(program, hv.Machine(), device="no such device", workers=1, timeout=60) is None
    assert own_peak(program, hv.Machine(), device="cpu", workers=1, timeout=0.01) is None
