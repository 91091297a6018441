from __future__ import annotations

import io

import numpy as np
import pytest

from hvm4viz.events import EVENT, OUTCOMES, PassRecord, RunEnd, RunHeader
from hvm4viz.progress import Progress, progress_for, terminal

HEADER = RunHeader((), "main", "snf", None, {}, (), 1, 1, 64, np.zeros(1, np.uint32), "cpu", "")


def one_pass(index: int) -> PassRecord:
    events = np.zeros(2, EVENT)
    events["outcome"] = [OUTCOMES.index("done"), OUTCOMES.index("deferred")]
    nothing = np.zeros(0, np.uint32)
    cells = np.full(2, 1 << 16, np.uint32)
    return PassRecord(index, 2, events, 500_000, np.zeros(0, np.uint64), cells, (), 0, nothing, 1, "cpu", 0, 0)


def shown(times: list[float]) -> list[str]:
    """Run one pass at each time; return every line with its end."""
    lines: list[str] = []
    clock = iter([0.0, 0.0, *times])
    progress = Progress(lambda line, end: lines.append(line + end), clock=lambda: next(clock))
    progress.begin(HEADER)
    for index in range(len(times)):
        progress.on_pass(one_pass(index))
    progress.end(RunEnd("done", "", (), ()))
    return lines


def test_a_short_run_shows_nothing() -> None:
    assert shown([0.1, 0.2, 0.49]) == []


def test_a_long_run_shows_at_most_four_lines_a_second_and_leaves_the_last() -> None:
    lines = shown([0.1 * step for step in range(1, 31)])
    assert 8 <= len(lines) - 1 <= 4 * 3
    assert lines[-1].endswith(" | done\n")
    assert not any(line.endswith("\n") for line in lines[:-1])


def test_the_line_tells_pass_frontier_deferrals_rate_and_heap() -> None:
    assert shown([0.25, 1.0])[0] == "pass 1 | frontier 2 | 2 deferrals | 1.00 M interactions/s | heap 1.0 MiB"


def test_a_terminal_is_written_over() -> None:
    sink = io.StringIO()
    show = terminal(sink)
    show("one", "")
    show("two", "\n")
    assert sink.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\n"


def test_silent_when_not_wanted_or_not_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert progress_for(wish=False, before=lambda: None) is None
    assert progress_for("auto", lambda: None) is None
    assert progress_for(wish=True, before=lambda: None) is not None
