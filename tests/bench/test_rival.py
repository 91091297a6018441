"""What a rival may do, and what is said of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hvm4viz.bench.rival import RivalFailed, find_rival, rival_peak, run_rival
from hvm4viz.bench.suite_programs import SuiteProgram, suite
from tests.bench.stand_in import ANSWER, TELL, seen, stand_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")


@pytest.fixture
def loop(tmp_path: Path) -> tuple[SuiteProgram, Path]:
    (program,) = suite(["loop"], size="small")
    file = tmp_path / "loop.hvm4"
    file.write_text(program.program.source, encoding="utf-8")
    return program, file


def test_it_is_asked_as_hvm4_is_and_its_own_word_is_taken(loop: tuple[SuiteProgram, Path], tmp_path: Path) -> None:
    run = run_rival(stand_in(tmp_path), *loop, timeout=30)
    assert (run.told_s, run.interactions, run.words) == (2.5, 1234, 77)
    assert run.seconds == 2.5
    assert 0 < run.wall_s < 2.5
    assert seen(tmp_path) == ["loop.hvm4 -s"]


def test_branches_are_asked_for_and_their_counts_left_out(tmp_path: Path) -> None:
    (program,) = suite(["search"], size="small")
    file = tmp_path / "search.hvm4"
    file.write_text(program.program.source, encoding="utf-8")
    assert run_rival(stand_in(tmp_path), program, file, timeout=30).told_s == 2.5
    assert seen(tmp_path) == ["search.hvm4 -s -C"]


@pytest.mark.parametrize("tell", ["", 'print("- Time: 0.000 seconds")', 'print("- Heap: many words")'])
def test_without_its_own_word_the_whole_process_counts(
    loop: tuple[SuiteProgram, Path], tmp_path: Path, tell: str
) -> None:
    run = run_rival(stand_in(tmp_path, ANSWER + tell), *loop, timeout=30)
    assert (run.told_s, run.words) == (None, None)
    assert run.seconds == run.wall_s > 0


@pytest.mark.parametrize(
    ("act", "says"),
    [
        ('print("#End{1,2}")' + TELL, r"^answers '#End\{1,2\}', not '#End\{2146152485,3285875\}'$"),
        ("print('y' * 1000)", r"^answers 'y{199}…', not "),
        (TELL, "^answers nothing, not "),
        ('sys.exit("no room")', "^ended with code 1: no room$"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "^died of signal 11$"),
        ("time.sleep(60)", "^took more than 0.5 s; raise --timeout$"),
        (r'sys.stdout.buffer.write(b"\xff\n")', "^answers "),
    ],
)
def test_what_is_no_answer_is_told(loop: tuple[SuiteProgram, Path], tmp_path: Path, act: str, says: str) -> None:
    with pytest.raises(RivalFailed, match=says):
        run_rival(stand_in(tmp_path, act), *loop, timeout=0.5 if "sleep" in act else 30)


def test_what_cannot_be_started_is_told(loop: tuple[SuiteProgram, Path], tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\x00\x01")
    path.chmod(0o755)
    with pytest.raises(RivalFailed, match="cannot be started: Exec format error"):
        run_rival(path, *loop, timeout=30)


def test_a_binary_that_is_not_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tmp_path / "plain"
    plain.write_text("", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="no such file; --vs takes"):
        find_rival(tmp_path / "nothing")
    with pytest.raises(PermissionError, match="cannot be executed; --vs takes"):
        find_rival(plain)
    with pytest.raises(IsADirectoryError, match="is a folder; --vs takes"):
        find_rival(tmp_path)
    rival = stand_in(tmp_path)
    assert find_rival(rival) == rival.resolve()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_rival("rival") == rival.resolve()


@pytest.mark.skipif(not hasattr(__import__("os"), "wait4"), reason="the system does not say")
def test_its_peak_is_that_of_its_own_process(loop: tuple[SuiteProgram, Path], tmp_path: Path) -> None:
    less = rival_peak(stand_in(tmp_path), *loop, timeout=30)
    more = rival_peak(stand_in(tmp_path, "block = b'x' * (64 << 20)" + ANSWER), *loop, timeout=30)
    assert less is not None
    assert more is not None
    assert 60 << 20 < more - less < 90 << 20


def test_a_peak_that_takes_too_long_is_none(loop: tuple[SuiteProgram, Path], tmp_path: Path) -> None:
    assert rival_peak(stand_in(tmp_path, "time.sleep(60)"), *loop, timeout=0.5) is None
