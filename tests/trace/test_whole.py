"""Files and folders that are there completely or not at all, and what is said where they cannot be."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hvm4viz.errors import TraceError, TraceExists
from hvm4viz.trace import whole
from hvm4viz.trace.whole import copy_whole, file_path, unwritable, whole_file, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def failing(number: int | None) -> Any:
    """Return a call that fails with this number."""

    def fails(*_: object, **__: object) -> None:
        raise OSError(number, "no luck") if number is not None else OSError("no luck")

    return fails


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    for content, expected in (("λ\r\n\n", "λ\r\n\n".encode()), (b"\xff\0\r", b"\xff\0\r"), ("", b"")):
        path = write_whole(str(tmp_path / "a.txt"), content, overwrite=True)
        assert path == tmp_path / "a.txt"
        assert path.read_bytes() == expected
    assert names(tmp_path) == ["a.txt"]


def test_a_file_is_replaced_only_where_that_was_asked_for(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "a.txt", "old")
    with pytest.raises(TraceExists, match=f"{path}: a file of that name is already there; .*overwrite=True"):
        write_whole(path, "new")
    with pytest.raises(TraceExists), whole_file(path):
        pytest.fail("work for nothing")
    assert path.read_text() == "old"
    write_whole(path, "new", overwrite=True)
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    ("name", "what", "says"),
    [
        ("", "page", "the name of the page is empty; write one, such as run.hvt"),
        ("a\0b", "page", r"'a\\x00b': the name of a page cannot have a null character"),
        ("folder", "file", "folder: this is a folder; name a file in it, such as folder/run.hvt"),
        ("folder.csv", "file", "folder.csv: this is a folder; name a file in it, such as folder.csv/run.csv"),
    ],
)
def test_a_path_that_names_no_file(
    name: str, what: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "folder.csv"):
        Path(folder).mkdir()
    for ask in (lambda: file_path(name, what=what), lambda: write_whole(name, "", what=what)):
        with pytest.raises(TraceError, match=says):
            ask()
    assert file_path("a.csv") == Path("a.csv")


@pytest.mark.parametrize("call", ["open", "fsync", "link"])
def test_what_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(whole.os, call, failing(errno.EIO))
    monkeypatch.setattr(Path, "rename", failing(errno.EIO))
    given = "given this name" if call == "link" else "written here"
    with pytest.raises(TraceError, match=f"a.txt: the page cannot be {given}: no luck; save elsewhere"):
        write_whole(tmp_path / "a.txt", "text", what="page")
    assert names(tmp_path) == []


def test_a_file_that_its_owner_may_not_change_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name == "nt":
        pytest.skip("there only what is open for writing can be brought to the disk")
    real = os.open

    def reads_alone(path: Any, flags: int, *rest: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, "read-only")
        return real(path, flags, *rest)

    with whole_file(tmp_path / "a.txt") as part:
        part.write_text("text")
        monkeypatch.setattr(whole.os, "open", reads_alone)
    assert (tmp_path / "a.txt").read_text() == "text"


@pytest.mark.parametrize("is_taken", [False, True])
def test_where_there_are_no_links_a_file_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_taken: bool
) -> None:
    path = tmp_path / "a.txt"

    def no_links(*_: object) -> None:
        if is_taken:
            path.write_text("theirs")
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(whole.os, "link", no_links)
    if is_taken:
        with pytest.raises(TraceExists):
            write_whole(path, "ours")
    else:
        write_whole(path, "ours")
    assert path.read_text() == ("theirs" if is_taken else "ours")
    assert names(tmp_path) == ["a.txt"]


def test_what_a_folder_holds_is_copied_and_may_be_changed(tmp_path: Path) -> None:
    source, other = tmp_path / "source", tmp_path / "other"
    for folder in (source / "in/deep", other):
        folder.mkdir(parents=True)
    for path, text in (
        (source / "a.txt", "a"),
        (source / "in/deep/b.txt", "b"),
        (source / "in/deep/d.txt", "d"),
        (other / "c.txt", "c"),
    ):
        path.write_text(text)
        path.chmod(0o400)
    target = tmp_path / "copy"
    assert copy_whole({source: ".", other: "programs"}, target, what="notebooks") == target
    assert names(target) == ["a.txt", "in", "in/deep", "in/deep/b.txt", "in/deep/d.txt", "programs", "programs/c.txt"]
    for name, text in (("a.txt", "a"), ("in/deep/b.txt", "b"), ("programs/c.txt", "c")):
        assert (target / name).read_text() == text
        assert (target / name).stat().st_mode & 0o200
    with pytest.raises(TraceError, match=f"{target}: the notebooks cannot be copied here: "):
        copy_whole({other: "."}, target, what="notebooks")
    assert (target / "a.txt").read_text() == "a"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "other", "source"]


def test_a_copy_that_does_not_reach_the_disk_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/a.txt").write_text("a")
    monkeypatch.setattr(whole.os, "fsync", failing(errno.EIO))
    with pytest.raises(TraceError, match="copy: the pages cannot be copied here: no luck"):
        copy_whole({tmp_path / "source": "."}, tmp_path / "copy", what="pages")
    assert names(tmp_path) == ["source", "source/a.txt"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, None, errno.EACCES])
def test_why_a_file_cannot_be_written(number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9000, 8000, 1000))  # type: ignore[attr-defined]
    error = OSError(number, "no luck") if number else OSError("no luck")
    path = tmp_path / "a.txt"
    is_full = number != errno.EACCES
    assert unwritable(path, error) == (
        "no luck; 1,000 bytes are free there; free some space or save elsewhere"
        if is_full
        else "no luck; save elsewhere"
    )
    path.write_bytes(bytes(1234))
    if is_full:
        assert unwritable(path, error).endswith(
            "are free there, and 1,234 were written; free some space or save elsewhere"
        )
    nowhere = tmp_path / "none/a.txt"
    assert (
        unwritable(nowhere, error) == f"there is no folder '{nowhere.parent}'; make it, or name a file in another one"
    )


@pytest.mark.parametrize(("number", "size"), [(errno.ENOSPC, r" \(it takes 1,234 bytes\)"), (errno.EACCES, "")])
def test_a_file_that_does_not_fit_is_told_with_its_size(
    number: int, size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "write_bytes", failing(number))
    with pytest.raises(TraceError, match=f"the file cannot be written here: no luck{size};"):
        write_whole(tmp_path / "a.txt", b"x" * 1234)
