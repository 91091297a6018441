"""Random schedules: few here, as many as one likes as a command (``random_schedules.py``).

What must hold after every step of a task (who takes, publishes, gives back and reads a slot, and in which state) is
checked by the sim device in every run, and who touches which word by the shadow; what must hold after every pass (each
task run, deferred or faulted once, nothing lost, no word of a live cell zero) by ``Trace.verify``.
"""

from __future__ import annotations

from collections import Counter

import pytest

from hvm4viz.device.sim import Seeded
from hvm4viz.kernel_text.source import kernel
from hvm4viz.settings import Machine
from tests.case_files import cases
from tests.differential.machines import protocols
from tests.schedules.explore import run_under
from tests.schedules.random_schedules import examine_case, examine_program

PROGRAMS = 40
SEEDS = 4


def test_random_programs_give_one_digest_whatever_the_schedule() -> None:
    totals: Counter[str] = Counter()
    said = [line for number in range(PROGRAMS) for line in examine_program(number, SEEDS, totals, size=60)]

    assert not said, "\n".join(said)
    assert totals["schedules"] == PROGRAMS * (SEEDS + 1)
    assert totals["done"] >= PROGRAMS // 2


@pytest.mark.parametrize("case", cases()[::12], ids=str)
def test_cases_give_what_is_expected_whatever_the_schedule(case: object) -> None:
    totals: Counter[str] = Counter()
    said = examine_case(case, SEEDS, totals)  # pyright: ignore[reportArgumentType]

    assert not said, "\n".join(said)


SHARED = """
@tree = λ{0n: λ&x. #Leaf{x}; 1n+: λ&n. λ&x. #Node{@tree(n, x), @tree(n, x)}}
@main = ! &x= (3 * 4); ! &y= #P{x, (x + 1)}; #R{@tree(3n, y), (λz. z)(y), @tree(2n, (x + 2))}
"""


@pytest.mark.parametrize("protocol", [row for row in protocols() if row["visibility"] == "pass"], ids=str)
def test_no_random_schedule_makes_threads_meet_where_they_must_not(protocol: dict[str, str]) -> None:
    machine = Machine(blocks=8, threads_per_block=4, fuel=5, region_size=64, heap="1 MiB", **protocol)  # pyright: ignore[reportArgumentType]
    runs = [run_under(Seeded(seed), SHARED, machine, kernel=kernel().watched("shadow")) for seed in range(20)]

    assert {(run.status, run.message) for run in runs} == {("done", "")}
    assert len({run.text for run in runs}) == 1


@pytest.mark.parametrize("protocol", protocols(), ids=str)
def test_traces_of_random_schedules_keep_the_protocol(protocol: dict[str, str]) -> None:
    machine = Machine(blocks=4, threads_per_block=2, fuel=5, region_size=64, heap="1 MiB", **protocol)  # pyright: ignore[reportArgumentType]
    for seed in range(6):
        run = run_under(Seeded(seed), SHARED, machine, record="full")

        verified = run.trace.verify()
        assert verified.ok, f"seed {seed}: {verified}"
        assert len(verified.checked) > 10
