from __future__ import annotations

from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.device import Way, open_device
from hvm4viz.device.cpu import clear
from hvm4viz.device.way import Pace

NO_FUNCTION: Any = None


def test_the_way_that_should_take_the_least_time_depends_on_work_and_width() -> None:
    host, gpu = Way(NO_FUNCTION, "host"), Way(NO_FUNCTION, "gpu", start_ns=1000.0, lanes=100, slowness=10.0)

    assert host.expected_ns(500.0, 64) < gpu.expected_ns(500.0, 64)  # too little work for a dispatch
    assert host.expected_ns(1e6, 64) > gpu.expected_ns(1e6, 64)
    assert host.expected_ns(1e6, 5) < gpu.expected_ns(1e6, 5)  # too narrow for slow threads
    assert gpu.expected_ns(1e6, 1000) == gpu.expected_ns(1e6, 100)  # no more run at once


@pytest.mark.parametrize("slowness", [1.0, 40.0])
def test_a_way_learns_how_slow_it_is(slowness: float) -> None:
    way = Way(NO_FUNCTION, "gpu", start_ns=1000.0, lanes=100, slowness=10.0)

    for _ in range(100):
        way.learn(1e6, 64, 1000.0 + 1e6 * slowness / 64)

    assert way.slowness == pytest.approx(slowness, rel=0.01)


def test_a_run_is_moved_where_that_pays_over_a_few_passes() -> None:
    host, away = Way(NO_FUNCTION, "host"), Way(NO_FUNCTION, "gpu", lanes=100, is_away=True)
    pace = Pace((host, away), threads=100)
    assert pace.moves

    def chosen(work: int, *, is_away: bool, heap_bytes: int = 0) -> Way:
        pace.learn(away, 100, 0, 0)
        pace._work = work
        return pace.way(100, is_away=is_away, heap_bytes=lambda: heap_bytes)

    assert chosen(1000, is_away=False) is host  # a move costs more than all of the pass
    assert chosen(100_000, is_away=False) is away
    assert chosen(100_000, is_away=False, heap_bytes=1 << 30) is host
    assert chosen(1000, is_away=True) is away
    assert pace.way(1, is_away=True, heap_bytes=lambda: 0) is host


@pytest.mark.parametrize("is_away", [False, True])
def test_a_way_that_was_slow_once_is_tried_again(*, is_away: bool) -> None:
    host, other = Way(NO_FUNCTION, "host"), Way(NO_FUNCTION, "pool", lanes=2, is_away=is_away)
    pace = Pace((host, other), threads=32)
    work = 10_000_000

    def chosen() -> Way:
        way = pace.way(32, is_away=False, heap_bytes=lambda: 0)
        pace.learn(way, 32, work, int(work * (30 if way is host else 15)))
        return way

    pace.learn(host, 32, work, 30 * work)
    assert chosen() is other
    for _ in range(20):  # the machine was busy
        pace.learn(other, 32, work, 300 * work)
    assert chosen() is host
    assert other in [chosen() for _ in range(300 if is_away else 40)]


def test_a_frontier_that_grows_is_taken_to_grow_on() -> None:
    host, away = Way(NO_FUNCTION, "host"), Way(NO_FUNCTION, "gpu", lanes=1000, slowness=10.0, is_away=True)
    pace = Pace((host, away), threads=4096)
    pace.learn(host, 40, 100_000, 3_000_000)
    pace.learn(host, 40, 100_000, 3_000_000)
    assert pace.way(40, is_away=False, heap_bytes=lambda: 100 << 20) is host  # a move of 100 MiB does not pay
    pace.learn(host, 2, 1_000, 30_000)
    pace.learn(host, 10, 100_000, 3_000_000)
    assert pace.way(40, is_away=False, heap_bytes=lambda: 100 << 20) is away  # it does for what comes


def test_a_wide_run_with_much_to_do_uses_the_pool_and_a_narrow_one_does_not() -> None:
    device = open_device("cpu", workers=2)
    pools: list[int] = []
    pool = device._pool  # pyright: ignore[reportAttributeAccessIssue]
    real = pool.submit
    pool.submit = lambda job, *given: (pools.append(1) if job is not clear else None, real(job, *given))[1]

    hv.run("@f = λ&n. λ{0: n; λ&m. @f(n + 1, m - 1)}\n@main = @f(0, 3000)", device=device, machine=hv.Machine(fuel=100))
    assert not pools
    hv.run("@t = λ{0: 1; λ&n. #N{@t(n - 1), @f(n, 3000)}}\n@f = λ&a. λ{0: a; λ&n. @f(a + n, n - 1)}\n@main = @t(60)",
           device=device, machine=hv.Machine(fuel=1000))  # fmt: skip
    assert pools
