"""A figure that was asked for in words: its kind, its options, and the file to write it to."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hvm4viz.arguments import nearest
from hvm4viz.options import FIGURE, Option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hvm4viz.trace import Trace

FORMATS: Final = (".png", ".pdf", ".svg")

_SWITCHES: Final = "|".join(option.flags[-1].removeprefix("--") for option in FIGURE if option.kind is None)
_REQUEST: Final = re.compile(rf"(\w*)((?:,(?:{_SWITCHES})\b|,[\w-]+=[^,=]*)*)(?:=(.*))?", re.DOTALL)
"""``KIND[,SWITCH or ,OPTION=VALUE...][=FILE]``"""


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """A figure to draw.

    Attributes
    ----------
    kind : str
        Name of the figure.
    path : Path or None
        The file to write it to, if one was named.
    options : dict
        Keyword arguments of the figure.
    look : dict
        Those of ``style``; empty for the size of screens.
    """

    kind: str
    path: Path | None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    look: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def draw(self, trace: Trace) -> Figure:
        """Draw the figure of a trace.

        Raises
        ------
        ValueError
            If there is no such pass or cell, or the options say something that cannot be.
        """
        options = dict(self.options)
        if "b" in options:
            from hvm4viz.trace import open_trace

            options["b"] = open_trace(Path(options["b"]).expanduser())
        return self.draw_of(trace, options)

    def draw_of(self, subject: Any, options: Mapping[str, Any] | None = None) -> Figure:
        """Draw the figure of what it takes first: a trace, or a table of runs."""
        from hvm4viz.figures.style import style

        options = self.options if options is None else options
        draw = figure_kinds()[self.kind]
        try:
            if not self.look:
                return draw(subject, **options)
            with style(**self.look):
                return draw(subject, **options)
        except IndexError as error:  # no such pass, or no such cell
            raise ValueError(f"{self.kind}: {error}") from None

    def write(self, trace: Trace, path: Path) -> Figure:
        """Draw the figure of a trace and write it to a file."""
        figure = self.draw(trace)
        write_figure(figure, path)
        return figure


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure to a file, in the format that its name says."""
    from hvm4viz.figures.save import save

    save(figure, path.with_suffix(""), formats=(path.suffix[1:].lower(),))


def figure_kinds() -> dict[str, Callable[..., Figure]]:
    """Return every figure by name: those of one trace, of two, and of a table of runs."""
    from hvm4viz import figures

    found = ((name, getattr(figures, name)) for name in figures.__all__)
    return {
        name: value
        for name, value in found
        if inspect.isfunction(value) and subject_of(value) in ("trace", "a", "runs") and _gives_a_figure(value)
    }


def subject_of(figure: Callable[..., Any]) -> str:
    """Return what a figure takes first: ``trace``; ``a``, the first one of two; or ``runs``, a table."""
    return next(iter(inspect.signature(figure).parameters), "")


def _gives_a_figure(function: Callable[..., Any]) -> bool:
    return inspect.signature(function).return_annotation == "Figure"


def requested_figures(texts: Iterable[str]) -> list[FigureRequest]:
    """Read ``KIND[,OPTION[=VALUE]...][=FILE]`` of a run, and check all that can be checked before it.

    Raises
    ------
    ValueError
        If there is no such figure, option, value or format, or no folder for the file; or the figure is none of a run.
    """
    requests: list[FigureRequest] = []
    for text in texts:
        found = _REQUEST.fullmatch(text)
        if found is None:
            raise ValueError(f"figure {text!r} is not understood; write KIND, KIND=FILE or KIND,pass=3,venue=acm=FILE")
        kind, words, file = found.groups()
        values = [_read(word) for word in words.split(",")[1:]]
        request = figure_request(kind, file or None, {option.dest: value for option, value in values}, dashes="")
        if subject_of(figure_kinds()[kind]) == "runs":
            raise ValueError(
                f"{kind} is of many runs: write their table to a file, then hvm4viz figure TABLE {kind} OUT"
            )
        requests.append(request)
    return requests


def figure_request(kind: str, file: str | None, given: Mapping[str, Any], *, dashes: str = "--") -> FigureRequest:
    """Put a request together from the values of options by their name (``options.FIGURE``), and check it.

    ``dashes`` is what stands before the names of options where they were written.

    Raises
    ------
    ValueError
        If there is no such figure or format, no folder for the file, or an option says nothing of the figure.
    """
    known = figure_kinds()
    if kind not in known:
        raise ValueError(f"no figure {kind!r}{nearest(kind, list(known))}; there are: {', '.join(known)}")
    path = Path(file).expanduser() if file else None
    if path is not None and path.suffix.lower() not in FORMATS:
        raise ValueError(f"figure file {file!r} must end in one of {', '.join(FORMATS)}")
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"figure file {file!r}: there is no folder {str(path.parent)!r}")
    options: dict[str, Any] = {}
    look: dict[str, Any] = {}
    for option in FIGURE:
        if given.get(option.dest) is None:
            continue
        value = given[option.dest]
        if option.target == "style":
            look[option.dest] = value
            continue
        takers = [name for name, figure in known.items() if option.dest in inspect.signature(figure).parameters]
        if kind not in takers:
            name = f"{dashes}{option.flags[-1].removeprefix('--')}"
            raise ValueError(f"{kind} has no option {name}; it is for {', '.join(takers)}")
        options[option.dest] = False if option.flags[-1].startswith("--no-") else value
    if subject_of(known[kind]) == "a" and "b" not in options:
        raise ValueError(f"{kind} needs a second trace: add --with B.hvt (in run --fig: {kind},with=B.hvt)")
    return FigureRequest(kind, path, options, _style(look))


def _style(look: dict[str, Any]) -> dict[str, Any]:
    """Fill in the venue: where a width was chosen, the one whose widths ``style`` has; else the screen."""
    return {"venue": "acm" if "width" in look else "screen", **look} if look else {}


def _read(word: str) -> tuple[Option, Any]:
    """Read one word of a request: ``NAME=VALUE``, or ``NAME`` alone for a switch."""
    name, _, text = word.partition("=")
    known = {option.flags[-1].removeprefix("--"): option for option in FIGURE}
    option = known.get(name)
    if option is None:
        raise ValueError(f"no option {name!r} of figures{nearest(name, list(known))}; there are: {', '.join(known)}")
    if option.kind is None:
        return option, True
    try:
        value = option.kind(text)
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"option {name!r} of a figure: {error}") from None
    if option.choices and value not in option.choices:
        raise ValueError(f"option {name}={text!r}: must be one of {', '.join(option.choices)}")
    return option, value
