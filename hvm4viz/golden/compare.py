"""Where a replay of a golden run first differs from what is expected: pass, cell, and both words."""

from __future__ import annotations

from typing import Any

import numpy as np

from hvm4viz.device import Device, open_device
from hvm4viz.golden.replay import Replay, replay
from hvm4viz.golden.runs import Golden, made_with
from hvm4viz.kernel_text.source import kernel


def difference(golden: Golden, found: Replay, device: Device) -> str:
    """Say where a replay on a device first differs from what is expected; nothing if it does not.

    The words and events that are expected are those of the cpu device here, whose digests must be the golden ones.
    """
    wanted, got = golden.expected, found.expected
    for p, (mine, theirs) in enumerate(zip(wanted.heaps, got.heaps, strict=False)):
        if mine != theirs:
            return _words(golden, device, p, found)
    names = ["status", "lines", "log"]
    if golden.is_ordered:
        names += ["passes", "interactions", "trace"]
    for name in names:
        mine, theirs = getattr(wanted, name), getattr(got, name)
        if mine != theirs:
            what = f"{name}: expected {_shown(mine)}, got {_shown(theirs)}"
            return f"{what}\n{_events(golden, found)}" if name == "trace" else what
    return ""


def _words(golden: Golden, device: Device, p: int, found: Replay) -> str:
    """Name the first cell that differs after pass ``p``, with both words; those of the cpu device are right."""
    right = replay(golden, open_device("cpu", workers=1), keep=p)
    if right.words is None or right.expected.heaps[p] != golden.expected.heaps[p]:
        return f"pass {p}: the heap differs, and on the cpu device too: {_rewritten()}"
    again = replay(golden, device, keep=p)
    if again.words is None or again.expected.heaps[p] != found.expected.heaps[p]:
        return (
            f"pass {p}: the heap differs, and differs again when the run is repeated: the device is not deterministic"
        )
    n = min(len(right.words), len(again.words))
    at = np.flatnonzero(right.words[:n] != again.words[:n])
    if not len(at):
        return f"pass {p}: the words are the same, the owners of regions differ"
    loc = int(at[0])
    region = loc // golden.settings["region_size"]
    return (
        f"pass {p}, cell {loc} (region {region}): expected {int(right.words[loc]):#018x}, "
        f"got {int(again.words[loc]):#018x}; {len(at):,} cells differ"
    )


def _events(golden: Golden, found: Replay) -> str:
    """Name the first event that the cpu device has otherwise."""
    right = replay(golden, open_device("cpu", workers=1))
    if right.expected.trace != golden.expected.trace:
        return f"the cpu device has another trace, too: {_rewritten()}"
    mine, theirs = right.run.trace, found.run.trace
    for p in range(min(mine.n_passes, theirs.n_passes)):
        a, b = mine.events(p, p + 1), theirs.events(p, p + 1)
        for i in range(min(len(a), len(b))):
            differing = [n for n in a.dtype.names or () if a[n][i] != b[n][i]]
            if differing:
                each = ", ".join(f"{n} {a[n][i]} is {b[n][i]}" for n in differing)
                return f"pass {p}, event {i}, cell {int(a['loc'][i])}: {each}"
        if len(a) != len(b):
            return f"pass {p}: expected {len(a)} events, got {len(b)}"
    return "the events are the same"


def _rewritten() -> str:
    if made_with() != kernel().digest:
        return "the kernel has changed since the golden runs were made; python -m hvm4viz.golden.make writes new ones"
    return "this build of the kernel is wrong on every device"


def _shown(value: Any) -> str:
    text = str(list(value) if isinstance(value, tuple) else value)  # pyright: ignore[reportUnknownArgumentType]
    return text if len(text) <= 100 else f"{text[:97]}..."
