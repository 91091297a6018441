"""Carry out a golden run on a device, with the device doing every pass itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device import Device
from hvm4viz.execution import Execution
from hvm4viz.golden.runs import HEAP_DIGITS, Expected, Golden
from hvm4viz.outcome import Run
from hvm4viz.quiet import quiet_request

LINE_MAX: Final = 200
"""Characters of a result that are kept as they are."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it.

    Attributes
    ----------
    run : Run
    expected : Expected
        The same, in the form that is kept.
    words : ndarray of uint64 or None
        The heap after the pass that was asked for.
    """

    run: Run
    expected: Expected
    words: NDArray[np.uint64] | None


def replay(golden: Golden, device: Device, *, keep: int = -1) -> Replay:
    """Run a golden run again.

    Parameters
    ----------
    golden : Golden
    device : Device
    keep : int
        Pass after which to keep a copy of the heap.

    Raises
    ------
    DeviceError
        If the device fails before the first pass.
    ValueError
        If the device refuses the machine.
    """
    execution = Execution(
        quiet_request(
            golden.heap or golden.source,
            device=device,
            machine=golden.machine,
            mode=golden.mode,
            limit=golden.limit,
            alone=True,
        )
    )
    heaps: list[str] = []
    kept: list[NDArray[np.uint64]] = []

    def look() -> bool:
        image = execution.engine.image()
        heaps.append(image.digest()[:HEAP_DIGITS])
        if len(heaps) == keep + 1:
            kept.append(image.words.copy())
        return False

    stop = execution.advance(look)
    assert stop is not None
    run = execution.finish(stop)
    return Replay(
        run=run,
        expected=Expected(
            status=run.status.value,
            lines=tuple(short(line) for line in run.lines),
            log=tuple(run.log),
            passes=run.stats.passes,
            interactions=run.stats.interactions,
            trace=run.trace.digest(),
            heaps=tuple(heaps) if golden.is_ordered else (),
        ),
        words=kept[0] if kept else None,
    )


def short(line: str) -> str:
    """Return a line, or the digest of a long one."""
    if len(line) <= LINE_MAX:
        return line
    return f"sha256 {hashlib.sha256(line.encode('utf-8', 'surrogatepass')).hexdigest()}"
