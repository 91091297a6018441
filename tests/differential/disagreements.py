"""Kernel against oracle: one program, one machine, one way to evaluate it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Literal

from hvm4viz.settings import Machine
from tests.differential.answers import Answer, answer, cut
from tests.differential.machines import protocols
from tests.oracle.evaluate import Outcome, evaluate
from tests.oracle.normalise import Order, depth_first
from tests.strategies import PLAIN, Below, make_program

MAX_STEPS = 50_000
"""Steps of the oracle; a program that takes more is left out, for it may never end."""

RESULTS_MAX = 100
"""Results enumerated in collapse mode."""

TIMEOUT_S = 20.0

ORDERS = 40
"""Other orders of evaluation that are tried before a difference counts."""

MIXES: dict[str, frozenset[str]] = {
    "plain": PLAIN,
    "guarded": PLAIN | {"guard"},
    # `===` decides on what is open at that moment: with binders that are filled later, the order decides
    "unscoped": (PLAIN | {"unscoped"}) - {"equal"},
    "logging": PLAIN | {"log"},
}
"""Sets of features that are tested together."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is compared."""

    source: str
    machine: Machine
    mode: Literal["snf", "collapse"] = "snf"

    @property
    def limit(self) -> int | None:
        """Most results."""
        return RESULTS_MAX if self.mode == "collapse" else None

    @property
    def is_guarded(self) -> bool:
        """Whether ``~>`` occurs: counts and the labels of what is left duplicated are then not fixed."""
        return "~>" in self.source


def some_program(below: Below, mix: Collection[str], *, size_max: int = 60) -> str:
    """Write a program with the features of a mix."""
    return make_program(below, features=mix, size_max=size_max)


def some_machine(below: Below) -> Machine:
    """Pick a machine."""
    return Machine(
        blocks=(1, 2, 3, 5, 8, 64)[below(6)],
        threads_per_block=(1, 2, 4)[below(3)],
        region_size=(4096, 512, 64)[below(3)],
        fuel=("auto", 1, 2, 7, 16)[below(5)],
        shard=("index", "address", "idle")[below(3)],
        fork=("off", "auto")[below(2)],
        **protocols()[below(len(protocols()))],
    )


def disagreement(trial: Trial) -> str | None:
    """Say in what the kernel and the oracle differ, or ``""`` when they agree; None when the oracle found no end."""
    expected = evaluate(trial.source, mode=trial.mode, limit=trial.limit, max_steps=MAX_STEPS)
    if expected.error == "steps":
        return None
    got = answer(trial.source, trial.machine, mode=trial.mode, limit=trial.limit, timeout=TIMEOUT_S)
    said = difference(trial, got, expected)
    is_ordered = trial.mode == "collapse" and trial.machine.threads == 1
    if not said or is_ordered:
        return said
    if is_answer_in_some_order(trial, got):
        return ""
    if trial.mode == "collapse" and has_open(got.text + expected.text):
        return ""  # a variable that escaped from its branch: another branch may fill it before or after this one prints
    return said


def difference(trial: Trial, got: Answer, expected: Outcome) -> str:
    """Say in what two answers differ."""
    if got.error != expected.error:
        return f"ends with error {got.error}, not {expected.error} {expected.message}"
    if expected.error is not None:
        return ""  # which of several errors is met first depends on the order
    if trial.is_guarded and (";!" in got.text or ";!" in expected.text):
        return ""
    if "…" in got.text:
        return ""  # a cyclic result: it has no one right way to be cut
    is_interleaved = bool(got.log) and trial.mode == "collapse"  # log lines and results take turns
    if in_order(got.text, is_interleaved) != in_order(expected.text, is_interleaved):
        return f"gives {cut(got.text, 2000)}, not {cut(expected.text, 2000)}"
    is_count_fixed = trial.mode == "snf" or trial.machine.threads == 1
    is_counted = is_count_fixed and not trial.is_guarded
    is_forked = trial.machine.fork == "auto"  # an operand may have been begun in vain
    if (
        is_counted
        and got.interactions != expected.interactions
        and not (is_forked and got.interactions > expected.interactions)
    ):
        return f"takes {got.interactions} interactions, not {expected.interactions}"
    return ""


def has_open(text: str) -> bool:
    """Whether a variable without a binder, or a duplication of one, stands in a collapsed result."""
    return ";!" in text or re.search(r"(?<![\w&])_(?!\w)", text) is not None


def in_order(text: str, is_sorted: bool) -> list[str]:  # noqa: FBT001
    """The lines of a text, as they come or sorted."""
    lines = text.split("\n")
    return sorted(lines) if is_sorted else lines


def is_answer_in_some_order(trial: Trial, got: Answer) -> bool:
    """Whether the oracle gives that answer when it visits fields, or lifts branches, in another order.

    Where an equality is decided on something still open that is filled later, and where labels collide so that a
    variable escapes from its branch before that is enumerated, the order decides.
    """
    orders: list[Order] = [depth_first, lambda _: 0, *(Random(seed).randrange for seed in range(ORDERS))]
    outcomes = (
        evaluate(trial.source, mode=trial.mode, limit=trial.limit, max_steps=MAX_STEPS, order=order) for order in orders
    )
    return any(not difference(trial, got, outcome) for outcome in outcomes)
