"""The heap at any pass: the one that a run stopped there leaves, whichever way it is reached."""

from __future__ import annotations

import dataclasses
import random
import time
from pathlib import Path

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import DamagedTrace, TraceError
from hvm4viz.events import DELTA
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag
from hvm4viz.trace import Recorder, Trace, keyframes, open_trace, recorder
from hvm4viz.trace.heaps import squash
from tests.trace import time_travel
from tests.trace.records import event, header, one_pass, record, worked_example
from tests.trace.time_travel import MACHINES, PROGRAMS

SELECTION = [
    ("queens", "default"),
    ("queens", "claim"),
    ("words", "alone"),
    ("shared_table", "return"),
    ("automaton", "default"),
    ("sat", "narrow"),
    ("cheapest_change", "claim"),
]

PROGRAM = hv.load(PROGRAMS / "shared_table.hvm4")


@pytest.mark.parametrize(("program", "machine"), SELECTION)
def test_the_heap_of_a_pass_is_that_of_a_run_stopped_there(program: str, machine: str) -> None:
    found = time_travel.check(hv.load(PROGRAMS / f"{program}.hvm4"), MACHINES[machine], most=8, passes_max=1500)
    assert found > 8


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> hv.Run:
    path = tmp_path_factory.mktemp("full") / "run.hvt"
    return hv.run(PROGRAM, record="full", max_passes=700, save=path, progress=False)


@pytest.fixture(scope="module", params=["memory", "file", "saved", "many keyframes"])
def trace(request: pytest.FixtureRequest, run: hv.Run, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    if request.param == "memory":
        return run.trace
    folder = tmp_path_factory.mktemp("full")
    if request.param == "many keyframes":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keyframes, "EVERY_PASSES", 7)
            patch.setattr(recorder, "CHUNK_PASSES", 11)
            patch.setattr(keyframes.Keyframes, "_image", _always_an_image)
            again = hv.run(PROGRAM, record="full", max_passes=700, progress=False)
        assert sum(chunk.tables["image"].n_values > 0 for chunk in again.trace.chunks) > 20
        return again.trace
    path = run.trace.save(folder / "run.hvt")
    if request.param == "file":
        return open_trace(path)
    return open_trace(open_trace(path, mmap=False).save(folder / "again.hvt"))


def _always_an_image(self: keyframes.Keyframes, _: object) -> bytes:
    if self._image_passes % 13:
        return b""
    return keyframes.image_of(self._machine.words).tobytes()


def test_any_order_of_asking_gives_the_same_heaps(trace: Trace, run: hv.Run) -> None:
    rng = random.Random(1)
    expected = {p: run.trace.at(p).digest() for p in range(0, 701, 10)}
    passes = [rng.choice(list(expected)) for _ in range(120)]
    for p in passes:
        assert trace.at(p).digest() == expected[p]
    assert trace.at(-1).digest() == trace.at(700).digest() == run.heap.digest()


def test_a_heap_is_read_only_and_stays_what_it_is(trace: Trace) -> None:
    heap = trace.at(100)
    digest = heap.digest()
    with pytest.raises(ValueError, match="read-only"):
        heap.words[0] = 1
    trace.at(101)
    trace.at(650)
    assert heap.digest() == digest


def test_tasks_are_known_where_the_state_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 3)
    monkeypatch.setattr(keyframes, "SHARE", 1)
    source = '@main = [%log("ab"), %gnf([1 + 1, 2 + 2]), %log("c")]'
    for program, most in ((PROGRAM, 60), (hv.parse(source), 30)):
        trace = hv.run(program, record="full", max_passes=most, progress=False, on_log=lambda _: None).trace
        known = trace.state_passes.tolist()
        assert len(known) >= 3
        for p in range(1, trace.n_passes + 1):
            heap = trace.at(p)
            if p not in known:
                assert heap.tasks == ()
                continue
            stopped = hv.run(program, max_passes=p, record="off", progress=False, on_log=lambda _: None).heap
            assert sorted(map(repr, heap.tasks)) == sorted(map(repr, stopped.tasks))
            assert heap.settled().digest() == stopped.settled().digest()


def test_passes_that_are_not_there(trace: Trace) -> None:
    for p in (701, -703, 10**9):
        with pytest.raises(IndexError, match="passes 0 to 699, and 700 is its end"):
            trace.at(p)


@pytest.mark.parametrize("level", ["off", "counts", "events"])
def test_below_full_there_is_no_heap(level: str) -> None:
    trace = hv.run("@main = 1 + 2", record=level).trace  # type: ignore[arg-type]
    for ask in (lambda: trace.at(0), trace.deltas, trace.ops, lambda: trace.cell(0), lambda: trace.diff(0, 0)):
        with pytest.raises(TraceError, match="record='full'"):
            ask()


def test_a_run_that_never_began_has_its_heap() -> None:
    run = hv.run("@main = 1 + 2", record="full", max_passes=0)
    assert run.trace.n_passes == 0
    assert run.trace.at(0).digest() == run.trace.at(-1).digest() == run.heap.digest()
    assert run.trace.deltas().size == 0


def test_a_heap_laid_out_by_hand_is_the_first(tmp_path: Path) -> None:
    heap = HeapBuilder(64).put(0, Tag.C00 + 2, 5, 40).numbers(40, [1, 2]).heap()
    run = hv.run_heap(heap, record="full", machine=hv.Machine(blocks=2, region_size=32), save=tmp_path / "run.hvt")
    for trace in (run.trace, open_trace(tmp_path / "run.hvt")):
        assert np.array_equal(trace.at(0).words, heap.words)
        assert trace.at(-1).digest() == run.heap.digest()


def test_the_limit_cuts_cells_too_and_says_from_which_pass(tmp_path: Path, run: hv.Run) -> None:
    path = tmp_path / "run.hvt"
    cut = hv.run(PROGRAM, record="full", max_passes=700, trace_limit="1 MiB", save=path, progress=False).trace
    assert 0 < cut.events_until < 700
    assert cut.is_cut
    for trace in (cut, open_trace(path)):
        assert trace.at(cut.events_until).digest() == run.trace.at(cut.events_until).digest()
        assert trace.frontier_sizes.tolist() == run.trace.frontier_sizes.tolist()
        with pytest.raises(TraceError, match=rf"passes from {cut.events_until} on were not kept"):
            trace.at(cut.events_until + 1)
        with pytest.raises(TraceError, match="trace_limit"):
            trace.deltas()
        assert trace.deltas(0, cut.events_until).size == run.trace.deltas(0, cut.events_until).size


def changed(*cells: tuple[int, int, int]) -> np.ndarray:
    return np.array(list(cells), DELTA)


def by_hand(*deltas: np.ndarray, heap: list[int] | None = None) -> Trace:
    passes = [one_pass(p, [event(1)], deltas=each) for p, each in enumerate(deltas)]
    head = dataclasses.replace(header(), heap=np.array(heap or [], np.uint64))
    return record(passes, level="full", head=head)


def test_steps_by_hand() -> None:
    trace = by_hand(changed((3, 0, 7), (5, 0, 8)), changed(), changed((3, 7, 9)), heap=[1])
    words = [{int(cell): int(trace.at(p).words[cell]) for cell in np.flatnonzero(trace.at(p).words)} for p in range(4)]
    assert words == [{0: 1}, {0: 1, 3: 7, 5: 8}, {0: 1, 3: 7, 5: 8}, {0: 1, 3: 9, 5: 8}]
    assert trace.deltas(1, 3).tolist() == [(3, 7, 9)]


def test_passes_count_from_either_end_of_the_heaps() -> None:
    trace = by_hand(*[changed((3, p, p + 1)) for p in range(4)])
    assert [int(trace.at(p).words[3]) for p in range(-5, 5)] == [0, 1, 2, 3, 4] * 2
    for p in (-6, 5):
        with pytest.raises(IndexError, match="passes 0 to 3, and 4 is its end"):
            trace.at(p)


class Grown:
    """A machine whose words are those that the passes told so far leave, and whose state is none."""

    has_called = True

    def __init__(self) -> None:
        self.words = np.zeros(0, np.uint64)

    def state(self) -> bytes:
        return b"no state"


@pytest.mark.parametrize("every", [1, 4, 1000])
def test_heaps_that_grow_are_found_from_wherever_one_looks(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyframes, "EVERY_PASSES", every)
    monkeypatch.setattr(keyframes, "SHARE", 0)
    monkeypatch.setattr(recorder, "CHUNK_PASSES", 5)
    rng = np.random.default_rng(every)
    machine, kept = Grown(), Recorder("full")
    start = rng.integers(0, 2, 8 * 64).astype(np.uint64)
    words, known, owners = start.copy(), [start.copy()], [np.arange(8) % 4]
    kept.watch(machine)
    kept.begin(dataclasses.replace(header(), heap=start))
    for p in range(24):
        cells = np.unique(rng.integers(0, words.size, 6))
        deltas = np.empty(cells.size, DELTA)
        deltas["cell"], deltas["before"] = cells, words[cells]
        words[cells] = deltas["after"] = rng.integers(0, 3, cells.size)
        given = ((words.size // 64, p % 4),) if p % 5 == 2 else ((2, p % 4),) if p % 5 == 4 else ()
        machine.words = words = np.concatenate([words, np.zeros(64 * (p % 5 == 2), np.uint64)])
        kept.on_pass(one_pass(p, [event(1)], deltas=deltas, given=given))
        owner = np.concatenate([owners[-1], [p % 4] * (p % 5 == 2)])
        owner[2] = p % 4 if p % 5 == 4 else owner[2]
        known.append(words.copy())
        owners.append(owner)
    trace = kept.trace

    assert trace.state_passes.tolist() == list(range(25))
    for p in rng.integers(0, 25, 200).tolist():
        heap = trace.at(p)
        assert np.array_equal(heap.words, known[p])
        assert np.array_equal(heap.owners, owners[p])
        assert heap.tasks == ()
        assert heap.stamps == p + 1


def test_a_cell_of_no_region_is_damage() -> None:
    trace = by_hand(changed((8 * 64, 0, 7)))
    with pytest.raises(DamagedTrace, match="lies in none of its regions"):
        trace.at(1)


def test_changes_of_several_passes_put_together() -> None:
    rng = np.random.default_rng(2)
    words = np.zeros(50, np.uint64)
    first = words.copy()
    parts = []
    for _ in range(30):
        cells = np.sort(rng.choice(50, 5, replace=False))
        each = np.empty(5, DELTA)
        each["cell"], each["before"], each["after"] = cells, words[cells], rng.integers(0, 3, 5)
        words[cells] = each["after"]
        parts.append(each)
        found = squash(np.concatenate(parts))
        assert found["cell"].tolist() == np.flatnonzero(first != words).tolist()
        assert np.array_equal(found["before"], first[found["cell"]])
        assert np.array_equal(found["after"], words[found["cell"]])
    assert squash(np.empty(0, DELTA)).size == 0


def test_events_and_digest_do_not_depend_on_the_level() -> None:
    program = hv.load(PROGRAMS / "queens.hvm4")
    full, events = (hv.run(program, record=level, progress=False).trace for level in ("full", "events"))
    assert full.digest() == events.digest()
    assert np.array_equal(full.events(), events.events())
    assert np.array_equal(full.given, events.given)


def test_the_worked_example_has_no_cells_below_full() -> None:
    with pytest.raises(TraceError, match="record='full'"):
        worked_example().at(0)


def test_a_jump_is_fast() -> None:
    n_passes, n_cells = 2000, 200_000
    rng = np.random.default_rng(3)
    words = np.zeros(n_cells, np.uint64)
    passes = []
    for p in range(n_passes):
        cells = np.unique(rng.integers(1, n_cells, 100))
        deltas = np.empty(cells.size, DELTA)
        deltas["cell"], deltas["before"], deltas["after"] = cells, words[cells], rng.integers(1, 1 << 60, cells.size)
        words[cells] = deltas["after"]
        passes.append(one_pass(p, [event(1)], deltas=deltas))
    head = dataclasses.replace(header(), region_size=1 << 16)
    trace = record(passes, level="full", head=head)
    trace.at(0)
    begun = time.perf_counter()
    for p in rng.integers(0, n_passes, 20).tolist():
        trace.at(p)
    assert (time.perf_counter() - begun) / 20 < 0.25
