"""Limits with one too few, just enough, and one more: what stops a run says what would do, and that does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

import pytest

import hvm4viz as hv
from hvm4viz.limits import EXT_END
from hvm4viz.workspace import SLACK

QUIET: Final[dict[str, Any]] = {"device": "cpu", "progress": False}
ALONE: Final = hv.Machine(blocks=1, threads_per_block=1, region_size=64)
MACHINES: Final = {"alone": ALONE, "many": hv.Machine(blocks=3, threads_per_block=2, region_size=64, fuel=3)}
TREE: Final = "@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(6)"
LOOP: Final = "@f = λ{0: 7; λ&n. @f(n - 1)}\n@main = @f(20)"


def proposed(message: str, option: str) -> str:
    found = re.search(rf"re-run with {option}='?([^',]+)'?(?:,| or )", message)
    assert found, message
    return found[1]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_passes(machine: hv.Machine) -> None:
    whole = hv.run(TREE, machine=machine, record="full", **QUIET)
    passes = whole.stats.passes
    short, enough, more = (
        hv.run(TREE, machine=machine, max_passes=passes + n, record="full", **QUIET) for n in (-1, 0, 1)
    )
    assert (short.status, short.stats.passes) == ("pass_limit", passes - 1)
    assert f"stopped after {passes - 1} passes; raise max_passes" in short.message
    for run in (short.resume(max_passes=passes, progress=False), enough, more):
        assert (run.status, run.text, run.trace.digest()) == ("done", whole.text, whole.trace.digest())


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.filterwarnings("ignore:the heap is")
def test_regions(machine: hv.Machine) -> None:
    def run(regions: int) -> hv.Run:
        return hv.run(TREE, machine=replace(machine, heap=8 * 64 * regions), record="full", **QUIET)

    low, high = machine.blocks, 1000
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if run(middle).status == "done" else (middle + 1, high)
    short, enough, more = (run(low + n) for n in (-1, 0, 1))
    assert short.status == "heap_full"
    assert re.search(rf"no free region left for block \d, .* all {low - 1} regions", short.message)
    assert short.message.endswith("the program probably never ends: look at @tree at cell:1:31, where it was at work")
    assert (enough.status, more.status, enough.text) == ("done", "done", more.text)
    heap = proposed(short.message, "heap")
    assert short.resume(heap=heap, progress=False).text == enough.text
    assert hv.run(TREE, machine=replace(machine, heap=heap), **QUIET).text == enough.text


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_heap_that_cannot_even_start(machine: hv.Machine) -> None:
    least = 8 * 64 * machine.blocks
    with pytest.raises(ValueError, match="use heap=") as caught:
        hv.run("@main = 1", machine=replace(machine, heap=least - 1), **QUIET)
    assert f"use heap='{-(-least // 1024)} KiB' or more" in str(caught.value)
    assert hv.run("@main = 1", machine=replace(machine, heap=least), **QUIET).text == "1"
    assert hv.run("@main = 1", machine=replace(machine, heap=least + 1), **QUIET).text == "1"


@pytest.mark.parametrize("fields", [7, 8, 9])
def test_a_node_and_the_slice_it_must_fit(fields: int) -> None:
    source = f"@main = ! &x = #W{{{','.join(map(str, range(fields)))}}}; [x, x]"
    machine = hv.Machine(blocks=1, threads_per_block=4, region_size=4 * 8)
    run = hv.run(source, machine=machine, **QUIET)
    assert run.status == ("done" if fields <= 8 else "heap_full")
    if run.status == "heap_full":
        assert "a node of 9 cells does not fit: its cells lie together, and each thread has 8 of" in run.message
        run = hv.run(source, machine=replace(machine, region_size=int(proposed(run.message, "region_size"))), **QUIET)
    assert (run.status, run.text.count("#W")) == ("done", 2)


@pytest.mark.parametrize("source", [LOOP, TREE])
def test_fuel_of_one_entry_splits_it_and_changes_nothing_else(source: str) -> None:
    whole = hv.run(source, machine=ALONE, **QUIET)
    most = int(whole.trace.events()["interactions"].max())
    short, enough, more = (hv.run(source, machine=replace(ALONE, fuel=most + n), **QUIET) for n in (-1, 0, 1))
    assert {run.text for run in (short, enough, more)} == {whole.text}
    assert {run.stats.interactions for run in (short, enough, more)} == {whole.stats.interactions}
    assert enough.stats.passes == more.stats.passes == whole.stats.passes < short.stats.passes
    assert [int(run.trace.events()["interactions"].max()) for run in (short, enough, more)] == [most - 1, most, most]


def wide(entries: int) -> tuple[str, str]:
    """Return a term that becomes so many entries in one pass, and what is printed of it."""
    rows = [min(16, entries - at) for at in range(0, entries, 16)]
    groups = [rows[at : at + 16] for at in range(0, len(rows), 16)]
    leaves = [[f"#L{{{','.join('?' * n)}}}" for n in group] for group in groups]
    text = "#G{" + ",".join("#R{" + ",".join(each) + "}" for each in leaves) + "}"
    return f"@main = {text.replace('?', '(1 + 2)')}", text.replace("?", "3")


@pytest.mark.parametrize(
    ("entries", "threads"),
    [(SLACK - 1, 1), (SLACK, 1), (SLACK + 1, 1), (63, 64), (64, 64), (65, 64), (127, 64), (128, 64), (129, 64)],
)
def test_slots_of_one_thread_and_of_a_frontier_that_grows(entries: int, threads: int) -> None:
    source, text = wide(entries)
    run = hv.run(source, machine=hv.Machine(blocks=1, threads_per_block=threads), **QUIET)
    assert (run.status, run.text) == ("done", text)
    assert run.stats.max_frontier == entries
    assert run.trace.verify().offence is None


@pytest.mark.parametrize(("label", "as_name"), [(EXT_END - 1, "$$$$"), (EXT_END, "_"), (EXT_END + 1, "a")])
def test_labels_that_are_computed_count_modulo_what_a_word_holds(label: int, as_name: str) -> None:
    assert hv.run(f"@main = &({label}){{1, 2}}", **QUIET).text == f"&{as_name}{{1,2}}"
    for other in (label % EXT_END, (label + 1) % EXT_END):
        run = hv.run(f"@main = ! x &({label}) = &({other}){{1, 2}}; [x₀, x₁]", **QUIET)
        assert run.text.startswith("[1," if other == label % EXT_END else "[&")


DEEP: Final = 100_000
NESTS: Final = {
    "applications": ("@id = λx. x\n@main = " + "@id(" * DEEP + "7" + ")" * DEEP, "7"),
    "constructors": ("@main = " + "#S{" * DEEP + "1 + 1" + "}" * DEEP, "#S{" * DEEP + "2" + "}" * DEEP),
    "constructors that are made": (
        f"@f = λ{{0: #Z; λ&n. #S{{@f(n - 1)}}}}\n@main = @f({DEEP})",
        "#S{" * DEEP + "#Z{}" + "}" * DEEP,
    ),
    "stuck applications": ("@main = " + "@f(" * DEEP + "1 + 1" + ")" * DEEP, "@f(" * DEEP + "2" + ")" * DEEP),
    "lists": ("@main = " + "[" * DEEP + "1 + 1" + "]" * DEEP, "[" * DEEP + "2" + "]" * DEEP),
    "operators": ("@main = " + "(1 + " * DEEP + "1" + ")" * DEEP, str(DEEP + 1)),
}


@pytest.mark.parametrize(
    "name",
    ["applications", "constructors that are made", *(pytest.param(n, marks=pytest.mark.slow) for n in NESTS)],
)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_hundred_thousand_levels_are_parsed_run_and_printed(name: str, threads: int) -> None:
    source, text = NESTS[name]
    run = hv.run(source, machine=hv.Machine(threads_per_block=threads), record="counts", **QUIET)
    assert run.status == "done", run.message
    assert run.text == text
