"""Interrupts that Python would lose."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.text import Text

from hvm4viz.figures.save import save
from hvm4viz.interrupt import kept_interrupts
from hvm4viz.widgets.static import figure_pixels
from tests.figures.subjects import FIGURES
from tests.trace.records import worked_example


class GoesAway:
    """An object in whose end somebody presses the stop key."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        sum(range(1000))  # the handler runs between two steps of Python


def cast(*_: object, **__: object) -> None:
    """Convert an argument as C++ does: somebody presses the stop key meanwhile, and it is taken for a wrong type."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise TypeError("incompatible function arguments") from None


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


def test_one_that_is_taken_for_something_else_is_raised_as_what_it_is() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, kept_interrupts():
        cast()
    assert isinstance(caught.value.__cause__, TypeError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("way", ["in", "out"])
def test_one_on_the_way_in_or_out_is_kept_and_the_handler_comes_back(
    way: str,
    fails: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = signal.signal

    def pressed(number: int, handler: Any) -> Any:
        is_way_out = handler is signal.default_int_handler
        if is_way_out and way == "out":
            signal.raise_signal(signal.SIGINT)
        found = real(number, handler)
        if not is_way_out and way == "in":
            signal.raise_signal(signal.SIGINT)
        return found

    def work() -> None:
        if fails:
            raise TypeError("mine")

    monkeypatch.setattr(signal, "signal", pressed)
    with pytest.raises(KeyboardInterrupt), kept_interrupts():
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_a_part_of_the_work_was_asked_by_is_kept_by_the_whole() -> None:
    def part() -> None:
        with kept_interrupts():
            cast()

    def taken_for_something_else() -> None:
        try:
            part()
        except KeyboardInterrupt:
            raise TypeError("incompatible function arguments") from None

    with pytest.raises(KeyboardInterrupt), kept_interrupts():
        taken_for_something_else()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_was_never_left_hides_none_from_the_next() -> None:
    abandoned = kept_interrupts()
    abandoned.__enter__()  # as when the stop key is pressed between it and what it is for
    try:
        with pytest.raises(KeyboardInterrupt), kept_interrupts():
            cast()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_parts_may_be_left_after_the_whole() -> None:
    whole, part, inner = kept_interrupts(), kept_interrupts(), kept_interrupts()
    for each in (whole, part, inner):
        each.__enter__()
    for each in (whole, part, inner):
        each.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_whoever_begins_above_one_that_is_gone_gives_back_to_those_in_use() -> None:
    gone = kept_interrupts()
    gone.__enter__()
    gone.__exit__(None, None, None)
    signal.signal(signal.SIGINT, gone)
    with kept_interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_failure_that_nobody_interrupted_stays_what_it_is() -> None:
    with pytest.raises(TypeError, match="mine"), kept_interrupts():
        raise TypeError("mine")


@pytest.mark.parametrize("name", FIGURES)
def test_an_interrupt_that_matplotlib_takes_for_a_wrong_type_stops_every_figure(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = worked_example()
    for owner, method in ((Artist, "set_clip_path"), (Text, "__init__")):
        with monkeypatch.context() as planted:
            planted.setattr(owner, method, cast)
            with pytest.raises(KeyboardInterrupt):
                FIGURES[name](trace)
    assert FIGURES[name](trace).axes


@pytest.mark.parametrize("method", ["draw_path", "draw_text"])
@pytest.mark.parametrize("write", ["pixels", "file"])
def test_an_interrupt_stops_the_writing_of_a_picture_too(
    method: str, write: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figure: Any = FIGURES["net_diagram"](worked_example())
    monkeypatch.setattr(RendererAgg, method, cast)
    with pytest.raises(KeyboardInterrupt):
        figure_pixels(figure) if write == "pixels" else save(figure, tmp_path / "net", formats=("png",))
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
