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

from hvm4viz.errors import CompileFailed, DeviceUnavailable

_FLAGS = ("-std=c++14", "-O2", "-fno-exceptions", "-fno-rtti", "-fno-strict-aliasing", "-shared", "-Wno-psabi")
_NAMES = ("c++", "g++", "clang++")
# zig builds a C library of its own the first time, unless nothing is linked; the kernel needs no more than memcpy and
# memset, which the running process has.
_ZIG_FLAGS = ("-fno-sanitize=undefined", *(("-nostdlib",) if sys.platform == "linux" else ()))
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

    Two processes may compile at once: each builds in a file of its own and renames it into place.

    Raises
    ------
    DeviceUnavailable
        If there is no compiler.
    CompileFailed
        With the compiler's own words.
    """
    compiler = find_compiler()
    flags = (*_FLAGS, *(() if sys.platform == "win32" else ("-fPIC",)), *extra)
    key = hashlib.sha256("\0".join((source, compiler.identity, *compiler.command, *flags)).encode()).hexdigest()[:32]
    folder = cache_folder() or Path(_session_folder().name)
    target = folder / f"kernel-{key}{_SUFFIX}"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as build:
        text, output = Path(build) / "kernel.cpp", Path(build) / f"kernel{_SUFFIX}"
        text.write_text(source, encoding="utf-8")
        command = [*compiler.command, *flags, str(text), "-o", str(output)]
        env = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"), **os.environ}  # zig wants a place of its own to write to
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                stdin=subprocess.DEVNULL,
                env=env,
            )
        except OSError as error:
            raise CompileFailed(f"the compiler {compiler.command[0]} could not be started: {error}. {ADVICE}") from None
        if done.returncode != 0 or not output.exists():
            words = (done.stderr or done.stdout).strip()
            raise CompileFailed(f"the kernel does not compile with {' '.join(compiler.command)}:\n{words}", text=words)
        output.replace(target)
    return target
