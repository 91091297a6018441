"""Interrupts that Python would lose."""

from __future__ import annotations

import signal
import threading

import pytest

from hvm4viz.interrupt import kept_interrupts


class GoesAway:
    """An object in whose end somebody presses the stop key."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        sum(range(1000))  # the handler runs between two steps of Python


@pytest.fixture(autouse=True)
def default() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def lose_one(reached: list[str]) -> None:
    with kept_interrupts():
        GoesAway()
        reached.append("behind it")


def press_one() -> None:
    with kept_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_gets_lost_is_raised_at_the_end() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        lose_one(reached)
    assert reached == ["behind it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_is_not_lost_comes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        press_one()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_whoever_handles_interrupts_goes_on_doing_so() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with kept_interrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [signal.SIGINT]


def test_other_threads_are_left_alone() -> None:
    done: list[bool] = []

    def work() -> None:
        with kept_interrupts():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
