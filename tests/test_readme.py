"""The README's two commands, and the files that repeat what pyproject.toml says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import hvm4viz
from hvm4viz.figure_request import figure_kinds
from hvm4viz.trace.digest import is_ordered

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
RUN, TEST = BLOCKS[0].removesuffix("\n"), BLOCKS[1].removesuffix("\n")


def extras(command: str) -> set[str]:
    (named,) = re.findall(r'-e "\.\[([\w,]+)\]"', command)
    return set(named.split(","))


def test_each_command_is_one_line_that_starts_from_nothing() -> None:
    for command in (RUN, TEST):
        assert "\n" not in command
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_the_commands_name_extras_that_exist_and_bring_a_compiler() -> None:
    known = PROJECT["optional-dependencies"]
    for command in (RUN, TEST):
        assert extras(command) <= set(known)
        assert "compiler" in extras(command) or any(
            "compiler" in line for name in extras(command) for line in known[name]
        )


def test_the_first_command_runs_a_program_that_is_here_and_draws_it() -> None:
    (program,) = re.findall(r"hvm4viz run (\S+)", RUN)
    assert (ROOT / program).is_file()
    assert "--fig overview=" in RUN


def test_ci_runs_the_second_command_as_a_user_is_told_to() -> None:
    assert TEST in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_links_in_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_links_to_headings_lead_to_one() -> None:
    for target, heading in re.findall(r"\]\((\S+\.md)#([^)]+)\)", README):
        headings = re.findall(r"^#+ (.*)$", (ROOT / target).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert heading in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


def test_the_readme_names_every_figure() -> None:
    (row,) = (line for line in README.splitlines() if line.startswith("| `hvm4viz figure "))
    assert set(re.findall(r"`(\w+)`", row)) == set(figure_kinds())


def test_the_readme_names_the_settings_without_an_order_of_events() -> None:
    (sentence,) = re.findall(r"order of events is not theirs to decide, with (.*?) and in a run", README, re.DOTALL)
    for given in ({}, {"dup": "claim"}, {"dup": "atomic"}, {"owner_unit": "block"}):
        trace = hvm4viz.run("@main = 1", machine=hvm4viz.Machine(**given)).trace  # pyright: ignore[reportArgumentType]
        named = all(f'`{name}="{value}"`' in sentence for name, value in given.items()) and bool(given)
        assert is_ordered(trace.header, "done") is not named
        assert not is_ordered(trace.header, "timeout")
        assert not is_ordered(trace.header, "interrupted")


@pytest.mark.parametrize(
    ("program", "name"), [("@main = 1", "on_pass"), ('@main = %log("x")', "on_log"), ("@main = &A{1, 2}", "on_result")]
)
def test_what_an_own_function_raises_comes_out_as_it_is(program: str, name: str) -> None:
    class Mine(Exception):
        pass

    def fail(_: object) -> None:
        raise Mine

    with pytest.raises(Mine):
        hvm4viz.run(program, mode="collapse", **{name: fail})  # pyright: ignore[reportArgumentType]


def requirement(text: str) -> tuple[str, str, str]:
    """Split a requirement into name, bounds and marker, blanks and extras left out."""
    need, _, marker = text.partition(";")
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?\s*(.*)", need.strip())
    assert found, text
    return found[1].lower(), found[2].replace(" ", ""), " ".join(marker.split())


def test_the_conda_environment_asks_for_what_the_project_asks_for() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"] == ["conda-forge"]
    *conda, pip = environment["dependencies"]
    named = dict(requirement(line.replace("matplotlib-base", "matplotlib"))[:2] for line in conda)
    asked = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["lab"]
    for name, bounds, marker in map(requirement, asked):
        if not marker:
            assert named.get(name) == bounds, f"{name} differs between environment.yml and pyproject.toml"
    assert named["python"].startswith(PROJECT["requires-python"])
    assert "cxx-compiler" in named
    marked = [requirement(line) for line in asked if ";" in line]
    assert [requirement(line) for line in pip["pip"][:-1]] == marked
    assert pip["pip"][-1] == "-e .[dev]"


def test_the_metal_package_is_asked_for_on_apple_silicon_alone() -> None:
    markers = [requirement(line)[2] for line in PROJECT["dependencies"] if line.startswith("metalcompute")]
    assert markers == ['sys_platform == "darwin" and platform_machine == "arm64" and python_version < "3.14"']
