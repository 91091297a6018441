"""Planted bugs are caught when every schedule of the small models is run; what must not matter does not.

Each is looked for in the models in turn; how the first model that shows it did so is part of the message when a change
that must not matter does.
"""

from __future__ import annotations

from functools import cache

import pytest

from hvm4viz.errors import Hvm4vizError
from hvm4viz.kernel_text.source import Kernel
from tests.schedules.explore import answer, explore, is_light
from tests.schedules.models import MODELS, VARIANTS
from tests.schedules.mutations import CAUGHT, HARMLESS, Mutation, mutant

PASSES_MAX = 200
FLAGS = ("-O0",)
"""Each mutant is compiled once, and run for less time than optimising takes."""

answer_of = cache(answer)


def caught(kernel: Kernel, protocol: dict[str, str]) -> str:
    """Say in which model a kernel goes wrong, and how; nothing if it does in none."""
    for model in (*MODELS, *VARIANTS):
        machine = model.machine(**protocol)
        if not is_light(model, machine):
            continue
        try:
            found = explore(
                model.start(),
                machine,
                kernel=kernel,
                expected=answer_of(model),
                is_counted=model.is_counted,
                max_passes=PASSES_MAX,
                flags=FLAGS,
            )
        except Hvm4vizError as error:
            return f"{model}: {type(error).__name__}: {error}"
        if found.offence:
            return f"{model}: {found.offence}"
    return ""


@pytest.mark.parametrize("mutation", CAUGHT, ids=str)
def test_planted_bug_is_caught(mutation: Mutation) -> None:
    kernel = mutant(mutation)

    assert caught(kernel.watched("shadow") if mutation.shadow else kernel, mutation.protocol)


@pytest.mark.parametrize("mutation", [m for m in CAUGHT if m.shadow], ids=str)
def test_race_that_changes_no_answer_is_told_by_the_shadow_alone(mutation: Mutation) -> None:
    kernel = mutant(mutation)

    assert not caught(kernel, mutation.protocol)
    assert "two threads meet" in caught(kernel.watched("shadow"), mutation.protocol)


@pytest.mark.parametrize("mutation", HARMLESS, ids=str)
def test_what_must_not_matter_does_not(mutation: Mutation) -> None:
    kernel = mutant(mutation)

    assert not caught(kernel, mutation.protocol)


def test_bug_that_the_kernel_has_no_place_for_is_told() -> None:
    with pytest.raises(AssertionError, match="stands 0 times in the kernel"):
        _ = mutant(Mutation("none", (("no such text", ""),))).text
