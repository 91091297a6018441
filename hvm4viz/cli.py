"""The command line: ``hvm4viz run FILE`` and its neighbours.

Standard output holds log lines and result lines alone (or one JSON object); everything else goes to standard error.
Exit codes: 0 ok, 1 a comparison failed, 2 usage or a file or stream that fails, 3 the program is at fault, 4 the
device is, 5 stopped by a limit, 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Final, TextIO

from hvm4viz import __version__, commands, options
from hvm4viz.arguments import ShellParser, add_options
from hvm4viz.bench.command import add_bench
from hvm4viz.bench.suite_command import complete
from hvm4viz.errors import DeviceError, Hvm4vizError, MachineError, ProgramError
from hvm4viz.estimate import ResourceNotice
from hvm4viz.figure_commands import add_figure_commands
from hvm4viz.interrupt import INTERRUPTED
from hvm4viz.streams import complain, flush_notes, flush_output, note
from hvm4viz.sweep_command import add_sweep
from hvm4viz.trace_commands import add_trace_commands
from hvm4viz.wording import in_shell_words, problem_in

_EPILOG: Final = """\
examples:
  hvm4viz run program.hvm4
  hvm4viz run program.hvm4 --blocks 64 --shard address -o run.hvt --fig overview=run.png
  hvm4viz info run.hvt

exit codes:
  0  ok                                          4    device unavailable or failed
  1  a check or an expectation failed            5    stopped by a limit: passes, time, heap, stalled
  2  usage, or a file or stream that fails       130  interrupted
  3  the program is at fault
"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line."""
    top = ShellParser(
        prog="hvm4viz",
        description=("Run HVM4 programs on a frontier machine, record every pass, and look at what happened."),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"hvm4viz {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = verbs.add_parser("run", help="run a program", description="Run a program.", allow_abbrev=False)
    run.add_argument("file", metavar="FILE", help="the program; - is standard input")
    add_options(run, "shell")
    run.set_defaults(command=commands.run)

    info = verbs.add_parser("info", help="tell what a trace holds", description="Tell what a trace holds.")
    info.add_argument("trace", metavar="TRACE", help="a .hvt file")
    info.set_defaults(command=commands.info)

    verify = verbs.add_parser(
        "verify",
        help="re-check the machine's protocol from a trace alone",
        description="Re-check the machine's protocol from a trace alone, and name the first offence. Exit code 1 if "
        "there is one. Takes and publications are checked in traces of level full.",
    )
    verify.add_argument("trace", metavar="TRACE", help="a .hvt file")
    verify.set_defaults(command=commands.verify)

    add_figure_commands(verbs)

    view = verbs.add_parser(
        "view",
        help="look at a trace, or at the run of a program, in a browser",
        description="Look at a trace, or at the run of a program, in a browser: one page, without kernel and network.",
        allow_abbrev=False,
    )
    view.add_argument("file", metavar="FILE", help="a .hvt file, or a program; - is a program from standard input")
    view.add_argument("--html", metavar="OUT", type=options.page_file, help="write the page to OUT and open no browser")
    view.add_argument(
        "--record", choices=options.RECORDS, default="events", help="how much to record of a program's run"
    )
    view.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="colours of the page (default: light)"
    )
    view.set_defaults(command=commands.view)

    add_trace_commands(verbs)
    add_sweep(verbs)
    add_bench(verbs)

    doctor = verbs.add_parser(
        "doctor",
        help="look for what is missing, and say how to put it right",
        description="Look for what is missing, and say how to put it right.",
    )
    doctor.set_defaults(command=commands.doctor)

    selftest = verbs.add_parser(
        "selftest",
        help="prove a device: replay golden runs on it, bit for bit",
        description="Prove a device: replay golden runs on it, and compare heaps and traces bit for bit.",
        allow_abbrev=False,
    )
    add_options(selftest, "shell", only=("device", "workers"))
    selftest.set_defaults(command=commands.selftest)

    devices = verbs.add_parser("devices", help="list the devices", description="List the devices.")
    devices.set_defaults(command=commands.devices)

    lab = verbs.add_parser("lab", help="open the notebooks in JupyterLab", description="Open the notebooks.")
    lab.add_argument("arguments", nargs="*", metavar="ARG", help="passed on to JupyterLab; write -- before them")
    lab.set_defaults(command=commands.lab)
    return top


def exit_code(error: Hvm4vizError) -> int:
    """Return the exit code for an error that kept a run from beginning.

    What ends a run that has begun is a status of that run; so an error of the machine says that two runs differ.
    """
    if isinstance(error, DeviceError):
        return commands.DEVICE
    return commands.DIFFERENT if isinstance(error, MachineError) else commands.USAGE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; default: those of this process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a lone surrogate in a result must not end the run
    try:
        return _run(argv)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    finally:
        flush_notes()


def _run(argv: Sequence[str] | None) -> int:
    """Run one command; tell what went wrong, and return its exit code."""
    given = argparse.Namespace(flags={})
    try:
        try:
            given = parser().parse_args(complete(sys.argv[1:] if argv is None else argv))
        except SystemExit as stop:  # after --help, --version, or a mistake
            code = stop.code if isinstance(stop.code, int) else commands.USAGE
        else:
            code = _command(given)
        flush_output()
    except BrokenPipeError:
        return commands.OK
    except ProgramError as error:
        told = problem_in(error, lambda text: in_shell_words(text, given))
        (note if error.span else complain)(told)  # file:line:col stays at the start of the line
        return commands.PROGRAM
    except Hvm4vizError as error:
        complain(in_shell_words(str(error), given))
        return exit_code(error)
    except OSError as error:
        complain(f"{error.filename or 'input/output'}: {error.strerror or error}")
        return commands.USAGE
    except ValueError as error:
        complain(in_shell_words(str(error), given))
        return commands.USAGE
    return code


def _command(given: argparse.Namespace) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("always", ResourceNotice)
        warnings.showwarning = partial(_show_warning, given)
        code: int = given.command(given)
    return code


def _show_warning(
    given: argparse.Namespace,
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del file  # notes go where they go
    if issubclass(category, ResourceNotice):
        complain(f"note: {in_shell_words(str(message), given)}")
    else:
        note(warnings.formatwarning(message, category, filename, lineno, line).rstrip())
