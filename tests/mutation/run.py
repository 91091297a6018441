"""How many small faults in four modules do their tests notice?

::

    python tests/mutation/run.py [--only NAME]... [--sample 400] [--minutes N] [--jobs N] [--resume FILE]
                                 [--seed N] [--again] [--list]

Draws mutants (``mutants.py``), tries each with the tests that reach its line (``running.py``), as many at once as
``--jobs`` says, and prints what survived with its diff, and a table of how many were killed. With ``--resume`` verdicts
are kept in a file, and a later run goes on behind them; with ``--again``, it first tries anew what survived. Mutants
that change nothing that anybody can see stand in ``equivalent.tsv``, each with its reason; they are not counted.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

os.cpu_count = lambda: 1  # one host thread: those of a pool do not live on in a fork
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # nor do these

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.mutation.mutants import Mutant, mutants  # noqa: E402
from tests.mutation.running import Runner  # noqa: E402

EQUIVALENT: Final = Path(__file__).parent / "equivalent.tsv"
SCORE: Final = 0.9
VERDICTS: Final = ("killed", "timeout", "survived", "unreached")


def _files(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names)


MODULES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "parser": (
        ("hvm4viz/syntax/*.py",),
        (
            *_files("tests/syntax", "test_amps", "test_binders", "test_cases", "test_habits", "test_includes"),
            *_files("tests/syntax", "test_levels", "test_limits", "test_operators", "test_parser", "test_printer"),
            *_files("tests/syntax", "test_span", "test_tokens"),
            "tests/test_program.py",
            "tests/test_book.py",
            "tests/messages",
        ),
    ),
    "trace": (
        (
            *_files("hvm4viz/trace", "accept", "columns", "digest", "format", "frames", "heaps", "keyframes", "reader"),
            *_files("hvm4viz/trace", "recorded", "recorder", "slicing", "sparse", "trace", "whole", "writer"),
        ),
        (
            "tests/golden/test_old_formats.py",
            "tests/trace",
            "tests/faults",
            *_files("tests", "test_resume", "test_trace_commands"),
        ),
    ),
    "escaping": (("hvm4viz/widgets/escape.py",), ("tests/widgets/test_escape.py",)),
    "passes": (
        (
            *_files("hvm4viz", "admit", "execution", "frontier", "joining", "machine", "regions", "stops", "store"),
            "hvm4viz/workspace.py",
        ),
        (
            *_files("tests", "test_admit", "test_batch", "test_collapse", "test_estimate", "test_execution"),
            *_files("tests", "test_frontier", "test_heap", "test_interrupt", "test_joining", "test_machine"),
            *_files("tests", "test_primitives", "test_progress", "test_regions", "test_resume", "test_run"),
            *_files("tests", "test_state", "test_stops", "test_store", "test_workspace"),
            *_files("tests/device", "test_alone", "test_cuda_memory", "test_openings"),
            "tests/golden/test_worked_examples.py",
            "tests/schedules/test_small_models.py",
        ),
    ),
}
"""Files of each module, and the tests that are to know them."""

Verdicts = dict[str, str]


def equivalents() -> dict[str, str]:
    """Return the mutants that change nothing, each with the reason."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line)


def files(module: str) -> list[Path]:
    """Return the files of a module."""
    return [path for pattern in MODULES[module][0] for path in sorted(ROOT.glob(pattern))]


def draw(module: str, sample: int, seed: int, verdicts: Verdicts) -> list[Mutant]:
    """Draw mutants at random, without those that change nothing, or cannot be put in place."""
    known = equivalents()
    every = [mutant for path in files(module) for mutant in mutants(ROOT, path)]
    Random(seed).shuffle(every)  # before any is left out: what is learnt of one draws no others
    counted = [m for m in every if m.name not in known and verdicts.get(m.name) != "invalid"]
    return counted[:sample] if sample else counted


def try_all(module: str, drawing: Callable[[], list[Mutant]], verdicts: Verdicts, given: argparse.Namespace) -> None:
    """Try mutants that have no verdict yet, as long as there is time."""

    def work(runner: Runner) -> None:
        begun, before, tried = time.monotonic(), _children_seconds(), 0
        end, keep = begun + 60 * given.minutes, given.resume
        while time.monotonic() < end and (left := [mutant for mutant in drawing() if mutant.name not in verdicts]):
            for mutant, verdict in runner.judge(itertools.takewhile(lambda _: time.monotonic() < end, left), ROOT):
                tried += 1
                verdicts[mutant.name] = verdict
                if keep is not None:
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([mutant.name, verdict]) + "\n")
        for name, reason in runner.left_out.items():
            sys.stdout.write(f"left out: {name}: {reason}\n")
        sys.stdout.write(
            f"{module}: {len(runner.items)} tests and {before - started:.0f} s of processor time to see which reach "
            f"what, {_children_seconds() - before:.0f} s for {tried} mutants, "
            f"{time.monotonic() - begun:.0f} s on the clock\n"
        )

    started = _children_seconds()
    settings.register_profile("mutation", max_examples=25, database=None, derandomize=True, deadline=None,
                              suppress_health_check=list(HealthCheck))  # fmt: skip
    settings.load_profile("mutation")
    tests = [str(ROOT / name) for name in MODULES[module][1] if (ROOT / name).exists()]
    options: list[Any] = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:faulthandler",
        "--rootdir",
        str(ROOT),
    ]
    pytest.main([*options, "-s", *tests], plugins=[Runner(files(module), work, given.jobs)])


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(module: str, drawn: list[Mutant], verdicts: Verdicts) -> tuple[float, str]:
    """Print what survived; return a module's score and its row of the table."""
    tried = [mutant for mutant in drawn if mutant.name in verdicts]
    for mutant in tried:
        if verdicts[mutant.name] in ("survived", "unreached"):
            sys.stdout.write(
                f"\n{verdicts[mutant.name]}: {mutant.path}:{mutant.line} {mutant.scope}\n"
                f"- {mutant.before}\n+ {mutant.after}\n"
            )
    counts = Counter(verdicts[mutant.name] for mutant in tried)
    score = (counts["killed"] + counts["timeout"]) / len(tried) if tried else 0.0
    shown = [str(file.relative_to(ROOT)) for file in files(module)]
    equivalent = sum(name.partition("::")[0] in shown for name in equivalents())
    numbers = (len(tried), *(counts[name] for name in VERDICTS), equivalent, f"{score:.1%}")
    return score, "".join(f"{cell:>11}" for cell in (module, *numbers))


def main() -> int:
    """Try what was asked for; exit 1 if a module has a lower score than it should."""
    parser = argparse.ArgumentParser(description="Try tests against mutants.")
    parser.add_argument("--only", action="append", choices=list(MODULES), help="this module; several times for several")
    parser.add_argument("--sample", type=int, default=400, help="mutants to draw of each module; 0 for all")
    parser.add_argument("--minutes", type=float, default=60.0, help="for each module")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--resume", type=Path, help="file of verdicts, to go on from and to add to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="try anew what survived, as the file of verdicts has it")
    parser.add_argument(
        "--list", action="store_true", help="print the report of what is in the file of verdicts, no more"
    )
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
    verdicts: Verdicts = {}
    if given.resume is not None and given.resume.exists():
        verdicts |= dict(json.loads(line) for line in given.resume.read_text(encoding="utf-8").splitlines())
    if given.again:
        verdicts = {name: verdict for name, verdict in verdicts.items() if verdict not in ("survived", "unreached")}
    is_good = True
    table = ["".join(f"{head:>11}" for head in ("module", "tried", *VERDICTS, "equivalent", "score"))]
    for module in given.only or MODULES:
        drawing = functools.partial(draw, module, given.sample, given.seed, verdicts)
        if not given.list:
            try_all(module, drawing, verdicts, given)
        score, row = report(module, drawing(), verdicts)
        is_good &= score >= SCORE
        table.append(row)
    sys.stdout.write("\n" + "\n".join(table) + "\n")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
