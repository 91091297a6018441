"""The line that tells how far a sweep is."""

from __future__ import annotations

from hvm4viz.sweeps.progress import SweepProgress


def test_the_line_comes_after_half_a_second_four_times_a_second_and_stays() -> None:
    shown: list[tuple[str, str]] = []
    now = [0.0]
    progress = SweepProgress(lambda line, end: shown.append((line, end)), 100, 20, clock=lambda: now[0])
    for step in range(40):
        now[0] = 0.1 * (step + 1)
        progress.count("done" if step % 10 else "error")
    progress.end("stopped")
    assert len(shown) <= 0.5 + 4 * 4 + 1
    assert shown[0] == ("25 of 100 runs | 20 kept from before | 1 not done | about 8 s left", "")
    assert shown[-1] == ("60 of 100 runs | 20 kept from before | 4 not done | stopped after 4 s", "\n")


def test_short_sweeps_are_silent() -> None:
    shown: list[str] = []
    progress = SweepProgress(lambda line, _: shown.append(line), 2, 0, clock=lambda: 0.0)
    progress.count("done")
    progress.count("done")
    progress.end("done")
    assert shown == []
