"""Files: whole or not at all, never over another one, and whole up to the last acknowledged pass after a kill."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hvm4viz.errors import TraceError, TraceExists
from hvm4viz.events import RunEnd
from hvm4viz.trace import Recorder, Trace, columns, open_trace, recorder, whole, writer
from hvm4viz.trace import format as fmt
from tests.trace.records import StandIn, full_passes, header, record, wide_passes

ROOT = Path(__file__).parents[2]
WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_saved_trace_is_what_it_was(tmp_path: Path) -> None:
    trace = record(wide_passes(WIDTHS))
    path = trace.save(tmp_path / "run.hvt")
    opened = open_trace(path)
    assert opened.complete
    assert opened.digest() == trace.digest()
    assert np.array_equal(opened.events(), trace.events())
    again = open_trace(opened.save(tmp_path / "again.hvt"))
    assert np.array_equal(again.deferrals(), trace.deferrals())
    assert (tmp_path / "again.hvt").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("options", [{"level": "counts"}, {"level": "off"}, {"limit_bytes": 7000}], ids=str)
def test_saving_keeps_what_was_recorded(tmp_path: Path, options: dict[str, object]) -> None:
    trace = record(wide_passes(WIDTHS), **options)  # type: ignore[arg-type]
    opened = open_trace(trace.save(tmp_path / "run.hvt"))
    assert (opened.level, opened.dropped, opened.n_events) == (trace.level, trace.dropped, trace.n_events)
    assert np.array_equal(opened.outcomes, trace.outcomes)
    assert np.array_equal(opened.deferral_pairs(), trace.deferral_pairs())


def test_saving_puts_small_chunks_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "CHUNK_PASSES", 2)
    trace = record(wide_passes(WIDTHS), path=tmp_path / "live.hvt")
    assert len(trace.chunks) == len(open_trace(tmp_path / "live.hvt").chunks) == 4
    opened = open_trace(trace.save(tmp_path / "run.hvt"))
    assert len(opened.chunks) == 1
    assert opened.digest() == trace.digest()


def test_chunks_are_put_together_up_to_four_mebibytes(tmp_path: Path) -> None:
    (chunk,) = record(full_passes([1]), level="full").chunks
    room = (1 << 20) - chunk.nbytes
    state = columns.Ragged(np.array([0, room]), np.zeros(room, columns.STATE))
    parts = [dataclasses.replace(chunk, first=p, tables={**chunk.tables, "state": state}) for p in range(9)]
    trace = Trace(header(), None, tuple(parts), level="full", devices=("cpu",))
    opened = open_trace(trace.save(tmp_path / "run.hvt"))
    assert [part.n_passes for part in opened.chunks] == [4, 4, 1]


@pytest.mark.parametrize("is_synced", [False, True])
def test_small_parts_of_a_batch_are_written_together_and_large_ones_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_synced: bool
) -> None:
    sizes = [5, 65_535, 65_536, 1, 2, 70_000, 65_536, 3]
    parts = [bytes([number]) * size for number, size in enumerate(sizes)]
    written: list[int] = []
    real = os.write

    def noted(file: int, data: bytes) -> int:
        written.append(len(data))
        return real(file, data)

    sink = writer._Sink(tmp_path / "run.hvt")
    monkeypatch.setattr(writer.os, "write", noted)
    monkeypatch.setattr(writer.os, "fsync", written.append)
    assert [sink.write(part) for part in parts] == sizes
    assert written == []
    sink.flush_batch(sync=is_synced)
    sink.abandon()
    assert written == [65_540, 65_536, 3, 70_000, 65_536, 3, sink._file][: 6 + is_synced]
    assert (tmp_path / "run.hvt").read_bytes() == b"".join(parts)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_file_that_cannot_be_begun_is_let_go_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_gone: bool
) -> None:
    path = tmp_path / "run.hvt"
    made: list[writer._Sink] = []

    def stopped(sink: writer._Sink, *_: object) -> None:
        made.append(sink)
        if is_gone:  # somebody has removed it meanwhile
            path.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(writer.pa.ipc, "new_file", stopped)
    with pytest.raises(KeyboardInterrupt):
        writer.Writer(path, header(), "events")
    assert [sink.closed for sink in made] == [True]
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "name of the trace file is empty; write one, such as run.hvt"),
        ("a\0b.hvt", r"'a\\x00b.hvt': .*null character"),
        (".", "this is a folder; name a file in it, such as run.hvt"),
        ("folder/", "folder: this is a folder; name a file in it, such as folder/run.hvt"),
    ],
)
def test_a_path_that_names_no_file_is_told(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    trace = record(wide_passes([1]))
    for attempt in (trace.save, lambda path: trace.save(path, overwrite=True), lambda path: record([], path=path)):
        with pytest.raises(TraceError, match=says) as caught:
            attempt(name)
        assert type(caught.value) is TraceError
    assert names(tmp_path) == ["folder"]


def test_saving_never_overwrites_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"
    path.write_text("mine")
    trace = record(wide_passes(WIDTHS))
    with pytest.raises(TraceExists, match="overwrite=True"):
        trace.save(path)
    assert path.read_text() == "mine"
    trace.save(path, overwrite=True)
    assert open_trace(path).digest() == trace.digest()
    assert names(tmp_path) == ["run.hvt"]


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.hvt"
    trace = record(wide_passes(WIDTHS))
    real = whole._rename

    def late(part: Path, path: Path, *, overwrite: bool) -> None:
        path.write_text("theirs")
        real(part, path, overwrite=overwrite)

    monkeypatch.setattr(whole, "_rename", late)
    with pytest.raises(TraceExists):
        trace.save(path)
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["run.hvt"]


def test_a_trace_saved_over_the_file_it_was_opened_from(tmp_path: Path) -> None:
    path = record(wide_passes(WIDTHS)).save(tmp_path / "run.hvt")
    opened = open_trace(path)
    digest = opened.digest()
    opened.save(path, overwrite=True)
    assert opened.events().size == sum(WIDTHS)
    assert open_trace(path).digest() == digest


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_saving_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    trace = record(wide_passes(WIDTHS))
    if call == "link":
        monkeypatch.setattr(Path, "rename", _fails)
    monkeypatch.setattr(whole.os, call, _fails)
    with pytest.raises(TraceError, match="no space"):
        trace.save(tmp_path / "run.hvt")
    assert names(tmp_path) == []


def _fails(*_: object) -> None:
    raise OSError(28, "no space")


def test_saving_to_a_place_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written here"):
        record([]).save(tmp_path / "none" / "run.hvt")


def test_what_a_failed_write_left_of_a_batch_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.hvt"
    kept = Recorder(path=path, sync=True)
    kept.begin(header())
    passes = list(wide_passes([40] * 4))
    for told in passes[:2]:
        kept.on_pass(told)
    whole_bytes, real = path.read_bytes(), os.write

    def torn(file: int, data: bytes) -> int:
        if path.stat().st_size > len(whole_bytes):
            raise OSError(28, "no space")
        return real(file, bytes(data)[: len(data) // 2])

    monkeypatch.setattr(writer.os, "write", torn)
    for told in passes[2:]:
        kept.on_pass(told)
    kept.end(RunEnd("done", "", (), ()))

    assert str(kept.failure).startswith(f"{path}: writing the trace failed at byte {len(whole_bytes):,}: no space; ")
    assert path.read_bytes() == whole_bytes
    opened = open_trace(path)
    assert (opened.n_passes, opened.state) == (2, "interrupted")
    assert opened.note.startswith("the file ends after a whole pass")
    assert kept.trace.n_passes == 4


def closing(path: Path) -> dict[str, Any]:
    """Return what the last batch of a file says."""
    with pa.ipc.open_file(path) as file:
        return fmt.from_json(file.get_batch_with_custom_metadata(file.num_record_batches - 1)[1][fmt.BATCH_KEY])


@pytest.mark.parametrize("state", [b"", b"a state"])
def test_the_state_at_the_end_is_saved(state: bytes, tmp_path: Path) -> None:
    end = RunEnd("pass_limit", "", (), ())
    trace = Trace(header(), end, (), level="full", devices=("cpu",), final_state=state)
    assert open_trace(trace.save(tmp_path / "run.hvt")).final_state == state


def test_a_header_tells_the_program_by_its_texts(tmp_path: Path) -> None:
    head = dataclasses.replace(header(), source=(("a", "@main = λx.x\n"), ("b", "\ud800")))
    path = record([], head=head).save(tmp_path / "run.hvt")
    facts = fmt.from_json(pa.ipc.open_file(path).schema.metadata[fmt.HEADER_KEY])
    assert facts["program"] == hashlib.sha256("@main = λx.x\n".encode() + b"\0\xed\xa0\x80\0").hexdigest()


def open_files() -> int:
    """Count the open files of this process, where the system shows them."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def test_no_file_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = record(wide_passes(WIDTHS))
    before = open_files()
    made = writer.Writer(tmp_path / "closed.hvt", header(), "events")
    made.close(None)
    assert open_files() == before
    made = writer.Writer(tmp_path / "left.hvt", header(), "events")
    made.abandon()
    assert open_files() == before
    for error in (OSError(28, "no space"), KeyboardInterrupt()):
        made = writer.Writer(tmp_path / f"{type(error).__name__}.hvt", header(), "events")
        with monkeypatch.context() as patch:
            patch.setattr(writer.os, "write", raising(error))
            with pytest.raises((TraceError, KeyboardInterrupt)):
                made.write(trace.chunks[0], ("cpu",))
        assert open_files() == before
    monkeypatch.setattr(writer.fmt, "to_batches", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        trace.save(tmp_path / "run.hvt")
    assert open_files() == before


def raising(error: BaseException) -> Any:
    def raises(*_: object) -> None:
        raise error

    return raises


def test_a_writer_never_writes_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"
    path.write_text("mine")
    with pytest.raises(TraceExists, match=f"{path}: a file of that name is already there, and a recording never"):
        writer.Writer(path, header(), "events")
    assert path.read_text() == "mine"


def test_what_cannot_be_saved_is_told_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.hvt"
    heap = dataclasses.replace(header(), heap=np.ones(60, np.uint64))
    trace = record(wide_passes(WIDTHS), level="full", head=heap)
    with monkeypatch.context() as patch:
        patch.setattr(fmt, "PACKED_BYTES_MAX", 8)
        with pytest.raises(TraceError) as caught:
            trace.save(path)
    assert str(caught.value).startswith(f"{path}: the heap at the start takes 640 bytes")
    monkeypatch.setattr(writer.os, "write", raising(OSError(5, "no luck")))
    with pytest.raises(TraceError) as caught:
        trace.save(path)
    assert str(caught.value) == f"{path}: the trace file cannot be written here: no luck; save elsewhere"
    assert names(tmp_path) == []


def test_a_new_file_may_be_read_and_written_as_any_other_of_the_user(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("there are no such permissions")
    record(wide_passes([1]), path=tmp_path / "run.hvt")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "run.hvt").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("chars", [0, 3, 4, 7, 8, 9, 12, 100])
def test_as_many_lines_are_kept_as_fit_each_with_its_end(
    chars: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LINES_CHARS_MAX", chars)
    lines, log = ("abc", "λxy", "", "d"), ("one", "three")
    kept = Recorder(path=tmp_path / "run.hvt")
    kept.begin(header())
    kept.end(RunEnd("done", "m" * (writer.MESSAGE_CHARS_MAX + 1), lines, log))

    opened = open_trace(tmp_path / "run.hvt")

    assert opened.complete
    assert opened.end is not None
    assert opened.end.message == "m" * (1 << 16)
    for given, found in ((lines, opened.end.lines), (log, opened.end.log)):
        fits = [n for n in range(len(given) + 1) if sum(len(line) + 1 for line in given[:n]) <= chars]
        assert found == given[: max(fits)]
    facts = closing(tmp_path / "run.hvt")
    assert facts["lines_cut"] == len(lines) - len(opened.end.lines)
    assert facts["log_cut"] == len(log) - len(opened.end.log)
    assert opened.digest() == kept.trace.digest()


def test_sixteen_mebi_characters_of_lines_are_kept() -> None:
    most = (16 << 20) - 1  # and the end of the line
    for more in (0, 1):
        lines = ("x" * (most - 2 + more), "y")
        assert len(writer._within(lines, writer.LINES_CHARS_MAX)) == 2 - more


def test_a_recording_that_holds_too_much_of_one_thing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = dataclasses.replace(header(), heap=np.ones(60, np.uint64))
    packed = 8 * 60 * 4 // 3  # base64
    monkeypatch.setattr(fmt, "PACKED_BYTES_MAX", packed)
    assert open_trace(
        record([], level="full", head=head, path=tmp_path / "fits.hvt").save(tmp_path / "two.hvt")
    ).complete
    monkeypatch.setattr(fmt, "PACKED_BYTES_MAX", packed - 1)
    with pytest.raises(
        TraceError, match=r"the heap at the start takes 640 bytes, a trace file holds 639 of it; record"
    ):
        record([], level="full", head=head, path=tmp_path / "run.hvt")
    assert not (tmp_path / "run.hvt").exists()


def kill(path: Path, width: int, after: float, level: str, how: str) -> bool:
    """Start a recording, kill it, check its file; tell whether its tail was torn."""
    command = [sys.executable, "-m", "tests.trace.killed", str(path), str(width), level, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.read(8)
        time.sleep(after)
        process.kill()
        acknowledged = len(process.stdout.read()) // 8 + 1
    trace = open_trace(path)
    assert trace.n_passes >= acknowledged
    assert trace.state == "interrupted"
    assert trace.level == level
    told = full_passes([width] * 4)
    for p in range(0, trace.n_passes, max(trace.n_passes // 5, 1)):
        assert np.array_equal(trace.events(p, p + 1), told[p % 4].events)
        if level == "full":
            assert np.array_equal(trace.deltas(p, p + 1), told[p % 4].deltas)
            assert trace.last_state(p + 1) == (p + 1, StandIn().state())
    return "bytes from byte" in trace.note


def killed(folder: Path, count: int, how: str, seed: int) -> float:
    """Kill so many recordings of three sizes and two levels, some at a time; return how many tails were torn."""
    rng = random.Random(seed)
    delays = [rng.uniform(0, 0.15) for _ in range(count)]

    def one(turn: int) -> bool:
        width, level = (1, 2000, 100_000)[turn % 3], ("events", "full")[turn // 3 % 2]
        return kill(folder / f"{how}{turn}.hvt", width, delays[turn], level, how)

    with ThreadPoolExecutor(3) as pool:
        return sum(pool.map(one, range(count))) / count


def test_a_killed_recording_keeps_every_acknowledged_pass(tmp_path: Path) -> None:
    killed(tmp_path, 6, "whole", 4)


def test_a_recording_killed_in_the_middle_of_a_batch_keeps_every_one_before(tmp_path: Path) -> None:
    assert killed(tmp_path, 14, "torn", 5) >= 1 / 4  # else the kills do not aim at the writes


@pytest.mark.slow
@pytest.mark.parametrize(("how", "least"), [("whole", 0.0), ("torn", 1 / 4)])
def test_a_hundred_killed_recordings_of_each_kind(tmp_path: Path, how: str, least: float) -> None:
    assert killed(tmp_path, 100, how, 6) >= least
