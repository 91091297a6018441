"""What the tab key offers after ``%hvm4`` and ``%%hvm4``: options, their values, books, runs, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from hvm4viz.figure_request import figure_kinds
from hvm4viz.options import options
from hvm4viz.preferences import DEFAULTS

if TYPE_CHECKING:
    from hvm4viz.magics import Hvm4Magics

FILES_MAX: Final = 200
"""Most file names offered at once."""


class Event(Protocol):
    """What IPython tells a completer: the line, and the word at the cursor."""

    line: str
    symbol: str


def completions(magics: Hvm4Magics, event: Event) -> list[str]:
    """Return what may stand at the cursor."""
    words = event.line.split()
    if event.symbol and words:
        words.pop()
    offered = _values(magics, words[-1]) if len(words) > 1 else None
    if offered is None:
        offered = _arguments(magics, words, event.symbol)
    return [word for word in offered if word.startswith(event.symbol)]


def _values(magics: Hvm4Magics, flag: str) -> list[str] | None:
    """Return the values of the option before the cursor; None if there is no such option."""
    option = next((each for each in options("cell") if flag in each.flags and each.kind is not None), None)
    if option is None:
        return None
    if option.choices:
        return list(option.choices)
    if option.dest == "imports":
        return list(magics.books)
    if option.dest == "device":
        from hvm4viz.device.lookup import kinds

        return ["auto", *kinds()]
    if option.dest == "fig":
        return list(figure_kinds())
    return _files("") if option.metavar in ("FILE", "DIR") else []


def _arguments(magics: Hvm4Magics, words: list[str], symbol: str) -> list[str]:
    """Return what a command takes at this place, and the options where it takes options."""
    flags = [flag for option in options("cell") for flag in option.flags]
    if words[0] == "%%hvm4":
        return flags
    if len(words) == 1:
        return list(magics.lines)
    runs = [name for name, value in magics.shell.user_ns.items() if hasattr(value, "trace") and name[0] != "_"]
    if words[1] in ("view", "compare"):
        return [*runs, *(file for file in _files(symbol) if file.endswith((".hvt", "/")))]
    if words[1] == "options":
        return [f"{name}=" for name in DEFAULTS]
    if words[1] == "figure":
        return [runs, list(figure_kinds()), _files(symbol)][min(len(words), 4) - 2]
    if words[1] == "run":
        return [*_files(symbol), *flags]
    return []


def _files(symbol: str) -> list[str]:
    """Return files and folders that begin as the word at the cursor does."""
    folder = symbol.rpartition("/")[0]
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    start = f"{folder}/" if folder or symbol.startswith("/") else ""
    return [f"{start}{path.name}{'/' if path.is_dir() else ''}" for path in found if path.name[0] != "."][:FILES_MAX]
