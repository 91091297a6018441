"""The command line on the stand-in: ``python -m tests.device.on_stand_in bench passes --device metal``.

``--never-again`` in front keeps the device from being opened again, to show what that is for.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hvm4viz.cli import main
from hvm4viz.device import openings

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent / "stand_in"))
    arguments = sys.argv[1:]
    if arguments[:1] == ["--never-again"]:
        arguments = arguments[1:]
        openings._open_copy = lambda *_: None  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    sys.exit(main(arguments))
