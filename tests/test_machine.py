"""The pass loop: what ends it, and when."""

from __future__ import annotations

import signal

from hvm4viz.execution import Execution
from hvm4viz.quiet import quiet_request


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
