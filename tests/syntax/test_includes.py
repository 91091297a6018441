"""Includes: once each by canonical path (D7), and never outside the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hvm4viz import limits
from hvm4viz.errors import HvmSyntaxError, IncludeError
from hvm4viz.program import Program, load, parse


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".hvm4")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "main.hvm4"


def names(program: Program) -> set[str]:
    return set(program.names)


def test_include_brings_in_the_definitions_of_a_file(tmp_path: Path) -> None:
    main = write(tmp_path, main='#include "lib.hvm4" @main = @one', lib="@one = 1")

    assert names(load(main)) == {"one", "main"}


def test_path_is_relative_to_the_including_file(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='#include "a/b.hvm4" @main = @c',
        a__b='#include "c.hvm4" #include "../d.hvm4"',
        a__c="@c=1",
        d="@d=1",
    )

    assert names(load(main)) == {"c", "d", "main"}


def test_absolute_path_inside_the_root_is_read(tmp_path: Path) -> None:
    main = write(tmp_path, main=f'#include "{tmp_path.as_posix()}/lib.hvm4" @main = @one', lib="@one = 1")

    assert "one" in names(load(main))


def test_file_is_read_once_however_its_path_is_written(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='#include "lib.hvm4" #include "./lib.hvm4" #include "a/../lib.hvm4" @main = @one',
        lib="@one = λ&x. x(x)",
        a__empty="",
    )

    program = load(main)

    assert [Path(name).name for name, _ in program.files] == ["main.hvm4", "lib.hvm4"]


def test_cycles_end_and_the_main_file_counts_as_read(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='#include "a/../a/x.hvm4" @main = @x',
        a__x='#include "../main.hvm4" #include "../a/y.hvm4" @x = 1',
        a__y='#include "./x.hvm4" @y = 1',
    )

    assert names(load(main)) == {"x", "y", "main"}


def test_automatic_labels_run_through_included_files(tmp_path: Path) -> None:
    main = write(tmp_path, main='@a = λ&x. x(x) #include "lib.hvm4" @b = λ&x. x(x)', lib="@c = λ&x. x(x)")

    book = load(main).book

    labels = {name: int(book.words[book.roots[i]] & 0xFFFFFFFF) for i, name in enumerate(book.names)}
    drawn = {name: int(book.words[body]) >> 32 & 0xFFFFFF for name, body in labels.items()}
    assert drawn == {"a": 0x800000, "c": 0x800001, "b": 0x800002}


@pytest.mark.parametrize("written", ["../out.hvm4", "a/../../out.hvm4", "link.hvm4", "linked/out.hvm4"])
def test_nothing_outside_the_root_is_read(tmp_path: Path, written: str) -> None:
    (tmp_path / "out.hvm4").write_text("@secret = 1")
    main = write(tmp_path / "in", main=f'@a = 1\n  #include "{written}"\n@main = 1', a__b="")
    try:
        (tmp_path / "in" / "link.hvm4").symlink_to(tmp_path / "out.hvm4")
        (tmp_path / "in" / "linked").symlink_to(tmp_path, target_is_directory=True)
    except OSError:
        pytest.skip("no symbolic links here")

    with pytest.raises(IncludeError, match="could not open") as caught:
        load(main)

    assert (caught.value.line, caught.value.col) == (2, 13)
    assert "outside the root" in caught.value.hint
    assert "secret" in names(load(main, root=tmp_path))


@pytest.mark.parametrize(
    ("written", "why"),
    {
        "missing.hvm4": "there is no file",
        ".": "it is no regular file",
        "": "it is no regular file",
        "a": "it is no regular file",
        "x" * 5000: "",
        "a\\0b": "",
        "\ud800": "",
        "main.hvm4/x": "",
    }.items(),
)
def test_what_cannot_be_read_is_told_with_its_place(tmp_path: Path, written: str, why: str) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(IncludeError, match="could not open") as caught:
        parse(f'#include "{written}"', root=tmp_path)

    assert (caught.value.line, caught.value.col) == (1, 11)
    assert why in caught.value.hint
    assert caught.value.hint
    assert "Errno" not in caught.value.hint.title()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_file_to_include(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.hvm4")

    with pytest.raises(IncludeError, match="could not open"):
        parse('#include "pipe.hvm4"', root=tmp_path)


def test_errors_name_the_included_file(tmp_path: Path) -> None:
    main = write(tmp_path, main='#include "lib.hvm4"\n@main = 1', lib="@a = 1\n@b = )")

    with pytest.raises(HvmSyntaxError) as caught:
        load(main)

    assert str(caught.value).startswith(f"{tmp_path / 'lib.hvm4'}:2:6: ")


def test_a_term_does_not_go_on_behind_the_end_of_its_file(tmp_path: Path) -> None:
    main = write(tmp_path, main='#include "lib.hvm4" (1) @main = 1', lib="@a = 1 +")

    with pytest.raises(HvmSyntaxError) as caught:
        load(main)

    assert "EOF" in str(caught.value)


@pytest.mark.parametrize("source", ['#include "a', "#include", "#include a", "#includ"])
def test_malformed_include_is_a_syntax_error(source: str) -> None:
    with pytest.raises(HvmSyntaxError):
        parse(source)


def test_files_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = write(tmp_path, main='#include "a.hvm4" #include "b.hvm4" @main = 1', a="", b="")
    monkeypatch.setattr(limits, "FILES_MAX", 3)
    load(main)
    monkeypatch.setattr(limits, "FILES_MAX", 2)

    with pytest.raises(IncludeError, match="at most 2 files") as caught:
        load(main)

    assert caught.value.span is not None


def test_size_of_a_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, lib="@a = 1   ")
    monkeypatch.setattr(limits, "PROGRAM_BYTES_MAX", 19)  # the text that includes it has 19
    parse('#include "lib.hvm4"', root=tmp_path)
    write(tmp_path, lib="@a = 1   " + " " * 11)

    with pytest.raises(IncludeError, match="more than 19 bytes"):
        parse('#include "lib.hvm4"', root=tmp_path)


def test_long_chains_of_includes_need_no_recursion(tmp_path: Path) -> None:
    count = 2000
    for index in range(count):
        (tmp_path / f"f{index}.hvm4").write_text(f'#include "f{index + 1}.hvm4"\n@d{index} = 1')
    (tmp_path / f"f{count}.hvm4").write_text("@main = 1")

    assert len(load(tmp_path / "f0.hvm4").names) == count + 1
