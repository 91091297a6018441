"""What one reduction leaves to another: cyclic terms that are forked and cancelled, slots that the evaluator filled."""

from __future__ import annotations

from typing import Literal

import pytest

import hvm4viz
from hvm4viz.execution import Mode
from hvm4viz.settings import Machine
from tests.differential.machines import name_of, protocols

SHAPES: list[tuple[int, int, int | Literal["auto"]]] = [(3, 2, 1), (8, 4, "auto"), (1, 4, 16)]
MACHINES = [
    Machine(blocks=blocks, threads_per_block=threads, fuel=fuel, fork="auto", **protocol)
    for blocks, threads, fuel in SHAPES
    for protocol in protocols()
]
ALONE = Machine(blocks=1, threads_per_block=1)

TWO = "@two = λ&f. λx. f(f(x))\n"
CYCLIC = {
    "both operands": TWO + "@main = λa,b,c,d. ((@two)(@two, a, b) + (@two)(@two, c, d))",
    "an operator of operators": TWO
    + "@main = λ&a,b,c,d,e. (((@two)(@two, a, b) + (@two)(@two, c, d)) * (@two)(@two, e, a))",
    "an equation": TWO + "@main = λa,b,&c,&d. ((@two)(@two, a, b) === ((@two)(@two, c, d) + (@two)(@two, d, c)))",
    "variables that both share": "@main = λ&s. λ&z. ((λ&f. λx. f(f(x)))(λ&f. λx. f(f(x)), s, z)"
    " + (λ&f. λx. f(f(x)))(λ&f. λx. f(f(x)), s, z))",
}

SHARED = {
    "a lambda": "@f = λ&x. #P{x, %gnf(#L{x})}\n@main = @f(λy. y)",
    "a constructor": "@f = λ&x. ((x === #A{}) + %gnf(#L{x}))\n@main = @f(#A{})",
    "a match": "@f = λ&x. #P{x(1), %gnf(#L{x(2)})}\n@main = @f(λ{0: 1; λn. n})",
    "a name": "@f = λ&x. #P{x, %gnf(#L{x, x})}\n@main = λa. @f(a)",
    "a superposition": "@f = λ&x. #P{x, %gnf(#L{x})}\n@main = @f(&L{1, λy. y})",
}


@pytest.mark.parametrize("mode", ["collapse", "snf"])
@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("name", CYCLIC)
def test_a_cancelled_task_that_waits_for_itself_changes_no_answer(name: str, machine: Machine, mode: Mode) -> None:
    expected = hvm4viz.run(CYCLIC[name], mode=mode, machine=ALONE, record="off")

    run = hvm4viz.run(CYCLIC[name], mode=mode, machine=machine, record="off", max_passes=5_000)

    assert (run.status, run.lines) == ("done", expected.lines)


@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("name", SHARED)
def test_what_the_evaluator_published_is_not_taken_again(name: str, machine: Machine) -> None:
    expected = hvm4viz.run(SHARED[name], machine=ALONE, record="off")

    run = hvm4viz.run(SHARED[name], machine=machine, record="off")

    assert (run.status, run.lines) == ("done", expected.lines)
    assert run.stats.interactions == expected.stats.interactions
