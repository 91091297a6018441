"""The pass loop: what ends it, and when."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.execution import Execution
from hvm4viz.machine import Loop
from hvm4viz.quiet import quiet_request
from hvm4viz.stops import Stop
from hvm4viz.store import PASSES_MAX

MORE = "raise timeout to go on, unless the program never ends"


def test_an_interrupt_behind_the_last_look_is_not_lost() -> None:
    execution = Execution(quiet_request("@f = λ&n. @f(n + 1)\n@main = @f(0)", device="cpu", record="counts"))

    def pressed() -> bool:
        signal.raise_signal(signal.SIGINT)
        return True

    stop = execution.advance(pressed)

    assert stop is not None
    assert stop.status == "interrupted"
    assert execution.finish(stop).trace.n_passes == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_loop_rests_where_it_is_asked_to_and_goes_on() -> None:
    execution = Execution(quiet_request("@main = [1, 2, 3]", device="cpu"))

    assert execution.advance(lambda: True) is None
    stop = execution.advance()

    assert stop is not None
    assert execution.finish(stop).lines == ["[1,2,3]"]


class Counting:
    """An engine whose passes do nothing."""

    def __init__(self, passes: int = 0, *, ends: int = 1 << 40) -> None:
        self.passes = passes
        self.ends = ends

    def idle(self) -> Stop | None:
        return Stop("done") if self.passes >= self.ends else None

    def step(self) -> tuple[Any, Stop | None]:
        self.passes += 1
        return self.passes, None


def loop(engine: Any, **options: Any) -> Loop:
    return Loop(engine, [], **{"max_passes": 1000, "timeout": None, **options})


@pytest.mark.parametrize(
    ("most", "says"),
    [
        (0, "stopped after 0 passes"),
        (1, "stopped after 1 pass;"),
        (2, "stopped after 2 passes"),
        (1_000, "1,000 passes"),
    ],
)
def test_passes_end_at_their_limit(most: int, says: str) -> None:
    engine = Counting()
    stop = loop(engine, max_passes=most).run()
    assert stop is not None
    assert (stop.status, engine.passes) == ("pass_limit", most)
    assert says in stop.message
    assert stop.message.endswith("; raise max_passes to go on, unless the program never ends")
    assert loop(Counting(ends=most), max_passes=most).run() == Stop("done")  # what is done has met no limit


def test_passes_end_where_stamps_hold_no_more() -> None:
    assert PASSES_MAX == (1 << 27) - 2
    engine = Counting(PASSES_MAX - 3)
    stop = loop(engine, max_passes=1 << 40).run()
    assert stop is not None
    assert engine.passes == PASSES_MAX
    assert stop.message == "stopped after 134,217,726 passes: stamps hold no more"


@pytest.mark.parametrize(("timeout", "says"), [(0.0, "0 s"), (0.05, "0.05 s"), (1e-9, "1e-09 s")])
def test_time_ends_passes_and_says_how_much_there_was(timeout: float, says: str) -> None:
    stop = loop(Counting(), max_passes=PASSES_MAX, timeout=timeout).run()
    assert stop == Stop("timeout", f"stopped after {says}; {MORE}")


@pytest.fixture
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handler")
def test_handlers_of_others_are_put_back_and_ignored_interrupts_stay_ignored() -> None:
    seen: list[int] = []

    def mine(number: int, _: object) -> None:
        seen.append(number)

    signal.signal(signal.SIGINT, mine)
    stop = loop(Counting(), on_pass=lambda p: signal.raise_signal(signal.SIGINT) if p == 3 else None).run()
    assert stop == Stop("interrupted", "interrupted after 4 passes")  # it came behind the look after the third
    assert (seen, signal.getsignal(signal.SIGINT)) == ([], mine)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop = loop(Counting(), on_pass=lambda p: signal.raise_signal(signal.SIGINT) if p == 3 else None).run()
    assert stop is not None
    assert stop.status == "pass_limit"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("handler")
def test_a_second_interrupt_raises_at_once_and_a_foreign_one_ends_the_run() -> None:
    def twice(_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        loop(Counting(), on_pass=twice).run()

    def theirs(_: object) -> None:
        raise KeyboardInterrupt

    assert loop(Counting(), on_pass=theirs).run() == Stop("interrupted", "interrupted after 1 pass")
    assert loop(Counting(), on_pass=lambda p: p < 5).run() == Stop("interrupted", "interrupted after 5 passes")
    assert loop(Counting(ends=4), on_pass=lambda _: True).run() == Stop("done")


def test_a_run_in_another_thread_leaves_signals_alone() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        run = hv.run("@main = 1 + 2", on_pass=lambda _: seen.append(signal.getsignal(signal.SIGINT)))
        seen.append(run.text)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert set(seen) == {before, "3"}


def test_time_is_up_when_the_clock_says_so_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 7.0
    monkeypatch.setattr("hvm4viz.machine.time", SimpleNamespace(monotonic=lambda: now))
    engine = Counting()

    def later(_: object) -> None:
        nonlocal now
        now += 0.25

    stop = loop(engine, timeout=1.0, on_pass=later).run()
    assert (stop, engine.passes) == (Stop("timeout", f"stopped after 1 s; {MORE}"), 4)
    assert loop(engine, timeout=0.0).run() == Stop("timeout", f"stopped after 0 s; {MORE}")


class Ending(Counting):
    """An engine whose third pass ends the run."""

    def step(self) -> tuple[Any, Stop | None]:
        record, _ = super().step()
        return record, Stop("error", "mine", 5) if self.passes == 3 else None


def test_all_are_told_of_the_pass_that_ends_the_run_and_nobody_is_asked() -> None:
    told: list[Any] = []
    observers: list[Any] = [SimpleNamespace(on_pass=lambda p, n=n: told.append((n, p))) for n in "ab"]
    asked: list[Any] = []
    made = Loop(Ending(), observers, max_passes=9, timeout=None, on_pass=asked.append)

    assert made.run() == Stop("error", "mine", 5)
    assert told == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("b", 3)]
    assert asked == [1, 2]
