"""Every rule that takes cells, with one word too few, just enough, and one more: it happens entirely, or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.events import OUTCOMES, PassRecord
from hvm4viz.execution import Execution, Request
from hvm4viz.outcome import Run
from hvm4viz.quiet import quiet_request
from hvm4viz.rules import Rule, rule_table
from hvm4viz.stops import Stop
from hvm4viz.term import Tag, pack

CELLS: Final = 512
"""Cells of the only region: more than any example takes, and less than the smallest heap that is ever proposed."""

STARVED: Final = OUTCOMES.index("starved")
NO_FIELDS: Final = "! x &A = 3; x₀ + x₁"
"""What DUP-NOD does to a number, which has no fields, takes no cells."""

TAKES_CELLS: Final = [
    (rule, term, text)
    for rule in rule_table()
    for term, text in rule.examples
    if rule.words != "0" and term != NO_FIELDS
]
IDS: Final = [f"{rule.name}: {term}" for rule, term, _ in TAKES_CELLS]


def crowded(term: str, left: int, *, threads: int) -> Request:
    """Make a run of an example, whose machine has one region with so many cells left for each thread."""
    machine = hv.Machine(blocks=1, threads_per_block=threads, region_size=CELLS, fuel=1, heap=8 * CELLS)
    mode = "collapse" if term.startswith("collapse ") else "snf"
    source = f"@main = {term.removeprefix('collapse ')}"
    request = quiet_request(source, mode=mode, machine=machine, device="cpu", workers=1, record="full")
    words = np.zeros(CELLS, np.uint64)
    slice_cells, slot = CELLS // threads, 2 if threads == 1 else 4  # the last cell may begin a slot
    for start in range(0, CELLS, slice_cells):
        words[start + 1 : start + slice_cells - slot - left + 1] = pack(Tag.NUM, 0, 7)
    words[0] = request.words[0]
    return replace(request, words=words)


@dataclass(frozen=True)
class Outcome:
    """An example that was run with so many cells left."""

    execution: Execution
    stop: Stop
    wanted: set[tuple[int, int]]
    """Cells that entries of the last pass asked for in vain, and cells that were left for them."""

    def fired(self, rule: Rule) -> int:
        """Return how often the rule fired."""
        rules = self.execution.trace.rules
        return int(rules.counts[rules.keys == rule_table().index(rule)].sum())

    def run(self) -> Run:
        """Return the run."""
        return self.execution.finish(self.stop)


def tried(term: str, left: int, *, threads: int) -> Outcome:
    execution = Execution(crowded(term, left, threads=threads))
    last: list[PassRecord] = []
    stop: Stop | None = None
    while stop is None:
        stop = execution.engine.idle()
        if stop is None:
            record, stop = execution.engine.step()
            execution._recorder.on_pass(record)
            last = [replace(record, events=record.events.copy())]
    wanted: set[tuple[int, int]] = set()
    if stop.status == "heap_full":
        states = execution._machine._state_view  # pyright: ignore[reportAttributeAccessIssue]
        events = last[0].events
        for thread in np.flatnonzero(states["need"]).tolist():
            mine = events[events["thread"] == thread]
            free = int(states["end"][thread]) - int(states["next"][thread])
            for at in np.flatnonzero(mine["outcome"] == STARVED).tolist():
                behind = int(mine["cells"][at + 1 :].sum())  # those that came after it took cells as well
                wanted.add((int(states["need"][thread]), free + behind))
    return Outcome(execution, stop, wanted)


def fewest(rule: Rule, term: str, *, threads: int) -> int:
    """Return with how many cells left the rule fires for the first time."""
    low, high = 0, CELLS // threads // 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if tried(term, middle, threads=threads).fired(rule) else (middle + 1, high)
    return low


def words_of(rule: Rule, *, threads: int) -> set[int]:
    """Return what the header says that the rule takes, for each number of fields."""
    if rule.words.startswith("mat_hit_cells"):  # two for each field that finds no place in the constructor
        return {2 * n for n in range(17)}
    cells = {"slot": 2 if threads == 1 else 4, "lam": 2 if threads == 1 else 3}
    return {eval(rule.words, {}, {**cells, "arity": arity}) for arity in range(17)}


def told(message: str) -> str:
    """Return the rule that a message of a full heap names."""
    found = re.search(r"it was at work on the rule ([\w-]+(?: or [\w-]+)?)", message)
    return found[1] if found else ""


def proposed(message: str) -> str:
    found = re.fullmatch(
        rf"no free region left for block 0, which needs 1: all 1 regions \({CELLS} cells\) are in use; "
        r"re-run with heap='(1 GiB)' or leave it out \(the default\); if that fills too, the program probably "
        r"never ends"
        r"(?:: look at @\w+ at cell:\d+:\d+, where it was at work|; it was at work)?"
        r"(?: on the rule [\w-]+(?: or [\w-]+)?)?",
        message,
    )
    assert found, message
    return found[1]


def goes_on_without_a_change(outcome: Outcome, rule: Rule) -> None:
    """Run the full heap on: all that can still happen happens, and then what is starved changes nothing any more."""
    engine = outcome.execution.engine
    for _ in range(CELLS):
        record, stop = engine.step()
        assert stop is not None
        assert stop.status == "heap_full"
        assert record.rules[rule_table().index(rule)] == 0
        if not record.deltas.size:
            break
    before = outcome.execution.words.copy()
    record, stop = engine.step()
    assert stop is not None
    assert stop.status == "heap_full"
    assert not record.interactions
    assert STARVED in record.events["outcome"]
    assert not record.events["cells"].any()
    assert not record.deltas.size
    assert np.array_equal(outcome.execution.words, before)


def test_every_rule_that_takes_cells_is_tried() -> None:
    assert {rule.name for rule, _, _ in TAKES_CELLS} == {rule.name for rule in rule_table() if rule.words != "0"}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("rule", "term", "text"), TAKES_CELLS, ids=IDS)
def test_a_rule_with_one_word_too_few_does_nothing_and_with_enough_all(
    rule: Rule, term: str, text: str, threads: int
) -> None:
    ran = partial(tried, term, threads=threads)
    enough = fewest(rule, term, threads=threads)
    short = ran(enough - 1)
    assert short.stop.status == "heap_full"
    words = [need for need, left in short.wanted if left == need - 1]
    assert words, f"what stopped it was not one word: {short.wanted}"
    assert set(words) <= words_of(rule, threads=threads)
    assert short.fired(rule) == 0

    goes_on_without_a_change(short, rule)
    larger = proposed(short.stop.message)
    fresh = Execution(replace(crowded(term, enough - 1, threads=threads), machine=hv.Machine(heap=larger)))
    stop = fresh.advance()
    assert stop is not None
    assert (stop.status, fresh.finish(stop).text) == ("done", text)

    for left in (enough - 1, enough, enough + 1):
        stopped = ran(left)
        assert stopped.fired(rule) >= (left >= enough)
        run = stopped.run()
        if left == enough - 1:
            assert rule.name in told(run.message).split(" or "), run.message
        if run.status == "heap_full":
            run = run.resume(heap=proposed(run.message), progress=False)
        assert (run.status, run.text) == ("done", text)
