"""Programs on which random search found kernel, oracle or reference to differ, each shrunk, with the right answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from hvm4viz.settings import Machine
from tests.differential.answers import answer
from tests.differential.machines import ALONE, name_of
from tests.oracle.evaluate import evaluate

MACHINES = (ALONE, Machine(), Machine(blocks=64, region_size=64, fuel=1), Machine(blocks=3, shard="address", fuel=7))


@dataclass(frozen=True, slots=True)
class Found:
    """One program.

    Attributes
    ----------
    name : str
        What it is about.
    main : str
        The term of ``@main``.
    output : str
        What it gives.
    mode : {"snf", "collapse"}
        How it is evaluated.
    is_open : bool
        Whether the kernel still gets it wrong; a strict expected failure, so that the mark goes when the fault goes.
    """

    name: str
    main: str
    output: str
    mode: Literal["snf", "collapse"] = "snf"
    is_open: bool = False

    def __str__(self) -> str:
        return self.name


FOUND = (
    Found("stuck_slot_behind_stuck_slot", "((&A{(&A{2,3} + (! f = λ x; (x + f))),1}) + (! f = λ x; (x + f)))",
          "&A{&A{((2 + (a + λb.λa.b)) + (c + λd.λc.d)),((3 + (e + λf.λe.f)) + (g + λh.λg.h))},(1 + (i + λj.λi.j))}"),
    Found("variable_filled_by_later_branch", "(! v &B = (λx&B. [(x₁ + 0), 0]); (v₀ + v₁))",
          "(λa.[(a + 0),0] + λa.[(a + 0),0])", "collapse"),
    Found("slot_stuck_twice", "(λ&v3. &A{v3, &(&A{(&A λv4 {((↑0) + 0); 0})(v3), 0}){(0 + ((0 + 0) + 0)), "
          "[(λv5. (! v6 &A = (λv7. v7); (λv8. λ{#Nul: v8}(v3))))(0), 0]}})",
          "λa.&A{A₀,&A{&A{↑&_{0,[λb.B₀,0]},&_{0,[λc.B₁,0]}},&_{0,[λd.C₁,0]}}};!A&F___=a;!B&A=C₀;"
          "!C&A=λ{#Nul:&A{&A{b,c},d}}(D₁);!D&F__a=A₁;"),
    Found("guard_in_label", "((! v &((0 ~> 0)) = 0; v₀) + 0)", "0", "collapse"),
    Found("guard_before_function", "((^g ~> 1) .&. (λf. f(7)))(λx. (x + 1))", "8", "collapse"),
    Found("guard_before_case", "λ{#One: λx. (x + 1)}((^g ~> 1) .&. #One{5})", "6", "collapse"),
    Found("guard_below_operators", "((0 + 0) + ((0 ~> 0) + 0))", "0", "collapse"),
    Found("guard_beside_erasure", "((^g ~> 0) .&. &{})", "0", "collapse"),
    Found("hole_with_its_own_function", "(! f = λ x; (x + f))", "(_ + λa.λb.a)", "collapse"),
    Found("mark_below_case", "(2 .&. (↑3))", "3", "collapse"),
)  # fmt: skip


@pytest.mark.parametrize("found", FOUND, ids=str)
def test_oracle_is_right(found: Found) -> None:
    assert evaluate(f"@main = {found.main}", mode=found.mode).text == found.output


@pytest.mark.parametrize("machine", MACHINES, ids=name_of)
@pytest.mark.parametrize("found", FOUND, ids=str)
def test_kernel_is_right(found: Found, machine: Machine, request: pytest.FixtureRequest) -> None:
    if found.is_open:
        request.applymarker(pytest.mark.xfail(strict=True, reason="known, and not put right yet"))

    assert answer(f"@main = {found.main}", machine, mode=found.mode).text == found.output
