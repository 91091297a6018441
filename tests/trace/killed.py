"""A process to be killed: records without end, and says after every pass how many are acknowledged."""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
from pathlib import Path

from hvm4viz.trace import Recorder
from tests.trace.records import header, wide_passes


def main(path: str, width: int) -> None:
    told = list(wide_passes([width] * 4))
    kept = Recorder(path=Path(path), sync=True)
    kept.begin(header())
    for index in itertools.count():
        kept.on_pass(dataclasses.replace(told[index % 4], index=index))
        os.write(1, (index + 1).to_bytes(8, "little"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
