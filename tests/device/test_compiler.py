from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hvm4viz.device import compiler
from hvm4viz.errors import CompileFailed, DeviceUnavailable

TINY = 'extern "C" int seven() { return 7; }\n'
RUN = "import hvm4viz as hv; print(hv.run('@main = 1 + 2').text)"


@pytest.fixture(autouse=True)
def fresh_lookup(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    compiler.find_compiler.cache_clear()
    monkeypatch.setattr(compiler, "_FLAGS", ("-O0", "-shared"))
    yield
    compiler.find_compiler.cache_clear()


def test_same_source_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))

    first = compiler.library(TINY)
    stamp = first.stat().st_mtime_ns
    second = compiler.library(TINY)

    assert first == second
    assert first.parent == tmp_path
    assert second.stat().st_mtime_ns == stamp
    assert compiler.library(TINY + "\n") != first


def test_other_compiler_gives_another_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))
    first = compiler.library(TINY)
    wrapper = tmp_path / "wrapper"
    command = shlex.join(compiler.find_compiler().command)
    wrapper.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("HVM4VIZ_CXX", str(wrapper))
    compiler.find_compiler.cache_clear()

    assert compiler.library(TINY) != first


def test_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("HVM4VIZ_CACHE", str(blocked / "cache"))

    assert compiler.cache_folder() is None
    assert compiler.library(TINY).exists()


def test_error_names_both_folders_where_none_takes_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("HVM4VIZ_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(blocked / "temporary"))
    monkeypatch.setattr(compiler, "_session_folder", compiler._session_folder.__wrapped__)

    with pytest.raises(DeviceUnavailable, match="HVM4VIZ_CACHE") as caught:
        compiler.library(TINY)

    assert f"not the cache {blocked / 'cache'} (it cannot be written)" in str(caught.value)
    assert str(blocked / "temporary") in str(caught.value)


def test_compiler_that_finds_no_room_compiles_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, wrapper = tmp_path / "cache", tmp_path / "wrapper"
    command = shlex.join(compiler.find_compiler().command)
    wrapper.write_text(
        f'#!/bin/sh\ncase "$TMPDIR" in {cache}/*) echo kein Platz >&2; exit 1;; esac\nexec {command} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("HVM4VIZ_CACHE", str(cache))
    monkeypatch.setenv("HVM4VIZ_CXX", str(wrapper))
    compiler.find_compiler.cache_clear()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(CompileFailed, match="kein Platz"):
        compiler.library(TINY)
    monkeypatch.setattr(os, "fsync", full)

    found = compiler.library(TINY)

    assert found.exists()
    assert not found.is_relative_to(tmp_path)


def test_no_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HVM4VIZ_CXX", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(DeviceUnavailable, match="pip install ziglang"):
        compiler.find_compiler()


def test_named_compiler_that_is_not_there_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HVM4VIZ_CXX", "no-such-compiler -O3")

    with pytest.raises(DeviceUnavailable, match="HVM4VIZ_CXX='no-such-compiler -O3'"):
        compiler.find_compiler()


def test_error_carries_the_compilers_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))

    with pytest.raises(CompileFailed, match="undeclared_thing"):
        compiler.library("int f() { return undeclared_thing; }")
    assert not list(tmp_path.glob("kernel-*"))


def test_two_processes_compile_at_once(tmp_path: Path) -> None:
    environment = {"HVM4VIZ_CACHE": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    commands = [
        subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]

    assert [command.communicate()[0].strip() for command in commands] == ["3", "3"]
    assert len(list(tmp_path.glob("kernel-*"))) == 1


def test_damaged_library_in_the_cache_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hvm4viz.device.cpu import CpuDevice, wrap

    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))
    source = """
typedef unsigned uint;
#define ENTRY(n) extern "C" void n
#define GRID_INDEX unsigned index
#define BUFFER(type, name, slot) type* name
ENTRY(nothing)(BUFFER(uint, a, 0), GRID_INDEX) {}
"""
    compiler.library(wrap(source)[0]).write_bytes(b"not a library")

    CpuDevice(1).kernel(source).function("nothing")(1, CpuDevice(1).buffer(4))


def test_library_that_can_never_be_loaded_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hvm4viz.device.cpu import load

    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nfor last; do :; done\necho "no library" > "$last"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))
    monkeypatch.setenv("HVM4VIZ_CXX", str(wrapper))
    compiler.find_compiler.cache_clear()

    with pytest.raises(DeviceUnavailable, match=r"kernel-\w+\.so cannot be loaded: .* Name a folder in HVM4VIZ_CACHE"):
        load(TINY)
