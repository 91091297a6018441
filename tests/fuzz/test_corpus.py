"""Every input that a fuzzer kept, past findings among them, through its target. The fuzzers: ``tests/fuzz/run.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from hvm4viz.errors import TraceError
from hvm4viz.program import parse
from hvm4viz.trace import open_trace
from tests.fuzz import boiling, heaps, images, sealing, targets
from tests.sanitizers.run import environment, runtimes

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
GOLDEN = sorted((HERE.parent / "golden").glob("*.hvt"))


def kept(name: str) -> list[Path]:
    """Return a corpus, which must be there."""
    found = sorted((CORPUS / name).iterdir())
    assert found, f"the corpus of {name} is empty"
    return found


@pytest.mark.parametrize("name", ["parser", "printer", "trace"])
def test_every_input_is_taken_or_refused_in_time(name: str) -> None:
    target = targets.TARGETS[name]
    target(targets.first(name))
    for path in kept(name):
        try:
            targets.bounded(target, path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path}: {targets.name_of(error)}") from error


def sanitized(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the kernel compiled for AddressSanitizer and UndefinedBehaviorSanitizer."""
    try:
        runtimes("asan")
    except FileNotFoundError as reason:
        pytest.skip(str(reason))
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment("asan"),
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
        errors="replace",
    )


@pytest.mark.slow
def test_no_image_that_is_let_in_reaches_outside_the_heap() -> None:
    done = sanitized(str(HERE / "once.py"), "heaps", *map(str, kept("heaps")))

    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-4000:]


WITHOUT_THE_DOOR = """
from tests.fuzz import heaps
heaps.admit = lambda *image: None
heaps.heaps(bytes([0, 0, 63, 0, 255] + [0, 0, 0, 255, 0, 0, 1, 255, 0, 0, 2, 16, 0, 0, 7, 0]))
"""


@pytest.mark.slow
def test_an_image_that_is_not_let_in_would_be_reported() -> None:
    done = sanitized("-c", WITHOUT_THE_DOOR)

    assert "AddressSanitizer" in done.stderr
    assert "step_enter" in done.stderr


def test_images_fire_most_rules_on_every_machine() -> None:
    seen = set[tuple[object, ...]]()
    for path in kept("heaps"):
        seen |= heaps.ways(path.read_bytes())

    for number, machine in enumerate(images.MACHINES):
        rules = {way[2] for way in seen if len(way) == 3 and way[0] == number and isinstance(way[2], int)}
        assert len(rules) > 20, machine


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_sealed_change_gets_past_the_checksums(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    assert sealing.seal(data) == data
    changed = tmp_path / "run.hvt"
    complete = 0
    for seed in range(40):
        changed.write_bytes(sealing.change(data, Random(seed)))
        try:
            complete += open_trace(changed).complete
        except TraceError:
            continue

    assert complete >= 5


def test_what_is_broken_is_reported_by_name() -> None:
    def slow(data: bytes) -> None:
        raise targets.Broken(f"took {len(data)} s")

    with pytest.raises(targets.Broken) as caught:
        targets.bounded(slow, b"x")
    assert targets.name_of(caught.value) == "Broken-took-test_corpus-slow"


@pytest.mark.parametrize(
    ("source", "is_ambiguous"),
    [
        ("(λa.a) - 2", True),
        ("(λa.a)(2) - 2", False),
        ("1 - 2", False),
        ("1 - λa.a", False),
        ("(&{} ~> 1)(2) - 3", True),
        ("(1<>2) === 3", True),
        ("[λa.a]", False),
    ],
)
def test_printing_leaves_out_parentheses_where_it_is_known_to(source: str, is_ambiguous: bool) -> None:  # noqa: FBT001
    book = parse(f"@main = {source}").book

    assert targets.is_ambiguous(book, int(book.roots[0])) is is_ambiguous


def test_boiling_keeps_one_input_for_each_way(tmp_path: Path) -> None:
    work, corpus = tmp_path / "work", tmp_path / "corpus"
    work.mkdir()
    for name, source in {"a": "@main = 1", "b": "@main = 12", "c": "@main = [1]", "d": "@main = λx. x"}.items():
        (work / name).write_text(source)
    corpus.mkdir()
    (corpus / "KeyError-reader-past").write_text("@main = (")

    boiling.boil("parser", work, corpus)
    boiling.boil("parser", work, corpus)

    assert sorted(path.read_text() for path in corpus.iterdir()) == [
        "@main = (",
        "@main = 1",
        "@main = [1]",
        "@main = λx. x",
    ]


def test_the_compiler_of_a_fuzzed_kernel_runs_without_the_sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    preloaded: list[str | None] = []

    class Library:
        class fuzz_drive:  # noqa: N801  (as it is called there)
            pass

    def load(_: str) -> Library:
        preloaded.append(os.environ.get("LD_PRELOAD"))
        return Library()

    monkeypatch.setattr(heaps, "load", load)
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    heaps._drive.__wrapped__()
    assert preloaded == [None]
