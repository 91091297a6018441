"""The sim device: its memory model by litmus tests, its schedules by counting, its verbs by running programs."""

from __future__ import annotations

import platform

import pytest

import hvm4viz as hv
from hvm4viz.device import cpu, lookup, open_device
from hvm4viz.device.sim import Choices, Exhaustive, Replayed, Seeded, SimDevice
from hvm4viz.errors import DeviceUnavailable, KernelFault
from tests.schedules.litmus import Litmus

X, Y = 2, 4
"""Half cells."""

BOTH = {(0, 0), (0, 1), (1, 0), (1, 1)}
WRITE_XY = f"WRITE({X}, 1u); WRITE({Y}, 1u);"
READ_YX = f"SAY(READ({Y})) SAY(READ({X}))"
READ_XY = f"SAY(READ({X})) SAY(READ({Y}))"

LITMUS = {
    "message passing": ((WRITE_XY, READ_YX), BOTH),
    "message passing, released and acquired": (
        (f"WRITE({X}, 1u); WRITE_RELEASE({Y}, 1u);", f"SAY(READ_ACQUIRE({Y})) SAY(READ({X}))"),
        BOTH - {(1, 0)},
    ),
    "message passing, released only": ((f"WRITE({X}, 1u); WRITE_RELEASE({Y}, 1u);", READ_YX), BOTH),
    "message passing, acquired only": ((WRITE_XY, f"SAY(READ_ACQUIRE({Y})) SAY(READ({X}))"), BOTH),
    "message passing of a cell": (
        ("cells[1] = (ulong)7; WRITE_RELEASE(4, 1u);", "SAY(READ_ACQUIRE(4)) SAY((ulong)cells[1])"),
        {(0, 0), (0, 7), (1, 7)},
    ),
    "what is passed on": (
        (
            f"WRITE({X}, 1u);",
            f"SAY(READ({X})) WRITE_RELEASE({Y}, 1u);",
            f"SAY(READ_ACQUIRE({Y})) SAY(READ({X}))",
        ),
        {(x, y, again) for x in (0, 1) for y in (0, 1) for again in (0, 1)} - {(1, 1, 0)},
    ),
    "store buffering": ((f"WRITE({X}, 1u); SAY(READ({Y}))", f"WRITE({Y}, 1u); SAY(READ({X}))"), BOTH),
    "load buffering": ((f"SAY(READ({X})) WRITE({Y}, 1u);", f"SAY(READ({Y})) WRITE({X}, 1u);"), BOTH - {(1, 1)}),
    "read twice": ((f"WRITE({X}, 1u);", f"SAY(READ({X})) SAY(READ({X}))"), BOTH - {(1, 0)}),
    "read twice, two writes": (
        (f"WRITE({X}, 1u); WRITE({X}, 2u);", f"SAY(READ({X})) SAY(READ({X}))"),
        {(a, b) for a in range(3) for b in range(3) if a <= b},
    ),
    "own write first": (
        (f"WRITE({X}, 1u); SAY(READ({X}))", f"WRITE({X}, 2u); SAY(READ({X}))"),
        {(1, 1), (1, 2), (2, 2)},
    ),
    "two readers disagree": (
        (f"WRITE({X}, 1u);", f"WRITE({Y}, 1u);", READ_XY, READ_YX),
        {(a, b, c, d) for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)},
    ),
    "one swaps": (
        (f"SAY(SWAP_IF({X}, 0u, 1u))", f"SAY(SWAP_IF({X}, 0u, 2u))", f"SAY(SWAP_IF({X}, 0u, 3u))"),
        {(1, 0, 0), (0, 1, 0), (0, 0, 1)},
    ),
    "a swap that fails has seen why": (
        (f"SAY(SWAP_IF({X}, 5u, 9u)) SAY(READ({X}))", f"WRITE({X}, 1u); WRITE({Y}, 1u);", f"SAY(READ({Y}))"),
        {(0, x, y) for x in (0, 1) for y in (0, 1)},
    ),
    "one sets a bit first": ((f"SAY(SET({X}, 4u))", f"SAY(SET({X}, 4u))"), {(0, 4), (4, 0)}),
    "a cell is read whole": (
        ("cells[1] = (ulong)0x100000001;", "{ const ulong c = cells[1]; SAY(c) SAY(c >> 32) }"),
        {(0, 0), (1, 1)},
    ),
    "halves are apart": ((f"WRITE({X}, 1u);", f"WRITE({X + 1}, 1u); SAY(READ({X}))"), {(0,), (1,)}),
    "halves in one cell keep each other": (
        (f"WRITE({X}, 1u); SAY(READ({X}))", f"WRITE({X + 1}, 2u); SAY(READ({X + 1}))"),
        {(1, 2)},
    ),
}

FORBIDDEN = {
    "publishes what nobody holds": (f"SAY(1) if (READ({X}) == 0u) sim_op(OP_PUBLISH, 5u, 0u);", f"WRITE({X}, 1u);"),
    "takes once in a while": (f"if (READ({X}) == 1u && READ({Y}) == 0u) sim_op(OP_TAKE, 5u, 0u);", WRITE_XY),
}
ALONE = {"alone": ("cells[1] = (ulong)5; SAY((ulong)cells[1])", "cells[2] = (ulong)6;")}
STEPS = {(2, 6): 924, (3, 4): 34_650, (4, 2): 2_520}
COUNTED = {
    f"{threads} x {steps}": (f"for (uint i = 0u; i < {steps}u; i++) SET({X}, 1u);",) * threads
    for threads, steps in STEPS
}


@pytest.fixture(scope="module")
def litmus() -> Litmus:
    return Litmus({name: threads for name, (threads, _) in LITMUS.items()} | FORBIDDEN | ALONE | COUNTED)


@pytest.mark.parametrize("name", LITMUS)
def test_threads_see_what_weak_memory_lets_them_see(litmus: Litmus, name: str) -> None:
    found, explored = litmus.explore(name)

    assert found == LITMUS[name][1]
    assert explored.is_complete


@pytest.mark.parametrize("name", [*LITMUS, *COUNTED])
def test_leaving_out_orders_that_cannot_matter_leaves_out_no_end(litmus: Litmus, name: str) -> None:
    every, all_ = litmus.explore(name)
    reduced, some = litmus.explore(name, is_reduced=True)

    assert reduced == every
    assert {end.image for end in some.ends} == {end.image for end in all_.ends}
    assert some.executions <= all_.executions


@pytest.mark.parametrize(("threads", "steps"), STEPS)
def test_every_interleaving_is_counted(litmus: Litmus, threads: int, steps: int) -> None:
    _, explored = litmus.explore(f"{threads} x {steps}")

    assert explored.schedules == STEPS[threads, steps]
    assert explored.longest == threads * steps


def test_words_of_one_thread_alone_are_no_point_of_scheduling(litmus: Litmus) -> None:
    found, explored = litmus.explore("alone")

    assert (found, explored.schedules, explored.words) == ({(5,)}, 1, ())


def test_seeds_reach_everything_and_give_the_same_again(litmus: Litmus) -> None:
    first, again = ([litmus.run("message passing", Seeded(seed)) for seed in range(100)] for _ in range(2))

    assert first == again
    assert set(first) == BOTH


def test_choices_can_be_written_down_and_run_again(litmus: Litmus) -> None:
    every = Exhaustive()
    litmus.run("message passing", every)
    ends = every.passes[0].ends
    ways = [Replayed({1: Choices.parse(str(end.choices))}) for end in ends]

    assert sorted(litmus.run("message passing", way) for way in ways) == sorted(BOTH)
    with pytest.raises(ValueError, match="'nonsense' is no list of choices"):
        Choices.parse("nonsense")
    with pytest.raises(ValueError, match="no schedule of pass 0"):
        litmus.run("message passing", Replayed({1: Choices((X, Y), ((0, 3),))}))
    with pytest.raises(ValueError, match="heap ends before"):
        litmus.run("message passing", Replayed({1: Choices((1_000_000,), ())}))


SOURCE = """
@sum = λ{[]: 0; <>: λh. λt. h + @sum(t)}
@map = λ{[]: λ&f. []; <>: λh. λt. λ&f. f(h) <> @map(t, f)}
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@main = ! &xs = @map(@range(20), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs}
"""


@pytest.mark.parametrize("dup", ["owner", "claim"])
def test_trace_does_not_depend_on_the_seed(dup: str) -> None:
    machine = hv.Machine(blocks=4, threads_per_block=2, fuel=7, dup=dup)  # pyright: ignore[reportArgumentType]
    plain = hv.run(SOURCE, machine=machine, device="cpu")
    runs = [hv.run(SOURCE, machine=machine, device=open_device("sim", seed=seed)) for seed in range(10)]

    assert {(run.text, run.trace.digest()) for run in runs} == {(plain.text, plain.trace.digest())}
    assert runs[3].device.name.endswith("seed 3)")


def test_auto_never_picks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise DeviceUnavailable("not today")

    monkeypatch.setattr(lookup, "kinds", lambda: ("cpu", "sim"))
    monkeypatch.setattr(cpu, "open", refuse)

    with pytest.raises(DeviceUnavailable, match=r"cpu: not today$"):
        open_device("auto")


def test_other_processors_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")

    with pytest.raises(DeviceUnavailable, match=r"riscv64: use device='cpu'"):
        open_device("sim")


def test_what_the_protocol_forbids_is_told_with_the_seed_that_shows_it(litmus: Litmus) -> None:
    with pytest.raises(
        KernelFault, match=r"pass 0, slot 5: publish by thread 0, .*nobody holds; seed 8 shows it again"
    ):
        litmus.run("publishes what nobody holds", Seeded(8))


def test_forbidden_operations_are_found_in_whatever_schedule_has_them(litmus: Litmus) -> None:
    name, held = "takes once in a while", (0, 0, 0, 0, 0, 64 << 56)

    with pytest.raises(KernelFault, match="which another task holds; these choices") as caught:
        litmus.run(name, Exhaustive(), cells=held)

    way = Choices.parse(str(caught.value).rpartition(": ")[2])
    with pytest.raises(KernelFault, match="which another task holds"):
        litmus.run(name, Replayed({1: way}), cells=held)
    litmus.run(name, Replayed({}), cells=held)


def test_two_devices_may_be_at_work_at_once() -> None:
    machine = hv.Machine(blocks=2, threads_per_block=2)
    devices = [SimDevice(Seeded(1)), SimDevice(Seeded(1))]

    assert len({hv.run(SOURCE, machine=machine, device=device).trace.digest() for device in devices}) == 1
