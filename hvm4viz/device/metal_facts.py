"""What a reader must know of the metal device."""

from __future__ import annotations

from typing import Final

METAL_FACTS: Final = (
    "language 2.3: 32-bit atomics of relaxed order; it has no 64-bit exchange or compare-and-swap, so none is used",
    "cells are plain aligned 64-bit words, with 32-bit stamps and claims beside them",
    "buffers are shared storage, read by the host where they lie: memory='private' and visibility='live' are refused",
    "the size of a hardware thread group is the driver's choice: threads_per_block counts logical threads",
    "a dispatch costs a little more than the one before: narrow passes run on the cpu, and the device is opened anew",
    "CI has no Metal hardware: hvm4viz selftest --device metal proves a Mac",
)
"""What a reader must know of the metal device, as published of metalcompute 0.2.9."""
