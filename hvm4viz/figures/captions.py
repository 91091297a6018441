"""What is written around a figure: which run it shows, and what of it."""

from __future__ import annotations

from typing import Final

from hvm4viz import __version__
from hvm4viz.figures.style import plain_text, short_count
from hvm4viz.measure.regions import RegionMap
from hvm4viz.trace.trace import Trace

_WORDS: Final = {
    "deferrals": "deferrals by home region",
    "deferrals to": "deferrals by owner region",
    "entries": "entries by home region",
    "cells": "cells in use",
    "remote writes": "remote linear writes",
}


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
        _count(trace.n_passes, "pass", "passes"),
        _count(int(trace.interactions.sum()), "interaction", "interactions"),
        _count(trace.n_deferrals, "deferral", "deferrals"),
        plain_text(_devices(trace), chars_max=24) or "no device",
        f"digest {digest[:4]}" if digest else "no digest",
    ]


def alt_text(trace: Trace, shown: str) -> str:
    """Say in words what a figure shows, for those who cannot see it."""
    widest = int(trace.frontier_sizes.max(initial=0))
    return (
        f"{shown}: {title(trace)}, {', '.join(facts(trace))}; at most {_count(widest, 'entry', 'entries')} in one pass."
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
    return _WORDS[found.what] + (f"  ·  none in {_count(above, 'region', 'regions')} above" if above else "")


def what_a_pixel_is(found: RegionMap) -> str:
    """Say what was gathered into one pixel of a map, if anything."""
    if not found.is_binned:
        return ""
    regions = _count(found.regions_per_bin, "region", "regions")
    passes = _count(found.passes_per_bin, "pass", "passes")
    return f"each pixel: {found.reduce} of {regions} × {passes}"


def _count(number: int, one: str, many: str) -> str:
    shown = short_count(number) if number < 1_000_000 else f"{number / 1e6:.3g}M"
    return f"{shown} {one if number == 1 else many}"
