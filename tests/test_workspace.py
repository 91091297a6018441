"""The buffers of a frontier run: as large as the kernel is told, and what they hold survives growing and moving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device.base import view
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.events import EVENT
from hvm4viz.execution import Execution
from hvm4viz.kernel_text import abi
from hvm4viz.quiet import quiet_request
from hvm4viz.workspace import SLACK, Workspace

MACHINES = [hv.Machine(blocks=1), hv.Machine(blocks=5, threads_per_block=4), hv.Machine(blocks=64, threads_per_block=2)]


def space(machine: hv.Machine, **options: Any) -> Workspace:
    request = quiet_request("@main = 1", machine=machine, **{"device": "cpu", **options})
    return Execution(request)._machine._space  # pyright: ignore[reportAttributeAccessIssue]


def sizes(made: Workspace) -> dict[str, int]:
    return {name: len(buffer) for name, buffer in made._held.items()}


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("record", ["off", "counts"])
def test_every_thread_has_its_place(machine: hv.Machine, record: str) -> None:
    made = space(machine, record=record)
    threads, rules = machine.threads, len(made._store.kernel.rules)
    held = sizes(made)

    assert len(made.states) == threads
    assert held["rules"] == 4 * rules * threads
    assert len(made.totals) == rules
    assert held["cursor"] == 4 * (2 * threads + 2 * machine.blocks)  # turns, and who is idle
    assert held["summary"] == abi.SUMMARY.itemsize
    assert held["dealt"] == abi.dealt_bytes(threads)
    assert len(made.inject) >= 64
    entries, items, records = made.sizes
    assert entries == records == max(64, threads)
    assert items == entries + SLACK * threads
    assert view(made.block, abi.PARAMS)["slack"] == SLACK


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_growing_keeps_what_is_there_and_at_least_doubles(machine: hv.Machine) -> None:
    made = space(machine)
    rng = np.random.default_rng(1)
    for _ in range(6):
        room = list(made.sizes)
        wanted = [int(rng.integers(1, 3 * each)) for each in room]
        if _ == 0:
            wanted = room  # it fits
        held = dict(made._held)
        filled = {
            name: rng.integers(0, 256, len(buffer), np.uint8)
            for name, buffer in held.items()
            if name not in ("sizes", "params")
        }
        for name, each in filled.items():
            view(held[name], np.uint8)[:] = each

        made.grow(*wanted)

        assert list(made.sizes) == [
            max(want, 2 * old) if want > old else old for old, want in zip(room, wanted, strict=True)
        ]
        entries, items, records = made.sizes
        assert [len(each) for each in made.frontiers] == [entries] * 2
        assert len(made.events) == entries
        assert len(made._held["keys"]) == 4 * entries
        assert len(made._held["items"]) == 8 * items
        assert len(made.records) == len(made.stack) == records
        for name, each in filled.items():
            assert np.array_equal(view(made._held[name], np.uint8)[: each.size], each)
            assert not view(made._held[name], np.uint8)[each.size :].any()
        for kind, names in enumerate((("this", "next", "keys", "events"), ("items",), ("records", "stack"))):
            is_same = wanted[kind] <= room[kind]
            assert all((made._held[name] is held[name]) == is_same for name in names)


def test_arguments_are_the_buffers_of_now_and_frontiers_take_turns() -> None:
    made = space(hv.Machine(blocks=3))
    for change in (lambda: made.grow(10_000, 20_000, 10_000), lambda: made.make_room(5_000), made.move):
        before = made.deal_args
        change()
        assert made.deal_args is not before
        held, store = made._held, made._store
        this, other = held["this"], held["next"]
        for turn, (mine, theirs) in enumerate(((this, other), (other, this))):
            assert made.step_args[turn][8:10] == (held["states"], mine)
            assert made.step_args[turn][:8] == (
                held["params"], store.heap, store.code, store.roots, store.owner, store.chain, store.used, store.remote
            )  # fmt: skip
            assert made.join_args[turn][2:4] == (mine, theirs)
            assert made.join_args[turn][14:] == (held["inject"], store.heap, *store.watch_buffers[:2])
            assert made.step_args[turn][14:] == (store.visited, *store.watch_buffers)
            assert made.deal_args[turn] == (*made.join_args[turn], held["records"], held["dealt"], held["keys"])
            assert np.shares_memory(made.frontiers[turn], view(mine, np.uint8))


@pytest.mark.parametrize("cells", [1, 62, 63, 64, 200])
def test_there_is_room_for_the_injected_and_their_number(cells: int) -> None:
    made = space(hv.Machine(blocks=2))
    made.inject[:] = np.arange(64)
    before = made._held["inject"]

    made.make_room(cells)

    assert len(made.inject) == (64 if cells < 64 else max(128, cells + 1))
    assert (made._held["inject"] is before) == (cells < 64)
    assert made.inject[:64].tolist() == list(range(64))


def test_moving_gives_fresh_buffers_that_hold_the_same() -> None:
    made = space(hv.Machine(blocks=2, threads_per_block=2))
    before = {name: bytes(buffer) for name, buffer in made._held.items()}  # pyright: ignore[reportArgumentType]
    held = dict(made._held)
    made.move()
    assert {name: bytes(buffer) for name, buffer in made._held.items()} == before  # pyright: ignore[reportArgumentType]
    assert not any(made._held[name] is held[name] for name in held)


class Telling(CpuDevice):
    """A device that writes down what it is asked to move, to clear, and to take as in use."""

    def __init__(self) -> None:
        super().__init__(1)
        self.told: list[tuple[Any, ...]] = []
        for verb in ("pull", "push", "fetch", "pull_all", "push_all", "extent"):
            setattr(self, verb, lambda *given, verb=verb: self.told.append((verb, *given)))


def test_what_is_pulled_and_pushed_is_the_buffer_of_that_name() -> None:
    made = space(hv.Machine(blocks=2, region_size=64), device=Telling())
    held, store, told = made._held, made._store, made._store.device.told  # pyright: ignore[reportAttributeAccessIssue]
    tables = 4 * store.regions.in_use
    for ask, expected in (
        (lambda: made.pull("events", 24), ("pull", held["events"], 24)),
        (lambda: made.pull("records"), ("pull", held["records"], None)),
        (lambda: made.pull_one("records", 40, 3), ("pull_all", (held["records"], 40, 120))),
        (lambda: made.push("states"), ("push", held["states"], None)),
        (lambda: made.push("inject", 8), ("push", held["inject"], 8)),
        (made.fetch, ("fetch", *held.values())),
        (
            made.push_order,
            ("push_all", *((held[name], len(held[name])) for name in ("params", "sizes", "summary"))),
        ),
        (made.pull_outcome, ("pull_all", *((held[name], len(held[name])) for name in ("summary", "totals")))),
        (
            lambda: made.pull_pass(3),
            ("pull_all", (held["events"], 3 * EVENT.itemsize), (store.used, tables), (store.remote, tables)),
        ),
    ):
        told.clear()
        ask()
        assert told == [expected]
    assert len(made.events) * EVENT.itemsize == len(held["events"])


@pytest.mark.parametrize("record", ["off", "counts"])
@pytest.mark.parametrize("turn", [0, 1])
def test_what_is_about_to_move_is_no_more_than_means_anything(turn: int, record: str) -> None:
    made = space(hv.Machine(blocks=2, region_size=64), device=Telling(), record=record)
    told: list[Any] = made._store.device.told  # pyright: ignore[reportAttributeAccessIssue]
    made.summary[14], made.summary[15] = 7, 5
    names = {id(buffer): name for name, buffer in made._held.items()}
    nothing = dict.fromkeys(("items", "events", "keys", "cursor", "dealt"), 0)
    rules = {} if record == "counts" else {"rules": 0}
    this, other = ("this", "next") if turn == 0 else ("next", "this")

    told.clear()
    made.leave(turn, 3)

    assert {names[id(buffer)]: nbytes for _, buffer, nbytes in told} == {
        this: 24, other: 0, "records": 7 * abi.RECORD.itemsize, "stack": 20, **nothing, **rules
    }  # fmt: skip
    told.clear()
    made.arrive()
    assert told == [("extent", buffer, len(buffer)) for buffer in made._held.values()]
