"""Messages in the words of the door: what Python writes as ``heap='2 MiB'``, the other doors write as an option.

Messages name a setting as Python does, ``name=value`` or ``Machine(name=value)``: so there is one text for each.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from hvm4viz.errors import Hvm4vizError, ProgramError
from hvm4viz.options import Door, options
from hvm4viz.widgets.summary import problem

_SETTING: Final = r"([a-z]\w*)=(\([^()]*\)|'[^']*'|\"[^\"]*\"|[^\s,;:()'\"]*)"
_SAID: Final = re.compile(
    rf"(?<![\w./,='\"-])(?:Machine\((?P<machine>[^()]*)\)|\w+\([^()]*\)|(?P<limit>raise (\w+) to go on)|{_SETTING})"
)
_settings: Final = re.compile(_SETTING).finditer


def flags_of(door: Door) -> dict[str, str]:
    """Return the options of a door by the name that Python has for what they set."""
    flags = {option.dest: option.flags[-1] for option in options(door)}
    return {"root": flags["include_root"], **flags}  # what parse and load call it


def in_options(text: str, flags: Mapping[str, str]) -> str:
    """Say settings as options; what has none, and calls of functions, stay as they are.

    Parameters
    ----------
    text : str
        A message.
    flags : mapping of str to str
        The options by the name that Python has for what they set.
    """

    def option(name: str, value: str, whole: str) -> str:
        if name not in flags:
            return whole
        if value[:1] in ("'", '"'):
            value = shlex.quote(value[1:-1])
        elif value[:1] == "(":
            value = "x".join(value[1:-1].split(", "))
        return flags[name] if value in ("", "...", "True") else f"{flags[name]} {value}"

    def said(found: re.Match[str]) -> str:
        if found["machine"] is not None:
            settings = list(_settings(found["machine"]))
            is_known = bool(settings) and all(each[1] in flags for each in settings)
            return " ".join(option(each[1], each[2], each[0]) for each in settings) if is_known else found[0]
        if found["limit"]:
            return f"raise {flags.get(found[3], found[3])} to go on"
        return option(found[4], found[5], found[0]) if found[4] else found[0]

    return _SAID.sub(said, text)


def in_shell_words(text: str, given: argparse.Namespace) -> str:
    """Say settings as options of the command line: those of the command that was parsed, else those of ``run``."""
    return in_options(text, {**flags_of("shell"), **given.flags})


def problem_in(error: Hvm4vizError, words: Callable[[str], str]) -> str:
    """Return an error's message in the words of a door; what it quotes of a program stays as it is."""
    told = problem(error)
    said = error.hint if isinstance(error, ProgramError) and error.span else told
    return told.replace(said, words(said)) if said else told
