"""What each command of the command line does; each takes the parsed arguments and returns an exit code."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hvm4viz.arguments import run_arguments
from hvm4viz.errors import DamagedTrace
from hvm4viz.figure_request import requested_figures
from hvm4viz.interrupt import INTERRUPTED
from hvm4viz.limits import PROGRAM_BYTES_MAX
from hvm4viz.outputs import check_page, write_view
from hvm4viz.preferences import preference
from hvm4viz.streams import complain, note, put
from hvm4viz.widgets.summary import count, summary
from hvm4viz.wording import in_shell_words

if TYPE_CHECKING:
    from hvm4viz.program import Program
    from hvm4viz.run import Run
    from hvm4viz.trace import Trace

OK: Final = 0
DIFFERENT: Final = 1
USAGE: Final = 2
PROGRAM: Final = 3
DEVICE: Final = 4
LIMIT: Final = 5

CODES: Final = {
    "done": OK,
    "error": PROGRAM,
    "primitive": PROGRAM,
    "failed": DEVICE,
    "pass_limit": LIMIT,
    "timeout": LIMIT,
    "heap_full": LIMIT,
    "stalled": LIMIT,
    "interrupted": INTERRUPTED,
}
"""Exit code by status of the run."""


def read_program(file: str, *, root: str | None) -> Program:
    """Read a program from a file, or from standard input if the name is ``-``."""
    from hvm4viz.program import load, parse

    if file != "-":
        return load(file, root=root)
    if sys.stdin is None:
        raise ValueError("standard input is closed: there is no program to read from it")
    return parse(sys.stdin.buffer.read(PROGRAM_BYTES_MAX + 1), name="<stdin>", root=root)


def read_trace(file: str) -> Trace:
    """Open a trace; say so if it is not whole."""
    from hvm4viz.trace import open_trace

    trace = open_trace(Path(file).expanduser())
    if trace.state == "damaged":
        before = (
            f"what is before them, {count(trace.n_passes, 'passes')}, is whole"
            if trace.n_passes
            else "no pass is whole"
        )
        complain(
            f"note: {file}: damaged: {trace.note}; {before}: record it again under "
            "another name with --save FILE.hvt to have all"
        )
    return trace


def run(given: argparse.Namespace) -> int:
    """Run a program; show answer, statistics, and what else was asked for."""
    from hvm4viz.run import run as run_program

    check_page(given.html)
    figures = [(request, request.path or Path(f"{request.kind}.png")) for request in requested_figures(given.fig or ())]
    arguments = run_arguments(given, "shell")
    program = read_program(given.file, root=given.include_root)
    if given.no_run:
        note(f"{given.file} is well formed")
        return OK
    if given.quiet:
        arguments["progress"] = False
    shown: list[str] = []

    def show(line: str) -> None:
        shown.append(line)
        put(line)

    if given.json:
        done = run_program(program, on_log=note, **arguments)
        told = report(done, given.save)
        put(json.dumps({**told, "message": in_shell_words(done.message, given)}))
    else:
        done = run_program(program, on_log=put, on_result=lambda term: show(term.text), **arguments)
        for line in done.lines[len(shown) :]:
            put(line)
    for request, path in figures:
        request.write(done.trace, path)
    if given.html:
        write_view(done, given.html)
    return _after(done, given, [str(path) for _, path in figures])


def report(run: Run, save: str | None) -> dict[str, object]:
    """Return what ``--json`` prints of a run."""
    return {
        "status": run.status.value,
        "message": run.message,
        "lines": run.lines,
        "log": run.log,
        "stats": {**asdict(run.stats), "ips": run.stats.ips},
        "machine": run.machine.settings(),
        "device": run.device.name,
        "digest": run.trace.digest_or_none(),
        "trace": save,
    }


def _after(run: Run, given: argparse.Namespace, drawn: list[str]) -> int:
    """Write the notes that follow a run; return its exit code."""
    code = CODES[run.status.value]
    if run.message:
        complain(in_shell_words(run.message, given))
    if not given.quiet:
        note(summary(run))
        if run.trace.is_cut:
            complain(f"note: {in_shell_words(_cut(run.trace, given.trace_limit), given)}")
        if given.save:
            note(f"trace: {given.save}")
        if given.html:
            note(f"view: {given.html}")
        for file in drawn:
            note(f"figure: {file}")
        if drawn:
            note(f"notebook: {lab_command()}")
    if code == OK and given.expect is not None and run.text != given.expect:
        complain(f"expected {given.expect!r}, got {run.text!r}")
        return DIFFERENT
    return code


def _cut(trace: Trace, limit: str | None) -> str:
    """Tell what a trace does not keep because it would have grown too large."""
    return (
        f"the trace reached trace_limit={limit or preference('trace_limit')!r}: of the passes from "
        f"{trace.events_until:,} on it keeps counts alone, {count(trace.dropped, 'events')} are left out; raise "
        "trace_limit= to keep more, or run with record='counts' to keep none"
    )


def lab_command() -> str:
    """Return the command that opens the notebooks, as this process would be called again."""
    return f"{sys.argv[0] if Path(sys.argv[0]).stem == 'hvm4viz' else 'python -m hvm4viz'} lab"


def info(given: argparse.Namespace) -> int:
    """Tell what a trace holds."""
    from hvm4viz.trace import open_trace

    trace = open_trace(given.trace)
    meta = trace.meta
    facts = {
        "program": ", ".join(meta["files"]),
        "entry": f"@{meta['entry']}, mode {meta['mode']}",
        "status": meta["status"] or "still running, or killed",
        "message": in_shell_words(meta["message"], given),
        "machine": ", ".join(f"{name} {value}" for name, value in meta["machine"].items()),
        "device": ", ".join(meta["devices"]),
        "passes": f"{trace.n_passes:,}, at most {max(trace.frontier_sizes, default=0):,} entries each",
        "interactions": f"{int(trace.interactions.sum()):,}",
        "deferrals": f"{trace.n_deferrals:,}",
        "contentions": f"{trace.n_contentions:,}",
        "regions": f"{trace.n_regions:,} of {trace.region_size:,} cells",
        "recorded": f"{trace.level}, {trace.n_events:,} events, {trace.dropped:,} dropped, {trace.nbytes:,} bytes",
        "cells": _cells(trace),
        "state": f"{trace.state} {meta['note']}".strip(),
        "digest": trace.digest_or_none() or "none",
    }
    for name, fact in facts.items():
        if fact:
            put(f"{name:13}{fact}")
    return OK


def _cells(trace: Trace) -> str:
    """Tell what a trace knows of the heap, at level ``full``."""
    if trace.level != "full":
        return ""
    known = "to the end" if trace.events_until == trace.n_passes else f"up to pass {trace.events_until:,}"
    return f"{trace.n_deltas:,} changes, {known}; the machine's state at {count(trace.state_passes.size, 'passes')}"


def verify(given: argparse.Namespace) -> int:
    """Re-check the protocol from a trace alone; exit 1 if it is broken."""
    found = read_trace(given.trace).verify()
    if found.damage and not found.n_passes:
        raise DamagedTrace(f"{given.trace}: {found}")
    put(str(found))
    return OK if found.ok else DIFFERENT


def view(given: argparse.Namespace) -> int:
    """Show a trace, or the run of a program, in a browser: as one page that needs no kernel."""
    check_page(given.html)
    if given.file.endswith(".hvt"):
        subject, code = read_trace(given.file), OK
    else:
        from hvm4viz.run import run as run_program

        subject = run_program(read_program(given.file, root=None), record=given.record)
        code = CODES[subject.status.value]
        if subject.message:
            complain(in_shell_words(subject.message, given))
    path = write_view(subject, given.html or str(_page_file(given.file)), theme=given.theme)
    note(f"view: {path}")
    if not given.html and not webbrowser.open(path.resolve().as_uri()):
        note("no browser was found here: open that file in one")
    return code


def _page_file(file: str) -> Path:
    """Name a file for a page that nobody named: in the folder for temporary files, so that browsers may read it."""
    return Path(tempfile.mkdtemp(prefix="hvm4viz-")) / f"{Path(file).stem.strip('-') or 'program'}.html"


def devices(given: argparse.Namespace) -> int:
    """List the devices."""
    from hvm4viz import device

    del given
    for each in device.devices():
        put(f"{each.kind:6}{each.detail}" if each.usable else f"{each.kind:6}not usable: {each.detail}")
    return OK


def doctor(given: argparse.Namespace) -> int:
    """Print what is missing, and how to put it right."""
    from hvm4viz.doctor import doctor as look

    del given
    found = look()
    put(str(found))
    return OK if found.is_well else DIFFERENT


def selftest(given: argparse.Namespace) -> int:
    """Replay the golden runs on a device; print a table."""
    from hvm4viz.selftest import selftest as prove

    report = prove(given.device or "auto", workers=given.workers)
    put(str(report))
    if report.has_failed:
        return DEVICE
    return OK if report.is_same else DIFFERENT


def lab(given: argparse.Namespace) -> int:
    """Open the notebooks in JupyterLab."""
    from hvm4viz.lab import open_lab

    return open_lab(given.arguments)
