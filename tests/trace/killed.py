"""A process to be killed: records without end, and says after every pass how many are acknowledged.

With ``torn`` every batch goes to the file in small pieces, so that a kill is likely to leave part of one.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

from hvm4viz.trace import Recorder, writer
from tests.trace.records import StandIn, full_passes, header

PIECES = 12


class Slowly:
    """``os`` for a slow disk: each write takes part of what it gets, and some time."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, file: int, data: Any) -> int:
        """Write a piece."""
        time.sleep(0.001)
        return os.write(file, data[: max(len(data) // self.pieces, 512)])


def main(path: str, width: int, level: str, how: str) -> None:
    if how == "torn":
        writer.os = Slowly(PIECES)  # type: ignore[assignment]
    passes = full_passes([width] * 4)
    kept = Recorder(level, path=Path(path), sync=how != "torn")  # type: ignore[arg-type]
    if level == "full":
        kept.watch(StandIn())
    kept.begin(header())
    for index in itertools.count():
        kept.on_pass(dataclasses.replace(passes[index % 4], index=index))
        if how == "torn":
            kept._seal()
        os.write(1, (index + 1).to_bytes(8, "little"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
