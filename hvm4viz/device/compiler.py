"""Find a C++ compiler, build a shared library once, keep it in the cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from hvm4viz.errors import CompileFailed, DeviceUnavailable

_FLAGS = ("-std=c++14", "-O2", "-fno-exceptions", "-fno-rtti", "-fno-strict-aliasing", "-shared", "-Wno-psabi")
_NAMES = ("c++", "g++", "clang++")
# zig builds a C library of its own the first time, unless nothing is linked; the kernel needs no more than memcpy and
# memset, which the running process has.
_ZIG_FLAGS = ("-fno-sanitize=undefined", *(("-nostdlib",) if sys.platform == "linux" else ()))
_ROOM_BYTES: Final = 4 << 20  # more than a kernel's library and what a compiler writes on its way there
_SUFFIX = ".dll" if sys.platform == "win32" else ".dylib" if sys.platform == "darwin" else ".so"

ADVICE = (
    "no C++ compiler was found. Install one (`pip install ziglang` is enough; or g++, clang++, Xcode's command line "
    "tools), or name one in HVM4VIZ_CXX"
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A command that compiles C++, and what tells it from another.

    Attributes
    ----------
    command : tuple of str
    identity : str
        Changes when the compiler does; part of the cache key.
    """

    command: tuple[str, ...]
    identity: str


def _identity(path: str) -> str:
    try:
        real = Path(path).resolve()
        stat = real.stat()
    except OSError:
        return path
    return f"{real} {stat.st_size} {stat.st_mtime_ns}"


def _named(text: str) -> Compiler | None:
    parts = text.split()
    found = shutil.which(parts[0]) if parts else None
    return Compiler((found, *parts[1:]), _identity(found) + " ".join(parts[1:])) if found else None


@cache
def find_compiler() -> Compiler:
    """Return the compiler to use: ``$HVM4VIZ_CXX``, ``$CXX``, c++, g++, clang++, then the ``ziglang`` package.

    Raises
    ------
    DeviceUnavailable
        If there is none, or the one named does not exist; the message says what to install.
    """
    for variable in ("HVM4VIZ_CXX", "CXX"):
        wanted = os.environ.get(variable)
        if wanted:
            compiler = _named(wanted)
            if compiler is None:
                raise DeviceUnavailable(f"{variable}={wanted!r} names no program; unset it or name a C++ compiler")
            return compiler
    for name in _NAMES:
        compiler = _named(name)
        if compiler is not None and not _is_broken(compiler):
            return compiler
    spec = importlib.util.find_spec("ziglang")
    if spec is not None and spec.origin is not None:
        return Compiler((sys.executable, "-m", "ziglang", "cc", "-x", "c++", *_ZIG_FLAGS), _identity(spec.origin))
    raise DeviceUnavailable(ADVICE)


def _is_broken(compiler: Compiler) -> bool:
    # macOS ships stubs named c++ that only ask to install the tools
    if sys.platform != "darwin":
        return False
    return subprocess.run([*compiler.command, "--version"], capture_output=True, check=False).returncode != 0


def wanted_cache() -> Path:
    """Return the folder that is to hold compiled kernels: ``$HVM4VIZ_CACHE``, or the cache folder of this user."""
    chosen = os.environ.get("HVM4VIZ_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir())) / "hvm4viz"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/hvm4viz").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hvm4viz"


def cache_folder() -> Path | None:
    """Return the folder of compiled kernels (``$HVM4VIZ_CACHE`` or the user's cache folder); None if not writable."""
    try:
        folder = wanted_cache()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: no home folder is known
        return None


@cache
def _session_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hvm4viz-", ignore_cleanup_errors=True)


def library(source: str, *, extra: tuple[str, ...] = ()) -> Path:
    """Compile C++ text to a shared library, or find it in the cache.

    Two processes may compile at once: each builds in a file of its own and renames it into place. Where the cache
    cannot be written, a full disk included, the library goes to a temporary folder that lasts as long as the process.

    Raises
    ------
    DeviceUnavailable
        If there is no compiler, or no folder that takes the library.
    CompileFailed
        With the compiler's own words.
    """
    compiler = find_compiler()
    flags = (*_FLAGS, *(() if sys.platform == "win32" else ("-fPIC",)), *extra)
    key = hashlib.sha256("\0".join((source, compiler.identity, *compiler.command, *flags)).encode()).hexdigest()[:32]
    name = f"kernel-{key}{_SUFFIX}"
    folder, why = cache_folder(), "it cannot be written"
    if folder is not None:
        try:
            return _built(source, compiler, flags, folder / name)
        except OSError as error:
            why = str(error)
    try:
        return _built(source, compiler, flags, Path(_session_folder().name) / name)
    except OSError as error:
        raise DeviceUnavailable(
            f"no folder takes the compiled kernel: not the cache{_where(folder)} ({why}), and no temporary folder "
            f"({error}). Free some space there, or name a folder that can be written in HVM4VIZ_CACHE"
        ) from None


def _where(folder: Path | None) -> str:
    try:
        return f" {folder or wanted_cache()}"
    except RuntimeError:  # no home folder is known
        return ""


def _built(source: str, compiler: Compiler, flags: tuple[str, ...], target: Path) -> Path:
    """Return a library, built unless it is there; ``OSError`` if its folder is at fault."""
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-", ignore_cleanup_errors=True) as build:
        text, output = Path(build) / "kernel.cpp", Path(build) / f"kernel{_SUFFIX}"
        text.write_text(source, encoding="utf-8")
        done = _compiled([*compiler.command, *flags, str(text), "-o", str(output)], target.parent, build)
        if done.returncode != 0 or not output.exists():
            _ask_for_room(Path(build))
            words = (done.stderr or done.stdout).strip()
            raise CompileFailed(f"the kernel does not compile with {' '.join(compiler.command)}:\n{words}", text=words)
        output.replace(target)
    return target


def _compiled(command: list[str], folder: Path, build: str) -> subprocess.CompletedProcess[str]:
    env = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"), **os.environ}  # zig wants a place of its own to write to
    env |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), build)  # all on one disk: whether it is full, one look tells
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL, env=env
        )
    except OSError as error:
        raise CompileFailed(f"the compiler {command[0]} could not be started: {error}. {ADVICE}") from None


def _ask_for_room(build: Path) -> None:
    """Raise ``OSError`` where a compiler that failed may have found no room: its words come in any language."""
    with (build / "room").open("wb") as file:
        file.write(bytes(_ROOM_BYTES))
        os.fsync(file.fileno())
