"""Programs to measure: ours by name, a user's by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hvm4viz.bench import samples
from tests.case_files import programs


def test_all_of_our_programs_are_measured_as_they_say() -> None:
    found = [(each.name, each.mode, each.limit, "\n".join(each.expected)) for each in samples()]
    assert found == [(case.name, case.mode, case.limit, case.output) for case in programs()]


def test_some_by_name_in_the_order_asked_for() -> None:
    assert [each.name for each in samples(["words", "church"])] == ["words", "church"]


def test_a_program_of_ones_own_needs_no_lines_of_comment(tmp_path: Path) -> None:
    path = tmp_path / "mine.hvm4"
    path.write_text("// mine: a remark\n@main = 1\n// mode: collapse\n", encoding="utf-8")
    (sample,) = samples([path])
    assert (sample.name, sample.mode, sample.limit, sample.expected) == ("mine", "snf", None, ())


@pytest.mark.parametrize(
    ("lines", "message"),
    [("// mode: whnf", "'whnf' must be snf or collapse"), ("// limit: 3", "of a program with // mode: collapse")],
)
def test_lines_that_make_no_sense_are_refused(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "mine.hvm4"
    path.write_text(f"{lines}\n@main = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        samples([path])


def test_unknown_names_are_answered_by_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no program 'wrods' \(did you mean words\?\); there are: automaton, "):
        samples(["wrods"])
    with pytest.raises(FileNotFoundError):
        samples(["missing.hvm4"])
