from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.frontier import FUEL_MIN, PASS_INTERACTIONS, auto_fuel
from hvm4viz.kernel_text import abi

SHARED = """
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}
@map = λ{[]: λf. []; <>: λh.λt.λ&f. f(h) <> @map(t, f)}
@main = ! &xs = @map(@range(40), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs}
"""
GRID = [
    {"blocks": 1, "threads_per_block": 1},
    {"blocks": 2, "threads_per_block": 1, "region_size": 64, "fuel": 1},
    {"blocks": 3, "threads_per_block": 4, "region_size": 64, "fuel": 16, "shard": "address"},
    {"blocks": 8, "threads_per_block": 4, "fuel": 3},
    {"blocks": 64, "threads_per_block": 4, "region_size": 64},
]


@pytest.mark.parametrize("settings", GRID, ids=str)
def test_twenty_runs_give_one_digest_whatever_the_workers(settings: dict[str, object]) -> None:
    program, machine = hv.parse(SHARED), hv.Machine(**settings)  # pyright: ignore[reportArgumentType]

    runs = [hv.run(program, machine=machine, device="cpu", workers=1 + i % 2) for i in range(20)]

    assert {run.status.value for run in runs} == {"done"}
    assert len({run.trace.digest() for run in runs}) == 1
    assert len({run.heap.digest() for run in runs}) == 1


def test_every_machine_gives_the_same_answer_and_count() -> None:
    program = hv.parse(SHARED)

    runs = [hv.run(program, machine=hv.Machine(**settings), device="cpu") for settings in GRID]  # pyright: ignore[reportArgumentType]

    assert len({run.text for run in runs}) == 1
    assert len({run.stats.interactions for run in runs}) == 1


def test_one_thread_never_defers() -> None:
    run = hv.run(SHARED, machine=hv.Machine(blocks=1, threads_per_block=1, fuel=2), device="cpu")

    assert run.stats.deferrals == 0


def test_many_blocks_defer_and_every_deferral_is_answered() -> None:
    run = hv.run(SHARED, machine=hv.Machine(blocks=8, fuel=2), device="cpu")

    assert run.status == "done"
    assert run.stats.deferrals > 0
    assert int(run.trace.parked[-1]) == 0


def test_workers_run_one_pass_in_parallel_with_the_same_result() -> None:
    wide = "@t = λ{0: 1; λ&n. #N{@t(n - 1), @f(n, 300)}}\n@f = λ&a. λ{0: a; λ&n. @f(a + n, n - 1)}\n@main = @t(60)"
    runs = [hv.run(wide, machine=hv.Machine(blocks=64), device="cpu", workers=w) for w in (1, 2, 4)]

    assert len({run.trace.digest() for run in runs}) == 1


@pytest.mark.parametrize("width", [0, 1, 2, 1000, PASS_INTERACTIONS, 10**9])
def test_automatic_fuel_keeps_a_pass_near_its_bound(width: int) -> None:
    fuel = auto_fuel(width)

    assert fuel >= FUEL_MIN
    assert fuel == FUEL_MIN or fuel * max(width, 1) <= PASS_INTERACTIONS


def test_fuel_is_spent_exactly() -> None:
    run = hv.run("@f = λ{0: 7; λ&n. @f(n - 1)}\n@main = @f(50)", machine=hv.Machine(fuel=5), device="cpu")
    events = run.trace.events()

    assert int(events["interactions"].max()) == 5
    assert int(run.trace.interactions.sum()) == run.stats.interactions


@pytest.mark.parametrize("fuel", [1, 2])
@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ("@main = ! &a = 1; &L{#F{a, a, a, a, a, a}, 2}", "collapse"),
        ("@main = ! f = λx; ! g = λy; ! h = λz; #P{f(x), #P{g(y), h(z)}}", "snf"),
    ],
    ids=["numbers read one after the other", "unscoped binders one in the other"],
)
def test_nothing_is_charged_beyond_the_fuel(source: str, mode: Literal["snf", "collapse"], fuel: int) -> None:
    run = hv.run(source, mode=mode, machine=hv.Machine(fuel=fuel), device="cpu")

    assert run.status == "done"
    assert int(run.trace.events()["interactions"].max()) == fuel


def test_loop_of_uncounted_steps_ends_its_passes() -> None:
    run = hv.run("@a = @b\n@b = @a\n@main = @a", device="cpu", max_passes=20, machine=hv.Machine(fuel=10))

    assert run.status == "pass_limit"
    assert run.stats.interactions == 0


def test_structs_are_laid_out_as_the_kernel_has_them() -> None:
    from hvm4viz.device import open_device
    from hvm4viz.device.base import view
    from hvm4viz.kernel_text.source import kernel

    device = open_device("cpu", workers=1)
    sizes = device.buffer(4 * len(abi.SIZES))
    device.kernel(kernel().text).function("layout_sizes")(1, sizes).wait()

    assert tuple(view(sizes, np.uint32)[: len(abi.SIZES)]) == abi.SIZES


def test_cyclic_term_that_nothing_can_break_is_stalled() -> None:
    builder = hv.HeapBuilder(16)
    from hvm4viz.term import Tag

    builder.put(0, Tag.DP0, 5, 1).put(1, Tag.APP, 0, 5)  # slot 1 holds an application of its own other end
    builder.put(5, Tag.DP1, 5, 1).put(6, Tag.NUM, 0, 3)

    for blocks in (1, 2):
        machine = hv.Machine(blocks=blocks, threads_per_block=1, region_size=16)
        run = hv.run_heap(builder.heap(), machine=machine, device="cpu", max_passes=100)
        assert run.status == "stalled"
        assert "cyclic" in run.message


def test_self_applied_cloned_function_goes_on_through_its_own_slot() -> None:
    source = "@twice = λ&f. λx. f(f(x))\n@main = @twice(@twice)"
    for settings in GRID:
        run = hv.run(source, machine=hv.Machine(**settings), device="cpu", mode="collapse")  # pyright: ignore[reportArgumentType]
        assert run.lines == ["λa.λb.a(a(a(b)))"]


@pytest.mark.parametrize("dup", ["owner", "atomic", "claim"])
@pytest.mark.parametrize("fuel", [1, 2, "auto"])
def test_operand_filled_behind_a_stuck_operator_wakes_it(dup: str, fuel: int | str) -> None:
    for main, text in (("#P{f(1)(5), x + 1}", "#P{1,6}"), ("#P{x + 1, f(1)(5)}", "#P{6,1}")):
        for blocks in (1, 8, 64):
            machine = hv.Machine(blocks=blocks, dup=dup, fuel=fuel)  # pyright: ignore[reportArgumentType]
            assert hv.run(f"@main = ! f = λ x; {main}", machine=machine, device="cpu").text == text


@pytest.mark.parametrize("settings", GRID, ids=str)
def test_cyclic_normal_form_is_visited_once(settings: dict[str, object]) -> None:
    machine = hv.Machine(**settings)  # pyright: ignore[reportArgumentType]

    run = hv.run("@twice = λ&f. λx. f(f(x))\n@main = @twice(@twice)", machine=machine, device="cpu", max_passes=500)

    assert run.status == "done"
    assert "…" in run.text


@pytest.mark.parametrize("blocks", [1, 3, 8])
@pytest.mark.parametrize("fuel", [1, 3])
def test_cycle_is_broken_under_claims_too(blocks: int, fuel: int) -> None:
    source = "@two = λ&f. λx. f(f(x))\n@main = λs. λz. (@two)(@two, s, z)"
    machine = hv.Machine(blocks=blocks, threads_per_block=2, region_size=128, dup="claim", fuel=fuel)

    assert hv.run(source, mode="collapse", machine=machine, device="cpu").lines == ["λa.λb.a(a(a(b)))"]


def test_many_threads_are_set_up_at_once() -> None:
    machine = hv.Machine(blocks=2048, threads_per_block=64, region_size=512)

    assert hv.run("@main = [1 + 2, 3]", machine=machine, device="cpu").text == "[3,3]"
