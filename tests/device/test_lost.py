"""A GPU that is lost in the middle of a run, at one operation after the other: on a stand-in for CuPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import hvm4viz
from hvm4viz import cli
from hvm4viz.device.way import Pace
from hvm4viz.errors import DeviceError, DeviceFailed
from hvm4viz.run import Run
from hvm4viz.settings import Machine
from hvm4viz.trace import open_trace
from tests.case_files import programs
from tests.device import stand_in_cupy

MACHINE = Machine(blocks=7, fuel=16, heap="1 MiB", region_size=256)
SOURCE = "@double = λ{0n: 0n; 1n+: λn. 1n+1n+@double(n)}\n@main = #P{@double(2n), @double(1n)}"
SUPERPOSED = "@main = #P{&A{1, 2} + 3, #P{&B{4, 5} * 6, &A{7, 8}}}"
WORDS = "cudaErrorIllegalAddress: an illegal memory access was encountered"


class Losing:
    """Has the GPU go away at an operation; ``left`` counts down to it, ``gone`` is what every later one says."""

    def __init__(self, module: Any) -> None:
        self.left = 0
        self._error = module.cuda.runtime.CUDARuntimeError

    @property
    def is_gone(self) -> bool:
        return self.left == -1

    def ask(self) -> None:
        if self.left == 1:
            self.left = -1
        if self.is_gone:
            raise self._error(WORDS)
        self.left -= self.left > 0

    def asked(self, does: Callable[..., Any]) -> Callable[..., Any]:
        def asking(*args: Any, **options: Any) -> Any:
            self.ask()
            return does(*args, **options)

        return asking


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> Losing:
    module: Any = stand_in_cupy.stand_in()
    found = Losing(module)
    for kind, names in {
        stand_in_cupy.Pointer: ("_copy", "memset_async"),
        stand_in_cupy.Array: ("get", "set"),
        stand_in_cupy.Stream: ("synchronize", "begin_capture"),
        stand_in_cupy.Graph: ("launch",),
        stand_in_cupy.Device: ("__enter__",),
    }.items():
        for name in names:
            monkeypatch.setattr(kind, name, found.asked(getattr(kind, name)))
    for name in ("zeros", "empty"):
        monkeypatch.setattr(module, name, found.asked(getattr(module, name)))
    monkeypatch.setattr(module.cuda.runtime, "memGetInfo", found.asked(module.cuda.runtime.memGetInfo))
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(Pace, "way", lambda pace, width, **_: pace._ways[-1 if width > 1 else 0])
    return found


def told_of(text: str) -> bool:
    """Tell whether a message has the driver's words, on one line."""
    return WORDS in text and "\n" not in text


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (SOURCE, {"record": "full"}),
        (SUPERPOSED, {"record": "events", "mode": "collapse"}),
        ("@main = %gnf(#P{1 + 2, 3 * 4})", {"record": "full"}),
    ],
    ids=["full", "collapse", "gnf"],
)
def test_whichever_operation_loses_the_gpu_the_run_is_there(
    losing: Losing, tmp_path: Path, source: str, options: dict[str, Any]
) -> None:
    whole = hvm4viz.run(source, device="cuda", machine=MACHINE, **options)
    assert whole.status == "done"
    passes: set[int] = set()
    began, raised = 0, list[str]()
    for number in range(1, 2000):
        path = tmp_path / f"{number}.hvt"
        losing.left = number
        try:
            run = hvm4viz.run(source, device="cuda", machine=MACHINE, save=path, **options)
        except DeviceError as error:
            raised.append(str(error))
            assert not path.exists()  # it has not begun
            assert began == 0
            continue
        began += 1
        if not losing.is_gone:
            break
        losing.left = 0
        if run.status == "done":  # lost when all had been read
            assert run.text == whole.text
            continue
        assert run.status == "failed"
        assert told_of(run.message)
        with pytest.raises(DeviceFailed, match="illegal memory access") as caught:
            run.raise_for_status()
        assert caught.value.run is run
        n = run.trace.n_passes
        kept = open_trace(path)
        assert (kept.n_passes, kept.state, kept.end.status if kept.end else "") == (n, "complete", "failed")
        for name in ("frontier", "interactions", "parked"):
            assert kept.rows[name].tolist() == whole.trace.rows[name][:n].tolist()
        assert whole.lines[: len(run.lines)] == run.lines
        passes.add(n)
        path.unlink()
    else:
        raise AssertionError("the run asks the GPU for more than it was")
    assert run.text == whole.text
    assert raised
    assert all(map(told_of, raised))
    assert passes >= set(np.flatnonzero(whole.trace.rows["frontier"] > 1).tolist())  # those that ran there
    assert len(passes) > 1


def lost_late(losing: Losing) -> Callable[[object], None]:
    """Have the next operation lose the GPU once three passes are over."""
    seen: list[object] = []

    def on_pass(record: object) -> None:
        seen.append(record)
        losing.left = 1 if len(seen) == 3 else losing.left

    return on_pass


def test_a_heap_that_was_lost_later_says_so_when_it_is_read(losing: Losing) -> None:
    run: Run = hvm4viz.run(SOURCE, device="cuda", machine=MACHINE, max_passes=4)
    losing.left = 1

    with pytest.raises(DeviceFailed, match="illegal memory access"):
        _ = run.heap.words


def test_the_message_says_when_what_is_left_and_what_to_do(losing: Losing) -> None:
    run = hvm4viz.run(SOURCE, device="cuda", machine=MACHINE, on_pass=lost_late(losing))

    assert run.message == (
        f"cuda (stand-in) failed: {WORDS}; the device was lost after 3 passes, and the heap with it: the trace has "
        "what came before. A new process can open the device afresh; device='cpu' does without it"
    )
    assert run.heap.words.size == 0
    assert run.trace.n_passes == run.stats.passes == 3


def test_results_that_came_before_stay(losing: Losing) -> None:
    source = SOURCE.replace("@main = ", "@main = &A{#First, ").replace("2n", "9n") + "}"
    with hvm4viz.results(source, device="cuda", machine=MACHINE) as found:
        first = next(found)
        losing.left = 1
        rest = list(found)

    assert (first.text, rest) == ("#First{}", [])
    assert (found.run.status, found.run.lines) == ("failed", [first.text])


def test_the_command_line_says_so_and_keeps_the_trace(
    losing: Losing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in programs() if case.name == "wide_map")
    command = ["run", str(case.source_path), "--device", "cuda", "-o"]
    losing.left = 10**9
    assert cli.main([*command, str(tmp_path / "whole.hvt")]) == 0
    losing.left = (10**9 - losing.left) // 2  # half way
    capsys.readouterr()

    code = cli.main([*command, str(tmp_path / "lost.hvt")])

    shown = capsys.readouterr()
    assert code == 4
    assert shown.out == ""
    assert "the device was lost after " in shown.err
    assert "--device cpu does without it" in shown.err
    kept = open_trace(tmp_path / "lost.hvt")
    assert (kept.state, kept.end.status if kept.end else "") == ("complete", "failed")
    assert 0 < kept.n_passes < open_trace(tmp_path / "whole.hvt").n_passes


def test_a_cell_shows_it_fails_and_binds_the_run(losing: Losing) -> None:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "hvm4viz")
        source = next(case for case in programs() if case.name == "wide_map").source_path.read_text(encoding="utf-8")
        losing.left = 10**9
        assert shell.run_cell(f"%%hvm4 --device cuda -q\n{source}").success
        losing.left = (10**9 - losing.left) // 2

        done = shell.run_cell(f"%%hvm4 --device cuda -o lost\n{source}")

        assert isinstance(done.error_in_exec, DeviceFailed)
        assert "the device was lost after " in str(done.error_in_exec)
        run = shell.user_ns["lost"]
        assert run.status == "failed"
        assert run.trace.n_passes > 0
        assert run.view().trace.n_passes == run.trace.n_passes
    finally:
        InteractiveShell.clear_instance()
