"""Names of files while they are written: whose they are, and when they are removed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hvm4viz.sweeps.shelf import Shelf
from hvm4viz.trace import parts
from hvm4viz.trace.parts import part_of
from hvm4viz.trace.whole import whole_file, write_whole


def part(path: Path, process: int, *, machine: str = parts._HERE, number: int = 0) -> Path:
    made = path.with_name(f".{path.name}.{machine}.{process}-{number}.part")
    made.write_text("half of")
    return made


@pytest.fixture
def dead() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.mark.skipif(os.name == "nt", reason="there nobody can ask whether a process is alive")
def test_parts_of_dead_processes_are_removed_and_those_of_live_ones_stay(tmp_path: Path, dead: int) -> None:
    path = tmp_path / "a[1]*.csv"
    gone = [part(path, dead), part(path, dead, number=7), part(path, os.getpid(), number=1 << 40)]
    alive = [part(path, os.getppid()), part(path, 1)]
    elsewhere = [part(path, dead, machine="another"), part(tmp_path / "a1b.csv", dead)]
    write_whole(path, "all of it")
    assert path.read_text() == "all of it"
    assert not any(each.exists() for each in gone)
    assert all(each.read_text() == "half of" for each in alive + elsewhere)


@pytest.mark.skipif(os.name == "nt", reason="there nobody can ask whether a process is alive")
def test_a_shelf_leaves_alone_what_another_process_is_writing(tmp_path: Path, dead: int) -> None:
    shelf = Shelf(tmp_path)
    shelf.keep("abcd", {"seconds": 1})
    path = tmp_path / "ab/abcd.json"
    theirs, left = part(path, os.getppid()), part(path, dead)
    shelf.keep("abcd", {"seconds": 2})
    assert shelf.find("abcd") == {"seconds": 2}
    assert theirs.exists()
    assert not left.exists()


def test_threads_that_save_the_same_file_never_see_each_others_half(tmp_path: Path) -> None:
    path, begun = tmp_path / "a.txt", threading.Barrier(2)
    texts = ("a" * 9, "b" * 9)

    def save(text: str) -> None:
        with whole_file(path, overwrite=True) as part:
            part.write_text(text[:4])
            begun.wait(10)
            part.write_text(text)

    threads = [threading.Thread(target=save, args=(text,)) for text in texts]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_as_long_as_names_can_be_has_a_part(tmp_path: Path) -> None:
    path = tmp_path / ("ö" * 125 + ".csv")
    write_whole(path, "1")
    with part_of(path) as name:
        assert len(os.fsencode(name.name)) <= 255
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_link_stays_a_link_and_a_private_file_private(tmp_path: Path) -> None:
    place, path = tmp_path / "kept/a.txt", tmp_path / "a.txt"
    place.parent.mkdir()
    place.write_text("old")
    place.chmod(0o600)
    path.symlink_to(place)
    write_whole(path, "new", overwrite=True)
    assert path.is_symlink()
    assert place.read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o600
    assert list(place.parent.iterdir()) == [place]
