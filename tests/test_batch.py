from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.batch import Batch
from hvm4viz.turns import Turns

ALONE = hv.Machine(blocks=1, threads_per_block=1)
TREE = "@tree = λ{0: λ&p. p; λ&n. λ&p. &(n){@tree(n - 1, p * 2), @tree(n - 1, p * 2 + 1)}}\n@main = @tree(9, 1)"
PICKED = "@pick = λ{44: 44; λn. &{}}\n" + TREE.replace("λ&p. p;", "λ&p. @pick(p % 97);")
NATS = "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = @nats(0)"
MARKS = "@f = λ{0: λ&p. p; λ&n. λ&p. &(n){↑↑@f(n - 1, p + 1), ↑&(n + 9){p, &{}}}}\n@main = @f(40, 0)"
LATE = "@main = &A{λa. &B{a, 1}, ! x &L = λy. &C{y, 2}; #P{x₀, x₁}}"
QUIET: dict[str, Any] = {"mode": "collapse", "device": "cpu", "progress": False}


def facts(run: hv.Run) -> tuple[Any, ...]:
    stats = replace(run.stats, wall_s=0.0, device_s=0.0)
    return run.status, run.lines, stats, run.heap.words.tobytes()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Passes of each call that ran some, beside the last."""
    made: list[int] = []
    plain = Batch.run

    def run(self: Batch, *args: Any) -> None:
        plain(self, *args)
        made.append(self.passes)

    monkeypatch.setattr(Batch, "run", run)
    return made


@pytest.mark.parametrize(
    ("source", "limit"), [(TREE, None), (TREE, 100), (PICKED, None), (NATS, 90), (MARKS, None), (LATE, None)]
)
@pytest.mark.parametrize("machine", [ALONE, replace(ALONE, region_size=64, fuel=5), replace(ALONE, region_size=16)])
def test_many_passes_at_once_are_those_one_by_one(
    source: str, limit: int | None, machine: hv.Machine, calls: list[int]
) -> None:
    one_by_one = hv.run(source, machine=machine, limit=limit, record="counts", **QUIET)
    assert not calls

    at_once = hv.run(source, machine=machine, limit=limit, record="off", **QUIET)

    assert facts(at_once) == facts(one_by_one)
    assert calls


def test_what_is_erased_is_not_looked_at(calls: list[int]) -> None:
    run = hv.run(PICKED, machine=ALONE, record="off", **QUIET)

    assert run.lines == ["44"] * sum(p % 97 == 44 for p in range(512, 1024))
    assert run.stats.passes > 900
    assert len(calls) < 30


@pytest.mark.parametrize("passes", [1, 2, 3, 100, 101])
def test_the_limit_of_passes_is_kept_and_the_run_goes_on_behind_it(passes: int, calls: list[int]) -> None:
    whole = hv.run(PICKED, machine=ALONE, record="counts", **QUIET)

    stopped = hv.run(PICKED, machine=ALONE, record="off", max_passes=passes, **QUIET)
    run = stopped.resume(max_passes=10_000, progress=False)

    assert stopped.status == "pass_limit"
    assert stopped.stats.passes == passes
    assert facts(run) == facts(whole)
    assert calls


def test_a_full_heap_ends_in_the_same_pass() -> None:
    tight = replace(ALONE, region_size=64, heap="32 KiB")

    one_by_one, at_once = (hv.run(TREE, machine=tight, record=level, **QUIET) for level in ("counts", "off"))

    assert at_once.status == "heap_full"
    assert facts(at_once) == facts(one_by_one)


def test_who_looks_at_each_pass_sees_each(calls: list[int]) -> None:
    seen: list[int] = []

    run = hv.run(PICKED, machine=ALONE, record="off", on_pass=lambda p: seen.append(p.index), **QUIET)

    assert seen == list(range(run.stats.passes))
    assert not calls


def test_turns_keep_their_order_while_their_room_grows() -> None:
    turns = Turns()
    for cell in range(5_000):
        turns.push([cell, cell + 1], cell % 64)
    told = turns.told()
    other = Turns()
    other.restore(*told)

    order: list[int] = []
    while other.begin_next():
        order.append(other.cell)

    assert order == sorted(range(5_000), key=lambda cell: (cell % 64, cell))
    assert [len(bucket) for bucket in told[0]] == [79] * 8 + [78] * 56
