"""Recorded states: what a run may go on from, and what is refused before the kernel sees it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.kernel_text import abi
from hvm4viz.readmit import readmit
from hvm4viz.state import Misfit, State
from hvm4viz.term import SUB_BIT, Tag, pack
from hvm4viz.trace import Trace, keyframes, open_trace
from tests.trace.forging import Forgery

QUIET: Final[dict[str, Any]] = {"progress": False, "on_log": lambda _: None, "device": "cpu"}
SMALL: Final[dict[str, Any]] = {"blocks": 2, "threads_per_block": 2, "region_size": 256, "heap": "1 MiB"}
MACHINES: Final = {
    "owner": hv.Machine(**SMALL, fuel=7),
    "alone": hv.Machine(blocks=1, threads_per_block=1, region_size=256, fuel=9),
    "claim": hv.Machine(**SMALL, fuel=5, dup="claim"),
    "atomic": hv.Machine(**SMALL, fuel=5, dup="atomic"),
    "block": hv.Machine(**SMALL, fuel=5, owner_unit="block"),
    "return": hv.Machine(**SMALL, fuel=13, defer="return"),
    "live": hv.Machine(**SMALL, fuel=11, visibility="live"),
    "address": hv.Machine(**SMALL, fuel=6, shard="address"),
    "no fork": hv.Machine(**SMALL, fuel=6, fork="off"),
}
SUM: Final = "@f = λ{0: 1; λ&n. @f(n - 1) + n}\n"
PROGRAMS: Final = {
    "shared": (SUM + "@main = ! x &L = @f(9); [x₀, @f(5) * x₁, &A{1, 2} + @f(3)]", "snf"),
    "erased": ("@t = λ{0: 1; λ&n. @t(n - 1) + @t(n - 1)}\n@main = [@t(5) * 0, @t(4) + *, &L{1, *} + @t(4)]", "snf"),
    "branches": ("@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = [@nats(0), 7, λx. λy. y]", "collapse"),
    "primitives": (SUM + '@main = [%log("a"), %gnf([@f(9), 2 + 2, &L{3, 4}]), %log("b"), %nf(@f(5)), @f(3)]', "snf"),
    "both": (SUM + "@main = [%nf(@f(&A{3, 4})), &B{1, 2}, %gnf(@f(5))]", "collapse"),
    "stuck": (SUM + "@main = λg. ! x &L = g(@f(4)); [x₀, x₁, λy. y + @f(5)]", "snf"),
}


@pytest.fixture(autouse=True)
def every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the state at every pass."""
    monkeypatch.setattr(keyframes, "EVERY_PASSES", 1)
    monkeypatch.setattr(keyframes, "SHARE", 0)


def record(program: str, machine: str, passes: int = 120) -> hv.Run:
    source, mode = PROGRAMS[program]
    options: dict[str, Any] = {"mode": "collapse", "limit": 12} if mode == "collapse" else {}
    return hv.run(source, machine=MACHINES[machine], record="full", max_passes=passes, **options, **QUIET)


def check(trace: Trace, p: int, state: State, words: NDArray[np.uint64], machine: hv.Machine) -> frozenset[int]:
    header, program = trace.header, trace.program
    assert program is not None
    return readmit(
        words,
        state,
        passes=p,
        root=header.root,
        mode=header.mode,
        stamps=header.stamps,
        book=program.book,
        machine=machine,
    )


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_state_of_a_run_is_let_in(program: str, machine: str) -> None:
    trace = record(program, machine).trace
    known = 0
    for p in range(1, trace.n_passes + 1):
        at, packed = trace.last_state(p)
        if at == p and packed:
            check(trace, p, State.from_bytes(packed), trace.at(p).words, MACHINES[machine])
            known += 1
    assert known >= min(trace.n_passes - 1, 3)


@dataclass
class Case:
    """A state that can be changed."""

    trace: Trace
    machine: hv.Machine
    p: int
    words: NDArray[np.uint64]
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @property
    def tasks(self) -> NDArray[np.void]:
        """Records of tasks that have begun and stand on the frontier, or all there are."""
        return self.arrays["records"]

    def frame(self, tag: int) -> int:
        """The node of a frame of this tag."""
        for record in self.arrays["records" if "records" in self.arrays else "acts"]:
            word = int(record["top"])
            while not int(record["flags"]) & 3 and word >> 56 not in (abi.F_ROOT, abi.F_LROOT):
                node = word & 0xFFFFFFFF
                if word >> 56 == tag:
                    return node
                word = int(self.words[node + (word >> 56 == abi.F_RED)])
        raise LookupError(tag)

    def begun(self) -> int:
        """Place of a task that has begun."""
        return int(np.flatnonzero((self.tasks["flags"] & 3) == 0)[0])

    def again(self) -> frozenset[int]:
        return check(self.trace, self.p, State(self.facts, self.arrays), self.words, self.machine)


def case(program: str, machine: str, fits: Callable[[Case], Any] = lambda _: True) -> Case:
    """Find a state of a run for which something holds: what it looks for is there."""
    trace = record(program, machine).trace
    for p in range(1, trace.n_passes + 1):
        at, packed = trace.last_state(p)
        if at != p or not packed:
            continue
        state = State.from_bytes(packed)
        arrays = {name: array.copy() for name, array in state.arrays.items()}
        found = Case(trace, MACHINES[machine], p, trace.at(p).words.copy(), copy.deepcopy(state.facts), arrays)
        try:
            if fits(found):
                return found
        except (LookupError, KeyError):
            continue
    raise AssertionError("no pass of the run has what the test looks for")


def has_tasks(found: Case) -> bool:
    return bool(found.arrays["entries"].size > 1 and ((found.tasks["flags"] & 3) == 0).any())


def put(table: str, field: str, value: int, place: int | None = None) -> Callable[[Case], None]:
    def change(found: Case) -> None:
        array = found.arrays[table]
        array[field][found.begun() if place is None else place] = value

    return change


def first(table: str, value: int) -> Callable[[Case], None]:
    def change(found: Case) -> None:
        found.arrays[table][0] = value

    return change


def fact(*path: Any) -> Callable[[Case], None]:
    def change(found: Case) -> None:
        facts: Any = found.facts
        for name in path[:-2]:
            facts = facts[name]
        facts[path[-2]] = path[-1]

    return change


def more(table: str, field: str, by: int) -> Callable[[Case], None]:
    def change(found: Case) -> None:
        running = np.flatnonzero(found.arrays["states"]["count"])[0]
        found.arrays[table][field][running] += by

    return change


def entry(change: Callable[[int], int]) -> Callable[[Case], None]:
    def act(found: Case) -> None:
        entries = found.arrays["entries"]
        entries[-1] = change(int(entries[-1]))

    return act


def same_entry_twice(found: Case) -> None:
    entries = found.arrays["entries"]
    entries[1] = int(entries[1]) & ~0xFFFFFFFF | int(entries[0]) & 0xFFFFFFFF


def free_one(found: Case) -> None:
    """Say of a record that it is free, which an entry names."""
    n_live = found.tasks.size
    number = int(found.arrays["entries"][0]) & 0xFFFFFFFF
    free = set(found.arrays["free"].tolist())
    order = [n for n in range(n_live + len(free)) if n not in free]
    found.arrays["records"] = np.delete(found.tasks, order.index(number))
    found.arrays["free"] = np.append(found.arrays["free"], np.uint32(number))
    found.arrays["summary"][15] += 1


def overlap(found: Case) -> None:
    """Let a thread take cells that are in use."""
    states = found.arrays["states"]
    used = next(t for t in range(states.size) if states["next"][t] % 128 > 8)
    states["next"][used] -= 8


def circle(found: Case) -> None:
    found.arrays["chain"][0] = 0


def to_another_block(found: Case) -> None:
    found.arrays["chain"][0] = 1


def two_tasks(found: Case) -> None:
    found.tasks["root"][0] = found.tasks["root"][1]
    found.tasks["flags"][:2] = abi.RECORD_NEW


def inside(found: Case) -> None:
    """Set a task to work inside a term that another one takes apart."""
    node = found.frame(abi.F_OPL)
    found.tasks["root"][found.arrays["records"]["flags"] == abi.RECORD_NEW] = node + 1


FRONTIER: Final[dict[str, tuple[Callable[[Case], None], str]]] = {
    "kernel passes": (fact("store", "passes", 3), "not the state at pass"),
    "blocks": (fact("store", "blocks", 1), "it has 1 blocks"),
    "tail outside": (fact("store", "tail", [99, 1]), "the last region of block 0"),
    "tail of another": (fact("store", "tail", [1, 1]), "the last region of block 0"),
    "too few tails": (fact("store", "tail", [0]), "its blocks are not as many"),
    "no tails": (fact("store", "tail", None), "the state cannot be followed"),
    "owner": (first("owner", 2), "regions are of blocks that there are not"),
    "chain outside": (first("chain", 77), "regions lie after the last"),
    "chain in a circle": (circle, "in a circle"),
    "chain to another block": (to_another_block, "lead to another's"),
    "used": (first("used", 0), "count as empty"),
    "root": (fact("frontier", "root", 5), "its root is another one"),
    "parked": (lambda found: found.arrays["summary"].__setitem__(2, 9), "tasks wait, it says 9"),
    "records": (lambda found: found.arrays["summary"].__setitem__(14, 99), "its records are not as many"),
    "count": (more("states", "count", 1), "its entries are not as many"),
    "first": (more("states", "first", 1), "segments of the frontier overlap"),
    "out": (more("states", "out", 3), "lists overlap"),
    "out_max": (more("states", "out_max", 3), "lists are not as long"),
    "region": (put("states", "region", 1, 0), "from places that are not theirs"),
    "region outside": (put("states", "region", 999, 0), "regions that there are not"),
    "next in use": (overlap, "take cells that are in use"),
    "end": (put("states", "end", 1 << 20, 0), "from places that are not theirs"),
    "an entry of another thread": (entry(lambda word: word ^ 1 << 32), "entries stand with other threads"),
    "an entry of no record": (entry(lambda word: word | 0xFFFF), "which is free"),
    "an origin": (entry(lambda word: word | 15 << 60), "origins are out"),
    "an entry twice": (same_entry_twice, "stands on the frontier twice"),
    "a free record on the frontier": (free_one, "which is free"),
    "home": (put("records", "home", 99), "of threads that there are not"),
    "place": (put("records", "place", 1 << 20), "name places outside the program"),
    "a task's cell outside": (put("records", "root", 1 << 30), "a task is at work at cell 1,073,741,824"),
    "a task's cell": (put("records", "root", 3), "at cell|frames of the task"),
    "two tasks at a cell": (two_tasks, "two tasks are at work"),
    "a task inside a redex": (inside, "inside a term that another one takes apart|is no part of the term|two tasks"),
    "a frame outside": (put("records", "top", pack(abi.F_APP, 0, 1 << 30)), "points to cell 1,073,741,824"),
    "a frame at 0": (put("records", "top", pack(abi.F_APP, 0, 0)), "lies in cell 0"),
    "a frame that is none": (put("records", "top", pack(Tag.APP, 0, 40)), "frame of tag 0, which is none"),
    "a frame with the substitution's bit": (put("records", "top", SUB_BIT | 64 << 56), "is a substitution"),
    "a frame of collapsing": (put("records", "top", pack(abi.F_LNODE, 0, 40)), "frame of tag 82, which is none"),
    "the end of another task": (put("records", "top", pack(abi.F_ROOT, 0, 40)), "end at 40"),
    "a term outside": (put("records", "hand", pack(Tag.APP, 0, 1 << 30)), "points to cell 1,073,741,824"),
    "a term of no tag": (put("records", "hand", pack(100, 0, 0)), "a heap has no term of tag"),
    "a frame in hand": (put("records", "hand", pack(abi.F_APP, 0, 40)), "a heap has no term of tag"),
    "a closure outside": (put("records", "hand", pack(Tag.ALO, 0xFFFF, 0)), "is a closure of static cell 65,535"),
    "a definition": (put("records", "hand", pack(Tag.REF, 0xFFFF, 0)), "names definition 65535"),
    "a task done on the frontier": (put("records", "flags", 16, 0), "is done, and goes on"),
    "a queue": (fact("queue", {}), "it is of another mode"),
}


@pytest.mark.parametrize("name", FRONTIER)
def test_a_changed_state_of_a_frontier_is_refused(name: str) -> None:
    change, says = FRONTIER[name]

    def fits(found: Case) -> bool:
        if name == "a task inside a redex":
            found.frame(abi.F_OPL)
            return bool((found.tasks["flags"] == abi.RECORD_NEW).any())
        return has_tasks(found) and found.tasks.size > 1

    found = case("shared", "owner", fits)
    found.again()
    change(found)
    with pytest.raises(Misfit, match=says):
        found.again()


def slot_of(found: Case) -> int:
    return found.frame(abi.F_DP0)


def word(at: Callable[[Case], int], offset: int, value: int) -> Callable[[Case], None]:
    def change(found: Case) -> None:
        found.words[at(found) + offset] = value

    return change


def parked(found: Case) -> tuple[int, int]:
    """A slot at which a task waits, and its end."""
    for cell in np.flatnonzero(found.words[: len(found.words) - 4]).tolist():
        stamps, waiters = int(found.words[cell + 2]), int(found.words[cell + 3])
        for side in (0, 1):
            waiter = waiters >> 32 * side & 0xFFFFFFFF
            is_there = stamps >> 32 * side & 0xF0000000 == 0x10000000 and 0 < waiter <= found.tasks.size
            if is_there and any(
                int(task["hand"]) & ~(0xFFFFFF << 32) == pack(Tag.DP0 + side, 0, cell) for task in found.tasks
            ):
                return cell, side
    raise LookupError


def waiter(change: Callable[[int], int]) -> Callable[[Case], None]:
    def act(found: Case) -> None:
        cell, side = parked(found)
        mine = int(found.words[cell + 3]) >> 32 * side & 0xFFFFFFFF
        found.words[cell + 3] = (change(mine) & 0xFFFFFFFF) << 32 * side

    return act


def join_of(found: Case) -> int:
    for cell in np.flatnonzero(found.words >> np.uint64(56) == abi.FORKED).tolist():
        if any(node == cell - 1 for node in nodes(found)):
            return int(found.words[cell]) & 0xFFFFFFFF
    raise LookupError


def nodes(found: Case) -> list[int]:
    """Nodes of all frames."""
    seen: list[int] = []
    for record in found.tasks:
        top = int(record["top"])
        while not int(record["flags"]) & 3 and top >> 56 not in (abi.F_ROOT, abi.F_LROOT):
            node = top & 0xFFFFFFFF
            seen.append(node)
            top = int(found.words[node + (top >> 56 == abi.F_RED)])
    return seen


HEAPS: Final[dict[str, tuple[str, str, Callable[[Case], Any], Callable[[Case], None], str]]] = {
    "an operand that is no number": (
        "shared", "owner", lambda f: f.frame(abi.F_OPR),
        lambda f: f.words.__setitem__(f.frame(abi.F_OPR) + 1, pack(Tag.C00 + 2, 0, 1)), "none that its frame can have",
    ),
    "cases that are none": (
        "shared", "alone", lambda f: f.frame(abi.F_MAT),
        lambda f: f.words.__setitem__(f.frame(abi.F_MAT) + 1, pack(Tag.NUM, 0, 7)), "none that its frame can have",
    ),
    "a parent that is a term": (
        "shared", "owner", lambda f: f.frame(abi.F_OPL),
        lambda f: f.words.__setitem__(f.frame(abi.F_OPL), pack(Tag.NUM, 0, 1)), "frame of tag 30, which is none",
    ),
    "frames in a circle": (
        "shared", "owner", lambda f: f.frame(abi.F_OPL),
        lambda f: f.words.__setitem__(f.frame(abi.F_OPL), pack(abi.F_OPL, 0, f.frame(abi.F_OPL))), "part of two frames",
    ),
    "a held slot that is published": (
        "shared", "owner", slot_of, word(slot_of, 2, 0x80000001), "is held, and says that it is done",
    ),
    "a held slot whose lock is free": (
        "shared", "atomic", slot_of, word(slot_of, 3, 0), "its lock says that it is free",
    ),
    "a held slot that nobody arrived at": (
        "shared", "claim", slot_of, word(slot_of, 2, 0), "its stamps say that it is not",
    ),
    "a waiter that is no task": ("shared", "owner", parked, waiter(lambda _: 0xFFFFFFFF), "it does not wait"),
    "a waiter that waits elsewhere": ("shared", "claim", parked, waiter(lambda _: 0xFFFF), "it does not wait"),
    "an operand forked for nobody": (
        "erased", "owner", join_of, word(join_of, 1, 77), "it does not wait",
    ),
    "an operand that is done and at work": (
        "erased", "owner", join_of, word(join_of, 1, 1 << 32), "which is done or another's",
    ),
    "a join outside": (
        "erased", "owner", join_of,
        lambda f: f.words.__setitem__(
            np.flatnonzero(f.words == pack(abi.FORKED, 0, join_of(f)))[0], pack(abi.FORKED, 0, 1 << 30)
        ),
        "points to cell 1,073,741,824",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEAPS)
def test_a_changed_heap_is_refused(name: str) -> None:
    program, machine, fits, change, says = HEAPS[name]
    found = case(program, machine, fits)
    found.again()
    change(found)
    with pytest.raises(Misfit, match=says):
        found.again()


def has_calls(found: Case) -> bool:
    evaluator = found.facts["evaluator"]
    return bool(evaluator["calls"]) and found.arrays["stack"].size > 0 and evaluator["frontier"] is None


EVALUATOR: Final[dict[str, tuple[Callable[[Case], None], str]]] = {
    "flags": (fact("evaluator", "acts", 0, [0, 32, True]), "have other flags"),
    "a base": (fact("evaluator", "acts", 0, [9, 0, True]), "overlap"),
    "no reductions": (fact("evaluator", "acts", []), "not as many as it says"),
    "todo": (fact("evaluator", "todo", "jump"), "nothing it can do"),
    "a primitive to begin": (fact("evaluator", "todo", "begin"), "a primitive that is none|without a task"),
    "no call to resume": (fact("evaluator", "calls", []), "its calls do not fit"),
    "a call of another": (fact("evaluator", "calls", 0, ["log", 99, [1], 1]), "of other primitives"),
    "arguments outside": (
        lambda found: found.facts["evaluator"]["calls"][0].__setitem__(2, [1 << 40]),
        "points to cell 1,099,511,627,776",
    ),
    "too many arguments": (
        lambda found: found.facts["evaluator"]["calls"][0].__setitem__(2, [5, 6, 7]),
        "another number of arguments",
    ),
    "steps": (lambda found: found.facts["evaluator"]["calls"][0].__setitem__(3, -1), "of other primitives"),
    "cells to visit": (first("stack", 4 << 60 | 1 << 32 | 0xFFFFFFFF), "cells to visit lie outside"),
    "no cells to visit": (first("stack", 4 << 60 | 5), "its stack holds no cells"),
    "another item": (first("stack", 1 << 60 | 1 << 32 | 5), "its stack holds no cells"),
    "flags of a record": (
        lambda found: found.arrays["acts"]["flags"].__setitem__(slice(None), 64),
        "a reduction has other flags",
    ),
    "a thread": (lambda found: found.arrays["thread"]["next"].__setitem__(0, 1), "from places|cells that are in use"),
}


@pytest.mark.parametrize("name", EVALUATOR)
def test_a_changed_state_of_the_evaluator_is_refused(name: str) -> None:
    change, says = EVALUATOR[name]
    found = case("primitives", "owner", has_calls)
    found.again()
    change(found)
    with pytest.raises(Misfit, match=says):
        found.again()


QUEUE: Final[dict[str, tuple[Callable[[dict[str, Any]], Any], str]]] = {
    "buckets": (lambda queue: queue["buckets"].pop(), "another number of buckets"),
    "two stages": (lambda queue: queue["lifted"].append(queue["running"][0]), "at two stages at once"),
    "no key": (lambda queue: queue["keys"].clear(), "branches have no key"),
    "a branch outside": (lambda queue: queue["now"][0].append(1 << 33), "a task is at work at cell 8,589,934,592"),
    "a branch that is none": (lambda queue: queue["now"][0].append(2), "cell|term"),
    "a lifted branch that is none": (lambda queue: queue["lifted"].append(200), "is no branch"),
}


@pytest.mark.parametrize("name", QUEUE)
def test_a_changed_queue_of_branches_is_refused(name: str) -> None:
    change, says = QUEUE[name]
    found = case("branches", "owner", lambda found: found.facts["queue"]["running"] and found.facts["queue"]["now"])
    found.again()
    change(found.facts["queue"])
    with pytest.raises(Misfit, match=says):
        found.again()


# Whole files.


def forged(trace: Trace, path: Path, **header: Any) -> Trace:
    """Save a trace with another header, and open it."""
    changed = trace.slice(0, trace.n_passes)
    changed.header = replace(trace.header, **header)
    changed.end = trace.end
    changed.save(path)
    return open_trace(path)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"heap": np.array([pack(Tag.APP, 0, 5)], np.uint64)}, "its heap at the start is not @main"),
        ({"heap": np.array([pack(Tag.REF, 0, 0)], np.uint64)}, "its heap at the start is not @main"),
        ({"root": 7}, "its heap at the start is not @main"),
        ({"stamps": -1}, "it has stamps up to -1"),
        ({"stamps": 1 << 40}, "it has stamps up to"),
        ({"entry": "", "heap": np.array([pack(Tag.APP, 0, 1 << 30)], np.uint64)}, "points to cell 1,073,741,824"),
        ({"entry": "", "root": 9}, "its root is cell 9 of 1"),
        ({"machine": {"blocks": 4, "threads_per_block": 2}}, "has another geometry"),
        ({"machine": {"blocks": "4"}}, "none of this version"),
    ],
)
def test_a_file_with_another_start_is_refused(tmp_path: Path, header: dict[str, Any], says: str) -> None:
    trace = record("shared", "owner", 8).trace
    for p in (0, 3, 8):
        with pytest.raises(TraceError, match=says):
            forged(trace, tmp_path / f"{p}.hvt", **header).resume(p, **QUIET)


@pytest.mark.parametrize(("program", "passes"), [("shared", 8), ("branches", 20)])
def test_a_file_with_another_heap_in_the_middle_is_refused(tmp_path: Path, program: str, passes: int) -> None:
    """Every word that a pass changed, changed to one that points outside: a file of ours whose checksums are right."""
    trace = record(program, "owner", passes).trace
    live = trace.at(passes).words
    refused = 0
    for place in range(0, trace.deltas(passes - 1, passes).size, 3):
        forgery = Forgery(trace)
        deltas = forgery.tables["deltas"][passes - 1]
        cell = deltas["cell"][place]
        for table, column in (("deltas", "after"), ("image", "word")):
            changed = forgery.tables[table][passes - 1]
            changed[column][changed["cell"] == cell] = pack(Tag.APP, 0, 0xFFFFFFF0)
        path = tmp_path / f"{place}.hvt"
        strange = forgery.trace()
        strange.final_state = trace.final_state
        strange.save(path)
        opened = open_trace(path)
        assert int(opened.at(passes).words[cell]) != int(live[cell])
        try:
            run = opened.resume(passes, **QUIET)
        except TraceError:
            refused += 1
        else:
            assert run.status == "done"  # nothing reads that word any more
    assert refused > 0


def test_a_cyclic_term_is_resumed_from_any_pass() -> None:
    """It is none that can be checked once it was evaluated again: the passes are repeated from the program instead."""
    source = "@twice = λ&f. λx. f(f(x))\n@main = @twice(@twice)"
    whole = hv.run(source, machine=MACHINES["owner"], record="full", **QUIET)
    states: list[str] = []
    for p in range(whole.trace.n_passes):
        run = whole.trace.resume(p, **QUIET)
        states.append(run.status)
        assert run.lines == whole.lines or (run.status == "stalled" and "resume(0)" in run.message)
    assert states.count("stalled") <= 1
