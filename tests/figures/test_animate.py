"""Moving pictures: a frame a pass, whole files or none, and nothing that runs for hours unasked."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

from hvm4viz import figures
from hvm4viz.errors import TraceError
from hvm4viz.figures import animate as module_or_function
from hvm4viz.figures.animate import animate
from hvm4viz.figures.frames import Frames
from hvm4viz.limits import FRAMES_MAX
from hvm4viz.trace import Trace
from tests.figures.subjects import TRACES
from tests.trace.records import event, one_pass, record, wide_passes, worked_example
from tests.widgets.browser import CHROMIUM, launch

SMALL: Any = {"size": (480, 300), "progress": False}


def frames_of(path: Path) -> list[np.ndarray]:
    with Image.open(path) as opened:
        picture: Any = opened
        found = []
        for at in range(picture.n_frames):
            picture.seek(at)
            found.append(np.asarray(picture.convert("RGB")).astype(int))
    return found


def test_it_is_exported() -> None:
    assert module_or_function is figures.animate is animate


def test_a_gif_has_a_frame_a_pass(tmp_path: Path) -> None:
    path = animate(worked_example(), tmp_path / "a.gif", **SMALL)
    shown = frames_of(path)
    assert [frame.shape for frame in shown] == [(300, 480, 3)] * 4
    assert all((one != two).any() for one, two in pairwise(shown))
    picture: Any = Image.open(path)
    assert picture.info["duration"] == 80  # hundredths of a second, near to 1/12
    assert picture.info["loop"] == 0
    assert worked_example().digest().encode() in picture.info["comment"]


def test_frames_keep_their_colours(tmp_path: Path) -> None:
    (first, *_) = frames_of(animate(worked_example(), tmp_path / "a.gif", passes=[1], **SMALL))
    exact = next(iter(Frames(worked_example(), [1], (480, 300))))[1].astype(int)
    assert np.abs(first - exact).max(axis=2).mean() < 3
    assert (np.abs(first - exact).max(axis=2) > 60).mean() < 0.002


def test_rows_and_axes_stand_still() -> None:
    frames = Frames(record(wide_passes([1, 60, 3])), [0, 1, 2], (640, 400))
    pictures = [picture for _, picture in frames]
    left = [picture[150:, :60] for picture in pictures]
    assert all((one == left[0]).all() for one in left), "names of threads move"


def test_passes_stride_and_order_are_those_asked_for(tmp_path: Path) -> None:
    trace = record(wide_passes([3] * 9))
    page = animate(trace, tmp_path / "a.html", passes=[7, -1, 0, 3], stride=2, **SMALL).read_text(encoding="utf-8")
    assert json.loads(re.findall(r"const facts = (.*);", page)[0])["passes"] == [7, 0]
    with pytest.raises(IndexError, match="pass 9"):
        animate(trace, tmp_path / "b.gif", passes=[9], **SMALL)


def test_a_page_needs_nothing_else_and_runs_nothing_foreign(tmp_path: Path) -> None:
    path = animate(TRACES["hostile"](), tmp_path / "a.html", **SMALL)
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|<script>\x00|src=\"(?!data:)", page)
    assert page.count("<script>") == 1
    (first,) = re.findall(r'const frames = \["([^"]+)"', page)
    assert Image.open(io.BytesIO(base64.b64decode(first))).size == (480, 300)
    assert re.search(r'alt="Animation of 1 passes: [^"]+\."', page)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: on Debian, apt-get install chromium")
def test_a_page_plays_and_steps_in_a_browser(tmp_path: Path) -> None:
    path = animate(worked_example(), tmp_path / "a.html", fps=30, **SMALL)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_context(offline=True).new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(error.message))
        page.goto(path.as_uri())
        told = page.locator("output")
        assert page.evaluate("() => document.querySelector('img').naturalWidth") == 480
        first = page.get_attribute("img", "src")
        page.keyboard.press("ArrowRight")
        assert told.inner_text() == "pass 1"
        assert page.get_attribute("img", "src") != first
        page.keyboard.press("ArrowLeft")
        page.click("#back")
        assert told.inner_text() == "pass 3", "it goes round"
        page.fill("#place", "2")
        assert page.get_attribute("#place", "aria-valuetext") == told.inner_text() == "pass 2"
        assert page.input_value("#rate") == "30"
        page.click("#play")
        assert page.inner_text("#play") == "pause"
        page.wait_for_function("() => document.querySelector('output').textContent === 'pass 1'")
        page.click("#play")
        assert page.inner_text("#play") == "play"
        browser.close()
    assert complaints == []


def test_equal_animations_are_equal_files(tmp_path: Path) -> None:
    for kind in ("gif", "html"):
        one, two = (animate(worked_example(), tmp_path / f"{n}.{kind}", **SMALL) for n in "ab")
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", ["one pass", "a pass of nothing", "counts", "all zero", "cut", "one region"])
def test_all_kinds_of_traces_move(name: str, tmp_path: Path) -> None:
    assert len(frames_of(animate(TRACES[name](), tmp_path / "a.gif", passes=[0, -1], **SMALL))) in (1, 2)


def test_a_mp4_is_what_a_player_takes(tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg here")
    path = animate(worked_example(), tmp_path / "a.mp4", fps=5, **SMALL)
    asked = ["ffmpeg", "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1"]
    raw = subprocess.run(asked, capture_output=True, check=True, timeout=60).stdout
    shown = np.frombuffer(raw, np.uint8).reshape(-1, 300, 480, 3)
    assert len(shown) == 4
    exact = [picture for _, picture in Frames(worked_example(), range(4), (480, 300))]
    assert np.abs(shown.astype(int) - np.stack(exact)).mean() < 4


def test_without_ffmpeg_a_gif_is_written_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(UserWarning, match=r"a\.mp4: MP4 needs ffmpeg.*wrote a\.gif instead"):
        path = animate(worked_example(), tmp_path / "a.mp4", **SMALL)
    assert path == tmp_path / "a.gif"
    assert len(frames_of(path)) == 4


def test_an_ffmpeg_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "ffmpeg"
    fake.write_text("#!/bin/sh\necho no such encoder >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(TraceError, match="no such encoder"):
        animate(worked_example(), tmp_path / "a.mp4", **SMALL)
    assert list(tmp_path.iterdir()) == [fake]


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_more_frames_than_anybody_watches_need_a_stride(
    extra: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = record([one_pass(p, [event(3)]) for p in range(FRAMES_MAX + extra)], level="counts")
    monkeypatch.setattr(Frames, "__iter__", lambda self: iter([(0, np.zeros((300, 480, 3), np.uint8))] * len(self)))
    if extra > 0:
        with pytest.raises(ValueError, match=r"2,001 frames, but at most 2,000.*stride=2"):
            animate(trace, tmp_path / "a.gif", **SMALL)
        animate(trace, tmp_path / "a.gif", stride=2, **SMALL)
        animate(trace, tmp_path / "a.gif", stride=1, **SMALL)  # somebody has thought of it
    else:
        animate(trace, tmp_path / "a.gif", **SMALL)


@pytest.mark.parametrize("kind", ["gif", "html", "mp4"])
def test_an_interrupt_leaves_what_was_there(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "mp4" and shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg here")
    path = tmp_path / f"a.{kind}"
    path.write_text("an older one")

    def stopped(_: Frames) -> Any:
        yield 0, np.zeros((300, 480, 3), np.uint8)
        raise KeyboardInterrupt

    monkeypatch.setattr(Frames, "__iter__", stopped)
    with pytest.raises(KeyboardInterrupt):
        animate(worked_example(), path, **SMALL)
    assert path.read_text() == "an older one"
    assert list(tmp_path.iterdir()) == [path]


def test_progress_is_one_line_that_says_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hvm4viz.progress.DELAY_S", 0.0)
    monkeypatch.setattr("hvm4viz.progress.INTERVAL_S", 0.0)
    animate(worked_example(), tmp_path / "a.gif", size=(480, 300))
    said = capsys.readouterr().err.split("\r\x1b[K")
    assert re.fullmatch(r"frame 2 of 4 \| pass 1 \| [\d.]+ frames/s \| \d+ s left", said[2])
    assert said[-1] == "frame 4 of 4 | done\n"
    animate(worked_example(), tmp_path / "a.gif", **SMALL)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("a.avi", {}, "must end in one of .gif, .mp4, .html"),
        ("a.gif", {"fps": 0}, "fps=0: must be above 0"),
        ("a.gif", {"fps": 101}, "at most 100"),
        ("a.gif", {"size": (319, 400)}, "must be 320 x 240"),
        ("a.gif", {"size": (400, 4097)}, "must be 320 x 240"),
        ("a.mp4", {"size": (481, 300)}, r"such as \(482, 300\)"),
        ("a.gif", {"stride": 0}, "stride=0"),
        ("a.gif", {"passes": []}, "no pass to show"),
    ],
)
def test_what_cannot_be_is_refused(name: str, options: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        animate(worked_example(), tmp_path / name, progress=False, **options)
    with pytest.raises(ValueError, match="no pass to show"):
        animate(Trace(None, None, (), level="events", devices=()), tmp_path / "a.gif", progress=False)
