from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import hvm4viz as hv
from hvm4viz.errors import (
    DeviceUnavailable,
    EntryNotFound,
    HeapExhausted,
    HvmRuntimeError,
    Interrupted,
    PassLimitReached,
    TimeLimitReached,
)

ENDLESS = "@f = λ&n. @f(n + 1)\n@main = @f(0)"
GROWING = "@f = λ&n. n <> @f(n + 1)\n@main = @f(0)"


def test_done_run_holds_answer_statistics_and_trace() -> None:
    run = hv.run("@main = #Pair{1 + 2, [4]}")

    assert (run.status, run.message, run.text) == ("done", "", "#Pair{3,[4]}")
    assert run.result is not None
    assert run.result.python() == (3, [4])
    assert run.stats.interactions == 1
    assert run.stats.passes == run.trace.n_passes
    assert run.raise_for_status() is run


@pytest.mark.parametrize(
    ("source", "options", "status", "error", "words"),
    [
        ("@main = 1(2)", {}, "error", HvmRuntimeError, "cannot apply a number"),
        ("@main = #A{1}(2)", {}, "error", HvmRuntimeError, "cannot apply a constructor"),
        ("@main = λ{#A: 1}(#B)", {}, "error", HvmRuntimeError, "no case"),
        ("@main = 1(2)", {}, "error", HvmRuntimeError, "cannot apply a number in @main"),
        ("@main = λ{#A: 1}(#A)(2)", {}, "error", HvmRuntimeError, "number (if it came from a λ{…}: a default is a"),
        ("@main = λ{1: 1; _: 0}(2)", {}, "error", HvmRuntimeError, "number (also when no case of a λ{…} matched"),
        ("@main = λ{1: 1; _: 9}(2)", {}, "error", HvmRuntimeError, "number (if it came from a λ{…}: a default is a"),
        (ENDLESS, {"max_passes": 3}, "pass_limit", PassLimitReached, "raise max_passes"),
        (ENDLESS, {"timeout": 0.05}, "timeout", TimeLimitReached, "raise timeout"),
        (GROWING, {"machine": hv.Machine(heap="1 MiB")}, "heap_full", HeapExhausted, "re-run with heap="),
        (ENDLESS, {"on_pass": lambda _record: False}, "interrupted", Interrupted, "interrupted after 1 pass"),
    ],
)
def test_run_that_stops_early_says_why_and_keeps_its_trace(
    source: str, options: dict[str, object], status: str, error: type[Exception], words: str
) -> None:
    run = hv.run(source, device="cpu", **options)  # pyright: ignore[reportArgumentType]

    assert run.status == status
    assert words in run.message
    assert run.trace.n_passes == run.stats.passes > 0
    with pytest.raises(error) as caught:
        run.raise_for_status()
    assert caught.value.run is run  # pyright: ignore[reportAttributeAccessIssue]


def test_runtime_error_names_definition_and_place() -> None:
    run = hv.run("@id = λx. x\n@bad = λn. n(1)\n@main = [@id(7), @bad(3)]")

    assert "in @bad at cell:2:12" in run.message


def test_proposed_heap_would_do() -> None:
    source = "@f = λ{0: []; λ&n. n <> @f(n - 1)}\n@main = @f(30000)"
    machine = hv.Machine(heap="2 MiB", blocks=1, threads_per_block=1)
    run = hv.run(source, machine=machine)
    while run.status == "heap_full":
        proposed = run.message.split("heap='")[1].split("'")[0]
        machine = hv.Machine(heap=proposed, blocks=1, threads_per_block=1)
        run = hv.run(source, machine=machine)

    assert run.status == "done"


def test_node_longer_than_a_slice_says_which_region_size_would_do() -> None:
    source = "@main = ! &x = #W{1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16}; [x, x]"
    run = hv.run(source, machine=hv.Machine(region_size=8, threads_per_block=4))
    assert run.status == "heap_full"
    size = int(run.message.split("re-run with region_size=")[1].split(",")[0])

    assert hv.run(source, machine=hv.Machine(region_size=size, threads_per_block=4)).status == "done"


def test_zero_passes_run_nothing() -> None:
    run = hv.run("@main = 1 + 2", max_passes=0)

    assert (run.status, run.stats.passes, run.trace.n_passes) == ("pass_limit", 0, 0)


def test_pass_limit_that_is_just_enough_is_enough() -> None:
    passes = hv.run("@main = [1, 2, 3]").stats.passes

    assert hv.run("@main = [1, 2, 3]", max_passes=passes).status == "done"
    assert hv.run("@main = [1, 2, 3]", max_passes=passes - 1).status == "pass_limit"


def test_interrupt_ends_the_run_after_the_current_pass() -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = time.monotonic()

    run = hv.run(ENDLESS, device="cpu", timeout=20)

    assert run.status == "interrupted"
    assert time.monotonic() - begun < 5
    assert run.trace.n_passes > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_run_outside_the_main_thread_leaves_signals_alone() -> None:
    runs: list[hv.Run] = []
    thread = threading.Thread(target=lambda: runs.append(hv.run("@main = 1 + 1")))
    thread.start()
    thread.join()

    assert runs[0].text == "2"


def test_saved_trace_is_there_when_the_run_stops_early(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"

    run = hv.run(ENDLESS, max_passes=5, save=path)
    opened = hv.open_trace(path)

    assert opened.n_passes == run.trace.n_passes == 5
    assert opened.meta["status"] == "pass_limit"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_passes": -1}, "max_passes=-1"),
        ({"timeout": -1.0}, "timeout=-1"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"repeat": 0}, "repeat=0"),
        ({"workers": 0}, "workers=0"),
        ({"seed": -1}, "seed=-1"),
        ({"mode": "wnf"}, "mode='wnf'"),
        ({"limit": 3, "mode": "snf"}, "limit=3"),
        ({"record": "all"}, "record='all'"),
        ({"machine": hv.Machine(heap=4096)}, "heap=4096"),
    ],
)
def test_bad_option_is_refused_with_its_value(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        hv.run("@main = 1", **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"blocks": 0}, "blocks=0"),
        ({"threads_per_block": 3}, "power of two; 4 would do"),
        ({"region_size": 100}, "128 would do"),
        ({"threads_per_block": 64, "region_size": 32}, "region_size=512"),
        ({"fuel": 0}, "fuel=0"),
        ({"fuel": 2**32}, "4,294,967,295"),
        ({"blocks": 65536, "threads_per_block": 1024, "region_size": 1024}, "use threads_per_block=16"),
        ({"heap": None}, "size None"),
        ({"heap": "9" * 400 + "GiB"}, "more than any machine has"),
        ({"heap": "many"}, "'many'"),
        ({"shard": "random"}, "'index', 'address'"),
        ({"dup": "claim", "defer": "return"}, "no task moves"),
        ({"dup": "claim", "owner_unit": "block"}, "any thread may"),
    ],
)
def test_bad_setting_is_refused_with_its_bound(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hv.Machine(**settings)  # pyright: ignore[reportArgumentType]


def test_an_entry_may_be_named_as_the_program_writes_it() -> None:
    plain, told = (hv.run("@f = 1 + 2", entry=entry) for entry in ("f", "@f"))

    assert (told.text, told.trace.meta["entry"]) == ("3", "f")
    assert told.trace.digest() == plain.trace.digest()


def test_missing_entry_and_device_are_refused() -> None:
    with pytest.raises(EntryNotFound):
        hv.run("@other = 1")
    with pytest.raises(DeviceUnavailable):
        hv.run("@main = 1", device="quantum")


def test_check_and_repeat_compare_runs() -> None:
    run = hv.run("@main = (λ&x. [x, x])(1 + 2)", check=True, repeat=3)

    assert run.text == "[3,3]"


def test_run_records_nothing_when_told_so() -> None:
    run = hv.run("@main = 1 + 2", record="off")

    assert (run.text, run.stats.interactions) == ("3", 1)
    assert run.trace.digest_or_none() is None


def test_edited_rule_changes_what_the_machine_does() -> None:
    text = next(rule.text for rule in hv.kernel().rules if rule.name == "OP2-NUM-NUM")
    edited = text.replace("op2_compute(code,", "1000u + op2_compute(code,")

    assert hv.run("@main = 1 + 2", kernel=hv.kernel().replace("OP2-NUM-NUM", edited)).text == "1003"
    assert hv.run("@main = 1 + 2").text == "3"
