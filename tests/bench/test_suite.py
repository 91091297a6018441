"""What is measured of the suite; how long it takes is not a matter of tests."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import hvm4viz as hv
from hvm4viz.bench.suite import Timed, mean_ratio, measure_suite
from hvm4viz.bench.suite_programs import SuiteProgram, suite
from tests.bench.stand_in import ANSWER, TELL, seen, stand_in

TIGHT = hv.Machine(blocks=1, threads_per_block=1, heap="64 KiB", region_size=64)
LONE = hv.Machine(blocks=1, threads_per_block=1)
IS_SCRIPT = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")


@pytest.fixture(scope="module")
def small() -> list[SuiteProgram]:
    return suite(["loop", "search"], size="small")


def measured(programs: list[SuiteProgram], **options: object) -> list[Timed]:
    chosen: dict[str, object] = {"machine": LONE, "device": "cpu", "workers": 1, "rounds": 2, "memory": False} | options
    return list(measure_suite(programs, **chosen))  # pyright: ignore[reportArgumentType]


def test_every_number_of_a_run_is_there(small: list[SuiteProgram]) -> None:
    for each, program in zip(measured(small), small, strict=True):
        alone = hv.run(program.program, mode=program.mode, machine=LONE, device="cpu", progress=False).stats
        assert each.seconds is not None
        assert each.ips is not None
        assert each.host_us_per_pass is not None
        assert (each.name, each.status, each.problems, each.rounds) == (program.name, "done", (), 2)
        assert (each.interactions, each.passes, each.deferrals) == (alone.interactions, alone.passes, alone.deferrals)
        assert each.words == alone.cells_used
        assert each.words_per_interaction == alone.cells_used / alone.interactions
        assert each.ips == each.interactions / each.seconds
        assert 0 < each.host_us_per_pass * each.passes < 1e6 * each.seconds
        assert (each.rival_seconds, each.ratio, each.rival_process_seconds) == (None, None, None)
        assert each.peak_bytes is None


@IS_SCRIPT
def test_sides_take_turns_and_who_is_first_changes(small: list[SuiteProgram], tmp_path: Path) -> None:
    found = measured(small, vs=stand_in(tmp_path), rounds=3)
    assert seen(tmp_path) == ["loop.hvm4 -s"] * 3 + ["search.hvm4 -s -C"] * 3
    for each in found:
        assert each.seconds
        assert (each.rival_seconds, each.rival_interactions, each.rival_words) == (2.5, 1234, 77)
        assert each.ratio == 2.5 / each.seconds
        assert each.rival_process_seconds
        assert each.rival_process_seconds < 2.5
        assert each.problems == ()
    ratios = [each.ratio for each in found if each.ratio]
    assert mean_ratio(found) == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    assert mean_ratio([]) is None


@IS_SCRIPT
def test_a_rival_that_fails_ends_its_own_side_alone(small: list[SuiteProgram], tmp_path: Path) -> None:
    act = f"if 'loop' in file: sys.exit('no')\n{ANSWER}{TELL}"
    loop, search = measured(small, vs=stand_in(tmp_path, act))
    assert loop.problems == ("rival ended with code 1: no",)
    assert (loop.rival_seconds, loop.ratio, loop.rounds) == (None, None, 2)
    assert search.problems == ()
    assert seen(tmp_path) == ["loop.hvm4 -s", "search.hvm4 -s -C", "search.hvm4 -s -C"]


def test_a_wrong_answer_and_a_wrong_count_are_told(small: list[SuiteProgram]) -> None:
    wrong = [replace(small[0], expected=("something else",)), replace(small[1], interactions=7)]
    answer, count = measured(wrong)
    assert answer.problems == ("answers '#End{2146152485,3285875}', not 'something else'",)
    assert count.problems == ("counts 78,959 interactions, not 7",)
    (forked,) = measured([wrong[1]], machine=hv.Machine())
    assert forked.problems == ()  # the count is that of one thread


def test_a_run_that_is_stopped_has_no_time(small: list[SuiteProgram]) -> None:
    (each,) = measured([small[0]], machine=TIGHT, rounds=3)
    assert (each.status, each.seconds, each.ips, each.rounds) == ("done", each.seconds, each.ips, 3)
    (each,) = measured([small[1]], machine=TIGHT, rounds=3)
    assert (each.status, each.seconds, each.ips, each.rounds) == ("heap_full", None, None, 0)
    assert "heap full: no free region left" in each.problems[0]
    assert len(each.problems) == 1


def test_no_new_round_begins_after_the_time_is_up_but_one_is_always_made(small: list[SuiteProgram]) -> None:
    assert [each.rounds for each in measured(small, rounds=1000, seconds=0.0)] == [1, 1]


def test_no_round_at_all_is_refused(small: list[SuiteProgram]) -> None:
    with pytest.raises(ValueError, match="rounds=0: must be 1 or more"):
        measured(small, rounds=0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what memory is used")
def test_peaks_of_memory_are_those_of_processes_of_their_own(small: list[SuiteProgram], tmp_path: Path) -> None:
    act = f"block = b'x' * ((file.endswith('search.hvm4')) * (64 << 20))\n{ANSWER}"
    (search,) = measured([small[1]], rounds=1, memory=True, vs=stand_in(tmp_path, act))
    assert search.peak_bytes is not None
    assert search.rival_peak_bytes is not None
    assert 8 * search.words < search.peak_bytes < 8 * search.words + (32 << 20)
    assert search.bytes_per_cell == search.peak_bytes / search.words
    assert 60 << 20 < search.rival_peak_bytes < 90 << 20
