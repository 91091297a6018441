"""One fuzzer of Python code, guided by coverage; started by ``run.py``.

It goes on behind what it finds: a finding is written down once, under its name.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path
from random import Random
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

atheris: Any = importlib.import_module("atheris")  # an extra of its own

SEEN: Final = (
    "hvm4viz.admit",
    "hvm4viz.book",
    "hvm4viz.heap",
    "hvm4viz.readback",
    "hvm4viz.state",
    "hvm4viz.syntax.",
    "hvm4viz.term",
    "hvm4viz.trace.",
)

with atheris.instrument_imports(include=["hvm4viz"], enable_loader_override=False):
    import hvm4viz
    from tests.fuzz import sealing, targets

    for module in pkgutil.walk_packages(hvm4viz.__path__, "hvm4viz."):  # some are imported late, out of sight
        if module.name.startswith(SEEN):
            importlib.import_module(module.name)


def main() -> None:
    """Fuzz one target for some seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=list(targets.TARGETS))
    parser.add_argument("--found", type=Path, required=True, help="folder for findings")
    given, arguments = parser.parse_known_args()  # the rest is libFuzzer's
    target = targets.TARGETS[given.name]

    def once(data: bytes) -> None:
        try:
            targets.bounded(target, data)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
            path = given.found / targets.name_of(error)
            if not path.exists():
                path.write_bytes(data)

    def mutate(data: bytes, size_max: int, seed: int) -> bytes:
        chance = Random(seed)
        if not data or chance.random() < 0.3:
            return atheris.Mutate(data, size_max)
        return sealing.change(data, chance)[:size_max]

    target(targets.first(given.name))  # what is compiled or imported late is not charged to an input
    words = [sys.argv[0], *arguments]
    if given.name == "trace":
        atheris.Setup(words, once, custom_mutator=mutate)
    else:
        atheris.Setup(words, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
