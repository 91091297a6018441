"""Boil what a fuzzer kept down to the fewest, smallest inputs that still go every way through the code that any goes.

A way is a step from line to line of Python; of the kernel, a rule that fires, or how a run ends, on one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz import heaps, targets

FILES_MAX: Final = 400
"""Files of one corpus: pytest runs all of them."""

BYTES_MAX: Final = 512 << 10

SEEN: Final = (
    "hvm4viz/syntax/",
    "hvm4viz/trace/",
    "hvm4viz/book.py",
    "hvm4viz/program.py",
    "hvm4viz/state.py",
    "hvm4viz/heap.py",
)

Arc = tuple[str, int, int]


def ways(target: Callable[[bytes], None], data: bytes) -> set[Arc]:
    """Return the steps from line to line that an input takes through the package."""
    found: set[Arc] = set()

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        name = frame.f_code.co_filename
        if not any(part in name for part in SEEN):
            return None
        last = -frame.f_code.co_firstlineno

        def on_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            del argument
            if event == "line":
                found.add((name, last, frame.f_lineno))
                last = frame.f_lineno
            return on_line

        return on_line

    sys.settrace(on_call)
    try:
        target(data)
    except Exception:  # noqa: BLE001  (a finding goes ways too)
        pass
    finally:
        sys.settrace(None)
    return found


def boil(name: str, work: Path, corpus: Path) -> None:
    """Bring a corpus up to what a fuzzer has found since; files that have a name for what they are stay."""
    corpus.mkdir(parents=True, exist_ok=True)
    look: Callable[[bytes], set[Any]] = heaps.ways if name == "heaps" else partial(ways, targets.TARGETS[name])
    named = [path for path in corpus.iterdir() if not _is_digest(path.name)]
    known: set[Any] = set()
    for path in named:
        known |= look(path.read_bytes())
    plain = [path for folder in (corpus, work) if folder.is_dir() for path in folder.iterdir() if path not in named]
    chosen = list(_chosen(plain, look, known))
    for path in corpus.iterdir():
        if path not in named:
            path.unlink()
    for data in chosen:
        (corpus / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)


def _chosen(paths: Iterable[Path], look: Callable[[bytes], set[Any]], known: set[Any]) -> Iterable[bytes]:
    """Take the smallest first, and only those that go a way that none before went."""
    size = count = 0
    inputs = sorted({path.read_bytes() for path in paths}, key=lambda data: (len(data), data))
    for data in inputs:
        if size + len(data) > BYTES_MAX or count >= FILES_MAX:
            continue
        new = look(data) - known
        if new:
            known |= new
            size += len(data)
            count += 1
            yield data


def _is_digest(name: str) -> bool:
    return len(name) == 12 and all(letter in "0123456789abcdef" for letter in name)


def main() -> None:
    """Run ``boiling.py NAME WORK CORPUS``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=list(targets.TARGETS))
    parser.add_argument("work", type=Path)
    parser.add_argument("corpus", type=Path)
    given = parser.parse_args()
    boil(given.name, given.work, given.corpus)


if __name__ == "__main__":
    main()
