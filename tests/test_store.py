"""The heap on a device: what fits, what the kernel is told, and devices that say no."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import hvm4viz as hv
from hvm4viz import store as store_module
from hvm4viz.device.base import Buffer, view
from hvm4viz.device.cpu import CpuBuffer, CpuDevice
from hvm4viz.device.spread import Layout
from hvm4viz.device.way import Way
from hvm4viz.errors import DeviceFailed, KernelFault
from hvm4viz.execution import Execution
from hvm4viz.heap import Heap
from hvm4viz.kernel_text import abi
from hvm4viz.kernel_text.source import kernel
from hvm4viz.quiet import quiet_request
from hvm4viz.store import Store

MACHINES = [
    hv.Machine(blocks=1, threads_per_block=1, region_size=64),
    hv.Machine(blocks=3, threads_per_block=4, region_size=128, shard="address"),
    hv.Machine(blocks=16, threads_per_block=8, region_size=4096),
    hv.Machine(blocks=2, threads_per_block=1, region_size=16),
]


def store(machine: hv.Machine, words: int = 1, **options: Any) -> Store:
    heap = Heap(np.arange(1, words + 1, dtype=np.uint64))
    return Execution(quiet_request(heap, machine=machine, device="cpu", **options)).store


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("record", ["off", "counts"])
def test_the_kernel_is_told_the_shape_of_the_machine(machine: hv.Machine, record: str) -> None:
    made = store(machine, record=record)
    for threads, tpb in ((machine.threads, machine.threads_per_block), (1, 1)):
        params = view(made.params(threads=threads, tpb=tpb, flags=abi.PARAM_LIFT), abi.PARAMS)[0]
        assert params["threads"] == threads
        assert 1 << params["tpb_shift"] == tpb
        assert 1 << params["region_shift"] == machine.region_size
        assert 1 << params["slice_shift"] == machine.region_size // tpb
        # whoever else runs on this heap lays out nodes as its machine does
        assert (params["slot_cells"], params["lam_cells"]) == ((2, 2) if machine.threads == 1 else (4, 3))
        assert params["rules"] == len(made.kernel.rules)
        assert ("index", "address", "idle")[params["shard"]] == machine.shard
        single, counts = abi.PARAM_SINGLE * (threads == 1), abi.PARAM_COUNT * (record != "off")
        assert params["flags"] == single | counts | abi.PARAM_LIFT


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("words", [1, 15, 16, 17, 1000])
def test_words_fill_the_first_regions(machine: hv.Machine, words: int) -> None:
    made = store(machine, words)
    size, in_use = machine.region_size, made.regions.in_use

    assert in_use == max(machine.blocks, -(-words // size))
    assert made.cells_in_use == in_use * size
    assert made.words[: words + 1].tolist() == [*range(1, words + 1), 0]
    assert made.used_view[: in_use + 1].tolist() == [
        *(len(range(r * size, min(words, r * size + size))) for r in range(in_use)),
        0,
    ]
    assert made.cells_used() == words
    assert made.owners().tolist() == [r % machine.blocks for r in range(in_use)]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_tables_have_a_bit_a_cell_and_a_word_a_region(machine: hv.Machine) -> None:
    made = store(machine)
    cells = machine.heap_cells // machine.region_size * machine.region_size

    assert len(made.words) == cells
    assert 8 * len(made.visited) == cells + 32  # a word more, for whoever looks at 32 at once
    assert [len(view(t, np.uint32)) for t in (made.owner, made.chain, made.used, made.remote)] == [
        cells // machine.region_size
    ] * 4


def test_a_heap_too_small_to_start_with_is_told_one_that_does() -> None:
    heap = Heap(np.ones(1000, np.uint64))
    for machine, bytes_ in (
        (hv.Machine(blocks=1, region_size=64, heap=15 * 64 * 8), 16 * 64 * 8),
        (hv.Machine(blocks=32, region_size=64, heap=31 * 64 * 8), 32 * 64 * 8),
    ):
        with pytest.raises(ValueError, match=f"use heap='{bytes_ // 1024} KiB' or more"):
            Execution(quiet_request(heap, machine=machine, device="cpu"))
        Execution(quiet_request(heap, machine=hv.Machine(blocks=1, region_size=64, heap=bytes_), device="cpu"))


class Noted(CpuDevice):
    """A device that writes down what it is told of buffers, and has no room for those of some size."""

    def __init__(self, *, most: int = 1 << 40) -> None:
        super().__init__(1)
        self.most = most
        self.extents: dict[int, int] = {}

    def buffer(self, source: int | NDArray[Any]) -> CpuBuffer:
        if isinstance(source, int) and source > self.most:
            raise DeviceFailed("no room", text="no room")
        return super().buffer(source)

    def extent(self, buffer: Buffer, nbytes: int, parts: Any = None) -> None:
        self.extents[id(buffer)] = nbytes
        if parts is not None:
            self.parts = parts


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("words", [1, 1000])
def test_the_device_is_told_what_is_in_use(machine: hv.Machine, words: int) -> None:
    device = Noted()
    heap = Heap(np.ones(words, np.uint64))
    made = Execution(quiet_request(heap, machine=machine, device=device)).store
    for _ in range(3):
        made.prepare()
        regions, cells = made.regions.in_use, made.cells_in_use
        assert device.extents[id(made.heap)] == 8 * cells
        assert 8 * device.extents[id(made.visited)] == cells + 32
        assert {device.extents[id(t)] for t in (made.owner, made.chain, made.used, made.remote)} == {4 * regions}
        held = np.zeros(8 * cells, bool)
        for start, stop in device.parts():
            assert not held[start:stop].any()
            held[start:stop] = True
        filled = np.repeat(made.used_view[:regions] > 0, 8 * machine.region_size)
        assert np.array_equal(held, filled)
        made.regions.give(0)
        made.used_view[made.regions.in_use - 1] = 1


def test_a_device_without_room_for_the_heap_says_whose_it_was() -> None:
    with pytest.raises(
        DeviceFailed, match=r"no room; that is the heap: use a smaller one than Machine\(heap='64 MiB'\)"
    ):
        hv.run("@main = 1", machine=hv.Machine(heap="64 MiB"), device=Noted(most=1 << 25))


def test_a_kernel_with_other_structs_is_refused_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abi, "SIZES", (*abi.SIZES[:-1], abi.SIZES[-1] + 4))
    with pytest.raises(KernelFault, match="lays out its structs as"):
        store(hv.Machine())


def test_a_device_that_does_nothing_is_no_kernel_with_other_structs() -> None:
    class Idle(CpuDevice):
        def kernel(self, source: str) -> Any:
            real = super().kernel(source)
            function = real.function
            real.function = lambda name: lambda _, *buffers: function(name)(0, *buffers)  # pyright: ignore[reportAttributeAccessIssue]
            return real

    with pytest.raises(DeviceFailed, match="took a dispatch and did not run it"):
        hv.run("@main = 1", device=Idle(1))


def test_changes_are_asked_of_a_kernel_that_marks_them() -> None:
    made = store(hv.Machine())
    assert made.changes().size == 0
    with pytest.raises(KernelFault, match="does not mark what it writes"):
        made.watch_changes()


def test_cells_are_visited_again_once_visits_are_forgotten() -> None:
    made = store(hv.Machine(blocks=4, region_size=64), 200)
    made._visited_view[:] = 0xFF
    made.forget_visits()
    assert not made._visited_view[: made.cells_in_use // 8].any()
    assert made._visited_view[made.cells_in_use // 8 :].all()  # nobody has been there: nothing to forget


def test_the_last_stamp_fits_its_bits() -> None:
    made = store(hv.Machine())
    assert made.now == 1
    made.passes = store_module.PASSES_MAX
    assert made.now == (1 << 27) - 1  # 27 bits; it is the stamp of no pass


def test_the_device_is_told_where_regions_belong() -> None:
    class Laid(CpuDevice):
        def lay_out(self, buffer: Buffer, layout: Layout) -> None:
            self.laid = buffer, layout

    device, machine = Laid(1), hv.Machine(blocks=3, threads_per_block=4, region_size=128)
    made = Execution(quiet_request("@main = 1", machine=machine, device=device)).store

    buffer, layout = device.laid
    assert buffer is made.heap
    assert layout.owner is made.owner_view
    assert (layout.region_bytes, layout.threads, layout.threads_per_block) == (1024, 12, 4)


@pytest.mark.parametrize("alone", [False, True])
def test_a_store_knows_where_its_entry_points_run(alone: bool) -> None:  # noqa: FBT001
    made = store(hv.Machine(), alone=alone)
    function: Any = made.function("step_frontier")
    ways = tuple(Way(function, place) for place in ("", "host", made.device.name, "gpu"))
    batches: list[str] = []
    made._compiled = SimpleNamespace(ways=lambda _: ways, batch=lambda name: batches.append(name) or function)  # pyright: ignore[reportAttributeAccessIssue]

    assert made.ways("step_frontier") == ((ways[0], ways[2]) if alone else ways)
    assert made.place("step_frontier") == made.device.name
    assert made.batch("collapse_passes") is (None if alone else function)
    assert batches == ([] if alone else ["collapse_passes"])
    ways = ways[1:]
    assert made.place("step_frontier") == "host"


@pytest.mark.parametrize("filled", [[], [0], [0, 1], [2]])
def test_memory_is_kept_up_to_the_last_region_that_holds_anything(filled: list[int]) -> None:
    made = store(hv.Machine(blocks=4, region_size=64), record="full")
    made.used_view[:] = 0
    made.used_view[filled] = 1
    kept: list[tuple[Any, int]] = []
    pulled: list[Any] = []
    made.device = SimpleNamespace(keep=lambda *given: kept.append(given), pull=lambda *given: pulled.append(given))  # pyright: ignore[reportAttributeAccessIssue]
    made.log = SimpleNamespace(retire=lambda cells: kept.append(("log", cells)))  # pyright: ignore[reportAttributeAccessIssue]
    made.mirror = SimpleNamespace(retire=lambda cells: kept.append(("mirror", cells)))  # pyright: ignore[reportAttributeAccessIssue]
    cells = 64 * (max(filled) + 1) if filled else 0

    made.retire()

    assert pulled == [(made.used,)]
    assert kept == [(made.heap, 8 * cells), ("log", cells), ("mirror", cells)]


def test_what_is_read_of_tables_is_asked_for_first() -> None:
    asked: list[Any] = []

    class Asked(CpuDevice):
        def pull(self, buffer: Buffer, nbytes: int | None = None) -> None:
            asked.append((buffer, nbytes))

        def fetch(self, *buffers: Buffer) -> None:
            asked.extend(buffers)

        def extent(self, buffer: Buffer, nbytes: int, parts: Any = None) -> None:
            del buffer, nbytes
            self.parts = parts or self.parts

    device = Asked(1)
    made = Execution(quiet_request("@main = 1", device=device)).store
    made.prepare()
    for ask, expected in (
        (made.cells_used, [(made.used, None)]),
        (device.parts, [(made.used, None)]),
        (made.fetch, [made.heap, made.visited, made.owner, made.chain, made.used, made.remote]),
    ):
        asked.clear()
        ask()
        assert asked == expected


def test_without_room_for_two_heaps_the_device_stays_as_it_is() -> None:
    class Full(CpuDevice):
        opening, stayed = 0, 0

        def renew(self) -> int:
            return self.opening

        def stay(self) -> None:
            self.stayed += 1

        def grown(self, buffer: Buffer, nbytes: int, kept: int | None = None) -> CpuBuffer:
            del buffer, nbytes, kept
            raise DeviceFailed("no room", text="no room")

    device = Full(1)
    made = Execution(quiet_request("@main = 1", device=device)).store
    heap = made.heap
    assert not made.renew()
    assert device.stayed == 0
    device.opening = 1
    assert not made.renew()
    assert (device.stayed, made.heap) == (1, heap)


@pytest.mark.parametrize("watched", ["log", "shadow", ""])
def test_all_moves_to_a_device_that_was_opened_again(watched: str) -> None:
    class Anew(CpuDevice):
        opening = 0

        def renew(self) -> int:
            return self.opening

        def grown(self, buffer: Buffer, nbytes: int, kept: int | None = None) -> Buffer:
            self.kept[id(buffer)] = kept
            return super().grown(buffer, nbytes, kept)

        kept: ClassVar[dict[int, int | None]] = {}

    device, machine = Anew(1), hv.Machine(blocks=3, region_size=64, heap="64 KiB")
    options: Any = {"record": "full"} if watched == "log" else {"kernel": kernel().watched(watched)} if watched else {}
    made = Execution(
        quiet_request(Heap(np.arange(1, 100, dtype=np.uint64)), machine=machine, device=device, **options)
    ).store
    names = ("heap", "visited", "owner", "chain", "used", "remote", "code", "roots", "_nobody")
    before = {name: getattr(made, name) for name in names}
    held = {name: bytes(buffer) for name, buffer in before.items()}
    watchers = made.log, made.shadow, made.mirror
    device.opening = 1

    assert made.renew()
    assert not made.renew()

    for name in names:
        assert getattr(made, name) is not before[name]
        assert bytes(getattr(made, name)) == held[name]
    assert device.kept[id(before["heap"])] == 8 * made.cells_in_use
    for old, new in zip(watchers, (made.log, made.shadow, made.mirror), strict=True):
        assert (old is None) == (new is None)
        assert new is not old or new is None
    assert [made.log is not None, made.shadow is not None] == [watched == "log", watched == "shadow"]
    assert made.watch_buffers == (
        made.log.buffer if made.log else made._nobody,
        made.log.marks if made.log else made._nobody,
        made.shadow.buffer if made.shadow else made._nobody,
    )
    for table, buffer in ((made.regions.owner, made.owner), (made.regions.chain, made.chain), (made.words, made.heap)):
        assert np.shares_memory(table, view(buffer, np.uint8))
