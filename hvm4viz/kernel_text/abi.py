"""Layouts shared with the kernel: NumPy mirrors of the structs in ``kernels/layout.h``."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np

from hvm4viz.events import EVENT


def _words(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, "<u4") for name in names])


PARAMS: Final = _words(
    "threads", "tpb_shift", "region_shift", "slice_shift", "now", "fuel", "slot_cells", "lam_cells",
    "rules", "flags", "shard", "slack", "poll", "regions", "width", "spare",
)  # fmt: skip
THREAD_STATE: Final = _words(
    "next", "end", "region", "first", "count", "done", "out", "out_max", "out_count",
    "need", "need_node", "counted_lo", "counted_hi", "longest", "opens", "fills",
)  # fmt: skip
RECORD: Final = np.dtype(
    [("top", "<u8"), ("hand", "<u8"), ("root", "<u4"), ("flags", "<u4"), ("place", "<u4"), ("home", "<u4")]
)
SUMMARY: Final = _words(
    "status", "frontier", "parked", "starved", "interactions_lo", "interactions_hi", "longest", "ran",
    "stopped", "opens", "fills", "items_need", "records_need", "deferred", "records", "free",
)  # fmt: skip

SIZES: Final = (PARAMS.itemsize, THREAD_STATE.itemsize, RECORD.itemsize, EVENT.itemsize, SUMMARY.itemsize)
"""What ``layout_sizes`` of the compiled kernel must report."""

PARAM_SINGLE: Final = 1
PARAM_COUNT: Final = 2
PARAM_LIFT: Final = 4
PARAM_ALONE: Final = 8
PARAM_WEAK: Final = 16
PARAM_CLAIM: Final = 32
PARAM_ATOMIC: Final = 64
PARAM_BLOCK: Final = 128
PARAM_LIVE: Final = 256
PARAM_RETURN: Final = 512
PARAM_FORK: Final = 1024
RECORD_NEW: Final = 1
RECORD_SLOT: Final = 2
RECORD_REENTER: Final = 8
RECORD_KEPT: Final = 128
RECORD_NAMED: Final = 1 << 24
RECORD_ERROR_SHIFT: Final = 8
SUM_POISON: Final = 0xDEADBEEF
SUM_JOINED: Final = 2
SUM_GROW: Final = 3
SUM_LOST: Final = 4
NO_REGION: Final = 0xFFFFFFFF
"""``chain`` entry of the last region of a block."""

F_ROOT: Final = 64
F_APP, F_MAT, F_USE, F_DP0, F_DP1 = 65, 66, 67, 68, 69
F_OPL, F_OPR, F_EQL, F_EQR, F_AND, F_OR = 70, 71, 72, 73, 74, 75
F_DSU, F_DDU, F_RED, F_RMA, F_RUS = 76, 77, 78, 79, 80
F_LROOT, F_LNODE, F_LLAM = 81, 82, 83
FORKED: Final = 84
"""Tags of frames, as in ``kernels/term.h``."""

SCAN_PART: Final = 32
SCAN_GROUP: Final = 64
_ALL_WORDS, _D_WORDS = 22, 24


def dealt_bytes(threads: int) -> int:
    """Return the bytes that ``deal_frontier`` needs for its sums."""
    parts = -(-threads // SCAN_PART)
    return 4 * (_ALL_WORDS + _D_WORDS * threads + 2 * (parts + -(-parts // SCAN_GROUP)))


class Deal(IntEnum):
    """Steps of ``deal_frontier``."""

    CLEAR = 0
    FORKS = 1
    AWAIT = 2
    ADMIT = 3
    COUNT = 4
    SIZES = 5
    CHECK = 6
    RETIRE = 7
    PUSH = 8
    PLACE = 9
    SORT = 10
    COMMIT = 11
    FINISH = 12
    RULES = 13
    SCAN = 16
