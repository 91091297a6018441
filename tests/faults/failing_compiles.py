"""Compile while one operation on files fails after the other: ``python -m tests.faults.failing_compiles FOLDER``.

As ``failing``, for the cache of compiled kernels: what the cache does not take, a temporary folder does.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from hvm4viz.device import compiler
from tests.faults.failing import TRIES_MAX, open_files

KINDS: Final = {"full": 0, "broken": 1, "short": 2, "part": 3, "quota": 5, "read-only": 6, "denied": 7}
"""What ``failing.cpp`` calls each."""

TINY: Final = 'extern "C" int seven() { return 7; }\n'


def once(cache: Path, number: int, kind: str) -> dict[str, object]:
    """Compile while an operation fails; return what came of it."""
    before, left = ctypes.CDLL(None), ctypes.c_long()
    before.fail_no_more.restype = ctypes.c_char_p
    shutil.rmtree(cache, ignore_errors=True)
    error, made, files = "", Path(), open_files()
    before.fail_at(os.fsencode(cache.parent), ctypes.c_long(number), KINDS[kind])
    try:
        made = compiler.library(TINY)
    except BaseException as caught:  # noqa: BLE001  (which, is what is asked)
        error = f"{type(caught).__name__}: {caught}"
    failed = before.fail_no_more(ctypes.byref(left)).decode()
    return {
        "number": number,
        "kind": kind,
        "failed": failed,
        "is_done": left.value > 0,
        "error": error,
        "gives": ctypes.CDLL(str(made)).seven() if not error else 0,
        "is_in_cache": made.parent == cache,
        "leaked": open_files() - files,
    }


def main(folder: Path) -> None:
    """Fail every operation below ``folder`` in every way; the compiler only copies what was compiled before."""
    whole = shutil.copy(compiler.library(TINY), folder / "whole")
    wrapper, cache = folder / "wrapper", folder / "disk" / "cache"
    wrapper.write_text(f'#!/bin/sh\nfor last; do :; done\nexec cp {whole} "$last"\n')
    wrapper.chmod(0o755)
    os.environ |= {"HVM4VIZ_CXX": str(wrapper), "HVM4VIZ_CACHE": str(cache)}
    compiler.find_compiler.cache_clear()
    for kind in KINDS:
        for number in range(1, TRIES_MAX):
            told = once(cache, number, kind)
            sys.stdout.write(json.dumps(told) + "\n")
            if told["is_done"]:
                break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
