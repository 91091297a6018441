"""How memory moves on the cuda device, on a stand-in for CuPy: a heap stays where it is, and little is copied."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import hvm4viz
from hvm4viz.device import cpu, cuda, cuda_copies, cuda_memory, staging
from hvm4viz.device.base import view
from hvm4viz.errors import DeviceFailed
from hvm4viz.events import EVENT, PassRecord
from hvm4viz.execution import Execution
from hvm4viz.heap import Heap
from hvm4viz.kernel_text import abi
from hvm4viz.quiet import quiet_request
from hvm4viz.settings import Machine
from hvm4viz.workspace import Workspace
from tests.case_files import Case, cases, programs
from tests.device import stand_in_cupy
from tests.device.stand_in_cupy import Array, Pages, copies, stand_in

NAMES = {"shared_table", "wide_map", "queens", "words", "callcc", "logging", "col_dup_of_open", "un_late"}
CASES = [case for case in (*cases(), *programs()) if case.name in NAMES]
MACHINE = Machine(blocks=40, fuel=64, heap="64 MiB")
SUM = (
    "@tree = λ{0: #L{}; λ&n. #B{@tree(n - 1), @tree(n - 1)}}\n"
    "@sum = λ{#L: 1; #B: λa. λb. @sum(a) + @sum(b)}\n@main = @sum(@tree(13))"
)
LIST = "@list = λ{0: []; λ&n. @loop(n) <> @list(n - 1)}\n@loop = λ{0: 7; λ&n. @loop(n - 1)}\n@main = @list(60)"
BRANCHES = (
    "@pick = λ{0: 0; λ&n. &A{@pick(n - 1) + 1, @pick(n - 1)}}\n@main = @sum(&B{@pick(4), @pick(3)})\n"
    "@sum = λ&n. @down(200) + n\n@down = λ{0: 1; λ&n. @down(n - 1)}"
)


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """All passes but the first go to the GPU, and none comes back for being narrow."""
    monkeypatch.setitem(sys.modules, "cupy", stand_in(2))
    monkeypatch.setattr(cuda.CudaDevice, "memory", Pages)
    monkeypatch.setattr(cuda, "START_NS", 0.0)
    monkeypatch.setattr(cuda, "SLOWNESS", 0.0)
    monkeypatch.setattr("hvm4viz.device.way.MOVING_NS", 0.0)
    monkeypatch.setattr("hvm4viz.device.way.MOVING_BYTES_NS", 1e9)
    monkeypatch.setattr("hvm4viz.device.way.HOME_BYTES_NS", 1e-9)
    monkeypatch.setattr("hvm4viz.device.way.SMALL_BYTES", 0)


def moved() -> Counter[str]:
    """Return the bytes that were copied, by way."""
    found: Counter[str] = Counter()
    for way, nbytes in copies:
        found[way] += nbytes
    return found


def run_of(text: str, *, device: str = "cuda", **options: Any) -> hvm4viz.Run:
    return hvm4viz.run(hvm4viz.parse(text), device=device, progress=False, **{"machine": MACHINE, **options})


@pytest.mark.parametrize("device", ["cuda", "cuda:1,0"])
@pytest.mark.parametrize("record", ["off", "counts", "full"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_heap_that_stays_on_the_gpu_gives_what_the_host_gives(case: Case, record: Any, device: str) -> None:
    options: dict[str, Any] = {"mode": case.mode, "limit": case.limit} if case.mode == "collapse" else {}
    options |= {"machine": MACHINE, "record": record, "max_passes": 300, "progress": False}
    program = hvm4viz.load(case.source_path)

    alone = hvm4viz.run(program, device="cpu", **options)
    run = hvm4viz.run(program, device=device, **options)

    assert (run.status, run.text, run.heap.digest()) == (alone.status, alone.text, alone.heap.digest())
    assert sorted(map(repr, run.heap.tasks)) == sorted(map(repr, alone.heap.tasks))
    assert run.stats.interactions == alone.stats.interactions
    assert run.stats.cells_used == alone.stats.cells_used
    if record != "off":
        assert run.trace.digest_or_none() == alone.trace.digest_or_none()


@pytest.mark.parametrize("device", ["cuda", "cuda:0,1"])
@pytest.mark.parametrize(("text", "mode"), [(SUM, "snf"), (LIST, "snf"), (BRANCHES, "collapse")])
def test_a_run_without_a_record_never_copies_its_heap_home(text: str, mode: Any, device: str) -> None:
    alone = run_of(text, device="cpu", record="off", mode=mode)
    devices: list[str] = []

    # the width is told, so that each pass is a dispatch
    run = run_of(
        text, device=device, record="off", mode=mode, on_pass=lambda record: devices.append(record.device.split()[0])
    )
    lines, value = run.lines, moved()["down"]

    assert lines == alone.lines
    assert devices[-1] == "cuda"
    assert "cpu" not in devices[devices.index("cuda") :], "it went there and stayed"
    # what comes over is pages with the answer on them, of a heap that is small here, and a little in each pass
    largest = max(nbytes for way, nbytes in copies if way == "down")
    assert largest <= 64 << 10
    assert run.heap.digest() == alone.heap.digest()
    assert moved()["down"] - value >= 8 * run.stats.cells_used, "the whole array comes when it is asked for"


def test_one_page_of_a_large_heap_is_read_for_a_small_answer() -> None:
    run = run_of(SUM.replace("13", "16"), record="off")
    assert run.text == str(1 << 16)

    value = moved()["down"]
    used = 8 * run.stats.cells_used

    assert used > 8 << 20
    assert value < used // 20


def test_all_threads_of_the_host_clear_a_heap_there(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[tuple[str, int]] = []

    def clear(buffer: cpu.CpuBuffer, nbytes: int, start: int = 0) -> None:
        parts.append((threading.current_thread().name, nbytes))
        zero(buffer, nbytes, start)

    zero = cpu.clear
    monkeypatch.setattr(cpu, "clear", clear)
    monkeypatch.setattr(cpu, "CLEARED_ALONE", 1 << 10)
    monkeypatch.setattr(cpu, "_kept", [])
    device = cuda.open(workers=3)
    buffer = device.buffer(1 << 16)
    first, used = view(buffer, np.uint8), 10_000
    address = first.ctypes.data
    first[:used] = 7
    device.keep(buffer, used)
    del buffer, first

    again = view(device.buffer(1 << 16), np.uint8)

    assert again.ctypes.data == address
    assert not again.any()
    assert sum(nbytes for _, nbytes in parts) == used
    assert len(parts) == 3
    assert sum(name.startswith("hvm4viz") for name, _ in parts) == 2


def in_passes(text: str, **options: Any) -> list[tuple[PassRecord, list[tuple[str, int]]]]:
    """Return what each pass on the GPU was, and what was copied since the one before."""
    found: list[tuple[PassRecord, list[tuple[str, int]]]] = []
    copies.clear()

    def look(record: PassRecord) -> None:
        if record.device.startswith("cuda"):
            found.append((record, list(copies)))
        copies.clear()

    run_of(text, on_pass=look, **options)
    return found[1:]  # on the way there everything is copied


def test_a_pass_is_told_in_one_copy_and_tells_in_one() -> None:
    plain = [copied for record, copied in in_passes(SUM, record="off") if not record.given]

    orders = -(-abi.PARAMS.itemsize // 64) * 64 + 64 + abi.SUMMARY.itemsize
    usual = [copied for copied in plain if not any(way == "across" for way, _ in copied)]
    assert len(usual) > 8
    for copied in usual:
        assert Counter(way for way, _ in copied) == {"up": 1, "down": 1}
        assert copied[0] == ("up", orders)
        assert copied[1][1] < 1024


def test_of_starved_threads_two_words_each_come_over() -> None:
    fed = [(record, copied) for record, copied in in_passes(SUM, record="off") if record.given]
    assert fed
    for record, copied in fed:
        down = sorted(nbytes for way, nbytes in copied if way == "down")
        assert down.count(4 * MACHINE.threads) >= 2
        assert max(down) <= max(4 * MACHINE.threads, 1024)
        assert sum(nbytes for way, nbytes in copied if way == "up") < 8 * len(record.cells) + 1024


def test_a_recorded_pass_tells_its_events_and_tables_and_no_more() -> None:
    for record, copied in in_passes(SUM, record="counts"):
        if any(way == "across" for way, _ in copied):
            continue  # the join was run twice, for what it builds had no room
        down = sum(nbytes for way, nbytes in copied if way == "down")
        threads = 2 * 4 * MACHINE.threads if record.given else 0
        assert down <= 1024 + EVENT.itemsize * record.frontier + 8 * len(record.cells) + threads


def test_what_grows_is_copied_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[Counter[str]] = []
    real = Workspace.grow

    def grow(self: Workspace, *sizes: int) -> None:
        before = len(copies)
        real(self, *sizes)
        if before:
            grown.append(Counter(way for way, _ in copies[before:]))

    monkeypatch.setattr(Workspace, "grow", grow)
    run = run_of(SUM, record="off", machine=Machine(blocks=8, fuel=64, heap="64 MiB"))

    assert run.text == str(1 << 13)
    assert sum(each["across"] for each in grown) >= 4
    assert all(set(each) <= {"across"} for each in grown)


def small_gpu(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> Callable[[], int]:
    """Let the GPU have so much memory; return what tells how much is in use."""
    module: Any = sys.modules["cupy"]
    held = [0]

    def zeros(n: int, dtype: Any) -> Array:
        if held[0] + n > nbytes:
            raise module.cuda.memory.OutOfMemoryError(f"Out of memory allocating {n:,} bytes")
        words = np.zeros(n, dtype)
        held[0] += n

        def free() -> None:
            held[0] -= n

        weakref.finalize(words, free)
        return Array(words)

    monkeypatch.setattr(module, "zeros", zeros)
    monkeypatch.setattr(module, "empty", zeros)
    monkeypatch.setattr(module.cuda.runtime, "memGetInfo", lambda: (nbytes - held[0], nbytes))
    monkeypatch.setattr(cuda_memory, "WHOLE_BYTES", 1 << 16)
    return lambda: held[0]


def test_a_heap_larger_than_the_gpu_grows_there_as_it_comes_into_use(monkeypatch: pytest.MonkeyPatch) -> None:
    small_gpu(monkeypatch, 40 << 20)
    monkeypatch.setattr(cuda_memory.CudaMemory, "_wanted", lambda _, nbytes, used: min(nbytes, used))
    machine = Machine(blocks=40, fuel=64, heap="1 GiB")
    alone = run_of(SUM, device="cpu", machine=machine)

    run = run_of(SUM, machine=machine, record="off")

    assert run.text == alone.text
    assert moved()["across"] > 1 << 20
    assert run.heap.digest() == alone.heap.digest()


def test_a_heap_takes_what_leaves_enough_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    device = cuda.open()
    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "memGetInfo", lambda: (1 << 30, 1 << 30))

    assert device._wanted(32 << 20, 1000) == 32 << 20
    assert device._wanted(700 << 20, 1000) == 700 << 20
    assert device._wanted(4 << 30, 1000) == 512 << 20
    assert device._wanted(4 << 30, 600 << 20) == 1200 << 20


def test_a_heap_without_room_for_two_goes_through_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(blocks=40, fuel=64, heap="1 GiB")
    alone = run_of(SUM, device="cpu", machine=machine)
    small_gpu(monkeypatch, 40 << 20)
    monkeypatch.setattr(cuda_memory.CudaMemory, "_wanted", lambda _, nbytes, used: min(nbytes, used))
    real, tried = cuda_memory.CudaMemory._zeros, list[int]()

    def zeros(self: Any, nbytes: int) -> Any:
        if nbytes > 1 << 20 and sys._getframe(1).f_code.co_name == "_enlarge":
            tried.append(nbytes)
            raise DeviceFailed("no room")
        return real(self, nbytes)

    monkeypatch.setattr(cuda_memory.CudaMemory, "_zeros", zeros)
    run = run_of(SUM, machine=machine, record="off")

    assert tried
    assert (run.text, run.heap.digest()) == (alone.text, alone.heap.digest())


def test_heaps_of_ended_runs_go_home_when_the_gpu_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = run_of(SUM, device="cpu", record="off").heap.digest()
    used = small_gpu(monkeypatch, 72 << 20)
    monkeypatch.setattr(cuda_memory.CudaMemory, "_wanted", lambda _, nbytes, __: nbytes)

    held = [run_of(SUM, record="off") for _ in range(5)]  # a heap takes 64 MiB there, and some of it when it has ended

    assert used() < 72 << 20
    assert {run.text for run in held} == {str(1 << 13)}
    assert {run.heap.digest() for run in held} == {digest}
    assert sys.modules["cupy"].get_default_memory_pool().freed > 0


def test_an_ended_run_keeps_no_more_of_the_gpu_than_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    used = small_gpu(monkeypatch, 1 << 32)
    gc.collect()
    before = used()
    held = [run_of(SUM, record="off", machine=Machine(blocks=40, fuel=64, heap="1 GiB")) for _ in range(2)]
    gc.collect()

    in_use = sum(8 * len(run.heap.owners) * MACHINE.region_size for run in held)
    assert used() - before < in_use + (16 << 20)
    assert held[0].text == held[1].text == str(1 << 13)


@pytest.mark.parametrize("device", ["cuda", "cuda:0,1"])
@pytest.mark.parametrize("can_pin", [True, False])
def test_large_copies_home_are_staged(monkeypatch: pytest.MonkeyPatch, device: str, can_pin: bool) -> None:  # noqa: FBT001
    digest = run_of(SUM, device="cpu", record="off").heap.digest()
    slots: list[int] = []
    module: Any = sys.modules["cupy"]

    def pin(nbytes: int) -> Any:
        slots.append(nbytes)
        if not can_pin:
            raise module.cuda.memory.OutOfMemoryError("no memory can be pinned")
        return stand_in_cupy.Pinned(nbytes)

    monkeypatch.setattr(module.cuda, "alloc_pinned_memory", pin)
    monkeypatch.setattr(cuda_copies, "STAGED_BYTES", 10_000)
    monkeypatch.setattr(staging, "SLOT_BYTES", 7_001)
    monkeypatch.setattr(staging, "SLOTS", 3)

    run = run_of(SUM, device=device, record="off")
    before = len(copies)

    assert run.heap.digest() == digest
    assert slots == [7_001] * (3 if can_pin else 1)
    home = [nbytes for way, nbytes in copies[before:] if way == "down" and nbytes > 4096]
    assert (max(home) == 7_001) is can_pin


def test_a_gpu_that_is_full_says_so_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    small_gpu(monkeypatch, 1 << 20)
    run = run_of(SUM)

    assert run.status == "failed"
    assert "cannot reserve" in run.message
    assert "Out of memory" in run.message


def test_memory_of_a_run_that_nobody_has_is_free_again() -> None:
    before = {id(each) for each in gc.get_objects() if isinstance(each, cuda.CudaBuffer)}
    held = run_of(SUM, record="off")
    buffers = [each for each in gc.get_objects() if isinstance(each, cuda.CudaBuffer) and id(each) not in before]
    twins = [weakref.ref(each.twin) for each in buffers if each.is_away]
    assert twins
    assert set(buffers) & set(cuda_memory._resting)
    del held, buffers
    gc.collect()

    assert not any(twin() for twin in twins)


def test_a_stopped_run_goes_on_from_where_it_lies() -> None:
    whole = run_of(SUM, device="cpu", record="events")
    for passes in (1, 5, 9, 14):
        stopped = run_of(SUM, record="events", max_passes=passes)
        assert stopped.status == "pass_limit"
        tasks = stopped.heap.tasks

        resumed = stopped.resume(progress=False)

        assert (resumed.text, resumed.trace.digest()) == (whole.text, whole.trace.digest())
        assert resumed.heap.digest() == whole.heap.digest()
        assert stopped.heap.tasks == tasks


SHARED = (
    "@main = ! &x = @list(12); @both(x, x)\n@both = λa. λ&b. #B{a, #B{@copies(6, b), b}}\n"
    "@copies = λ{0: λx. #L{}; λ&n. λ&x. #B{x, #B{@copies(n - 1, x), @copies(n - 1, x)}}}\n"
    "@list = λ{0: []; λ&n. @down(n) <> @list(n - 1)}\n@down = λ{0: λz. z; λ&n. @down(n - 1)}"
)


def test_the_state_that_is_taken_is_that_of_the_gpu() -> None:
    for passes in range(2, 12):
        text = SHARED.replace("! &x = @list(12); @both(x, x)", "@share(@list(12))\n@share = λ&x. @both(x, x)")
        runs = [run_of(text, device=device, record="off", max_passes=passes) for device in ("cpu", "cuda")]
        here, there = (run.resumer.args[0].take_state() for run in runs)  # pyright: ignore[reportFunctionMemberAccess, reportOptionalMemberAccess]

        assert there.facts == here.facts
        for name in ("owner", "chain", "used", "visited_at", "visited", "states", "entries", "records", "free"):
            assert np.array_equal(there.arrays[name], here.arrays[name]), name


OPEN = (
    "@one = λp. ! g = λ u ; [p, u, g]\n"
    "@main = @pick(4)\n@pick = λ{0: @one; λ&n. &A{@pick(n - 1), #P{@one, @pick(n - 1)}}}"
)


def test_a_collapse_counts_what_threads_left_open() -> None:
    found: list[list[tuple[int, int]]] = []
    for device in ("cpu", "cuda"):
        told: list[tuple[int, int]] = []
        execution = Execution(quiet_request(OPEN, machine=MACHINE, device=device, mode="collapse"))
        frontier: Any = execution._machine

        def note(told: list[tuple[int, int]] = told, frontier: Any = frontier) -> bool:
            told.append((frontier._opens, frontier._fills))
            return False

        execution.advance(note)
        found.append(told)

    assert found[0] == found[1]
    assert found[0][-1][0] > 30


def test_a_join_that_runs_nothing_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = sys.modules["cupy"]

    class Idle(module.RawModule):
        def get_function(self, name: str) -> Any:
            return (lambda *_, **__: None) if name == "deal_frontier" else super().get_function(name)

    monkeypatch.setattr(module, "RawModule", Idle)
    run = run_of(SUM, max_passes=50)

    assert run.status == "failed"
    assert "the join did not run" in run.message


def test_an_error_far_away_is_told_as_the_host_tells_it() -> None:
    text = SUM.replace("#L: 1", "#L: 1(2)")
    alone, run = run_of(text, device="cpu", record="off"), run_of(text, record="off")

    assert alone.status == "error"
    assert (run.status, run.message) == (alone.status, alone.message)


def test_a_full_heap_stays_where_it_is_and_is_told_of_as_on_the_host() -> None:
    machine = Machine(blocks=40, fuel=64, heap="2 MiB")
    alone, run = (run_of(SUM, device=device, machine=machine, record="off") for device in ("cpu", "cuda"))

    assert alone.status == "heap_full"
    assert (run.status, run.message) == (alone.status, alone.message)
    assert moved()["down"] < 1 << 20
    resumed = run.resume(heap="64 MiB", progress=False)
    assert resumed.text == str(1 << 13)


def test_a_frontier_of_the_evaluator_leaves_its_heap_to_the_host() -> None:
    text = SUM.replace("@main = @sum(@tree(13))", "@main = %gnf(@sum(@tree(9))) + @all(%gnf(@list(9)))\n") + (
        "@list = λ{0: []; λ&n. @sum(@tree(5)) <> @list(n - 1)}\n@all = λ{[]: 0; <>: λh. λt. h + @all(t)}"
    )
    alone, run = run_of(text, device="cpu"), run_of(text)

    assert run.status == alone.status
    assert (run.text, run.trace.digest_or_none()) == (alone.text, alone.trace.digest_or_none())
    assert run.heap.digest() == alone.heap.digest()
    assert any(device.startswith("cuda") for device in run.trace.devices)


def test_a_kernel_text_is_compiled_and_joined_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = sys.modules["cupy"]
    compiled: list[int] = []
    wrapped: list[int] = []
    real, wrap = module.RawModule.compile, cpu.wrap
    cpu._loaded.cache_clear()
    monkeypatch.setattr(module, "RawModule", type("Counted", (module.RawModule,), {}))
    monkeypatch.setattr(module.RawModule, "compile", lambda self: (compiled.append(1), real(self)))
    monkeypatch.setattr(cpu, "wrap", lambda source: (wrapped.append(1), wrap(source))[1])

    for device in ("cuda", "cuda", "cpu", "cpu", "cuda"):
        run_of("@main = 1 + 2", device=device, record="off")

    assert len(compiled) == 1
    assert len(wrapped) == 1


def test_addresses_are_taken_again_only_when_memory_has_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = cuda_memory.CudaMemory.address

    def address(self: Any, buffer: Any) -> int:
        asked.append(1)
        return real(self, buffer)

    monkeypatch.setattr(cuda_memory.CudaMemory, "address", address)
    device = cuda.open()
    passes: list[tuple[int, int]] = []
    hvm4viz.run(
        hvm4viz.parse(SUM),
        device=device,
        machine=MACHINE,
        record="off",
        progress=False,
        on_pass=lambda _: (passes.append((len(asked), device.moves)), asked.clear())[1],
    )
    moves = [after[1] - before[1] for before, after in pairwise(passes)]

    quiet = [count for (count, _), moved_ in zip(passes[1:], moves, strict=True) if not moved_]
    assert len(quiet) > 8
    # each of two turns has its own arguments, taken once after a move
    assert quiet.count(0) >= len(quiet) // 2


def test_an_image_is_a_heap_as_any_other() -> None:
    run = run_of(SUM, record="off")

    assert isinstance(run.heap, Heap)
    assert isinstance(run.heap.words, np.ndarray)
    assert run.heap.words.dtype == np.uint64
    assert len(run.heap.words) == len(run.heap.owners) * MACHINE.region_size
    assert stand_in_cupy.launches
