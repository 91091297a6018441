"""What the browser does with a frame, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.widgets.frames import ALIGNMENT, Frame


def unpack(frame: Frame) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame."""
    columns: dict[str, NDArray[Any]] = {}
    at = 0
    for name, code, length in frame.head["cols"]:
        dtype = np.dtype(f"<{code}")
        columns[name] = np.frombuffer(frame.data, dtype, length, at)
        at += -(-length * dtype.itemsize // ALIGNMENT) * ALIGNMENT
    assert at == len(frame.data)
    return columns
