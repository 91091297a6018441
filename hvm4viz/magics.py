"""The notebook's doors: ``%%hvm4`` runs a cell of HVM4, ``%hvm4`` does everything else.

Neither lets IPython expand variables: ``{}``, ``$``, ``@``, ``%`` and ``#`` are HVM4.
"""

from __future__ import annotations

import argparse
import re
import shlex
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand  # pyright: ignore[reportUnknownVariableType]
from IPython.core.magic_arguments import MagicArgumentParser, MagicHelpFormatter
from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

from hvm4viz.arguments import add_options, explain, nearest, run_arguments
from hvm4viz.completion import Event, completions
from hvm4viz.errors import Hvm4vizError
from hvm4viz.estimate import ResourceNotice
from hvm4viz.figure_request import FigureRequest, requested_figures
from hvm4viz.outputs import check_page, view_options, write_view
from hvm4viz.trace import Trace, open_trace
from hvm4viz.widgets.escape import terminal_text
from hvm4viz.wording import flags_of, in_options, problem_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hvm4viz.diagnosis import Diagnosis
    from hvm4viz.program import Program
    from hvm4viz.run import Run
    from hvm4viz.widgets.trace_view import TraceView

_HELP: Final = """\
Run the cell as an HVM4 program; the run is the cell's value.

Examples::

    %%hvm4
    @main = 1 + 2

    %%hvm4 -o run --blocks 64 --shard address --fig overview=run.pdf
    @main = #Pair{#Pair{1, 2}, #Pair{3, 4}}

Everything else is a line::

    %hvm4 run FILE [OPTIONS]         run a program from a file, with these same options
    %hvm4 view NAME                  show the run or trace bound to NAME, or one from a .hvt file
    %hvm4 compare A B                show two of them beside each other
    %hvm4 figure NAME KIND [FILE]    draw a figure of the run or trace bound to NAME; KIND may have options:
                                     pass_diagram,pass=3,venue=acm
    %hvm4 books                      list the definitions saved by --name
    %hvm4 devices                    list the devices
    %hvm4 doctor                     look for what is missing, and say how to put it right
    %hvm4 options [NAME=VALUE ...]   show what this notebook prefers, or change it
    %hvm4 help [TOPIC]               this text, or the lines that speak of TOPIC
"""


class Shell(Protocol):
    """What the magics use of IPython's shell."""

    user_ns: dict[str, Any]

    def set_hook(self, name: str, hook: Callable[..., object], *, str_key: str) -> None:
        """Let a function complete what follows a word."""
        ...

    def register_magic_function(self, func: Callable[..., object], magic_kind: str, magic_name: str) -> None:
        """Make a function a magic."""
        ...


class ExpectationFailed(Hvm4vizError, AssertionError):
    """The answer is not what ``--expect`` said."""


class CellHelp(MagicHelpFormatter):
    """IPython's help text, with choices and optional parts written as the command line writes them."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return argparse.HelpFormatter._format_action_invocation(self, action)  # noqa: SLF001


class CellParser(MagicArgumentParser):
    """IPython's parser, with the same quoting on every system, and the nearest option named when one is unknown."""

    def parse_argstring(self, argstring: str, *, partial: bool = False) -> Any:
        """Split a line at blanks, quotes honoured, backslashes left alone; then parse it."""
        words = shlex.shlex(argstring, posix=True, punctuation_chars=False)
        words.whitespace_split, words.commenters, words.escape = True, "", ""
        try:
            argv = list(words)
        except ValueError as error:
            self.error(f"{error}: {argstring!r}")
        return self.parse_known_args(argv) if partial else self.parse_args(argv)

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError``, which IPython shows as one line."""
        raise UsageError(explain(message, "cell"))


def _parser(name: str, *positional: str) -> CellParser:
    parser = CellParser(prog=name, description=_HELP, formatter_class=CellHelp)
    parser.allow_abbrev = False
    for word in positional:
        parser.add_argument(word, metavar=word.upper(), help="the program")
    add_options(parser, "cell")
    return parser


class Hvm4Magics:
    """The magics of one shell, and the books that its cells saved."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.books: dict[str, Program] = {}
        self.cell_parser = _parser("%hvm4")
        self.file_parser = _parser("hvm4 run", "file")
        self.lines: dict[str, Callable[[str], object]] = {
            "run": self.run_file,
            "view": self.view,
            "compare": self.compare,
            "figure": self.draw_figure,
            "books": self.list_books,
            "devices": self.list_devices,
            "doctor": self.show_doctor,
            "options": self.options,
            "help": self.show_help,
        }

    @no_var_expand
    def hvm4(self, line: str, cell: str | None = None) -> object:
        """Be ``%%hvm4`` or ``%hvm4``; the shown help text is put here by ``register``."""
        verb, _, rest = line.strip().partition(" ")
        words = partial(in_options, flags=flags_of("cell") if cell is not None or verb == "run" else {})
        try:
            with _notices(words):
                if cell is not None:
                    return self.run_cell(line, cell)
                if verb and verb not in self.lines:
                    raise UsageError(f"unknown command {verb!r}{nearest(verb, list(self.lines))}; try %hvm4 help")
                return self.lines[verb or "help"](rest)
        except Hvm4vizError as error:
            raise _plain(error, words) from None
        except OSError as error:
            raise UsageError(f"{error.filename or line.strip()}: {error.strerror or error}") from None
        except ValueError as error:
            raise UsageError(words(str(error))) from None

    def run_cell(self, line: str, cell: str) -> Run | None:
        """Run a cell's text."""
        from hvm4viz.program import parse

        given = self.cell_parser.parse_argstring(line)
        source = self._expanded(cell) if given.expand else cell
        return self._run(parse(source, root=given.include_root), given)

    def run_file(self, line: str) -> Run | None:
        """Run a program from a file."""
        from hvm4viz.program import load

        given = self.file_parser.parse_argstring(line)
        return self._run(load(Path(given.file).expanduser(), root=given.include_root), given)

    def draw_figure(self, line: str) -> None:
        """Draw a figure of a run or a trace that has a name in the notebook."""
        words = line.split()
        if len(words) not in (2, 3):
            raise UsageError("write %hvm4 figure NAME KIND [FILE]")
        subject = self._subject(words[0], f"figure {' '.join(words)}")
        self._figures(requested_figures(["=".join(words[1:])]), getattr(subject, "trace", subject))

    def view(self, line: str) -> TraceView:
        """Show a run or a trace that has a name in the notebook, or a trace file."""
        from hvm4viz.widgets.trace_view import TraceView

        words = shlex.split(line)
        if len(words) != 1:
            raise UsageError("write %hvm4 view NAME")
        return TraceView(self._subject(words[0], f"view {line}"))

    def compare(self, line: str) -> TraceView:
        """Show two runs or traces beside each other."""
        from hvm4viz.widgets.trace_view import TraceView

        words = shlex.split(line)
        if len(words) != 2:
            raise UsageError("write %hvm4 compare A B")
        a, b = (self._subject(word, f"compare {line}") for word in words)
        return TraceView(a, compare=b)

    def options(self, line: str) -> None:
        """Show what this notebook prefers, or change it."""
        from hvm4viz.preferences import preferences, read_option, set_options

        chosen: dict[str, object] = {}
        for word in shlex.split(line):
            chosen |= read_option(word)
        set_options(**chosen)
        for name, value in preferences().items():
            print(f"{name} = {value}")  # noqa: T201  (the cell's output)

    def _subject(self, name: str, line: str) -> Any:
        """Return the run or trace of a name, or of a file, that a line is about."""
        found = self.shell.user_ns.get(name)
        if isinstance(getattr(found, "trace", found), Trace):
            return found
        if name.endswith(".hvt"):
            return open_trace(Path(name).expanduser())
        if name in self.shell.user_ns:
            raise UsageError(
                f"{name!r} is of type {type(found).__name__}, neither a run nor a trace; %%hvm4 -o NAME binds a run"
            )
        if name.endswith(".hvm4") or Path(name).is_file():
            kind = "a program; " if name.endswith(".hvm4") else "no .hvt file; if it is a program, "
            raise UsageError(f"{name!r} is {kind}run it first: {_first_run(name, line)}")
        if not name.isidentifier():
            raise UsageError(f"{name!r} is neither a variable nor a .hvt file; %%hvm4 --save FILE.hvt writes one")
        raise UsageError(
            f"there is no variable {name!r} here yet{nearest(name, list(self.shell.user_ns))}; run a cell with "
            f"%%hvm4 -o {name} first, or name a .hvt file"
        )

    def list_books(self, line: str) -> None:
        """List the saved books."""
        del line
        for name, program in self.books.items():
            print(f"{name}: {', '.join(f'@{each}' for each in program.names)}")  # noqa: T201  (the cell's output)
        if not self.books:
            print("no book saved yet: %%hvm4 --name BOOK saves a cell's definitions")  # noqa: T201

    def list_devices(self, line: str) -> None:
        """List the devices."""
        from hvm4viz.device import devices

        del line
        for device in devices():
            print(f"{device.kind}: {device.detail}")  # noqa: T201

    def show_doctor(self, line: str) -> Diagnosis:
        """Look for what is missing, and say how to put it right."""
        from hvm4viz.doctor import doctor

        del line
        return doctor()

    def show_help(self, line: str) -> None:
        """Show the help text, or its lines that hold a word."""
        text = self.cell_parser.format_help()
        print("\n".join(row for row in text.splitlines() if line.strip() in row))  # noqa: T201

    def _run(self, program: Program, given: argparse.Namespace) -> Run | None:
        """Run a program as its options say; bind, show and return the run."""
        from hvm4viz.run import run

        figures = requested_figures(given.fig or ())
        check_page(given.html)
        arguments = run_arguments(given, "cell")
        if given.name:
            self.books[given.name] = program
        if given.imports:
            first, *others = map(self._book, given.imports)
            program = first.merge(*others, program)
        if given.no_run or (given.name and (given.entry or "main") not in program.names):
            return None
        if given.quiet:
            arguments.update(progress=False, on_log=_say_nothing)
        done = run(program, **arguments)
        if given.out:
            self.shell.user_ns[given.out] = done
        done.shown = view_options(given)
        self._figures(figures, done.trace)
        if given.html:
            write_view(done, given.html)
        wrong = given.expect is not None and done.text != given.expect
        if done.status != "done" or wrong:
            _show(done, given)
            done.raise_for_status()
            raise ExpectationFailed(f"expected {given.expect!r}, got {done.text!r}")
        if given.view not in ("text", "none") and not given.quiet:
            return done
        _show(done, given)
        return None

    def _book(self, name: str) -> Program:
        if name not in self.books:
            raise UsageError(f"no book {name!r}{nearest(name, list(self.books))}; %hvm4 books lists them")
        return self.books[name]

    def _figures(self, requests: list[FigureRequest], trace: Any) -> None:
        """Write the figures that have a file, show the others."""
        from hvm4viz.widgets.static import SCREEN_DPI, png
        from hvm4viz.widgets.summary import provenance

        for request in requests:
            if request.path is not None:
                request.write(trace, request.path)
            else:
                figure = request.draw(trace)
                shown = {"image/png": png(figure), "text/plain": f"<{request.kind}>"}
                width = {"image/png": {"width": round(figure.get_figwidth() * SCREEN_DPI)}}
                display(shown, metadata=width, raw=True)
                print(terminal_text(provenance(trace)))  # noqa: T201  (under the figure)

    def _expanded(self, text: str) -> str:
        """Replace ``{{name}}`` by the notebook's variables."""

        def value(found: re.Match[str]) -> str:
            if found[1] not in self.shell.user_ns:
                raise UsageError(f"{found[0]}: no variable {found[1]!r}{nearest(found[1], list(self.shell.user_ns))}")
            return str(self.shell.user_ns[found[1]])

        return re.sub(r"\{\{\s*(\w+)\s*\}\}", value, text)


def _show(run: Run, given: argparse.Namespace) -> None:
    """Show a run that is not going to be the cell's value."""
    from hvm4viz.widgets import show_run

    if given.quiet:
        return
    bundle = show_run(run, message=run.status == "done", **run.shown)  # what failed is raised, and told there
    if bundle:
        display(bundle, raw=True)


def _show_figure(figure: Figure) -> dict[str, object] | None:
    from hvm4viz.widgets.figure import show_figure

    return show_figure(figure)


def _first_run(name: str, line: str) -> str:
    """Return the lines that run a program, and then do what a line does with the run."""
    words = shlex.split(line)
    bound = "run" if "run" not in words else "other"
    then = shlex.join(bound if word == name else word for word in words)
    return f"%hvm4 run {shlex.quote(name)} -o {bound}, then %hvm4 {then}"


def _say_nothing(line: str) -> None:
    """Take a log line of a quiet run: it is kept in ``Run.log``."""
    del line


@contextmanager
def _notices(words: Callable[[str], str]) -> Generator[None]:
    """Let notices name settings as options, too."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def told(message: Warning | str, category: type[Warning], *place: Any) -> None:
            is_ours = issubclass(category, ResourceNotice)
            show(category(words(str(message))) if is_ours else message, category, *place)

        warnings.showwarning = told
        yield


def _plain(error: Hvm4vizError, words: Callable[[str], str]) -> Hvm4vizError:
    """Let IPython show an error without the frames of this package: the message says the place."""
    text = terminal_text(f"{type(error).__name__}: {problem_in(error, words)}")
    foreign: Any = error
    foreign._render_traceback_ = text.splitlines  # IPython asks for this before it lays out frames
    return error


def register(shell: Shell) -> None:
    """Register the magics with a shell."""
    magics = Hvm4Magics(shell)
    Hvm4Magics.hvm4.__doc__ = magics.cell_parser.format_help()
    shell.register_magic_function(magics.hvm4, magic_kind="line_cell", magic_name="hvm4")

    display_formatter = getattr(shell, "display_formatter", None)
    if display_formatter is not None:  # so that a figure is shown without pyplot, and says which run it shows
        display_formatter.mimebundle_formatter.for_type_by_name("matplotlib.figure", "Figure", _show_figure)

    def complete(shell: object, event: Event) -> list[str]:
        del shell
        return completions(magics, event)

    for word in ("%hvm4", "%%hvm4"):
        shell.set_hook("complete_command", complete, str_key=word)
