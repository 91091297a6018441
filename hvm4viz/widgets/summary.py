"""A run in words: its answer cut to size, what went wrong, its statistics line, and what identifies it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from hvm4viz import __version__
from hvm4viz.errors import Hvm4vizError, ProgramError
from hvm4viz.settings import Machine
from hvm4viz.widgets.escape import terminal_text

if TYPE_CHECKING:
    from hvm4viz.outcome import Run
    from hvm4viz.trace import Trace

ANSWER_CHARS_MAX: Final = 4_000
ANSWER_LINES_MAX: Final = 40

_ALWAYS: Final = ("dup", "shard", "fuel", "heap")
_GEOMETRY: Final = ("blocks", "threads_per_block", "region_size")


def count(number: float, noun: str) -> str:
    """Write a number with its noun, in the singular if it is one."""
    return f"{number:,.0f} {noun}" if number != 1 else f"1 {noun.removesuffix('es') if noun == 'passes' else noun[:-1]}"


def answer(run: Run, *, chars: int = ANSWER_CHARS_MAX, lines: int = ANSWER_LINES_MAX) -> str:
    """Return the result lines, cut after so many characters and lines, saying how much was cut."""
    shown: list[str] = []
    left = chars
    everything = run.lines
    for line in everything[:lines]:
        shown.append(line if len(line) <= left else line[:left] + "…")
        left -= len(line)
        if left <= 0:
            break
    cut = sum(map(len, everything)) - sum(map(len, shown))
    if len(shown) < len(everything) or cut > 0:
        shown.append(f"… {count(len(everything), 'lines')}, {cut:,} more characters: the whole answer is Run.text")
    return "\n".join(shown)


def problem(error: Hvm4vizError) -> str:
    """Return an error's message; one that has no place in the source shows its hint only here."""
    hint = error.hint if isinstance(error, ProgramError) and error.span is None else ""
    return f"{error}; {hint}" if hint else str(error)


def summary(run: Run) -> str:
    """Return the statistics line."""
    stats = run.stats
    digest = run.trace.digest_or_none()
    parts = [
        run.status.value.replace("_", " "),
        count(stats.passes, "passes"),
        count(stats.interactions, "interactions"),
        count(stats.deferrals, "deferrals"),
        f"{stats.wall_s:.3g} s",
        run.device.name,
        f"digest {digest[:4]}" if digest else "no digest",
    ]
    if run.trace.dropped and run.trace.level == "events":
        parts.append(f"cut trace: {count(run.trace.dropped, 'events')} dropped")
    return " | ".join(parts)


def trace_summary(trace: Trace) -> str:
    """Return what a trace is of, in lines: result, status, sizes, what identifies the run."""
    end, digest = trace.end, trace.digest_or_none()
    lines = (
        []
        if end is None
        else [
            line if len(line) <= ANSWER_CHARS_MAX else line[:ANSWER_CHARS_MAX] + "…"
            for line in end.lines[:ANSWER_LINES_MAX]
        ]
    )
    facts = [
        (end.status if end else trace.state).replace("_", " "),
        count(trace.n_passes, "passes"),
        count(int(trace.interactions.sum()), "interactions"),
        count(trace.n_deferrals, "deferrals"),
        f"digest {digest[:4]}" if digest else "no digest",
    ]
    message = end.message if end else trace.note
    return terminal_text("\n".join(filter(None, [*lines, message, " | ".join(facts), provenance(trace)])))


def provenance(trace: Trace) -> str:
    """Return what identifies a run: program hash, settings of the machine, device, package version.

    Of the settings, a few are always named; the others if they are not what they are by default.
    """
    header = trace.header
    defaults = Machine().settings()
    named = {
        name: value
        for name, value in header.machine.items()
        if name in _ALWAYS or (name not in _GEOMETRY and value != defaults.get(name, value))
    }
    source = "\0".join(text for _, text in header.source).encode("utf-8", "surrogatepass")
    return " | ".join(
        [
            f"program {hashlib.sha256(source).hexdigest()[:8]}",
            f"{count(header.blocks, 'blocks')} of {count(header.threads_per_block, 'threads')}",
            f"regions of {count(header.region_size, 'cells')}",
            *(f"{name} {value}" for name, value in named.items()),
            ", ".join(trace.devices) or header.device,
            f"hvm4viz {__version__}",
        ]
    )
