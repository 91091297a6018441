from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device.base import Buffer, view
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.device.way import Way
from hvm4viz.errors import DeviceFailed, KernelFault
from hvm4viz.events import EVENT, ORIGINS, OUTCOMES
from hvm4viz.execution import Execution
from hvm4viz.frontier import Frontier, protocol
from hvm4viz.fuel import FUEL_MIN, PASS_INTERACTIONS, auto_fuel
from hvm4viz.heap import Heap
from hvm4viz.kernel_text import abi
from hvm4viz.quiet import quiet_request
from hvm4viz.store import Store
from hvm4viz.term import Tag, pack

SHARED = """
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@sum = λ{[]: 0; <>: λh.λt. h + @sum(t)}
@map = λ{[]: λf. []; <>: λh.λt.λ&f. f(h) <> @map(t, f)}
@main = ! &xs = @map(@range(20), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs}
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
    fuel = auto_fuel(width, 32)

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


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        ({"fork": "off"}, 0),
        ({}, abi.PARAM_FORK),
        ({"blocks": 2, "threads_per_block": 1}, abi.PARAM_FORK),
        ({"blocks": 1, "threads_per_block": 1}, 0),  # nobody to fork to
        ({"fork": "off", "visibility": "live"}, abi.PARAM_LIVE),
        ({"fork": "off", "dup": "claim"}, abi.PARAM_CLAIM),
        ({"fork": "off", "dup": "atomic"}, abi.PARAM_ATOMIC),
        ({"fork": "off", "defer": "return"}, abi.PARAM_RETURN),
        ({"fork": "off", "owner_unit": "block"}, abi.PARAM_BLOCK),
        ({"defer": "return", "owner_unit": "block"}, abi.PARAM_FORK | abi.PARAM_RETURN | abi.PARAM_BLOCK),
        ({"dup": "claim", "visibility": "live"}, abi.PARAM_FORK | abi.PARAM_CLAIM | abi.PARAM_LIVE),
        ({"dup": "atomic", "visibility": "live"}, abi.PARAM_FORK | abi.PARAM_ATOMIC | abi.PARAM_LIVE),
    ],
    ids=str,
)
def test_the_kernel_is_told_the_protocol(settings: dict[str, Any], flags: int) -> None:
    assert protocol(hv.Machine(**settings)) == flags


def frontier(machine: hv.Machine, words: np.ndarray | None = None, **options: Any) -> Frontier:
    what = "@main = 1" if words is None else Heap(words)
    made = Execution(quiet_request(what, machine=machine, device="cpu", **options))._machine
    assert isinstance(made, Frontier)
    return made


SHAPES = [
    hv.Machine(blocks=1, threads_per_block=1, region_size=64),
    hv.Machine(blocks=2, threads_per_block=4, region_size=64),
    hv.Machine(blocks=3, threads_per_block=1, region_size=128),
    hv.Machine(blocks=5, threads_per_block=8, region_size=128),
]


@pytest.mark.parametrize("machine", SHAPES, ids=str)
@pytest.mark.parametrize("laid", [1, 2, 13, 63, 64, 65, 200, 1000])
@pytest.mark.parametrize("marked", [False, True], ids=["by word", "by use"])
def test_threads_begin_behind_what_is_laid_out(machine: hv.Machine, laid: int, marked: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(laid)
    words = (rng.random(laid) < 0.1).astype(np.uint64)  # a shift leaves a number: words of no task
    taken = words > 0 if marked else None
    if marked:
        words = np.where(rng.random(laid) < 0.5, words, 0).astype(np.uint64)  # a cell in use may hold a zero word
    words[0], used = 1, (words > 0) if taken is None else taken
    used[0] = True
    made = frontier(machine, words, taken=taken)
    size, lanes, cells = machine.region_size, machine.threads_per_block, machine.slice_cells
    slot = 2 if machine.threads == 1 else 4

    for thread, state in enumerate(made._state_view):
        block, lane = divmod(thread, lanes)
        region, begin = int(state["region"]), int(state["end"]) - cells
        assert made.store.owner_view[region] == block
        assert begin == region * size + lane * cells
        assert max(begin, 1) <= state["next"] <= state["end"]
        mine = np.flatnonzero(used[begin : int(state["end"])])
        last = begin + int(mine[-1]) if mine.size else None
        room = slot if laid > 1 else 1  # the last word may belong to a slot whose others are zero
        free = max(begin, 1) if last is None else min(last + room, int(state["end"]))
        assert state["next"] == free
    regions = [int(region) for region in made._state_view["region"][::lanes]]
    assert regions == [
        max(r for r in range(made.store.regions.in_use) if r % machine.blocks == b) for b in range(machine.blocks)
    ]


def test_a_machine_that_goes_on_lays_out_nothing_between_cells_of_others() -> None:
    made = frontier(hv.Machine(blocks=3, threads_per_block=2, region_size=64), np.ones(100, np.uint64))
    again = Frontier(made.store, root=0, is_fresh=False)
    assert np.array_equal(again._state_view["next"], again._state_view["end"])
    assert sorted(set(again._state_view["region"].tolist())) == [0, 1, 2]


@pytest.mark.parametrize("machine", SHAPES, ids=str)
def test_owners_of_cells_are_those_of_the_image(machine: hv.Machine) -> None:
    made = frontier(machine, np.ones(300, np.uint64))
    image = made.image()
    assert [made.owner_thread(loc) for loc in range(image.words.size)] == [
        image.owner(loc) for loc in range(image.words.size)
    ]
    assert image.words.size == made.store.cells_in_use == image.owners.size * machine.region_size
    assert (image.root, image.stamps, image.region_size) == (0, 1, machine.region_size)
    assert image.threads_per_block == machine.threads_per_block


def test_a_first_frontier_is_the_root_alone() -> None:
    made = frontier(hv.Machine(blocks=4, threads_per_block=2))
    assert (made.width, made.parked, made.passes) == (1, 0, 0)
    assert made.idle() is None
    assert made._space.inject[0] == 0
    made._state_view["count"] = 0
    made.inject([5, 9])
    assert made._space.inject[:3].tolist() == [2, 5, 9]
    made._join_frontiers()
    assert made.width == 2
    assert made._space.inject[0] == 0


def test_injected_cells_are_the_next_frontier_however_many() -> None:
    for n in (1, 63, 64, 65, 1000):
        made = frontier(hv.Machine(blocks=4, threads_per_block=2))
        made._state_view["count"] = 0
        made.inject(list(range(1, n + 1)))
        made._join_frontiers()
        assert made.width == n
        assert (made.passes, made.parked) == (0, 0)
        entries = made._space.frontiers[made._turn][:n].astype(np.uint64)
        assert sorted((entries & np.uint64(0xFFFFFFFF)).tolist()) == list(range(1, n + 1))
        assert int(made._state_view["count"].sum()) == n


class Deaf(CpuDevice):
    """A device whose entry point of some name leaves a word of its own as status."""

    def __init__(self, name: str, word: int, at: int) -> None:
        super().__init__(1)
        self.given = name, word, at

    def kernel(self, source: str) -> Any:
        real = super().kernel(source)
        (name, word, at), serial = self.given, real.serial

        def chosen(asked: str) -> Any:
            function = serial(asked)
            if asked != name:
                return function

            def call(count: int, *buffers: Any) -> Any:
                done = function(count, *buffers)
                view(buffers[at], np.uint32)[3 if name == "settle_frontier" else 0] = word
                return done

            return call

        real.serial = chosen  # pyright: ignore[reportAttributeAccessIssue]
        return real


def test_a_search_or_a_join_that_leaves_another_word_is_no_result() -> None:
    source, machine = "@main = ! f = λ x; #P{x + 1, f(1)(5)}", hv.Machine(blocks=1, threads_per_block=1, fuel=1)
    run = hv.run(source, machine=machine, device=Deaf("settle_frontier", 7, 5))
    assert (run.status, run.message) == (
        "failed",
        "the search for late variables left the status word 0x7: it did not run",
    )
    with pytest.raises(KernelFault, match="pass 0 left the status word 0x9: the join did not run"):
        hv.run(source, machine=machine, device=Deaf("join_frontier", 9, 10))


def test_a_search_with_too_little_room_gets_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever room it begins with, it finds the same cells."""
    source = "@main = ! f = λ x; ! g = λ y; ! h = λ z; #P{[x + 1, y + 2, #Q{z + 3}], f(1)(5), g(1)(6), h(1)(7)}"
    for machine in (hv.Machine(blocks=1, threads_per_block=1, fuel=1), hv.Machine(blocks=8, fuel=1)):
        expected = hv.run(source, machine=machine, device="cpu")
        assert expected.text == "#P{[6,8,#Q{10}],1,1,1}"
        for work, found in ((1, 1), (2, 1), (1, 64), (64, 1)):
            with monkeypatch.context() as patch:
                patch.setattr("hvm4viz.settling._WORK", work)
                patch.setattr("hvm4viz.settling._FOUND", found)
                assert hv.run(source, machine=machine, device="cpu").trace.digest() == expected.trace.digest()


@pytest.mark.parametrize(
    ("count", "done", "lost"),
    [
        ([0, 1, 2, 9], [0, 1, 2, 1], 0),
        ([0, 1, 2, 9], [5, 0, 2, 9], 1),  # what a thread without entries leaves says nothing
        ([0, 1, 2, 9], [0, 0, 3, 10], 3),
        ([1, 1], [2, 0], 2),
    ],
)
def test_threads_that_had_entries_and_did_not_run_are_counted(count: list[int], done: list[int], lost: int) -> None:
    made = frontier(hv.Machine(blocks=4))
    given = np.array(count, np.uint32), np.array(done, np.uint32)
    if not lost:
        made._check_ran(*given)
        return
    who = "1 thread that had" if lost == 1 else f"{lost} threads that had"
    with pytest.raises(DeviceFailed, match=f"did not run pass 0 to its end: {who} entries left no word of having run"):
        made._check_ran(*given)


@pytest.mark.parametrize(("dup", "parked"), [("owner", 2), ("claim", 3)])
def test_a_woken_task_is_the_whole_next_frontier(dup: Any, parked: int) -> None:
    made = frontier(hv.Machine(blocks=3, threads_per_block=2, dup=dup))
    made._sum[2] = 3
    states = made._state_view
    states["first"] = states["out"] = 7

    made._wake(12, 5)

    assert (made.width, made.parked) == (1, parked)  # under claims the join counts who goes on
    assert int(made._space.frontiers[made._turn][0]) == ORIGINS.index("wake") << 60 | 5 << 32 | 12
    assert states["count"].tolist() == [0, 0, 0, 0, 0, 1]
    assert states["first"].tolist() == states["out"].tolist() == [7, 7, 7, 7, 7, 0]
    assert int(states["out_max"][5]) == 17


@pytest.mark.parametrize(
    ("settings", "waits"),
    [
        ({"blocks": 1, "threads_per_block": 1}, "contended"),
        ({"dup": "atomic"}, "parked"),
        ({"owner_unit": "block"}, "parked"),
        ({}, None),
    ],
)
def test_a_pass_is_stuck_where_all_its_tasks_poll_and_none_of_them_did_anything(
    settings: dict[str, Any], waits: str | None
) -> None:
    made = frontier(hv.Machine(**settings))
    for outcome in ("contended", "parked", "done"):
        for others in (["contended"], ["parked"], []):
            events = np.zeros(1 + len(others), EVENT)
            events["outcome"] = [OUTCOMES.index(name) for name in (outcome, *others)]
            for interactions in (0, 1):
                record: Any = SimpleNamespace(events=events, interactions=interactions)
                expected = not interactions and {outcome, *others} == {waits}
                assert made.is_stuck(record) is expected


def test_cells_may_be_late_once_a_task_has_ended_at_an_open_variable() -> None:
    made = frontier(hv.Machine(blocks=2), np.array([pack(Tag.NUM, 0, 3)], np.uint64))
    assert not made.may_be_late()
    made._opens = 1
    assert made.may_be_late()
    assert made.wake_late() is False  # nothing was filled
    assert made.may_be_late()
    made._fills = 1
    assert made.wake_late() is False  # none of those below the root
    assert not made.may_be_late()


@pytest.mark.parametrize(
    ("used", "regions"), [([0, 0, 0], 0), ([1, 0, 0], 1), ([0, 5, 9], 2), ([64, 64, 64], 3)], ids=str
)
def test_what_would_move_are_regions_that_hold_anything(used: list[int], regions: int) -> None:
    made = frontier(hv.Machine(blocks=3, region_size=64))
    made.store.used_view[:3] = used
    made.store.used_view[3] = 9  # of no region in use
    assert made._bytes_to_move() == 8 * 64 * regions
    made._is_away = True  # then the host cannot tell
    assert made._bytes_to_move() == 8 * 64 * 3


class Moving(CpuDevice):
    """A device that writes down what is moved, and of that how many bytes."""

    def __init__(self) -> None:
        super().__init__(1)
        self.told: list[tuple[Any, ...]] = []
        for verb in ("pull", "push", "fetch", "pull_all", "push_all", "clear"):
            setattr(self, verb, lambda *given, verb=verb: self.told.append((verb, *given)))

    def since(self) -> list[tuple[Any, ...]]:
        """Return what was moved since the last call."""
        told, self.told = self.told, []
        return told


def tables_of(store: Store) -> tuple[Buffer, ...]:
    return store.owner, store.chain, store.used, store.remote


def test_no_more_moves_than_a_pass_needs() -> None:
    device = Moving()
    source = "@t = λ{0: 1; λ&n. #N{@t(n - 1), @t(n - 1)}}\n@main = @t(9)"
    machine = hv.Machine(blocks=3, threads_per_block=1, region_size=32, fuel=2)
    made = Execution(quiet_request(source, machine=machine, device=device, record="counts"))._machine
    assert isinstance(made, Frontier)
    store, space = made.store, made._space
    here, there = (Way(made._pace._ways[0].function, name, is_away=name == "there") for name in ("here", "there"))
    held, n_fed, place = space._held, 0, there
    made._pace = SimpleNamespace(way=lambda *_, **__: place, learn=lambda *_: None)  # pyright: ignore[reportAttributeAccessIssue]
    made._moves = True
    device.since()

    for number in range(20):
        width, tables = made.width, 4 * store.regions.in_use
        record, stop = made.run_pass()
        assert stop is None
        now = 4 * store.regions.in_use
        held = space._held  # what grows is another buffer
        order = ("push_all", *((held[name], len(held[name])) for name in ("params", "sizes", "summary")))
        outcome = ("pull_all", *((held[name], len(held[name])) for name in ("summary", "totals")))
        calls = device.since()
        assert calls.count(order) == calls.count(outcome) >= 1  # once for each join, the pass is told along with it
        moved = [call for call in calls if call not in (order, outcome)]
        expected: list[tuple[Any, ...]] = [("clear", store.remote, tables)] if number else []
        if record.given[3 * (number == 0) :] or now != tables:
            expected.append(("push_all", (store.owner, now), (store.chain, now)))
            n_fed += 1
        events = (held["events"], EVENT.itemsize * width)
        assert moved == [*expected, ("pull_all", events, (store.used, now), (store.remote, now))]
        assert made._is_away
    assert n_fed > 3

    made.feed = lambda _: None
    width = made.width
    made.run_pass()
    assert ("pull", space._held["events"], EVENT.itemsize * width) in device.since()
    made.feed, held = None, space._held
    tasks = made.live_tasks()
    records, free = made._sum[14], made._sum[15]
    assert len(tasks) == records - free > 0
    assert device.since() == [
        ("pull", held["stack"], 4 * free),
        ("pull", held["records"], abi.RECORD.itemsize * records),
    ]
    made.fault(7)
    assert device.since() == [("pull_all", (held["records"], abi.RECORD.itemsize, 7 * abi.RECORD.itemsize))]
    made.inject([3, 4])
    assert device.since() == [("push", held["inject"], 12)]
    place = here
    made.run_pass()
    assert not made._is_away
    home = [("fetch", *held.values()), ("fetch", store.heap, store.visited, *tables_of(store))]
    assert device.since()[:2] == home


@pytest.mark.parametrize("blocks", [2, 4])
def test_a_cycle_is_broken_behind_a_task_that_waits_for_its_fork(blocks: int) -> None:
    source = """
    @two = λ&f. λx. f(f(x))
    @slow = λ{0: 0; λ&n. @slow(n - 1)}
    @main = @slow(30) + (1 + @two(@two, λk. k + 1, 0))
    """
    alone = hv.run(source, machine=hv.Machine(blocks=1, threads_per_block=1), device="cpu")
    machine = hv.Machine(blocks=blocks, threads_per_block=1, region_size=64, fuel=1)

    run = hv.run(source, machine=machine, device="cpu", max_passes=900)

    assert (run.status, run.text) == ("done", alone.text)


def test_a_fork_that_waits_for_itself_stalls_both() -> None:
    heap = hv.HeapBuilder(32)
    for loc, value in ((4, 1), (6, 1), (7, 1), (8, 1), (10, 1), (21, 3)):
        heap.put(loc, Tag.NUM, 0, value)
    for loc, node in ((0, 1), (1, 3), (2, 9), (3, 5), (5, 7)):  # ((1 + 1) + 1 + 1) + (cyclic + 1)
        heap.put(loc, Tag.OP2, 0, node)
    heap.put(9, Tag.DP0, 5, 16).put(16, Tag.APP, 0, 20).put(20, Tag.DP1, 5, 16)
    machine = hv.Machine(blocks=2, threads_per_block=1, region_size=32, fuel=1)

    run = hv.run_heap(heap.heap(), machine=machine, device="cpu", max_passes=60)

    assert (run.status, run.message.partition(":")[0]) == ("stalled", "2 tasks wait for each other")


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("fed", [False, True])
def test_a_pass_is_waited_for_unless_its_join_follows_on_the_device(away: bool, follows: bool, fed: bool) -> None:  # noqa: FBT001
    made = frontier(hv.Machine(blocks=2))
    real, waited = made._pace._ways[0].function, []

    def function(count: int, *buffers: Buffer) -> Any:
        handle = real(count, *buffers)
        return SimpleNamespace(wait=lambda: waited.append(handle.wait()))

    made._pace = SimpleNamespace(way=lambda *_, **__: Way(function, "there", is_away=away), learn=lambda *_: None)  # pyright: ignore[reportAttributeAccessIssue]
    made._goes_on, made.feed = follows, (lambda _: None) if fed else None

    made.run_pass()

    assert len(waited) == (not (away and follows and not fed))


def test_the_first_task_without_cells_is_named_if_there_is_one() -> None:
    made = frontier(hv.Machine(blocks=4))
    made._space.frontiers[0][:3] = [5 << 32 | 7, 6 << 32 | 8, 9]
    made._event_view["outcome"][:4] = 0
    assert made._starved(3, 0) == -1
    made._event_view["outcome"][1:4] = OUTCOMES.index("starved")
    assert made._starved(1, 0) == -1
    assert made._starved(3, 0) == 8
