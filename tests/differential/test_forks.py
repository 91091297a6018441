"""fork="auto": right operands as tasks of their own; what is not needed is cancelled and gives back its slots."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import hvm4viz
from hvm4viz.events import OUTCOMES
from hvm4viz.settings import Machine, Shard
from tests.differential.machines import name_of, protocols

COUNT = "@count = λ{0n: λx. x; 1n+: λn. λx. @count(n, x)}\n"
SPIN = "@spin = λn. @spin((n + 1))\n"
TREE = "@sum = λ{0n: 1; 1n+: λ&n. (@sum(n) + @sum(n))}\n"

SHAPES: list[tuple[int, int, Shard]] = [(3, 7, "index"), (64, 16, "index"), (8, 16, "address"), (64, 16, "idle")]
MACHINES = [
    Machine(blocks=blocks, fuel=fuel, fork="auto", shard=shard, **protocol)
    for blocks, fuel, shard in SHAPES
    for protocol in protocols()
]

PROGRAMS = {
    "an erased sum does not wait for its right side": (
        COUNT + SPIN + "@main = (@count(40n, &{}) + @spin(0))",
        "&{}",
    ),
    "both copies of a superposed sum are erased": (
        COUNT + SPIN + "@main = (@count(40n, &A{&{}, &{}}) + @spin(0))",
        "&A{&{},&{}}",
    ),
    "work done before the cancellation is kept": (
        COUNT + "@main = (@count(20n, &A{1, 2}) + @count(60n, 5))",
        "&A{6,7}",
    ),
    "a cancelled task gives back the slot that it holds": (
        COUNT + SPIN + "@main = ! x &L= @count(80n, 7); #P{(@count(30n, &{}) + @count(3n, (x₀ + @spin(0)))), x₁}",
        "#P{&{},7}",
    ),
    "a cancelled task that only waits for a slot lets the others by": (
        COUNT
        + SPIN
        + "@main = ! x &L= ! y &M= @count(80n, 7); (y₀ + y₁);\n"
        + "  #P{(@count(20n, &{}) + (x₀ + @spin(0))), (@count(5n, 1) + x₁)}",
        "#P{&{},15}",
    ),
    "forks below a cancelled task are cancelled, too": (
        COUNT + SPIN + "@main = (@count(60n, &{}) + ((@count(90n, 1) + @spin(1)) + (@spin(2) + @spin(3))))",
        "&{}",
    ),
    "a cancelled slot that is read by nobody else": (
        COUNT + SPIN + "@main = (@count(30n, &{}) + ! x &L= @spin(0); (x₀ + x₁))",
        "&{}",
    ),
    "a sum of sums": (TREE + "@main = @sum(10n)", "1024"),
}


@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("name", PROGRAMS)
def test_forks_change_no_answer(name: str, machine: Machine) -> None:
    source, answer = PROGRAMS[name]

    run = hvm4viz.run(source, machine=machine, timeout=30)

    assert (run.status, run.text) == ("done", answer)


def outcomes(run: hvm4viz.Run) -> Counter[str]:
    return Counter(dict(zip(OUTCOMES, run.trace.outcomes.sum(axis=0).tolist(), strict=True)))


def test_a_tree_of_sums_gives_every_thread_work() -> None:
    source = TREE + "@main = @sum(14n)"
    alone, forked = (hvm4viz.run(source, machine=Machine(blocks=64, fork=fork, fuel=300)) for fork in ("off", "auto"))

    assert alone.text == forked.text == "16384"
    assert alone.stats.max_frontier < 300 < forked.stats.max_frontier
    assert outcomes(forked)["forked"] > 0 == outcomes(alone)["forked"]
    assert forked.stats.interactions == alone.stats.interactions


@pytest.mark.parametrize("protocol", [{}, {"dup": "claim"}, {"dup": "atomic"}], ids=str)
def test_more_tasks_than_hundreds_of_threads(protocol: dict[str, Any]) -> None:
    machine = Machine(blocks=8, threads_per_block=64, region_size=2**14, fuel=300, **protocol)
    source = "@sum = λ{0: 1; λ&d. (@sum((d - 1)) + @sum((d - 1)))}\n@main = @sum(16)"

    run = hvm4viz.run(source, machine=machine, record="counts")

    assert (run.status, run.text) == ("done", "65536")
    assert run.stats.max_frontier > machine.threads


@pytest.mark.parametrize(
    "body", ["(n + @sum((n - 1)))", "(@sum((n - 1)) + n)", "((n * 1) + @sum((n - 1)))"], ids=["right", "left", "piped"]
)
def test_a_dependent_chain_pays_a_logarithm(body: str) -> None:
    source = "@sum = λ{0: 0; λ&n. " + body + "}\n@main = @sum(%d)"
    passes = [hvm4viz.run(source % n, record="off").stats.passes for n in (1_000, 10_000, 100_000)]

    assert passes[1] - passes[0] <= 15
    assert passes[2] - passes[1] <= 15


def test_one_thread_never_forks() -> None:
    run = hvm4viz.run(TREE + "@main = @sum(8n)", machine=Machine(blocks=1, threads_per_block=1, fork="auto"))

    assert run.text == "256"
    assert outcomes(run)["forked"] == 0


def test_forks_leave_the_trace_deterministic() -> None:
    source = TREE + "@main = @sum(10n)"
    digests = {
        hvm4viz.run(source, machine=Machine(fork="auto"), workers=workers).trace.digest()
        for workers in (1, 2, 4)
        for _ in range(3)
    }

    assert len(digests) == 1
