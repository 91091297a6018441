"""What must not matter: the names of variables, which labels are used, the regions, and where a run was stopped."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from typing import Any, Final, Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import hvm4viz as hv
from hvm4viz.settings import Machine
from tests.differential.disagreements import RESULTS_MAX, Trial, disagreement, some_machine
from tests.strategies import FEATURES, PLAIN, programs
from tests.trace.time_travel import MACHINES

Mode = Literal["snf", "collapse"]

QUIET: Final[dict[str, Any]] = {"device": "cpu", "workers": 1, "progress": False, "on_log": str}
PASSES_MAX: Final = 400
"""A program that has not ended by then is left out, for it may never end."""

EXAMPLES: Final = os.environ.get("HVM4VIZ_TEST_EXAMPLES")
"""How many programs each property is tried on by night: others each time (``--hypothesis-seed``)."""

quietly = settings(
    max_examples=int(EXAMPLES or 40),
    deadline=None,
    derandomize=EXAMPLES is None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
modes = st.sampled_from(("snf", "collapse"))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Pick a machine, of those whose events no timing decides."""
    machine = some_machine(lambda n: draw(st.integers(0, n - 1)))
    return machine if machine.dup != "atomic" and machine.owner_unit != "block" else replace(machine, **_ORDERED)


_ORDERED: Final[dict[str, Any]] = {"dup": "owner", "owner_unit": "thread", "visibility": "pass"}


def ran(source: str, machine: Machine, mode: Mode, **options: Any) -> hv.Run:
    """Run a program; leave it out if it does not end soon."""
    limit = {"mode": mode, "limit": RESULTS_MAX} if mode == "collapse" else {}
    run = hv.run(source, machine=machine, max_passes=PASSES_MAX, **QUIET, **limit, **options)
    assume(run.status in ("done", "error", "primitive"))
    return run


def behaviour(run: hv.Run, *, is_printed: bool = True) -> tuple[object, ...]:
    """Return what a run did, without its source."""
    told = [table.tobytes() for table in (run.trace.events(), run.trace.outcomes, run.trace.given)]
    return (run.status, run.lines if is_printed else [], run.log, run.stats.interactions, run.trace.n_passes, *told)


_VARIABLE: Final = re.compile(r"(?<![A-Za-z0-9_$@#%^])v([0-9]+)(?![A-Za-z0-9_$])")
_LABEL: Final = re.compile(r"(?<!&)&([ABC])(?![A-Za-z0-9_$])")


def renamed(source: str, shift: int, ending: str) -> str:
    """Give all variables other names: no two the same one, whatever they were."""
    return _VARIABLE.sub(lambda found: f"{'xyzabcdefg'[(int(found[1]) + shift) % 10]}{found[1]}{ending}", source)


def relabelled(text: str, names: tuple[str, ...]) -> str:
    """Put other labels in the place of A, B and C."""
    return _LABEL.sub(lambda found: f"&{names['ABC'.index(found[1])]}", text)


@quietly
@given(
    programs(features=FEATURES, size_max=40), machines(), modes, st.integers(0, 9), st.sampled_from(("", "_", "$Z9x"))
)
def test_names_of_variables_change_nothing(source: str, machine: Machine, mode: Mode, shift: int, ending: str) -> None:
    other = renamed(source, shift, ending)
    one, two = hv.parse(source), hv.parse(other)
    assert one.book.words.tolist() == two.book.words.tolist()
    assert behaviour(ran(other, machine, mode)) == behaviour(ran(source, machine, mode))


@quietly
@given(
    programs(features=set(FEATURES) - {"label"}, size_max=40),  # no other name reaches a label that is computed
    machines(),
    modes,
    st.permutations(("D", "lab", "Zz9", "q_", "B", "A")),
)
def test_other_labels_change_nothing_but_what_is_printed_of_them(
    source: str, machine: Machine, mode: Mode, names: list[str]
) -> None:
    three = tuple(names[:3])
    before = ran(source, machine, mode)
    after = ran(relabelled(source, three), machine, mode)
    assert after.lines == [relabelled(line, three) for line in before.lines]
    assert behaviour(after, is_printed=False) == behaviour(before, is_printed=False)


@quietly
@given(programs(features=PLAIN, size_max=40), machines(), modes, st.sampled_from((32, 64, 128, 1024, 2**16)))
def test_region_geometry_changes_no_result(source: str, machine: Machine, mode: Mode, size: int) -> None:
    assume(size >= 16 * machine.threads_per_block)  # a slice must hold the longest node
    before, after = ran(source, machine, mode), ran(source, replace(machine, region_size=size), mode)
    alike = before.status == after.status and sorted(before.lines) == sorted(after.lines)
    if not alike:  # then each must be right in an order of evaluation
        for regions in (machine.region_size, size):
            assert not disagreement(Trial(source, replace(machine, region_size=regions), mode))


RESUMED: Counter[str] = Counter()


@settings(quietly, max_examples=int(EXAMPLES or 25))
@given(programs(features=FEATURES, size_max=30), st.sampled_from(tuple(MACHINES)), st.sampled_from((1, 2, 5)), modes)
def resumed_from_every_pass(source: str, machine: str, fuel: int, mode: Mode) -> None:
    whole = ran(source, replace(MACHINES[machine], fuel=fuel), mode, record="full")
    assume(2 <= whole.trace.n_passes <= 40)
    for p in range(whole.trace.n_passes):
        resumed = whole.trace.resume(p, workers=1, max_passes=PASSES_MAX, progress=False, on_log=str)
        assert (resumed.status, resumed.lines, resumed.log) == (whole.status, whole.lines, whole.log)
        assert resumed.trace.digest() == whole.trace.digest(), f"resumed from pass {p}"
        assert resumed.heap.digest() == whole.heap.digest(), f"resumed from pass {p}"
    RESUMED[mode] += whole.trace.n_passes


def test_a_run_resumed_from_any_pass_is_the_run_that_never_stopped() -> None:
    resumed_from_every_pass()
    assert min(RESUMED["snf"], RESUMED["collapse"]) > 20, "hardly any run was resumed"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("&A{1, x && y} ! v &B = 1; λv&C. &A λa,b {1; 2}", "&X{1, x && y} ! v &Y = 1; λv&Z. &X λa,b {1; 2}"),
        ("&a{1, 2} &AB{3, &A{}} #A{} @A ^A", "&a{1, 2} &AB{3, &X{}} #A{} @A ^A"),
    ],
)
def test_labels_alone_are_relabelled(text: str, says: str) -> None:
    assert relabelled(text, ("X", "Y", "Z")) == says


def test_variables_alone_are_renamed() -> None:
    assert renamed("λ&v1. λv3. [v1₀, v12, @f1, #v, ^foo]", 0, "_") == "λ&y1_. λa3_. [y1_₀, z12_, @f1, #v, ^foo]"
