"""Recordings under faults: whichever operation fails, what was acknowledged is readable and nothing else is left."""

from __future__ import annotations

import dataclasses
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device import open_device
from hvm4viz.errors import DeviceFailed, TraceError
from hvm4viz.events import RunEnd
from hvm4viz.trace import Recorder, Trace, open_trace, recorder, whole, writer
from hvm4viz.trace import format as fmt
from tests.trace.records import StandIn, full_passes, header

ROOT = Path(__file__).parents[2]
PASSES = full_passes([3, 200, 3, 40, 3])
END = RunEnd("pass_limit", "", ("1",), ())
FAULTS: dict[str, Callable[[], BaseException]] = {
    "full": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "broken": lambda: OSError(errno.EIO, "Input/output error"),
    "interrupt": KeyboardInterrupt,
    "memory": MemoryError,
}


def fault(kind: str) -> BaseException:
    """Make what an operation that fails raises."""
    make: Callable[[], BaseException] = FAULTS.get(kind, FAULTS["full"])
    return make()


class FailingSystem:
    """``os`` whose Nth operation on files fails; ``part`` and ``short`` are about writes."""

    NAMES = ("open", "write", "fsync", "link", "ftruncate", "close")

    def __init__(self, calls: int, kind: str) -> None:
        self.left = calls
        self.kind = kind
        self.failed = ""

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return (lambda *words: self._call(name, real, *words)) if name in self.NAMES else real

    def _call(self, name: str, real: Callable[..., Any], *words: Any) -> Any:
        self.left -= 1
        if self.left != 0 or (name == "close" and self.kind != "broken"):
            return real(*words)
        self.failed = name
        if self.kind in ("short", "part") and name == "write":
            done = real(words[0], bytes(words[1])[: max(len(words[1]) // 2, 1)])
            if self.kind == "short":
                return done
            raise fault("full")
        if name == "close":
            real(*words)  # as Linux does it: the file is closed, whatever is said
        raise fault(self.kind)


def open_files() -> int:
    """Count the open files of this process, where the system shows them."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.fixture(scope="module")
def whole_trace() -> Trace:
    return told("full", None)[0]


def told(level: str, path: Path | None, **options: Any) -> tuple[Trace, Recorder, int]:
    """Record; return the trace, the recorder, and how many passes it acknowledged as written."""
    kept = Recorder(level, path=path, **options)  # type: ignore[arg-type]
    kept.watch(StandIn())
    written = 0
    try:
        kept.begin(dataclasses.replace(header(), regions=(np.arange(64) % 4).astype(np.uint32)))
        for each in PASSES:
            kept.on_pass(each)
            written += kept.failure is None and path is not None
        kept.end(END)
    except (TraceError, KeyboardInterrupt, MemoryError, OSError):
        kept.close()
    return kept.trace, kept, written


@pytest.mark.parametrize("kind", ["full", "broken", "interrupt", "memory", "short", "part"])
def test_whichever_operation_fails_while_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_trace: Trace, kind: str
) -> None:
    files, seen = open_files(), set()
    for number in range(1, 200):
        path = tmp_path / f"{number}.hvt"
        system = FailingSystem(number, kind)
        with monkeypatch.context() as patch:
            patch.setattr(writer, "os", system)
            trace, kept, written = told("full", path, sync=True)
        seen.add(system.failed)
        if kept.failure is not None:
            assert str(path) in str(kept.failure)
            assert trace.n_passes == len(PASSES)  # the recording itself goes on
        if path.exists():
            opened = open_trace(path)
            assert opened.n_passes >= written
            assert np.array_equal(opened.events(), whole_trace.events(0, opened.n_passes))
            assert np.array_equal(opened.deltas(), whole_trace.deltas(0, opened.n_passes))
        else:
            assert written == 0
        if not system.failed and system.left > 0:
            assert open_trace(path).complete
            break
    else:
        pytest.fail("never ran through")
    assert {"open", "write", "fsync"} <= seen
    assert open_files() == files


EXPORTS: dict[str, Callable[[Trace, Path], object]] = {
    "save": lambda trace, path: trace.save(path, overwrite=True),
    "csv": lambda trace, path: trace.to_csv(path, table="events", overwrite=True),
    "npz": lambda trace, path: trace.to_npz(path, table="deltas", overwrite=True),
    "dot": lambda trace, path: trace.to_dot(path, 1, overwrite=True),
}


@pytest.mark.parametrize("kind", ["full", "broken", "interrupt", "memory", "short", "part"])
@pytest.mark.parametrize("form", EXPORTS)
def test_whichever_operation_fails_while_saving_the_old_file_stays_or_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_trace: Trace, form: str, kind: str
) -> None:
    path, files = tmp_path / "a.out", open_files()
    path.write_bytes(b"the old file")
    for number in range(1, 200):
        system = FailingSystem(number, kind)
        error: BaseException | None = None
        with monkeypatch.context() as patch:
            patch.setattr(writer, "os", system)
            patch.setattr(whole, "os", system)
            try:
                EXPORTS[form](whole_trace, path)
            except (TraceError, KeyboardInterrupt, MemoryError) as caught:
                error = caught
        assert [each.name for each in tmp_path.iterdir()] == ["a.out"]
        if error is not None:
            assert path.read_bytes() == b"the old file"
            assert not isinstance(error, TraceError) or str(path) in str(error) or ".a.out." in str(error)
        if not system.failed:
            assert path.read_bytes() != b"the old file"
            break
        path.write_bytes(b"the old file")
    else:
        pytest.fail("never ran through")
    assert open_files() == files


@pytest.mark.parametrize("name", ["replace", "link"])
def test_a_name_that_cannot_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_trace: Trace, name: str
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "a.hvt"
    if name == "link":
        monkeypatch.setattr(whole.os, "link", fails)
        monkeypatch.setattr(Path, "rename", fails)
    else:
        path.write_bytes(b"the old file")
        monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(TraceError, match=r"cannot be given this name: Input/output error"):
        whole_trace.save(path, overwrite=name == "replace")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([b"the old file"] if name == "replace" else [])


def test_whichever_allocation_fails_the_passes_before_are_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_trace: Trace
) -> None:
    class Failing:
        """pyarrow whose Nth array cannot be had."""

        def __init__(self, calls: int) -> None:
            self.left = calls

        def __getattr__(self, name: str) -> Any:
            if name not in ("array", "record_batch"):
                return getattr(fmt_pa, name)
            self.left -= 1
            if self.left == 0:
                raise MemoryError
            return getattr(fmt_pa, name)

    fmt_pa = fmt.pa
    for number in (*range(1, 40), *range(40, 2000, 17)):
        path = tmp_path / f"{number}.hvt"
        failing = Failing(number)
        with monkeypatch.context() as patch:
            patch.setattr(fmt, "pa", failing)
            _, _, written = told("full", path, sync=True)
        if path.exists():
            opened = open_trace(path)
            assert opened.n_passes >= written
            assert np.array_equal(opened.deltas(), whole_trace.deltas(0, opened.n_passes))
        if failing.left > 0:
            break
    else:
        pytest.fail("never ran through")


@pytest.mark.parametrize("level", ["counts", "events", "full"])
def test_an_interrupt_at_each_boundary_of_passes_keeps_what_came_before(tmp_path: Path, level: Any) -> None:
    program = hv.parse("@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(6)")
    whole_run = hv.run(program, record=level, progress=False)
    for p in range(whole_run.stats.passes):
        path = tmp_path / f"{p}.hvt"

        def stop(record: Any, p: int = p) -> None:
            if record.index == p:
                raise KeyboardInterrupt

        run = hv.run(program, record=level, save=path, on_pass=stop, progress=False)
        assert run.status == "interrupted"
        opened = open_trace(path)
        assert opened.n_passes == run.trace.n_passes == p + 1
        assert opened.complete
        assert np.array_equal(opened.rows[["frontier", "interactions"]], run.trace.rows[["frontier", "interactions"]])
        assert run.resume(progress=False).lines == whole_run.lines


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
def test_what_an_observer_raises_leaves_a_file_that_opens(tmp_path: Path, error: type[Exception]) -> None:
    def stop(record: Any) -> None:
        if record.index == 3:
            raise error("mine")

    program = "@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(6)"
    with pytest.raises(error, match="mine"):
        hv.run(program, record="full", save=tmp_path / "run.hvt", on_pass=stop, progress=False)
    opened = open_trace(tmp_path / "run.hvt")
    assert opened.n_passes == 4
    assert opened.state == "interrupted"
    assert opened.resume(4, progress=False).status == "done"  # the state is reached by repeating the passes


def test_a_device_that_fails_in_the_middle_leaves_a_file_that_opens(tmp_path: Path) -> None:
    program = hv.parse("@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(6)")
    passes = hv.run(program, progress=False).stats.passes
    for p in range(passes):
        device = open_device("cpu")
        left = [p]

        def failing(name: str, real: Any = device.kernel, left: list[int] = left) -> Any:
            kernel = real(name)
            ways = kernel.ways

            def broken(entry: str) -> Any:
                return tuple(_counted(way, left) for way in ways(entry)) if entry == "step_frontier" else ways(entry)

            kernel.ways = broken
            return kernel

        device.kernel = failing  # type: ignore[method-assign]
        path = tmp_path / f"{p}.hvt"
        run = hv.run(program, device=device, record="full", save=path, progress=False)
        assert run.status == "failed"
        assert "it broke" in run.message
        opened = open_trace(path)
        assert opened.n_passes == run.trace.n_passes == p
        assert opened.end is not None
        assert opened.end.status == "failed"
        with pytest.raises(ValueError, match="ended as 'failed'"):
            run.resume()


def _counted(way: Any, left: list[int]) -> Any:
    real = way.function

    def call(count: int, *buffers: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise DeviceFailed("it broke")
        return real(count, *buffers)

    return dataclasses.replace(way, function=call)


LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from tests.faults.test_recordings import told
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
trace, kept, written = told("full", Path(sys.argv[1]), sync=True)
print(written, trace.n_passes, kept.failure or "")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes here")
def test_a_file_that_the_system_lets_grow_no_further(tmp_path: Path, whole_trace: Trace) -> None:
    """A real limit, enforced by the system: part of a batch is written, then no byte more."""
    told("full", tmp_path / "whole.hvt", sync=True)
    size = (tmp_path / "whole.hvt").stat().st_size
    for number, limit in enumerate(range(9_000, size, size // 3)):
        path = tmp_path / f"{number}.hvt"
        shown = subprocess.run(
            [sys.executable, "-c", LIMITED, str(path), str(limit)], capture_output=True, text=True, cwd=ROOT, check=True
        )
        written, recorded, failure = shown.stdout.split(maxsplit=2)
        assert "File too large" in failure
        assert str(path) in failure
        assert int(recorded) == len(PASSES)
        opened = open_trace(path)
        assert opened.n_passes >= int(written)
        assert np.array_equal(opened.deltas(), whole_trace.deltas(0, opened.n_passes))


def test_recording_goes_on_in_memory_after_the_disk_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FLUSH_S", 0.0)
    program = hv.parse("@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(6)")
    expected = hv.run(program, record="full", progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(writer, "os", FailingSystem(6, "full"))
        run = hv.run(program, record="full", save=tmp_path / "run.hvt", progress=False)
    assert run.lines == expected.lines
    assert "No space left on device" in run.message
    assert run.trace.digest() == expected.trace.digest()
    assert open_trace(tmp_path / "run.hvt").n_passes < expected.stats.passes
    assert open_trace(run.trace.save(tmp_path / "mended.hvt")).digest() == expected.trace.digest()
