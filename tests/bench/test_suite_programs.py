"""The programs of the suite: each says, for three sizes or four, what it prints and counts, and it does."""

from __future__ import annotations

import re

import pytest

import hvm4viz as hv
from hvm4viz.bench.programs import samples
from hvm4viz.bench.suite_programs import SIZES, SuiteProgram, suite, suite_folder

NAMES = [path.stem for path in sorted(suite_folder().glob("*.hvm4"))]


def check(program: SuiteProgram) -> None:
    machine = hv.Machine(blocks=1, threads_per_block=1)
    run = hv.run(
        program.program, mode=program.mode, limit=program.limit, machine=machine, device="cpu", record="off",
        progress=False,
    )  # fmt: skip
    assert run.status == "done", run.message
    assert tuple(run.lines) == program.expected
    assert run.stats.interactions == program.interactions


def test_the_suite_has_what_it_is_to_have() -> None:
    assert set(NAMES) >= {
        "tree_build", "tree_sum", "long_leaves", "church", "lists", "search", "sharing", "loop"
    }  # fmt: skip
    assert [each.name for each in suite()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_small_one_answers_and_counts_as_it_says(name: str) -> None:
    (program,) = suite([name], size="small")
    assert program.interactions < 100_000
    check(program)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_medium_one_answers_and_counts_as_it_says(name: str) -> None:
    (program,) = suite([name])
    assert 2_000_000 <= program.interactions <= 20_000_000
    check(program)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_differ_in_one_line(name: str) -> None:
    texts = {size: suite([name], size=size)[0].program.source for size in SIZES}
    sizes = [int(re.findall(r"^@size = (\d+)$", texts[size], re.MULTILINE)[0]) for size in SIZES]
    assert sizes[:3] == sorted(set(sizes[:3]))
    says_huge = "// huge:" in texts["medium"]
    assert sizes[3] > sizes[2] if says_huge else texts["huge"] == texts["large"]
    assert len({re.sub(r"^@size = .*$", "", text, flags=re.MULTILINE) for text in texts.values()}) == 1
    counts = [suite([name], size=size)[0].interactions for size in SIZES]
    assert counts[2] > 10 * counts[1] > 100 * counts[0]


@pytest.mark.parametrize("name", NAMES)
def test_other_measurements_read_the_size_that_stands_in_the_file(name: str) -> None:
    (sample,) = samples([suite_folder() / f"{name}.hvm4"])
    (program,) = suite([name])
    assert (sample.mode, sample.limit, sample.expected) == (program.mode, program.limit, program.expected)


def test_the_suite_is_not_among_the_programs_to_read() -> None:
    assert not {each.program.files[0][0] for each in samples()} & {each.program.files[0][0] for each in suite()}


def test_names_and_sizes_that_there_are_not() -> None:
    with pytest.raises(ValueError, match=r"no program 'lop' in the suite \(did you mean loop\?\); there are: church, "):
        suite(["lop"])
    with pytest.raises(ValueError, match="size='vast': must be one of small, medium, large, huge"):
        suite(size="vast")  # pyright: ignore[reportArgumentType]
