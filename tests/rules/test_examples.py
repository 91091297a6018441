"""Every ``example:`` line of a rule's header: the term gives the expected text, and the trace shows that it fired."""

from __future__ import annotations

import pytest

import hvm4viz as hv
from hvm4viz.measure.rules_fired import rules_fired
from hvm4viz.rules import rule_table

EXAMPLES = [(rule.name, term, expected) for rule in rule_table() for term, expected in rule.examples]
MACHINES = {
    "alone": hv.Machine(blocks=1, threads_per_block=1),
    "many": hv.Machine(blocks=3, threads_per_block=2, region_size=64, fuel=1, shard="address"),
}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize(("rule", "term", "expected"), EXAMPLES, ids=[f"{r}: {t}" for r, t, _ in EXAMPLES])
def test_example_fires_its_rule(rule: str, term: str, expected: str, machine: hv.Machine) -> None:
    mode = "collapse" if term.startswith("collapse ") else "snf"

    run = hv.run(f"@main = {term.removeprefix('collapse ')}", mode=mode, machine=machine, device="cpu", workers=1)

    assert run.status == "done", run.message
    assert run.text == expected
    assert rules_fired(run.trace)[rule] > 0


def test_every_rule_has_an_example() -> None:
    assert all(rule.examples for rule in rule_table())
