"""A dispatch gets dearer with each one before it; opening the device again puts an end to that, where it pays."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device import opening as module
from hvm4viz.device import openings as copies
from hvm4viz.device.base import view
from hvm4viz.device.metal import MetalDevice
from hvm4viz.device.openings import Openings, openings
from hvm4viz.errors import DeviceFailed, DeviceUnavailable
from tests.device.stand_in.control import Control
from tests.device.test_metal import WIDE, Alone

SLOW = "@f = λ&n. @f(n + 1)\n@main = @f(0)"


PRICE = {"a record": 20_000.0}


@pytest.fixture
def worn(stand_in: Control, monkeypatch: pytest.MonkeyPatch) -> Control:
    """Let a dispatch cost more with each record of its module's table, by the book: no clock decides a test."""

    def cost(self: module.Opening) -> float:
        return 10_000.0 + PRICE["a record"] * len(self.module._records)

    monkeypatch.setattr(module.Opening, "_probe", cost)
    monkeypatch.setattr(module, "PROBE_EVERY", 16)
    monkeypatch.setitem(PRICE, "a record", 20_000.0)
    return stand_in


def cheap(opened: Openings) -> None:
    opened.current.open_ns = 1e6


def test_a_run_goes_on_where_the_device_was_opened_again(worn: Control) -> None:
    opened = openings()
    cheap(opened)
    machine = hv.Machine(blocks=3, fuel=2, region_size=64)

    run = hv.run(WIDE, device=Alone(opened, workers=1), machine=machine)

    assert opened.current.number >= 1
    assert worn.opened == opened.current.number + 1
    assert run.trace.digest() == hv.run(WIDE, device="cpu", machine=machine).trace.digest()
    assert run.heap.digest() == hv.run(WIDE, device="cpu", machine=machine).heap.digest()
    assert worn.dispatched.count("step_frontier") == run.stats.passes  # none went to the host meanwhile


@pytest.mark.parametrize("mode", ["snf", "collapse"])
@pytest.mark.parametrize("protocol", [{}, {"dup": "claim"}, {"dup": "atomic"}, {"defer": "return"}], ids=str)
def test_moving_changes_nothing_wherever_it_happens(
    stand_in: Control, protocol: dict[str, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every third pass finds the device opened again."""
    source = "@l = λ{0: []; λ&n. &n{n, 7} <> @l(n - 1)}\n@main = ! &x = @l(3); #T{x, x}"
    machine = hv.Machine(blocks=3, fuel=3, region_size=64, **protocol)  # pyright: ignore[reportArgumentType]
    device = Alone(openings(), workers=1)
    asked = iter(range(1 << 20))

    def renew() -> int:
        if next(asked) % 3 == 2:
            device.openings.current.drift_ns = float("inf")
            device.openings.current.cost_ns += 1e12
        return MetalDevice.renew(device)

    monkeypatch.setattr(device, "renew", renew)

    run = hv.run(source, device=device, machine=machine, mode=mode, limit=20 if mode == "collapse" else None)  # pyright: ignore[reportArgumentType]

    assert stand_in.opened > run.stats.passes // 4
    assert run.status == "done"
    expected = hv.run(source, device="cpu", machine=machine, mode=mode, limit=20 if mode == "collapse" else None)  # pyright: ignore[reportArgumentType]
    assert run.lines == expected.lines
    assert run.trace.digest() == expected.trace.digest()


def test_without_another_opening_the_cost_grows(worn: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_open_copy", lambda *_: None)
    opened = openings()
    cheap(opened)

    hv.run(SLOW, device=Alone(opened, workers=1), machine=hv.Machine(fuel=10), max_passes=100)

    assert opened.patience > 1.0
    assert worn.opened == 1
    assert opened.current.cost_ns > 2 * opened.current.least_ns


def test_an_opening_that_is_no_cheaper_is_not_taken_and_makes_patient(
    worn: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = openings()
    before = opened.current
    before.drift_ns, before.cost_ns = 1.01 * before.open_ns, before.least_ns + 1000.0
    monkeypatch.setattr(module.Opening, "_probe", lambda _: 1e6)  # as if the table were kept elsewhere

    assert opened.renew() is before
    assert (worn.opened, opened.patience) == (2, 2.0)
    before.drift_ns = 1.01 * before.open_ns
    assert opened.renew() is before
    assert worn.opened == 2
    before.drift_ns, before.cost_ns = 2.01 * before.open_ns, before.least_ns + 1e12
    assert opened.renew().number == 1
    assert opened.patience == 1.0


def test_a_measurement_that_was_disturbed_at_first_is_put_right(stand_in: Control) -> None:
    opening = openings().current
    opening.least_ns *= 1000.0
    for _ in range(module.PROBE_EVERY):
        opening.count()

    opening.measure()

    assert opening.least_ns == opening.cost_ns
    assert opening.drift_ns == 0.0
    assert stand_in.opened == 1


def test_opening_again_waits_until_it_pays(stand_in: Control) -> None:
    opened = openings()
    opened.current.drift_ns = opened.current.open_ns * 0.99

    assert opened.renew().number == 0
    opened.current.drift_ns = opened.current.open_ns * 1.01
    opened.current.cost_ns = opened.current.least_ns + 1e9
    assert opened.renew().number == 1
    assert stand_in.opened == 2


def test_buffers_of_two_openings_meet_on_the_host(stand_in: Control) -> None:
    from tests.device.test_contract import SOURCE

    device = MetalDevice(openings(), workers=1)
    old = device.buffer(np.full(4, 5, np.uint32))
    device.openings.current.drift_ns = float("inf")
    device.openings.current.cost_ns += 1e9
    assert device.renew() == 1
    out, number = device.buffer(16), device.buffer(np.array([4], np.uint32))
    stand_in.dispatched.clear()

    device.kernel(SOURCE).function("add_index")(4, out, old, number).wait()

    assert view(out, np.uint32).tolist() == [5, 6, 7, 8]
    assert stand_in.dispatched == []


def test_a_heap_that_does_not_fit_twice_stays_where_it_is(worn: Control) -> None:
    opened = openings()
    cheap(opened)
    device = Alone(opened, workers=1)
    heap_bytes = 1 << 30
    real = device.buffer
    made: list[int] = []

    def buffer(source: int) -> object:
        if isinstance(source, int) and source == heap_bytes:
            made.append(source)
            if len(made) > 1:
                raise DeviceFailed("no room")
        return real(source)

    device.buffer = buffer  # pyright: ignore[reportAttributeAccessIssue]
    machine = hv.Machine(blocks=3, fuel=2)

    run = hv.run(WIDE, device=device, machine=machine)

    assert len(made) >= 2
    assert worn.opened >= 2
    assert opened.current.number == 0
    assert worn.dispatched.count("step_frontier") == run.stats.passes  # none went to the host
    assert run.trace.digest() == hv.run(WIDE, device="cpu", machine=machine).trace.digest()


def test_a_copy_of_the_module_has_a_table_of_its_own(stand_in: Control) -> None:
    opened = openings()
    first = opened.current.module
    opened.current.drift_ns = float("inf")
    opened.current.cost_ns += 1e9

    second = opened.renew().module

    assert Path(second.__file__).name == Path(first.__file__).name
    assert second is not first
    assert len(second._records) < len(first._records) + 20
    assert second.error is not first.error
    assert stand_in.opened == 2


def test_a_device_that_runs_nothing_is_not_opened(stand_in: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NOTHING", module._NOTHING.replace("+= 1u", "+= 0u"))

    with pytest.raises(DeviceUnavailable, match="took a dispatch and did not run it"):
        openings()
    assert stand_in.opened == 1


def test_the_cost_of_a_dispatch_is_the_shortest_of_a_few(stand_in: Control) -> None:
    begun = time.perf_counter_ns()
    opened = openings()

    assert 0 < opened.current.least_ns < (time.perf_counter_ns() - begun) / (2 * module.PROBES)
    assert stand_in.dispatched == []


def test_nobody_else_holds_a_dispatch_when_its_turn_ends(stand_in: Control) -> None:
    class Turn:
        def __enter__(self) -> bool:
            return lock.__enter__()

        def __exit__(self, *error: object) -> None:
            run = opened._flight._run
            held.append(0 if run is None else sys.getrefcount(run) - 2)  # the name here, and what is asked
            lock.__exit__(*error)  # type: ignore[arg-type]

    opened, held = openings(), list[int]()
    lock = opened.turn
    opened.turn = Turn()  # type: ignore[assignment]
    hv.run(WIDE, device=Alone(opened, workers=1), machine=hv.Machine(blocks=3, fuel=2, region_size=64))

    assert stand_in.dispatched
    assert set(held) == {0, 1}


def test_threads_take_turns_in_the_air(stand_in: Control) -> None:
    machine = hv.Machine(blocks=3, fuel=2, region_size=64)
    expected = hv.run(WIDE, device="cpu", machine=machine).trace.digest()

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: hv.run(WIDE, device=Alone(openings(), workers=1), machine=machine), range(3)))

    assert {run.trace.digest() for run in found} == {expected}
    assert stand_in.most_in_flight == 1
