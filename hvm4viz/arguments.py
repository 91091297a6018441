"""From the table of options to parsers, and from what they parsed to the arguments of ``run``."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NoReturn

from hvm4viz.options import FIGURE, GROUPS, Door, Option, options
from hvm4viz.settings import Machine


def add_options(parser: argparse.ArgumentParser, door: Door, *, only: Collection[str] | None = None) -> None:
    """Add the options of one door to a parser, group by group: all of them, or those that set one of these names."""
    for title, members in GROUPS.items():
        chosen = [each for each in members if door in each.doors and (only is None or each.dest in only)]
        if not chosen:
            continue
        group = parser.add_argument_group(title)
        for option in chosen:
            _add(group, option)


def add_figure_options(parser: argparse.ArgumentParser, takes: Collection[str]) -> None:
    """Add the options of figures that set one of these names, and those of the style."""
    for title, target in (("figure", "figure"), ("style", "style")):
        group = parser.add_argument_group(title)
        for option in FIGURE:
            if option.target == target and option.dest in takes:
                _add(group, option)


def _add(group: Any, option: Option) -> None:
    text = option.help.replace("%", "%%")
    if option.kind is None:
        group.add_argument(*option.flags, dest=option.dest, action="store_true", default=None, help=text)
        return
    group.add_argument(
        *option.flags,
        dest=option.dest,
        type=option.kind,
        choices=option.choices or None,
        metavar=option.metavar,
        action="append" if option.many else "store",
        help=text,
    )


def add_series(
    parser: argparse.ArgumentParser, door: Door, *, targets: Collection[str], also: Collection[str] = ()
) -> None:
    """Add options that take several values with commas between them: those of some targets, and some names besides."""
    group = parser.add_argument_group("several values with commas between them")
    for option in options(door):
        if option.kind is not None and (option.target in targets or option.dest in also):
            of = f": {', '.join(option.choices)}" if option.choices else ""
            text = option.help.replace("%", "%%") + of
            group.add_argument(
                *option.flags, dest=option.dest, type=_series(option), metavar=option.metavar or "NAME", help=text
            )


def _series(option: Option) -> Callable[[str], list[object]]:
    """Return what reads several values of an option."""

    def read(text: str) -> list[object]:
        values: list[object] = []
        for part in text.split(","):
            value = option.kind(part) if option.kind else part
            if option.choices and value not in option.choices:
                known = ", ".join(map(repr, option.choices))
                raise argparse.ArgumentTypeError(f"invalid choice: {part!r} (choose from {known})")
            values.append(value)
        return values

    return read


def run_arguments(given: argparse.Namespace, door: Door) -> dict[str, Any]:
    """Turn parsed options into the keyword arguments of ``run``.

    Raises
    ------
    ValueError
        If a setting of the machine is out of range or not in this version, or two options contradict each other.
    """
    values: dict[str, Any] = {option.dest: getattr(given, option.dest, None) for option in options(door)}
    if values["mode"] == "snf" and (values["collapse"] or values["limit"] is not None):
        flag, value = ("--collapse", "") if values["collapse"] else ("--limit", f" {values['limit']}")
        raise ValueError(
            f"{flag}{value} is for --mode collapse, and --mode snf has one result: leave out {flag}, or write "
            "--mode collapse"
        )
    chosen = {o.dest: values[o.dest] for o in options(door) if o.target == "run" and values[o.dest] is not None}
    machine = {o.dest: values[o.dest] for o in options(door) if o.target == "machine" and values[o.dest] is not None}
    if values["collapse"]:
        chosen["mode"] = "collapse"
    return {**chosen, "machine": Machine(**machine)}


def nearest(word: str, known: Sequence[str]) -> str:
    """Say which of the known words was probably meant: a phrase to append to a message, or nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _nearest_flag(wrong: str, door: Door) -> str:
    """Compare without the dashes, which all of them share; what another command has is not what was meant."""
    flags = {flag.lstrip("-"): flag for option in options(door) for flag in option.flags if flag != wrong}
    close = difflib.get_close_matches(wrong.lstrip("-"), flags, n=1)
    return f" (did you mean {flags[close[0]]}?)" if close else ""


_LISTED: Final[dict[Door, str]] = {
    "shell": "; --help after a command lists its options",
    "cell": "; %%hvm4? lists the options",
}
"""Where options can be looked up."""


def explain(message: str, door: Door) -> str:
    """Add the nearest option or choice to a message of argparse's."""
    if message.startswith("unrecognized arguments: "):
        words = message.removeprefix("unrecognized arguments: ").split()
        wrong = next((word.split("=")[0] for word in words if word.startswith("-")), None)
        if wrong is None:
            return f"too many arguments: {' '.join(words)}"
        return f"unknown option {wrong}{_nearest_flag(wrong, door) or _LISTED[door]}"
    choice = re.search(r"invalid choice: '?(.*?)'? \(choose from (.*)\)$", message)
    if choice:
        return message + nearest(choice[1], [word.strip(" '") for word in choice[2].split(",")])
    return message


class ShellParser(argparse.ArgumentParser):
    """A parser of the command line that names the nearest option when it does not know one.

    ``flags`` of what it parsed holds the options of the command by the name of what they set: for messages.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse; the command's parser is asked first, so its own options are those that are kept."""
        given, rest = super().parse_known_args(args, namespace)
        if not hasattr(given, "flags"):
            given.flags = {action.dest: action.option_strings[-1] for action in self._actions if action.option_strings}
        return given, rest

    def error(self, message: str) -> NoReturn:
        """Print usage and message to standard error, exit with 2."""
        if message.startswith("the following arguments are required"):
            message += f"; {self.prog} --help tells what they are"
        super().error(explain(message, "shell"))
