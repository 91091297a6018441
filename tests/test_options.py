from __future__ import annotations

import argparse
import inspect
import re
from typing import get_args

import pytest

import hvm4viz
from hvm4viz.arguments import ShellParser, add_options, explain, nearest, run_arguments
from hvm4viz.options import GROUPS, Door, options
from hvm4viz.settings import CHOICES, Machine

DOORS = get_args(Door)


def parse(line: str, door: Door = "shell") -> argparse.Namespace:
    parser = ShellParser(allow_abbrev=False)
    add_options(parser, door)
    return parser.parse_args(line.split())


@pytest.mark.parametrize("door", DOORS)
def test_no_flag_means_two_things_at_one_door(door: Door) -> None:
    flags = [flag for option in options(door) for flag in option.flags]
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize("door", DOORS)
def test_every_field_of_the_machine_has_an_option(door: Door) -> None:
    given = {option.dest for option in options(door) if option.target == "machine"}
    assert given == set(Machine().settings())


def test_both_doors_agree_on_what_they_share() -> None:
    shared = {option.dest for option in options("cell")} & {option.dest for option in options("shell")}
    assert {"device", "blocks", "heap", "record", "save", "fig", "timeout", "expect"} <= shared


@pytest.mark.parametrize("door", DOORS)
def test_nothing_given_is_nothing_passed_on(door: Door) -> None:
    assert run_arguments(parse("", door), door) == {"machine": Machine()}


def test_options_become_arguments_of_run() -> None:
    given = parse(
        "-B 64 -t 1 -s 64 -H 1MiB --shard address --fuel 16 -p 10 --timeout 2 -R counts -o a.hvt -m start -C -l 3"
    )
    assert run_arguments(given, "shell") == {
        "machine": Machine(blocks=64, threads_per_block=1, region_size=64, heap="1MiB", shard="address", fuel=16),
        "max_passes": 10,
        "timeout": 2.0,
        "record": "counts",
        "save": "a.hvt",
        "entry": "start",
        "mode": "collapse",
        "limit": 3,
    }


def test_o_is_save_in_the_shell_and_out_in_a_cell() -> None:
    assert parse("-o x", "shell").save == "x"
    assert parse("-o x", "cell").out == "x"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--blcks 3", "unknown option --blcks (did you mean --blocks?)"),
        ("--time-out=3", "unknown option --time-out (did you mean --timeout?)"),
        ("--shard adress", "(did you mean address?)"),
        ("--zzzzzz", "unknown option --zzzzzz"),
        ("--heap 3potatoes", "size '3potatoes' is not understood"),
        ("--timeout -1", "'-1' must be a number of seconds above 0"),
        ("--timeout nan", "'nan' must be a number of seconds above 0"),
        ("--blocks", "expected one argument"),
        ("--blocks many", "argument -B/--blocks: 'many' must be a whole number"),
        ("--fuel x", "argument --fuel: 'x' must be a whole number or auto"),
        ("--timeout soon", "argument --timeout: 'soon' must be a number of seconds above 0"),
        (f"--heap {'9' * 400}", "is more than any machine has"),
        ("--bogus", "unknown option --bogus; --help after a command lists its options\n"),
        ("--memory privat", "invalid choice: 'privat'"),
        ("extra", "too many arguments: extra"),
    ],
)
def test_a_bad_option_says_what_would_do(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(line)
    assert stop.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--blocks 0", "from 1 to 65,536"),
        ("--threads-per-block 3", "power of two"),
        ("--collapse --mode snf", "--mode snf has one result"),
        ("--limit 3 --mode snf", "--mode snf has one result"),
    ],
)
def test_a_setting_out_of_range_is_told_with_its_bound(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        run_arguments(parse(line), "shell")


def test_help_names_every_option_with_its_default() -> None:
    parser = ShellParser()
    add_options(parser, "shell")
    text = parser.format_help()
    for group in GROUPS.values():
        for option in group:
            if "shell" in option.doors:
                assert option.flags[-1] in text
    assert "(default: 8)" in text


@pytest.mark.parametrize("door", DOORS)
def test_help_shows_the_values_that_this_version_has(door: Door) -> None:
    parser = ShellParser()
    add_options(parser, door)
    text = parser.format_help()
    for dest, allowed in CHOICES.items():
        flag = "--" + dest.replace("_", "-")
        assert f"{flag} {{{','.join(allowed)}}}" in text


@pytest.mark.parametrize("dest", ["max_passes", "trace_limit", "record", "repeat", "device", "entry"])
def test_help_shows_the_defaults_of_run(dest: str) -> None:
    (option,) = (option for option in options("shell") if option.dest == dest)
    (shown,) = re.findall(r"\(default: (.*)\)$", option.help)
    default = inspect.signature(hvm4viz.run).parameters[dest].default
    assert (option.kind or str)(shown) == default


@pytest.mark.parametrize("name", ["1x", "class", "a b", "a.b", "x-y"])
def test_a_run_is_bound_to_what_can_name_a_variable(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = ShellParser(allow_abbrev=False)
    add_options(parser, "cell")
    with pytest.raises(SystemExit):
        parser.parse_args(["-o", name])
    assert f"argument -o/--out: {name!r} cannot name a variable" in capsys.readouterr().err
    assert parser.parse_args(["-o", "größe_2"]).out == "größe_2"


def test_nearest_is_silent_when_nothing_is_near() -> None:
    assert nearest("xyzzy", ["blocks", "heap"]) == ""
    assert (
        explain("the following arguments are required: FILE", "shell") == "the following arguments are required: FILE"
    )
