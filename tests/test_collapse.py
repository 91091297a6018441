from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import hvm4viz as hv

MACHINES = [
    hv.Machine(blocks=1, threads_per_block=1),
    hv.Machine(blocks=3, threads_per_block=2, region_size=64, fuel=2),
    hv.Machine(blocks=16, threads_per_block=4, shard="address"),
]
NATS = "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = @nats(0)"
TREE = "@tree = λ{0: λ&p. p; λ&n. λ&p. &(n){@tree(n - 1, p * 2), @tree(n - 1, p * 2 + 1)}}\n@main = @tree(7, 1)"
NEVER = "@f = λ&n. @f(n + 1)\n@main = &A{1, &B{@f(0), 2}}"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.threads} threads")
@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("@main = &A{&B{&C{1,2},3}, &D{4,&E{5,6}}}", "3 4 1 2 5 6"),
        ("@main = &A{&B{1,&C{2,3}}, ↑&D{4,5}}", "4 5 1 2 3"),
        ("@main = #P{&A{1,2}, &B{3,4}}", "#P{1,3} #P{1,4} #P{2,3} #P{2,4}"),
        ("@main = #P{&A{1,2}, &A{3,4}}", "#P{1,3} #P{2,4}"),
        ("@main = &A{&{}, #P{1, &{}}}", ""),
        ("@main = [2n === 2n, 5]", "[1,5]"),
        ("@main = (^g ~> 2) + 1", "3"),
        (TREE, " ".join(str(n) for n in range(128, 256))),
    ],
)
def test_order_of_results_is_that_of_the_queue(source: str, lines: str, machine: hv.Machine) -> None:
    run = hv.run(source, mode="collapse", machine=machine, device="cpu")

    assert run.status == "done"
    assert run.lines == lines.split()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.threads} threads")
@pytest.mark.parametrize("limit", [0, 1, 10])
def test_limit_ends_an_infinite_enumeration(limit: int, machine: hv.Machine) -> None:
    run = hv.run(NATS, limit=limit, machine=machine, device="cpu")

    assert run.status == "done"
    assert run.lines == [str(n) for n in range(limit)]
    assert (limit > 0) == (run.stats.passes > 0)


def test_negative_limit_is_none() -> None:
    assert hv.run("@main = &A{1, 2}", limit=-1).lines == ["1", "2"]


def test_branches_run_as_one_wide_frontier() -> None:
    wide = hv.run(TREE, mode="collapse", machine=hv.Machine(blocks=16, threads_per_block=4), device="cpu")
    alone = hv.run(TREE, mode="collapse", machine=hv.Machine(blocks=1, threads_per_block=1), device="cpu")

    assert wide.stats.max_frontier > 16
    assert alone.stats.max_frontier == 1
    assert wide.stats.passes < alone.stats.passes / 4
    assert wide.stats.interactions == alone.stats.interactions


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.threads} threads")
def test_results_stream_before_the_run_is_over(machine: hv.Machine) -> None:
    with hv.results(NEVER, machine=machine, device="cpu", max_passes=200) as found:
        assert next(found).text == "1"
    assert found.run.status == "interrupted"
    assert found.run.lines == ["1"]


def test_results_are_exhausted_with_a_final_run() -> None:
    found = hv.results("@main = &A{1, &B{2, 3}}")

    assert [term.text for term in found] == ["1", "2", "3"]
    assert (found.run.status, found.run.lines) == ("done", ["1", "2", "3"])


def test_asking_for_the_run_stops_the_iterator() -> None:
    found = hv.results(NATS)
    first = next(found)

    assert (first.text, found.run.status, list(found)) == ("0", "interrupted", [])
    assert found.run.lines == ["0"]


def test_callback_gets_each_result_as_it_comes() -> None:
    seen: list[str] = []

    run = hv.run("@main = &A{1, &B{2, 3}}", mode="collapse", on_result=lambda term: seen.append(term.text))

    assert seen == run.lines == ["1", "2", "3"]


def test_interrupted_enumeration_keeps_its_results() -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()

    run = hv.run(NATS, mode="collapse", device="cpu", timeout=20)

    assert run.status == "interrupted"
    assert time.monotonic() - begun < 5
    assert run.lines == [str(n) for n in range(len(run.lines))]
    assert run.lines


@pytest.mark.parametrize("machine", MACHINES[1:], ids=lambda m: f"{m.threads} threads")
def test_trace_does_not_depend_on_workers(machine: hv.Machine) -> None:
    runs = [hv.run(TREE, mode="collapse", machine=machine, device="cpu", workers=w) for w in (1, 2, 1, 2)]

    assert len({run.trace.digest() for run in runs}) == 1


def test_variable_filled_late_is_lifted_again() -> None:
    source = "@main = ! f = λ v; [v, f(1)(2 + 3)]"

    assert hv.run(source, mode="snf").text == "[5,1]"
    assert hv.run(source, mode="collapse").lines == ["[5,1]"]


def test_error_in_a_branch_keeps_the_results_before_it() -> None:
    run = hv.run("@main = &A{1, 2(3)}", mode="collapse", machine=hv.Machine(blocks=1, threads_per_block=1))

    assert run.status == "error"
    assert run.lines == ["1"]
