"""Whatever happens to a file: the whole passes before the damage come back as they were, or one of our errors."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hvm4viz.errors import DamagedTrace, NotATrace, TraceError, TraceTooLarge, UnsupportedVersion
from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, PassRecord, RunEnd, RunHeader
from hvm4viz.trace import Recorder, Trace, columns, keyframes, open_trace, reader, recorder, writer
from hvm4viz.trace import format as fmt
from tests.trace.records import StandIn, event, full_passes, header, one_pass, record, wide_passes

LEVELS = ("events", "full")


PASSES = full_passes([1, 3, 2, 5])


def recorded(level: str, passes: list[PassRecord], path: Path | None = None, **options: Any) -> Trace:
    """Record passes, at level full with an image now and then, and a state with each pass."""
    kept = Recorder(level, path=path, **options)  # type: ignore[arg-type]
    kept.watch(StandIn())
    head = dataclasses.replace(
        header(), heap=np.array([7, 0, 8], np.uint64), regions=(np.arange(64) % 4).astype(np.uint32)
    )
    kept.begin(head)
    for each in passes:
        kept.on_pass(each)
    kept.end(RunEnd("pass_limit", "", ("#Pair{1,2}",), ()))
    return kept.trace


def read(data: bytes) -> Trace:
    """Open bytes as ``open_trace`` does a file."""
    if data[:8] != b"ARROW1\0\0":
        raise NotATrace("not a trace")
    return reader._Reading(Path("run.hvt"), memoryview(data), pa.py_buffer(data), fmt.PASSES_MAX).trace()


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Record with an image in every second pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyframes, "EVERY_PASSES", 2)
        patch.setattr(keyframes.Keyframes, "_image", image_at_once)
        yield request.param


def image_at_once(self: keyframes.Keyframes, _: PassRecord) -> bytes:
    return keyframes.image_of(self._machine.words).tobytes() if self._image_passes % 2 else b""


@pytest.fixture(scope="module")
def tiny(level: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of four passes, a batch each."""
    path = tmp_path_factory.mktemp("tiny") / "run.hvt"
    recorded(level, PASSES, path, sync=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(level: str) -> Trace:
    return recorded(level, PASSES)


def batch_ends(data: bytes) -> list[int]:
    """Where each batch ends: the opening one, those of passes, the closing one."""
    walk = reader._Reading(Path("run.hvt"), memoryview(data), pa.py_buffer(data), fmt.PASSES_MAX)
    _, chain = walk._schema()
    return [batch.frame.end for batch in walk._walk(chain)]


@pytest.fixture(scope="module")
def ends(tiny: bytes) -> list[int]:
    return batch_ends(tiny)


def is_prefix(trace: Trace, whole: Trace) -> bool:
    """Tell whether every value of a trace is that of the whole one."""
    n = trace.n_passes
    assert np.array_equal(trace.rows, whole.rows[:n])
    assert np.array_equal(trace.events(), whole.events(0, n))
    assert np.array_equal(trace.outcomes, whole.outcomes[:n])
    for name in ("rules", "remote", "cells"):
        found, right = getattr(trace, name), getattr(whole, name)
        width = min(found.width, right.width)
        assert np.array_equal(found.dense()[:, :width], right.dense()[:n, :width])
    assert trace.header.source == whole.header.source
    assert trace.end in (None, whole.end)
    assert trace.final_state in (b"", whole.final_state)
    assert trace.level == whole.level
    if whole.level == "full":
        assert np.array_equal(trace.header.heap, whole.header.heap)
        for name in columns.FULL_TABLES:
            assert np.array_equal(trace.long_table(name), whole.long_table(name, 0, n))
    return True


def check_truncations(tiny: bytes, whole: Trace, ends: list[int], sizes: Iterable[int]) -> None:
    checked: set[int] = set()
    for size in sizes:
        try:
            trace = read(tiny[:size])
        except (NotATrace, DamagedTrace):
            assert size < ends[0]
            continue
        assert size >= ends[0]
        assert trace.n_passes == sum(end <= size for end in ends[1:-1])
        assert not trace.complete
        assert trace.state == "interrupted"
        assert (trace.end is not None) == (size >= ends[-1])
        if trace.n_passes not in checked:  # what is behind them in the file is not looked at
            assert is_prefix(trace, whole)
            checked.add(trace.n_passes)
        unused = size - max(end for end in ends if end <= size)
        assert ("still being written" if unused == 0 else f"{unused:,} bytes") in trace.note
    assert checked == set(range(5))


def test_a_truncated_file_keeps_exactly_the_whole_passes(tiny: bytes, whole: Trace, ends: list[int]) -> None:
    near = {end + shift for end in (0, *ends, len(tiny)) for shift in range(-20, 21)}
    check_truncations(tiny, whole, ends, sorted({*near, *range(0, len(tiny), 11)} & set(range(len(tiny)))))
    assert read(tiny).complete


@pytest.mark.slow
def test_every_truncation_keeps_exactly_the_whole_passes(tiny: bytes, whole: Trace, ends: list[int]) -> None:
    check_truncations(tiny, whole, ends, range(len(tiny)))


def flips(data: bytes, bits: Iterator[int]) -> Iterator[bytes]:
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def check_flips(tiny: bytes, whole: Trace, ends: list[int], bits: Iterator[int]) -> None:
    seen = {"error": 0, "complete": 0, "interrupted": 0, "damaged": 0}
    for changed in flips(tiny, bits):
        try:
            trace = read(changed)
        except (NotATrace, DamagedTrace, UnsupportedVersion):
            seen["error"] += 1
            continue
        assert is_prefix(trace, whole)
        seen[trace.state] += 1
        if trace.complete:  # only in what no value depends on: the closing batch's own frame, and the footer
            assert next(at for at, (a, b) in enumerate(zip(changed, tiny, strict=True)) if a != b) >= ends[-2]
    assert seen["damaged"] > seen["complete"]


def test_flipped_bits_never_change_a_value(tiny: bytes, whole: Trace, ends: list[int]) -> None:
    check_flips(tiny, whole, ends, iter(random.Random(1).sample(range(8 * len(tiny)), 1500)))


@pytest.mark.slow
def test_no_flipped_bit_changes_a_value(tmp_path: Path, level: str) -> None:
    whole = recorded(level, full_passes([2, 3]), tmp_path / "run.hvt", sync=True)
    data = (tmp_path / "run.hvt").read_bytes()
    check_flips(data, whole, batch_ends(data), iter(range(8 * len(data))))


def splices(tiny: bytes, count: int) -> Iterator[bytes]:
    rng = random.Random(2)
    for _ in range(count):
        a, b, c = sorted(rng.choices(range(len(tiny)), k=3))
        kind = rng.randrange(4)
        if kind == 0:
            yield tiny[:a] + tiny[b:]
        elif kind == 1:
            yield tiny[:b] + tiny[a:]
        elif kind == 2:
            yield tiny[:a] + tiny[b:c] + tiny[a:b] + tiny[c:]
        else:
            yield tiny[:a] + rng.randbytes(b - a) + tiny[b:]


def check_splices(tiny: bytes, whole: Trace, count: int) -> None:
    for changed in splices(tiny, count):
        try:
            trace = read(changed)
        except (NotATrace, DamagedTrace, UnsupportedVersion):
            continue
        assert is_prefix(trace, whole)
        assert changed == tiny or not trace.complete or trace.n_passes == whole.n_passes


def test_spliced_files_give_prefixes(tiny: bytes, whole: Trace) -> None:
    check_splices(tiny, whole, 500)


@pytest.mark.slow
def test_ten_thousand_spliced_files_give_prefixes(tiny: bytes, whole: Trace) -> None:
    check_splices(tiny, whole, 10_000)


def test_batches_that_are_left_out_doubled_or_swapped_are_noticed(tiny: bytes, whole: Trace, ends: list[int]) -> None:
    head, *bodies = (tiny[a:b] for a, b in zip([0, *ends], [*ends, len(tiny)], strict=True))
    one, two, three, four, closing, footer = bodies
    for order in ([one, three, four], [one, one, two], [two, one], [one, two, four, three], [one, two, three]):
        trace = read(head + b"".join(order) + closing + footer)
        good = next((i for i, (a, b) in enumerate(zip(order, [one, two, three, four], strict=False)) if a != b), 3)
        assert trace.n_passes == good
        assert trace.state == "damaged"
        assert trace.end is None
        assert is_prefix(trace, whole)


def test_what_stands_behind_the_end_is_noticed(tiny: bytes, whole: Trace) -> None:
    for tail in (b"x", b"\0" * 64, tiny):
        trace = read(tiny + tail)
        assert trace.state != "complete"
        assert is_prefix(trace, whole)


def test_a_torn_footer_loses_nothing(tiny: bytes, tmp_path: Path) -> None:
    trace = read(tiny[:-5])
    assert trace.digest() == read(tiny).digest()
    assert trace.final_state == read(tiny).final_state
    assert "save the trace again" in trace.note
    assert open_trace(trace.save(tmp_path / "mended.hvt")).complete


def test_a_footer_that_is_cut_is_told_from_one_of_another_length(tiny: bytes, ends: list[int]) -> None:
    whole = tiny[ends[-1] :]
    assert int.from_bytes(whole[-10:-6], "little") == len(whole) - 18
    for size, says in ((17, "whole"), (18, "as long as it says"), (19, "as long as it says")):
        trace = read(tiny[: ends[-1]] + whole[-size:])
        assert f"the footer is not {says}" in trace.note
        assert (trace.state, trace.n_passes) == ("damaged", 4)


@pytest.mark.parametrize("devices", [[], ["gpu"], ["gpu", "cpu", "sim"]])
def test_devices_are_those_of_the_header_and_of_the_passes(tmp_path: Path, devices: list[str]) -> None:
    passes = [one_pass(p, [event(1)], device=name) for p, name in enumerate(devices)]
    trace = record(passes, path=tmp_path / "run.hvt")
    assert open_trace(tmp_path / "run.hvt").devices == trace.devices == tuple(dict.fromkeys(["cpu", *devices]))


def test_a_source_that_was_changed_is_noticed_in_a_file_without_an_end(tiny: bytes, ends: list[int]) -> None:
    cut = tiny[: ends[2]]
    assert cut.count(b"#Pair{1, 2}") == 1
    with pytest.raises(DamagedTrace, match="the values do not match their checksum"):
        read(cut.replace(b"#Pair{1, 2}", b"#Pair{1, 3}"))


def test_a_header_with_another_checksum_is_refused() -> None:
    with pytest.raises(DamagedTrace, match="the header does not match its checksum"):
        read(hostile({b"hvm4viz.crc32": b"00000000"}))


@pytest.mark.parametrize(("blanks", "says"), [(4089, "is a program"), (4090, "not a trace")])
def test_a_program_under_another_name_shows_a_definition_in_its_first_bytes(
    tmp_path: Path, blanks: int, says: str
) -> None:
    path = tmp_path / "run.hvt"
    path.write_text(" " * blanks + "@main = 1\n")
    with pytest.raises(NotATrace, match=f"{path.name}:? {says}"):
        open_trace(path)


def test_the_shortest_file_that_is_looked_into_has_eight_bytes(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"
    for size, says in ((7, "it has 7 bytes"), (8, "does not start as an Arrow IPC file does")):
        path.write_bytes(b"x" * size)
        with pytest.raises(NotATrace, match=says):
            open_trace(path)
    path.write_bytes(b"ARROW1\0\0")
    with pytest.raises(DamagedTrace, match="damaged at byte 8, before the first pass: 0 bytes"):
        open_trace(path)


@pytest.mark.parametrize(
    "data",
    [b"", b"A", b"ARROW1", b"PK\3\4" + b"\0" * 200, b"\0" * 4096, b"@main = 1\n" * 100, b"\xff" * 64],
    ids=["empty", "one byte", "magic cut", "zip", "zeros", "program", "ones"],
)
def test_other_files_are_no_traces(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.hvt"
    path.write_bytes(data)
    with pytest.raises(NotATrace, match="not a trace"):
        open_trace(path)


def test_garbage_behind_the_right_magic_bytes_is_refused_fast() -> None:
    rng = random.Random(3)
    start = time.perf_counter()
    for size in (8, 9, 64, 4096, 1 << 20):
        for filler in (rng.randbytes(size), b"\xff" * size, b"\xff\xff\xff\xff" + b"\x7f" * size, b"\0" * size):
            with pytest.raises((NotATrace, DamagedTrace)):
                read(b"ARROW1\0\0" + filler)
    assert time.perf_counter() - start < 5


def arrow_file(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def test_an_arrow_file_of_something_else_is_no_trace() -> None:
    with pytest.raises(NotATrace, match="other columns"):
        read(arrow_file(pa.table({"a": [1, 2, 3]})))


def test_folders_pipes_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(NotATrace, match="no regular file"):
        open_trace(tmp_path)
    with pytest.raises(TraceError, match="cannot be read"):
        open_trace(tmp_path / "none.hvt")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(NotATrace, match="no regular file"):
            open_trace(tmp_path / "pipe")


def test_files_and_passes_beyond_the_caps(tmp_path: Path, tiny: bytes) -> None:
    path = tmp_path / "run.hvt"
    path.write_bytes(tiny)
    with pytest.raises(TraceTooLarge, match="accepts it"):
        open_trace(path, file_max=len(tiny) - 1)
    with pytest.raises(TraceTooLarge, match="more than 3 passes"):
        open_trace(path, passes_max=3)
    assert open_trace(path, file_max=len(tiny), passes_max=4).complete


def rewritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **changes: object) -> Path:
    """Write a file of a format that differs in some constants."""
    path = tmp_path / "run.hvt"
    with monkeypatch.context() as patch:
        for name, value in changes.items():
            patch.setattr(fmt, name, value)
        record(PASSES, path=path)
    return path


def test_a_newer_format_is_refused_with_both_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedVersion, match=r"format 7.*up to 2"):
        open_trace(rewritten(monkeypatch, tmp_path, VERSION=7))


def test_outcomes_that_are_not_known_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    codes = fmt.TABLES_OF_CODES | {"outcomes": ("other", *fmt.TABLES_OF_CODES["outcomes"])}
    with pytest.raises(UnsupportedVersion, match="other outcomes"):
        open_trace(rewritten(monkeypatch, tmp_path, TABLES_OF_CODES=codes))


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("events", "outcome", len(OUTCOMES)),
        ("events", "reason", 6),
        ("events", "origin", len(ORIGINS)),
        ("events", "side", 2),
        ("events", "thread", 8),
        ("events", "loc", 2**32 - 1),
        ("events", "slot", 2**32 - 1),
        ("outcomes", "outcome", 200),
        ("rules", "rule", 7),
        ("cells", "region", 2**31),
        ("remote", "region", 2**31),
        ("ops", "event", 4),
        ("ops", "slot", 2**32 - 1),
        ("ops", "op", len(OPERATIONS)),
        ("ops", "side", 2),
        ("deltas", "cell", 2**32 - 1),
        ("image", "cell", 2**32 - 1),
    ],
)
def test_numbers_out_of_their_bounds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, name: str, value: int
) -> None:
    """A stranger can make all checksums right: what is computed from a file must still stay small."""
    monkeypatch.setattr(keyframes.Keyframes, "_image", image_at_once)
    path = tmp_path / "run.hvt"
    kept = Recorder("full", path=path)
    kept.watch(StandIn())
    kept.begin(header())
    for each in full_passes([4, 4, 4]):
        kept.on_pass(each)
    pending = recorder._chunk(0, kept._pending, b"", kept._region_size, "full", kept=True)
    values = pending.tables[table].records(columns.ALL_TABLES[table]).copy()
    values[name][-1] = value
    pending.tables[table] = columns.Ragged(pending.tables[table].offsets, values)
    kept._chunks.append(pending)
    kept._pending = []
    kept._write()
    kept.close()
    trace = open_trace(path)
    assert trace.state == "damaged"
    assert trace.n_passes == 0
    assert ("an event is none of its pass" if (table, name) == ("ops", "event") else "is not below") in trace.note


def with_header(monkeypatch: pytest.MonkeyPatch, path: Path, **facts: object) -> Path:
    """Write a file whose header says something else, with all checksums right."""
    real = writer._header_facts

    def changed(head: RunHeader, level: str) -> dict[str, Any]:
        return {**real(head, level), **facts}

    with monkeypatch.context() as patch:
        patch.setattr(writer, "_header_facts", changed)
        recorded("full", PASSES, path)
    return path


@pytest.mark.parametrize(
    "facts",
    [
        {"region_size": 2**25},
        {"blocks": 0},
        {"blocks": "4"},
        {"threads_per_block": 2**11},
        {"units": [1]},
        {"units": [-1]},
        {"units": ["0"]},
        {"units": 0},
        {"root": "0"},
        {"stamps": 1.5},
        {"skipped": None},
        {"machine": []},
        {"source": 3, "entry": 3},
        {"operations": "take"},
        {"region_size": 0},
    ],
    ids=str,
)
def test_a_header_that_makes_no_sense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, object]
) -> None:
    with pytest.raises((DamagedTrace, UnsupportedVersion)):
        open_trace(with_header(monkeypatch, tmp_path / "run.hvt", **facts))


def test_a_heap_larger_than_its_regions_is_refused(tmp_path: Path) -> None:
    kept = Recorder("full", path=tmp_path / "run.hvt")
    kept.begin(dataclasses.replace(header(), heap=np.ones(8 * 64 + 1, np.uint64)))
    kept.close()
    with pytest.raises(DamagedTrace, match="more than its 8 regions"):
        open_trace(tmp_path / "run.hvt")


def test_a_region_of_a_block_that_is_not_there_is_refused(tmp_path: Path) -> None:
    kept = Recorder("events", path=tmp_path / "run.hvt")
    kept.begin(dataclasses.replace(header(), regions=np.array([0, 1 << 31], np.uint32)))
    kept.close()
    with pytest.raises(DamagedTrace, match=r"a region belongs to block 2,147,483,648, the machine has \d+"):
        open_trace(tmp_path / "run.hvt")


def test_a_file_with_regions_that_no_memory_holds_opens_and_says_so_when_asked(tmp_path: Path) -> None:
    """Nothing is allocated on a file's word: the heap of 2^40 cells is refused when it is asked for."""
    given = tuple((8 + 60_000 - n, 1) for n in range(2))
    path = tmp_path / "run.hvt"
    head = dataclasses.replace(header(), region_size=1 << 24)
    record([one_pass(0, [event(1)], given=given), one_pass(1, [])], level="full", path=path, head=head)
    opened = open_trace(path)
    assert opened.complete
    assert opened.at(0).words.size == 8 << 24
    with pytest.raises(DamagedTrace, match="a word can point to"):
        opened.at(2)


def test_a_state_of_garbage_opens_and_is_refused_when_it_is_used(tmp_path: Path) -> None:
    recorded("full", PASSES, tmp_path / "run.hvt")
    opened = open_trace(tmp_path / "run.hvt")
    assert opened.final_state == b"state of some machine"
    assert opened.state_passes.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(TraceError, match="recorded with the kernel"):
        opened.resume(4)


def test_a_heap_too_large_for_a_file_is_full_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fmt, "PACKED_BYTES_MAX", 20)
    kept = Recorder("full", path=tmp_path / "run.hvt")
    with pytest.raises(TraceError, match="the heap at the start takes 32 bytes, a trace file holds 20 of it"):
        kept.begin(dataclasses.replace(header(), heap=np.ones(3, np.uint64)))
    assert list(tmp_path.iterdir()) == []


def hostile(schema_changes: dict[bytes, bytes] | None = None, **batch: object) -> bytes:
    """Write the start of a file with whatever metadata."""
    sink = io.BytesIO()
    good = io.BytesIO(_good_file())
    with pa.ipc.open_file(good) as opened:
        metadata = dict(opened.schema.metadata) | (schema_changes or {})
    columns = fmt.schema("events", 8)
    stream = pa.ipc.new_file(sink, columns.with_metadata(metadata))
    stream.write_batch(fmt.no_rows(columns), custom_metadata=batch.get("metadata"))
    stream.close()
    return sink.getvalue()


def _good_file() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return record([], path=Path(folder) / "run.hvt").save(Path(folder) / "two.hvt").read_bytes()


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {b"hvm4viz.batch": b"{", b"hvm4viz.crc32": b"0"},
        {b"hvm4viz.batch": b"[" * 100_000, b"hvm4viz.crc32": b"0"},
        {b"hvm4viz.batch": b"9" * 100_000, b"hvm4viz.crc32": b"0"},
        {b"hvm4viz.batch": b'{"kind":"begin","batch":0}', b"hvm4viz.crc32": b"0"},
        {b"hvm4viz.batch": b'{"kind":["begin"],"batch":0,"chain":0}', b"hvm4viz.crc32": b"\xff"},
        {str(i).encode(): b"" for i in range(1000)},
    ],
    ids=["none", "cut json", "deep json", "huge number", "no chain", "wrong types", "many keys"],
)
def test_hostile_metadata_is_refused(metadata: dict[bytes, bytes] | None) -> None:
    with pytest.raises(DamagedTrace, match="before the first pass"):
        read(hostile(metadata=metadata))


@pytest.mark.parametrize(
    "change",
    [
        {b"hvm4viz.format": b"one"},
        {b"hvm4viz.format": b""},
        {b"hvm4viz.header": b"{}"},
        {b"hvm4viz.crc32": b""},
    ],
    ids=str,
)
def test_hostile_schemas_are_refused(change: dict[bytes, bytes]) -> None:
    with pytest.raises(DamagedTrace):
        read(hostile(change))


def test_compressed_batches_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed body says itself how much it unpacks to; nothing may be allocated on its word."""
    real = pa.ipc.new_file

    def compressing(sink: object, schema: pa.Schema) -> object:
        return real(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))

    monkeypatch.setattr(pa.ipc, "new_file", compressing)
    path = tmp_path / "run.hvt"
    kept = Recorder(path=path)
    kept.begin(header())
    for told in wide_passes([5000]):
        kept.on_pass(told)
    kept.end(RunEnd("done", "", (), ()))
    with pytest.raises(DamagedTrace, match="compressed"):
        open_trace(path)


@pytest.mark.parametrize("most", [3, 100])
def test_a_pass_in_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, most: int) -> None:
    monkeypatch.setattr(fmt, "EVENTS_PER_BATCH_MAX", 100)
    monkeypatch.setattr(fmt, "FULL_PER_BATCH_MAX", most)
    monkeypatch.setattr(recorder, "CHUNK_BYTES", 1000)
    passes = full_passes([5, 250, 3, 100, 101])
    path = tmp_path / "run.hvt"
    whole = recorded(level, passes, path)
    assert is_prefix(open_trace(path), whole)
    assert open_trace(path).digest() == whole.digest()
    data = path.read_bytes()
    counts = {read(data[:size]).n_passes for size in range(len(data) - 30_000, len(data), 997)}
    assert counts <= {0, 1, 2, 3, 4, 5}
    for size in range(len(data) // 2, len(data), 997):
        assert is_prefix(read(data[:size]), whole)


def test_a_file_read_without_a_map(tmp_path: Path, tiny: bytes, whole: Trace) -> None:
    path = tmp_path / "run.hvt"
    path.write_bytes(tiny)
    trace = open_trace(path, mmap=False)
    path.unlink()
    assert is_prefix(trace, whole)


def test_a_file_that_does_not_fit_into_memory_is_refused_with_the_way_to_open_it(
    tmp_path: Path, tiny: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_: Path) -> bytes:
        raise MemoryError

    path = tmp_path / "run.hvt"
    path.write_bytes(tiny)
    monkeypatch.setattr(Path, "read_bytes", no_room)

    with pytest.raises(TraceTooLarge, match=rf"run\.hvt: the file has {len(tiny):,} bytes, .*mmap=True"):
        open_trace(path, mmap=False)
    assert open_trace(path).complete


class Known(pa.ExtensionType):
    """An extension type that a process may know."""

    def __init__(self) -> None:
        super().__init__(pa.uint32(), "of.another")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Known:
        return cls()


def with_extension_type(place: str) -> bytes:
    """Write an empty trace file in which something claims to be of an extension type."""
    columns = fmt.schema("events", 8)
    if place == "pass":
        columns = columns.set(0, pa.field("pass", Known()))
    else:
        index = columns.get_field_index("events")
        record_type = columns.field(index).type.value_type
        fields = [pa.field(each.name, Known() if each.name == "loc" else each.type) for each in record_type]
        columns = columns.set(index, pa.field("events", pa.list_(pa.struct(fields))))
    with pa.ipc.open_file(io.BytesIO(_good_file())) as opened:
        metadata = opened.schema.metadata
        first = opened.get_batch_with_custom_metadata(0)[1]
    sink = io.BytesIO()
    stream = pa.ipc.new_file(sink, columns.with_metadata(metadata))
    empty = pa.record_batch([pa.nulls(0, field.type) for field in columns], schema=columns)
    stream.write_batch(empty, custom_metadata=first)
    stream.close()
    return sink.getvalue()


@pytest.mark.parametrize("place", ["pass", "events.item.loc"])
def test_extension_types_are_refused(place: str) -> None:
    """One that the process does not know opens as the plain type below it: only the field's metadata tells."""
    data = with_extension_type(place)
    refused = f"column '{place}' is of the extension type 'of.another'.*save="
    with pytest.raises(NotATrace, match=refused):
        read(data)
    pa.register_extension_type(Known())
    try:
        with pytest.raises(NotATrace, match=refused):
            read(data)
    finally:
        pa.unregister_extension_type("of.another")


def test_texts_of_any_kind_survive(tmp_path: Path) -> None:
    source = 'λ名\n\0\ud800"\\' + "x" * 100_000
    path = tmp_path / "run.hvt"
    trace = record([one_pass(0, [])], path=path, head=header(source=source), lines=("", "\n", "\ud800"))
    opened = open_trace(path)
    assert opened.header.source == trace.header.source
    assert opened.end == trace.end
    assert opened.digest() == trace.digest()


def test_a_socket_is_no_trace(tmp_path: Path) -> None:
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("no such sockets here")
    with socket.socket(socket.AF_UNIX) as server:
        path = tmp_path / "s"
        try:
            server.bind(str(path))
        except OSError:
            pytest.skip("the path is too long for a socket")
        with pytest.raises(NotATrace, match="no regular file"):
            open_trace(path)


def lying(
    monkeypatch: pytest.MonkeyPatch, path: Path, change: Callable[[Any, dict[str, Any]], tuple[Any, Any]]
) -> Trace:
    """Write a file whose batches of passes are changed before their checksums are made; open it."""
    real = fmt.to_batches

    def changed(chunk: Any, schema: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
        for batch, facts in real(chunk, schema):
            yield change(batch, facts)

    with monkeypatch.context() as patch:
        patch.setattr(fmt, "to_batches", changed)
        patch.setattr(fmt, "values_crc", lambda *_: "00000000")  # the checksum of all bytes vouches for the values
        recorded("full", PASSES, path)
    return open_trace(path)


def replaced(batch: Any, name: str, column: Any) -> Any:
    place = batch.schema.get_field_index(name)
    columns_ = [column if i == place else each for i, each in enumerate(batch.columns)]
    return pa.record_batch(columns_, schema=batch.schema)


def a_null_row(batch: Any, name: str) -> Any:
    rows = batch.column(name).to_pylist()
    return replaced(batch, name, pa.array([None, *rows[1:]], batch.column(name).type))


def a_null_value(batch: Any, name: str) -> Any:
    column = batch.column(name)
    values = column.values.to_pylist()
    field = pa.array([None, *values[1:]], column.type.value_type)
    return replaced(batch, name, pa.ListArray.from_arrays(column.offsets, field))


LIES: dict[str, Callable[[Any, dict[str, Any]], tuple[Any, Any]]] = {
    "a pass without events": lambda batch, facts: (a_null_row(batch, "events"), facts),
    "a pass without a frontier": lambda batch, facts: (
        replaced(batch, "frontier", pa.array([None, *batch.column("frontier").to_pylist()[1:]], pa.uint32())),
        facts,
    ),
    "a change without a value": lambda batch, facts: (a_null_value(batch, "deltas"), facts),
    "too many rows": lambda batch, facts: (batch, facts | {"rows": facts["rows"] + 1}),
    "another first pass": lambda batch, facts: (batch, facts | {"first": facts["first"] + 1}),
    "a part of more": lambda batch, facts: (batch, facts | {"parts": 2}),
    "another part": lambda batch, facts: (batch, facts | {"part": 1}),
    "devices as text": lambda batch, facts: (batch, facts | {"devices": "cpu"}),
    "devices that are numbers": lambda batch, facts: (batch, facts | {"devices": [3]}),
}


@pytest.mark.parametrize("lie", LIES)
def test_batches_that_lie_with_right_checksums_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    real = writer.Writer.write

    def write(self: writer.Writer, chunk: Any, devices: tuple[str, ...]) -> None:
        if "devices" not in lie:
            real(self, chunk, devices)
            return
        for batch, facts in fmt.to_batches(chunk, self._columns):
            self._put(batch, {"devices": devices, **facts})

    monkeypatch.setattr(writer.Writer, "write", write)
    trace = lying(monkeypatch, tmp_path / "run.hvt", LIES[lie])
    assert trace.n_passes == 0
    assert trace.state in ("damaged", "interrupted")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1]", b"3", b"[" * 100_000, b"\xff", b"{}" + b" " * fmt.METADATA_BYTES_MAX], ids=range(7)
)
def test_metadata_that_is_no_object(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        fmt.from_json(text)


@pytest.mark.parametrize(
    "packed", [b"3\nab", b"-1 3\nab", b"x\nab", b"1 1\nabc", b"1\n\xff", b"99999999999999999999\n"]
)
def test_texts_that_are_not_as_long_as_they_say(packed: bytes) -> None:
    with pytest.raises((ValueError, OverflowError)):
        fmt.unpack_texts(packed)


@pytest.mark.parametrize("version", ["0", "-3"])
def test_a_format_that_never_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    with pytest.raises(DamagedTrace, match=f"there is no format {version}"):
        open_trace(rewritten(monkeypatch, tmp_path, VERSION=int(version)))


def test_a_level_that_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedVersion, match="knows no level 'everything'"):
        open_trace(with_header(monkeypatch, tmp_path / "run.hvt", level="everything"))


def test_a_pass_on_a_device_without_a_name_is_refused(tmp_path: Path) -> None:
    kept = Recorder("counts", path=tmp_path / "run.hvt")
    kept.begin(header())
    for each in PASSES:
        kept.on_pass(each)
    kept._devices.clear()
    chunk = recorder._chunk(0, kept._pending, b"", 64, "counts", kept=False)
    for device, n_passes in ((0, len(PASSES)), (1, 0)):
        chunk.rows["device"][-1] = device
        path = tmp_path / f"{device}.hvt"
        made = writer.Writer(path, header(), "counts")
        made.write(chunk, ("cpu",))
        made.close(None)
        assert open_trace(path).n_passes == n_passes
    assert "a device without a name" in open_trace(path).note


def test_batches_without_a_pass_count_as_well_so_that_a_walk_has_an_end(tmp_path: Path) -> None:
    made = writer.Writer(tmp_path / "run.hvt", header(), "counts")
    (chunk,) = record(PASSES, level="counts").chunks
    names = dict.fromkeys(chunk.tables, columns.no_values(0, columns.ROW))
    nothing = columns.Chunk(0, kept=False, rows=chunk.rows[:0], tables=names)
    nothing.tables.update({name: columns.no_values(0, columns.ALL_TABLES[name]) for name in names})
    for _ in range(5):
        made.write(nothing, ("cpu",))
    made.close(None)
    assert open_trace(tmp_path / "run.hvt", passes_max=5).n_passes == 0
    with pytest.raises(TraceTooLarge, match="more than 4 passes"):
        open_trace(tmp_path / "run.hvt", passes_max=4)


@pytest.mark.parametrize(("first", "last"), [(1, 0), (0, 1), (2, 2)])
def test_values_of_no_pass_are_refused(first: int, last: int) -> None:
    """Lists may begin behind the first value, or end before the last: then the file says more than it shows."""
    (chunk,) = record(PASSES).chunks
    ((batch, facts),) = fmt.to_batches(chunk, fmt.schema("events", 8))
    assert fmt.from_batch(batch, facts).n_passes == 4
    lists = batch.column("events")
    offsets = lists.offsets.to_numpy().copy()
    offsets[0] += first
    offsets[1:] = np.clip(offsets[1:] - last, offsets[0], None)
    arrays = [
        pa.ListArray.from_arrays(pa.array(offsets), lists.values) if name == "events" else batch.column(name)
        for name in batch.schema.names
    ]
    with pytest.raises(ValueError, match="column 'events' has values of no pass"):
        fmt.from_batch(pa.record_batch(arrays, schema=batch.schema), facts)


MIB = 1 << 20
OPENED_MIB = 64
"""Most memory that opening takes beyond the file itself."""


def garbage(good: bytes) -> Iterator[bytes]:
    """Make files of a mebibyte that are traces up to some byte, and then nothing sensible."""
    rng = random.Random(0)
    ends = [8, *batch_ends(good)]
    fillings = (
        rng.randbytes(MIB), b"\0" * MIB, b"\xff" * MIB, b"[" * MIB, b"\xff\xff\xff\xff\x08\0\0\0" * (MIB // 8),
        b"\xff\xff\xff\xff\xff\xff\xff\x7f" * (MIB // 8), (good[8:] * (MIB // len(good) + 1))[:MIB],
    )  # fmt: skip
    for end in ends:
        for filling in fillings:
            yield good[:end] + filling
            yield good[: end + 20] + filling


def test_a_mebibyte_of_garbage_is_refused_within_a_second(tiny: bytes) -> None:
    for number, data in enumerate(garbage(tiny)):
        begun = time.process_time()
        with contextlib.suppress(TraceError):
            assert read(data).note, number  # it says what of the file is not used
        assert time.process_time() - begun <= 1.0, number


def lies(good: bytes, count: int) -> Iterator[bytes]:
    """Make files in which lengths and offsets say something absurd."""
    rng = random.Random(1)
    for number in range(count):
        data = bytearray(good)
        at = rng.randrange(8, len(good) - 8) & ~3
        width = 4 + 4 * (number % 2)
        data[at : at + width] = rng.choice((2**31 - 1, 2**30, 2**24, 2**28 + 8)).to_bytes(width, "little")
        yield bytes(data)


OPENING = """
import resource, sys
from pathlib import Path
from hvm4viz.errors import TraceError
from hvm4viz.trace import open_trace

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

paths = sorted(Path(sys.argv[1]).glob("*.hvt"))
assert open_trace(paths[0]).n_passes > 0  # whatever is imported late is imported now
before = peak()
for path in paths:
    try:
        open_trace(path)
    except TraceError:
        pass
print(peak() - before)
"""


def test_opening_takes_little_more_than_the_file(tiny: bytes, tmp_path: Path) -> None:
    for number, data in enumerate((tiny, *lies(tiny, 400), *itertools.islice(garbage(tiny), 0, None, 5))):
        (tmp_path / f"{number:04}.hvt").write_bytes(data)
    done = subprocess.run([sys.executable, "-c", OPENING, str(tmp_path)], capture_output=True, text=True, check=True)
    grown = int(done.stdout) * (1 if sys.platform == "darwin" else 1024)
    assert grown <= (OPENED_MIB + 1) * MIB, "the largest file has a mebibyte"


RUNNING = """
import sys
import hvm4viz as hv
from hvm4viz.trace import recorder
recorder.FLUSH_S = 0.0
hv.run("@main = @main", save=sys.argv[1], device="cpu", record=sys.argv[2], machine=hv.Machine(fuel=50),
       max_passes=1500, on_pass=lambda record: None, progress=False)
"""


@pytest.mark.parametrize("kept", LEVELS)
def test_a_reader_beside_a_growing_file_sees_a_prefix_and_never_an_error(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "run.hvt"
    seen: list[tuple[int, bytes]] = []
    with subprocess.Popen([sys.executable, "-c", RUNNING, str(path), kept]) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None:
            assert time.monotonic() < deadline
            if not path.exists() or path.stat().st_size == 0:
                time.sleep(0.01)
                continue
            try:
                trace = open_trace(path)
            except NotATrace:
                assert not seen, "it was a trace before"
                continue
            assert trace.state in ("interrupted", "complete"), trace.note
            seen.append((trace.n_passes, trace.events().tobytes()))
        assert process.returncode == 0
    whole = open_trace(path)
    assert whole.state == "complete"
    assert whole.n_passes == 1500
    sizes = [n for n, _ in seen]
    assert sizes == sorted(sizes)
    assert len({n for n in sizes if n < whole.n_passes}) >= 3, "it was looked at while it grew"
    for n, events in seen:
        assert events == whole.slice(0, n).events().tobytes()
