"""The bytes of a file: its caps, and what stands in it for readers of other languages."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hvm4viz.errors import DamagedTrace
from hvm4viz.events import EVENT
from hvm4viz.settings import Machine
from hvm4viz.trace import format as fmt
from hvm4viz.trace import keyframes, open_trace, recorder, writer
from tests.trace.records import event, full_passes, header, one_pass, record, wide_passes

PAGE = (Path(__file__).parents[2] / "hvm4viz" / "trace" / "README.md").read_text(encoding="utf-8")
UNITS = {"": 1, "Mi": 1 << 20, "MiB": 1 << 20, "GiB": 1 << 30}


@pytest.mark.parametrize(
    ("says", "module", "name"),
    [
        ("Caps: file # GiB", fmt, "FILE_BYTES_MAX"),
        ("batch # MiB, metadata", fmt, "BATCH_BYTES_MAX"),
        ("metadata of a batch # MiB", fmt, "METADATA_BYTES_MAX"),
        ("texts # MiB, ", fmt, "TEXT_BYTES_MAX"),
        ("MiB, # passes;", fmt, "PASSES_MAX"),
        ("`hvm4viz.heap`: base64 of uint64, at most # MiB", fmt, "PACKED_BYTES_MAX"),
        ("`hvm4viz.state`: base64, at most # MiB", fmt, "PACKED_BYTES_MAX"),
        ("pass of more than # events", fmt, "EVENTS_PER_BATCH_MAX"),
        ("of more than # of anything", fmt, "FULL_PER_BATCH_MAX"),
        ("on a machine of more than # threads", fmt, "SHORT_THREADS"),
        ("`hvm4viz.format` is the version, #.", fmt, "VERSION"),
        ("Result lines above # Mi characters", writer, "LINES_CHARS_MAX"),
        ("pass that ends # s after the last write", recorder, "FLUSH_S"),
        ("after the last write, at # MiB", recorder, "CHUNK_BYTES"),
        ("and at # passes; each batch", recorder, "CHUNK_PASSES"),
        ("An image is due # passes", keyframes, "EVERY_PASSES"),
        ("passes or # MiB of changes", keyframes, "EVERY_BYTES"),
    ],
)
def test_the_bounds_are_those_that_the_page_tells(says: str, module: Any, name: str) -> None:
    pattern = r"\s+".join(map(re.escape, says.split())).replace(r"\#", r"([\d,.]*\d)")
    unit = re.sub(r".*# ?(MiB|GiB|Mi|).*", r"\1", says)

    (found,) = re.findall(pattern, PAGE)

    assert getattr(module, name) == float(found.replace(",", "")) * UNITS[unit]


def test_the_largest_batch_that_is_written_is_one_that_is_read() -> None:
    full = sum(dtype.itemsize for name, dtype in fmt.ALL_TABLES.items() if name in fmt.LONG_TABLES)
    assert fmt.EVENTS_PER_BATCH_MAX * EVENT.itemsize < fmt.BATCH_BYTES_MAX
    assert fmt.FULL_PER_BATCH_MAX * full < fmt.BATCH_BYTES_MAX
    assert recorder.CHUNK_BYTES < writer.CHUNK_BYTES < fmt.BATCH_BYTES_MAX // 2


@pytest.mark.parametrize(
    ("blocks", "lanes", "kind"),
    [(1 << 16, 1, "uint16"), (1 << 6, 1 << 10, "uint16"), (1 << 7, 1 << 10, "uint32"), (1 << 16, 2, "uint32")],
)
def test_threads_take_two_bytes_as_long_as_their_numbers_fit(
    blocks: int, lanes: int, kind: str, tmp_path: Path
) -> None:
    machine = Machine(blocks=blocks, threads_per_block=lanes, region_size=1024, heap="4 GiB")
    path = tmp_path / "run.hvt"

    trace = record([one_pass(0, [event(5, thread=blocks * lanes - 1)])], head=header(machine), path=path)

    opened = open_trace(path)
    assert opened.complete
    assert opened.events()["thread"].tolist() == [blocks * lanes - 1]
    assert str(opened.schema.field("events").type.value_type.field("thread").type) == kind
    assert opened.schema.equals(pa.ipc.open_file(path).schema.remove_metadata())
    assert opened.schema.equals(trace.schema)


@pytest.mark.parametrize("level", ["events", "full"])
def test_sums_by_pass_stay_right_where_a_pass_takes_several_rows(
    level: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = full_passes([3, 40, 3])
    monkeypatch.setattr(fmt, "EVENTS_PER_BATCH_MAX", 16)
    monkeypatch.setattr(fmt, "FULL_PER_BATCH_MAX", 16)
    monkeypatch.setattr(recorder, "CHUNK_BYTES", 1)
    trace = record(passes, level=level, path=tmp_path / "run.hvt")

    table = pa.ipc.open_file(tmp_path / "run.hvt").read_all()

    number = table["pass"].to_numpy()
    assert number.tolist() == [0, 1, 1, 1, 2]
    for name in ("frontier", "interactions", "parked", "device_ns", "host_ns"):
        told = table[name].to_numpy()
        assert [int(told[number == p].sum()) for p in range(3)] == trace.rows[name].tolist()
    for name in ("outcomes", "rules"):
        counts = [sum(each["count"] for each in row) for row in table[name].to_pylist()]
        sums = [sum(count for p, count in zip(number, counts, strict=True) if p == q) for q in range(3)]
        assert sums == np.asarray(getattr(trace, name)).sum(axis=1).tolist()
    assert [len(row) for row in table["events"].to_pylist()] == [3, 16, 16, 8, 3]
    opened = open_trace(tmp_path / "run.hvt")
    assert np.array_equal(opened.events(), trace.events())
    assert np.array_equal(opened.rows, trace.rows)


@pytest.mark.parametrize(
    ("widths", "sizes"),
    [([0], [0]), ([3], [3]), ([4], [4]), ([5], [4, 1]), ([8], [4, 4]), ([9], [4, 4, 1]), ([2, 5], [7]), ([9, 0], [9])],
    ids=str,
)
def test_only_a_pass_alone_takes_several_batches(
    widths: list[int], sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fmt, "EVENTS_PER_BATCH_MAX", 4)
    (chunk,) = record(wide_passes(widths)).chunks
    batches = list(fmt.to_batches(chunk, fmt.schema("events", 8)))
    assert [len(batch.column("events").values) for batch, _ in batches] == sizes
    assert [(facts["part"], facts["parts"]) for _, facts in batches] == [(n, len(sizes)) for n in range(len(sizes))]
    assert [int(batch.column("frontier").to_numpy().sum()) for batch, _ in batches] == [sum(widths)] + [0] * (
        len(sizes) - 1
    )


def test_rows_are_the_passes_that_the_metadata_names() -> None:
    (chunk,) = record(wide_passes([1, 2, 3])).chunks
    ((batch, facts),) = fmt.to_batches(chunk, fmt.schema("events", 8))
    assert fmt.from_batch(batch, facts).n_passes == 3
    others = pa.record_batch([pa.array([0, 2, 1], pa.uint32()), *batch.columns[1:]], schema=batch.schema)
    for wrong, says in ((batch, {"rows": 4}), (batch, {"rows": 2}), (batch, {"first": 1}), (others, {})):
        with pytest.raises(ValueError, match="the rows are not the passes that the metadata names"):
            fmt.from_batch(wrong, facts | says)


def test_arrays_come_back_and_what_is_no_base64_is_refused() -> None:
    for array in (np.arange(5, dtype=">u4"), np.arange(6, dtype=np.uint64)[::2], np.zeros(0, np.uint8)):
        assert fmt.unpack_array(fmt.pack_array(array), array.dtype.newbyteorder("<").str).tolist() == array.tolist()
    for packed in (b"AAAA!", b"AAA", b"AA AA"):
        with pytest.raises(ValueError, match=r"."):
            fmt.unpack_array(packed, "u1")


def test_names_and_texts_take_as_many_bytes_as_they_have() -> None:
    for value in ({"name": "λ→∀"}, {"lone": "\ud800"}, {"nested": [1, None, {"a": "é"}]}):
        text = fmt.to_json(value)
        assert fmt.from_json(text) == value
        assert b"\\u" not in text


def test_metadata_is_read_up_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    text = fmt.to_json({"a": "b" * 50})
    monkeypatch.setattr(fmt, "METADATA_BYTES_MAX", len(text))
    assert fmt.from_json(text) == {"a": "b" * 50}
    with pytest.raises(ValueError, match=f"{len(text) + 1} bytes, {len(text)} are allowed"):
        fmt.from_json(text + b" ")


def test_a_header_is_read_up_to_the_bounds_of_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {"blocks": (1, 65_536), "threads_per_block": (1, 1_024), "region_size": (1, 16_777_216)}
    real = writer._header_facts

    def opened(name: str, value: int) -> str:
        path = tmp_path / f"{name}{value}.hvt"
        with monkeypatch.context() as patch:
            patch.setattr(writer, "_header_facts", lambda *given: {**real(*given), name: value})
            head = dataclasses.replace(header(), regions=np.zeros(1, np.uint32), **{name: value})
            record([], head=head, path=path)
        return open_trace(path).state

    for name, (low, high) in bounds.items():
        assert opened(name, low) == opened(name, high) == "complete"
        for value in (low - 1, high + 1):
            with pytest.raises(DamagedTrace, match=rf"{name} is {value}, it must be from {low} to {high:,}"):
                opened(name, value)


def test_every_file_of_a_program_comes_back_and_units_are_among_them(tmp_path: Path) -> None:
    files = tuple((f"{name}.hvm4", f"@{name} = {place}\n") for place, name in enumerate("abcde"))
    for units in ((0,), (4,), (0, 2, 4)):
        path = tmp_path / f"{len(units)}{units[-1]}.hvt"
        record([], head=dataclasses.replace(header(), source=files, units=units), path=path)
        opened = open_trace(path)
        assert opened.header.source == files
        assert opened.header.units == units
        assert opened.meta["files"] == [name for name, _ in files]
    for place in (-1, 5):
        path = tmp_path / f"bad{place}.hvt"
        record([], head=dataclasses.replace(header(), source=files, units=(place,)), path=path)
        with pytest.raises(DamagedTrace, match="no places among 5 files"):
            open_trace(path)


def test_a_region_counts_from_the_pass_that_gave_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hvm4viz.trace.accept.SPARE_REGIONS", 0)
    monkeypatch.setattr(recorder, "CHUNK_PASSES", 1)
    monkeypatch.setattr(writer, "CHUNK_BYTES", 1)

    def state(passes: list[Any]) -> tuple[str, int]:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.hvt"
        record(passes, path=path)
        opened = open_trace(path)
        return opened.state, opened.n_passes

    def used(index: int, region: int, given: tuple[tuple[int, int], ...] = ()) -> Any:
        return one_pass(index, [event(64 * region)], given=given)

    assert state([used(0, 7, ((8, 0), (9, 1))), used(1, 9), used(2, 8, ((10, 0),)), used(3, 10)]) == ("complete", 4)
    assert state([used(0, 7, ((8, 0),)), used(1, 9)]) == ("damaged", 1)
