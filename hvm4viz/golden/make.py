"""Write ``golden.json`` anew: ``python -m hvm4viz.golden.make``, once the kernel does something else on purpose."""

from __future__ import annotations

import sys
from dataclasses import replace

from hvm4viz.device import open_device
from hvm4viz.golden.chosen import runs
from hvm4viz.golden.replay import replay
from hvm4viz.golden.runs import FILE, Golden, written
from hvm4viz.kernel_text.source import kernel
from hvm4viz.trace.whole import write_whole


def made_anew() -> list[Golden]:
    """Carry out the chosen runs on the cpu device."""
    device = open_device("cpu", workers=1)
    return [replace(run, expected=replay(run, device).expected) for run in runs()]


def main() -> int:
    """Write the file."""
    made = made_anew()
    write_whole(FILE, written(made, kernel().digest), overwrite=True)
    for run in made:
        found = run.expected
        line = f"{run.name:24}{found.status:12}{found.passes:6} passes{found.interactions:8} interactions"
        sys.stdout.write(f"{line}  {found.lines[:1]}"[:140] + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
