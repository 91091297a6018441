"""The kernel on heap images: what ``hvm4viz.admit`` lets in must never reach outside the heap, crash or hang.

The kernel text is compiled as C++ for a sanitizer, ``drive.cpp`` behind it, and called from Python: under atheris the
kernel's own edges guide the fuzzer, since both are instrumented.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from hvm4viz.admit import BadImage, admit
from hvm4viz.device.cpu import load, wrap
from hvm4viz.frontier import protocol
from hvm4viz.kernel_text import abi
from hvm4viz.kernel_text.source import kernel
from tests.fuzz import images

HERE: Final = Path(__file__).parent
COMPILER: Final = (
    "clang++ -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
)
ENDS: Final = ("done", "parked", "passes", "stopped", "too wide")

_STEP: Final = "if (--w->steps == 0u"


class Missing(Exception):
    """The compiler or the runtime of the sanitizer is not installed."""


def text() -> str:
    """Return the kernel as shipped, with a counter of steps, and the driver behind it."""
    source = kernel().text
    assert source.count(_STEP) == 1
    source = source.replace(_STEP, "steps_done += 1u;\n    " + _STEP)
    driver = (HERE / "drive.cpp").read_text(encoding="utf-8")
    counter = "static ulong steps_done = 0;\n"
    assert driver.count(counter) == 1
    place = source.index("// ==== term.h")
    return wrap(source[:place] + counter + source[place:])[0] + driver.replace(counter, "")


def environment() -> dict[str, str]:
    """Return the environment of a process that fuzzes the kernel.

    Raises
    ------
    Missing
        If clang or atheris with its sanitizer is not installed.
    """
    found = importlib.util.find_spec("atheris")
    if found is None or found.origin is None:
        raise Missing("atheris is not installed: pip install -e '.[dev,fuzz]'")
    runtime = Path(found.origin).parent.parent / "asan_with_fuzzer.so"
    if not runtime.exists():
        raise Missing("this build of atheris has no asan_with_fuzzer.so")
    if shutil.which("clang++") is None:
        raise Missing("clang++ is not installed")
    return {
        **os.environ,
        "LD_PRELOAD": str(runtime),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:symbolize=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "HVM4VIZ_CXX": COMPILER,
        "HVM4VIZ_CACHE": str(Path(tempfile.gettempdir()) / "hvm4viz-fuzz-cache"),
        "PYTHONMALLOC": "malloc",
    }


@cache
def _drive() -> Any:
    os.environ.pop("LD_PRELOAD", None)  # it is loaded; a compiler under a sanitizer takes minutes
    call = load(text()).fuzz_drive
    call.restype = None
    return call


class Driver:
    """Runs images, and counts what came of them."""

    def __init__(self) -> None:
        self.refused = self.steps = self.interactions = 0
        self.ends = [0] * len(ENDS)
        self.ways: set[tuple[object, ...]] = set()
        book = images.book()
        self._code = np.ascontiguousarray(book.code)
        self._roots = np.ascontiguousarray(book.roots)

    def run(self, data: bytes) -> str:
        """Run one image; return how it ended, or why it was not let in."""
        image = images.decode(data)
        machine = image.machine
        try:
            admit(image.words, 0, images.book(), machine)
        except BadImage as error:
            self.refused += 1
            self.ways = {(re.sub(r"[0-9]+", "", str(error)),)}
            return str(error)
        slot, binder = (2, 2) if machine.threads == 1 else (4, 3)
        flags = protocol(machine) | abi.PARAM_COUNT
        flags |= abi.PARAM_SINGLE if machine.threads == 1 else 0
        flags |= abi.PARAM_LIFT if image.is_lifting else 0
        tpb_shift = machine.threads_per_block.bit_length() - 1
        settings = np.array(
            [
                machine.threads, tpb_shift, images.REGION.bit_length() - 1, flags,
                image.fuel, image.passes, slot, binder, len(kernel().rules),
            ],
            np.uint32,
        )  # fmt: skip
        out = np.zeros(4 + len(kernel().rules), np.uint64)
        words = np.ascontiguousarray(image.words)
        _drive()(
            *_args(words, len(words) // images.REGION, 0), *_args(self._code, len(self._code)),
            *_args(self._roots, len(self._roots)), *_args(settings), *_args(out),
        )  # fmt: skip
        steps, interactions, _, end, *rules = out.tolist()
        which = images.MACHINES.index(machine), image.is_lifting
        self.ways = {(*which, rule) for rule, count in enumerate(rules) if count}
        self.ways.add((*which, ENDS[end]))
        self.steps += steps
        self.interactions += interactions
        self.ends[end] += 1
        return ENDS[end]


def _args(array: Any, *numbers: int) -> list[Any]:
    return [ctypes.c_void_p(array.ctypes.data), *map(ctypes.c_uint32, numbers)]


@cache
def driver() -> Driver:
    """Return the one driver of this process."""
    return Driver()


def heaps(data: bytes) -> None:
    """What is let in runs within its heap; what is not is refused as it should be."""
    driver().run(data)


def ways(data: bytes) -> set[tuple[object, ...]]:
    """Return what an image shows: rules that fire and how it ends, by machine; or why it is refused."""
    driver().run(data)
    return driver().ways
