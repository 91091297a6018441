"""What is written around a figure: which run it shows, and what of it."""

from __future__ import annotations

from typing import Final

from hvm4viz import __version__
from hvm4viz.figures.style import plain_text, short_count
from hvm4viz.measure.regions import RegionMap
from hvm4viz.trace.trace import Trace

WORDS: Final = {
    "deferrals": "deferrals by home region",
    "deferrals to": "deferrals by owner region",
    "entries": "entries by home region",
    "cells": "cells in use",
    "remote writes": "remote linear writes",
    "takes": "slots taken",
    "writes": "cells changed",
}
"""What each map counts, in words."""


def title(trace: Trace, *, chars_max: int = 28) -> str:
    """Name the program: its file and, unless it is main, its entry."""
    files = [name for name, _ in trace.header.source]
    name = files[0].strip("<>").replace("\\", "/").rsplit("/", 1)[-1] if files else "heap laid out by hand"
    entry = trace.header.entry
    return plain_text(name if entry in ("", "main") else f"{name}: {entry}", chars_max=chars_max)


def facts(trace: Trace) -> list[str]:
    """Say how the run went: status, passes, interactions, deferrals, device, digest."""
    status = trace.end.status.replace("_", " ") if trace.end else trace.state
    digest = trace.digest_or_none()
    return [
        status,
        plural(trace.n_passes, "pass", "passes"),
        plural(int(trace.interactions.sum()), "interaction", "interactions"),
        plural(trace.n_deferrals, "deferral", "deferrals"),
        plain_text(_devices(trace), chars_max=24) or "no device",
        f"digest {digest[:4]}" if digest else "no digest",
    ]


def difference_title(a: Trace, b: Trace, *, chars_max: int = 28) -> str:
    """Name the program of two runs, or both if they differ, and the order: b less a."""
    names = (title(a, chars_max=100), title(b, chars_max=100))
    return plain_text(names[0] if names[0] == names[1] else f"{names[1]} − {names[0]}", chars_max=chars_max)


def difference_facts(a: Trace, b: Trace) -> list[str]:
    """Say what becomes of settings and totals from one run to the other: those settings that differ."""
    old, new = dict(a.header.machine), dict(b.header.machine)
    changed = [f"{name} {old.get(name)} → {new.get(name)}" for name in {**old, **new} if old.get(name) != new.get(name)]
    said = ", ".join(changed[:2]) + (f" and {len(changed) - 2} more" if len(changed) > 2 else "")
    counts = (
        ("passes", a.n_passes, b.n_passes),
        ("interactions", int(a.interactions.sum()), int(b.interactions.sum())),
        ("deferrals", a.n_deferrals, b.n_deferrals),
    )
    return [
        plain_text(said, chars_max=48) or "same settings",
        *(
            f"{name} {short_count(one)} → {short_count(two)}" if one != two else f"{short_count(one)} {name}"
            for name, one, two in counts
        ),
    ]


def alt_text(trace: Trace, shown: str) -> str:
    """Say in words what a figure shows, for those who cannot see it."""
    widest = int(trace.frontier_sizes.max(initial=0))
    return (
        f"{shown}: {title(trace)}, {', '.join(facts(trace))}; at most {plural(widest, 'entry', 'entries')} in one pass."
    )


def provenance(trace: Trace) -> str:
    """Name the run that a figure shows: digest, settings, version."""
    settings = ", ".join(f"{name}={value}" for name, value in trace.header.machine.items())
    text = f"hvm4viz {__version__}; digest {trace.digest_or_none() or 'none'}; {settings}"
    return plain_text(text, chars_max=1000)


def _devices(trace: Trace) -> str:
    """Name the devices without what they say of themselves in brackets."""
    return ", ".join(dict.fromkeys(name.partition(" (")[0] for name in trace.devices))


def what_is_shown(found: RegionMap) -> str:
    """Say what a map counts, and where there is none of it."""
    above = found.all_regions - found.n_regions
    return WORDS[found.what] + (f"  ·  none in {plural(above, 'region', 'regions')} above" if above else "")


def what_a_pixel_is(found: RegionMap) -> str:
    """Say what was gathered into one pixel of a map, if anything."""
    if not found.is_binned:
        return ""
    regions = plural(found.regions_per_bin, "region", "regions")
    passes = plural(found.passes_per_bin, "pass", "passes")
    return f"each pixel: {found.reduce} of {regions} × {passes}"


def plural(number: int, one: str, many: str) -> str:
    """Write a count with its word."""
    shown = short_count(number) if number < 1_000_000 else f"{number / 1e6:.3g}M"
    return f"{shown} {one if number == 1 else many}"
