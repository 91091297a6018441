"""The search for cells whose term can go on, because a variable was filled after they stopped at it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device.base import Buffer, Function, view
from hvm4viz.errors import KernelFault
from hvm4viz.kernel_text import abi
from hvm4viz.store import Store

_WORK, _FOUND = 1 << 16, 1 << 12


def settle(store: Store, function: Function, params: Buffer, root: int) -> NDArray[np.uint32]:
    """Find the cells below ``root`` whose term can go on; see ``Frontier.late``."""
    device, heap = store.device, store.heap
    work, found = _WORK, _FOUND
    while True:
        work_buffer, found_buffer = device.buffer(4 * work), device.buffer(4 * found)
        io = device.buffer(np.array([root, work, found, abi.SUM_POISON, 0], np.uint32))
        seen = device.buffer(store.regions.in_use * store.machine.region_size // 8 + 4)
        function(1, params, heap, store.roots, work_buffer, found_buffer, io, seen, *store.watch_buffers[:2]).wait()
        status, number = (int(n) for n in view(io, np.uint32)[3:5])
        if status == 0:
            return view(found_buffer, np.uint32)[:number]
        if status != 1:
            raise KernelFault(f"the search for late variables left the status word {status:#x}: it did not run")
        work, found = 4 * work, 4 * found
