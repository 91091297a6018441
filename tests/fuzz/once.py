"""Run inputs through their target; exit code 1 and the name of what went wrong, if anything did."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz import targets


def main() -> int:
    """Run ``once.py NAME FILE...``."""
    name, *paths = sys.argv[1:]
    target = targets.TARGETS[name]
    target(targets.first(name))  # so that what is imported late is not charged to an input
    for path in paths:
        sys.stdout.write(f"{path}\n")
        sys.stdout.flush()
        try:
            targets.bounded(target, Path(path).read_bytes())
        except Exception as error:  # noqa: BLE001  (that is what is asked for)
            traceback.print_exc()
            sys.stdout.write(targets.name_of(error) + "\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
