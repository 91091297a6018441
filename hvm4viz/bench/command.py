"""``hvm4viz bench``: measure settings on programs."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any, Final

from hvm4viz.arguments import add_options, run_arguments
from hvm4viz.bench.passes import PASSES, measure_passes
from hvm4viz.bench.programs import samples
from hvm4viz.bench.protocols import measure_protocols
from hvm4viz.bench.report import as_markdown, provenance
from hvm4viz.bench.suite_command import add_suite
from hvm4viz.bench.traces import Size, measure_made_up, measure_recordings
from hvm4viz.bench.traces import as_markdown as recordings_as_markdown
from hvm4viz.commands import CODES, DIFFERENT, OK
from hvm4viz.streams import complain, note, put

_OPTIONS: Final = (
    "device", "workers", "blocks", "threads_per_block", "region_size", "heap", "visibility", "shard", "fork", "fuel",
)  # fmt: skip
"""What may be chosen for all protocols that are measured: the other settings make up the protocols."""


def add_bench(verbs: Any) -> None:
    """Add the command to the parser of the command line."""
    bench = verbs.add_parser(
        "bench", help="measure how fast it is", description="Measure how fast it is; WHAT is suite if left out."
    )
    kinds = bench.add_subparsers(title="what to measure", metavar="WHAT", required=True)
    add_suite(kinds)
    parser: argparse.ArgumentParser = kinds.add_parser(
        "protocols",
        help="passes and time under each duplication protocol",
        description="Passes and milliseconds of programs under each duplication protocol: medians of runs in turn.",
        allow_abbrev=False,
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="a name or a file (default: all of ours)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs under each protocol (default: 5)")
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="SEC", help="no new round of a program after SEC (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print every number as one JSON object")
    add_options(parser, "shell", only=_OPTIONS)
    parser.set_defaults(command=bench_protocols)
    parser = kinds.add_parser(
        "trace",
        help="what recording costs, and how fast a recording answers",
        description="What recording costs at each level, what a recording weighs, and how fast it answers: medians of "
        "runs in turn.",
        allow_abbrev=False,
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="a name or a file (default: a few of ours)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs at each level (default: 5)")
    parser.add_argument(
        "--made-up",
        nargs=4,
        type=int,
        metavar=("PASSES", "ENTRIES", "CELLS", "CHANGED"),
        help="a made-up recording besides: entries and changed cells are those of each pass",
    )
    parser.add_argument("--json", action="store_true", help="print every number as one JSON object")
    add_options(parser, "shell", only=(*_OPTIONS, "dup", "owner_unit", "defer"))
    parser.set_defaults(command=bench_trace)
    parser = kinds.add_parser(
        "view",
        help="how fast the view of a large trace is",
        description="How fast the view of a large made-up trace is, in a headless Chromium: medians and 95th "
        "percentiles beside the budgets. Needs Playwright, a Chromium and some gigabytes of memory.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--size",
        nargs=4,
        type=int,
        metavar=("PASSES", "ENTRIES", "CELLS", "CHANGED"),
        help="of the made-up trace: entries and changed cells are those of each pass (default: 10000 1000 1000000 200)",
    )
    parser.add_argument(
        "--rounds", type=int, default=30, metavar="N", help="how often each thing is done (default: 30)"
    )
    parser.add_argument("--json", action="store_true", help="print every number as one JSON object")
    parser.set_defaults(command=bench_view)
    parser = kinds.add_parser(
        "figures",
        help="how fast figures are of a large trace",
        description="How fast every figure is of a made-up trace of 10,000 passes over 10,000 regions, down to its "
        "pixels. Exit code 1 if one takes longer than its budget.",
        allow_abbrev=False,
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is drawn (default: 3)")
    parser.add_argument("--json", action="store_true", help="print every number as one JSON object")
    parser.set_defaults(command=bench_figures)
    parser = kinds.add_parser(
        "passes",
        help="what a pass costs, from the first to the last of very many",
        description="What a pass costs, from the first to the last of very many: no device may grow slower as it goes.",
        allow_abbrev=False,
    )
    parser.add_argument("--passes", type=int, default=PASSES, metavar="N", help=f"how many (default: {PASSES:_})")
    parser.add_argument(
        "--any-way", action="store_true", help="run narrow passes where they take the least time, as runs do"
    )
    add_options(parser, "shell", only=("device", "workers"))
    parser.set_defaults(command=bench_passes)


_RECORDED: Final = ("shared_table", "cheapest_change", "queens", "map_fold")
"""Programs whose recordings are measured unless others are named: many deferrals, many passes, a wide run, no event."""


def bench_trace(given: argparse.Namespace) -> int:
    """Measure recordings; print two tables."""
    from hvm4viz.device import open_device

    arguments = run_arguments(given, "shell")
    machine = arguments["machine"]
    programs = samples(given.programs or _RECORDED)
    device = open_device(arguments.get("device", "auto"), workers=arguments.get("workers"))
    found = measure_recordings(
        programs,
        machine=machine,
        rounds=given.rounds,
        device=device,
        on_program=lambda name: note(f"recording {name}"),
    )
    if given.made_up:
        if min(given.made_up) < 1:
            raise ValueError(f"--made-up {' '.join(map(str, given.made_up))}: every number must be 1 or more")
        note("making up a recording")
        found.append(measure_made_up(Size(*given.made_up)))
    put(json.dumps([asdict(each) for each in found]) if given.json else recordings_as_markdown(found))
    return OK


def bench_view(given: argparse.Namespace) -> int:
    """Measure the view; print a table."""
    from hvm4viz.bench.views import LARGE, as_markdown, measure_views

    for name, numbers in (("--rounds", [given.rounds]), ("--size", given.size or [1])):
        if min(numbers) < 1:
            raise ValueError(f"{name} {' '.join(map(str, numbers))}: every number must be 1 or more")
    note("making up traces, and looking at them: some minutes")
    found = measure_views(Size(*given.size) if given.size else LARGE, rounds=given.rounds)
    put(json.dumps([asdict(each) for each in found]) if given.json else as_markdown(found))
    return OK


def bench_figures(given: argparse.Namespace) -> int:
    """Measure figures; print a table."""
    from hvm4viz.bench.figures import as_markdown, measure_figures

    if given.rounds < 1:
        raise ValueError(f"--rounds {given.rounds}: must be 1 or more")
    note("making a trace up")
    found = measure_figures(rounds=given.rounds, on_figure=lambda name: note(f"drawing {name}"))
    put(json.dumps([asdict(each) for each in found]) if given.json else as_markdown(found))
    return OK if all(each.is_in_time for each in found) else DIFFERENT


def bench_protocols(given: argparse.Namespace) -> int:
    """Measure programs under each protocol; print a table."""
    from hvm4viz.device import open_device

    arguments = run_arguments(given, "shell")
    machine = arguments["machine"]
    programs = samples(given.programs)
    device = open_device(arguments.get("device", "auto"), workers=arguments.get("workers"))
    measured = measure_protocols(
        programs,
        machine=machine,
        rounds=given.rounds,
        seconds=given.seconds,
        device=device,
        on_program=lambda sample: note(f"measuring {sample.name}"),
    )
    origin = provenance(programs, machine, device, measured)
    facts = {"measured": [asdict(each) for each in measured], "provenance": origin}
    put(json.dumps(facts) if given.json else as_markdown(measured))
    note(origin)
    stopped = [each for each in measured if each.status != "done"]
    for each in stopped:
        complain(f"{each.program} under {each.protocol!r}: {each.status.replace('_', ' ')}; its numbers are of a part")
    return CODES[stopped[0].status] if stopped else OK


def bench_passes(given: argparse.Namespace) -> int:
    """Measure what a pass costs, in tenths of a long run."""
    from hvm4viz.device import open_device

    device = open_device(given.device or "auto", workers=given.workers)
    costs = measure_passes(device, passes=given.passes, alone=not given.any_way)
    put(str(costs))
    return OK if costs.is_steady else DIFFERENT
