"""What a run may come to need, against what the machine has: told before it begins, and once a heap is nearly full."""

from __future__ import annotations

import inspect
import math
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from hvm4viz.events import PassRecord, RunEnd, RunHeader
from hvm4viz.settings import Machine, parse_size

NEARLY: Final = 0.9
"""Share of its regions from which a heap is nearly full."""

_MEMINFO: Final = Path("/proc/meminfo")


class ResourceNotice(UserWarning):
    """A run may need more memory or disk than there is, or its heap is nearly full; it goes on all the same."""


def available_memory() -> int | None:
    """Return the bytes of memory that programs can still have, or None if the system does not say."""
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        return None


def memory_needs(machine: Machine, level: str, trace_limit: int | str) -> dict[str, int]:
    """Return the most bytes of memory that each part of a run may take.

    Parameters
    ----------
    machine : Machine
    level : {"off", "counts", "events", "full"}
        How much is recorded. At ``full`` a copy of the heap and a mark for each cell come with it.
    trace_limit : int or str
        Bytes at which events stop being kept.

    Returns
    -------
    needs : dict of str to int
    """
    heap = 8 * machine.heap_cells
    needs = {"the heap": heap}
    if level == "full":
        needs["its copy for record='full'"] = heap + heap // 8
    if level in ("events", "full"):
        needs["the trace"] = parse_size(trace_limit)
    return needs


def shortages(
    machine: Machine, level: str, trace_limit: int | str, save: str | Path | None, *, memory: int | None = None
) -> list[str]:
    """Say what a run may come to need and this machine does not have.

    Parameters
    ----------
    machine, level, trace_limit
        As ``memory_needs`` takes them.
    save : path-like or None
        File that the trace is written to.
    memory : int, optional
        Bytes of memory that there are; default: what the system says.

    Returns
    -------
    lines : list of str
        Empty if there is enough for the most that the run may take.
    """
    needs = memory_needs(machine, level, trace_limit)
    memory = available_memory() if memory is None else memory
    lines: list[str] = []
    if memory is not None and sum(needs.values()) > memory:
        parts = ", ".join(f"{name} {size(bytes_)}" for name, bytes_ in needs.items())
        lines.append(
            f"this run may come to need {size(sum(needs.values()))} of memory ({parts}); {size(memory)} are free. Set "
            "Machine(heap=...), trace_limit= or record= lower, if it is to stay within that"
        )
    if save is not None and "the trace" in needs:
        folder = Path(save).expanduser().parent
        free = shutil.disk_usage(folder).free if folder.is_dir() else None
        if free is not None and needs["the trace"] > free:
            lines.append(
                f"the trace may grow to {size(needs['the trace'])} and more; the disk of {folder} has {size(free)} "
                "free. Set trace_limit= lower, or record='counts'"
            )
    return lines


def size(nbytes: int) -> str:
    """Return a number of bytes in words, such as ``1.5 GiB``."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes >= unit:
            number = nbytes / unit
            return f"{number:,.0f} {name}" if number >= 100 else f"{number:.3g} {name}"
    return f"{nbytes:,} bytes"


def notice(text: str) -> None:
    """Warn whoever called the package; each place there is told a text once."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ResourceNotice, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "hvm4viz"


class HeapGauge:
    """The observer that tells once that the heap is nearly full.

    Of one that is full it says nothing: the run itself does, once that stops it.

    Parameters
    ----------
    machine : Machine
    tell : callable
        Gets the text.
    """

    def __init__(self, machine: Machine, tell: Callable[[str], None] = notice) -> None:
        self._machine = machine
        self._tell = tell
        self._regions = machine.heap_cells // machine.region_size
        self._at = max(math.ceil(NEARLY * self._regions), machine.blocks + 1)

    def begin(self, header: RunHeader) -> None:
        """Nothing to do before the first pass."""

    def on_pass(self, record: PassRecord) -> None:
        """Look at how many regions are in use."""
        if self._at <= len(record.cells) < self._regions:
            share = len(record.cells) / self._regions
            self._at = self._regions + 1
            self._tell(
                f"the heap is {share:.0%} full after pass {record.index:,} ({len(record.cells):,} of "
                f"{self._regions:,} regions are given out); a larger one than Machine(heap={self._machine.heap!r}) "
                "lets the run go on for longer"
            )

    def end(self, end: RunEnd) -> None:
        """Nothing to do after the last pass."""
