"""Where finished runs are kept: one small file a run, there completely or not at all."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from hvm4viz.device.compiler import wanted_cache
from hvm4viz.trace.whole import write_whole


def default_folder() -> Path:
    """Return the folder that keeps runs unless another is named: ``sweeps`` beside the compiled kernels."""
    return wanted_cache() / "sweeps"


class Shelf:
    """A folder of finished runs, by their keys.

    Any number of sweeps may share it at once; what one was killed while writing is not there.

    Parameters
    ----------
    folder : Path
        Made when the first run is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, key: str) -> dict[str, Any] | None:
        """Return what is kept of a run; None if nothing is, or what is there is damaged."""
        try:
            kept = json.loads(self._path(key).read_bytes())
            found: dict[str, Any] = kept["found"]
            return found if kept["sum"] == _sum(key, found) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, key: str, found: dict[str, Any]) -> None:
        """Keep a run; on the disk when this returns.

        Raises
        ------
        TraceError
            If it cannot be written.
        """
        path = self._path(key)
        with suppress(OSError):  # what is the matter is told when the file is written
            path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"found": found, "sum": _sum(key, found)})
        write_whole(path, text, overwrite=True, what="kept run")

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def _sum(key: str, found: dict[str, Any]) -> str:
    return hashlib.sha256(f"{key} {json.dumps(found, sort_keys=True)}".encode()).hexdigest()
