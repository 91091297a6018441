"""What a file says is accepted up to its bounds, and refused from the next number on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hvm4viz.errors import UnsupportedVersion
from hvm4viz.trace import accept, writer
from hvm4viz.trace import format as fmt
from hvm4viz.trace.columns import ALL_TABLES, ROW, Chunk, Ragged
from tests.trace.records import header

REGIONS = 8 + 65_536  # those of the header, and what may be spare


def one_value(table: str, **values: int) -> Ragged:
    """Make a table of one pass with one value."""
    dtype = ALL_TABLES[table]
    return Ragged(np.array([0, 1]), {name: np.array([values.get(name, 0)], dtype[name]) for name in dtype.names or ()})


def one_chunk(device: int = 0, n_given: int = 0, **tables: Ragged) -> Chunk:
    """Make a chunk of one pass, of which every table holds zeros but those told."""
    rows = np.zeros(1, ROW)
    rows["device"] = device
    given = Ragged(np.array([0, n_given]), np.zeros(n_given, ALL_TABLES["given"]))
    return Chunk(0, kept=True, rows=rows, tables={"given": given, **tables})


@pytest.mark.parametrize(
    ("table", "name", "bound"),
    [
        ("outcomes", "outcome", 12),
        ("rules", "rule", 7),
        ("cells", "region", REGIONS),
        ("remote", "region", REGIONS),
        ("given", "region", REGIONS + 1),  # it counts itself
        ("given", "block", 4),
        ("pairs", "home", REGIONS),
        ("pairs", "owner", REGIONS),
        ("events", "thread", 4 * 2),
        ("events", "loc", 64 * REGIONS),
        ("events", "slot", 64 * REGIONS),
        ("events", "outcome", 12),
        ("events", "reason", 6),
        ("events", "side", 2),
        ("events", "origin", 6),
        ("ops", "slot", 64 * REGIONS),
        ("ops", "op", 7),
        ("ops", "side", 2),
        ("deltas", "cell", 64 * REGIONS),
        ("image", "cell", 64 * REGIONS),
    ],
)
def test_every_number_has_its_bound(table: str, name: str, bound: int) -> None:
    accept.Bounds(header()).accept(one_chunk(0, 0, **{table: one_value(table, **{name: bound - 1})}), 1)
    with pytest.raises(ValueError, match=rf"{table}: {name} {bound:,} is not below {bound:,}"):
        accept.Bounds(header()).accept(one_chunk(0, 0, **{table: one_value(table, **{name: bound})}), 1)


def test_regions_that_were_given_count_from_their_chunk_on() -> None:
    bounds = accept.Bounds(header())
    for more in (3, 0, 5):
        bounds.accept(one_chunk(n_given=more), 1)
    bounds.accept(one_chunk(cells=one_value("cells", region=REGIONS + 7)), 1)
    with pytest.raises(ValueError, match="cells: region"):
        bounds.accept(one_chunk(cells=one_value("cells", region=REGIONS + 8)), 1)


@pytest.mark.parametrize(("n_devices", "last"), [(0, 0), (1, 0), (3, 2)])
def test_every_pass_ran_on_a_device_with_a_name(n_devices: int, last: int) -> None:
    bounds = accept.Bounds(header())
    bounds.accept(one_chunk(last), n_devices)
    with pytest.raises(ValueError, match="a device without a name"):
        bounds.accept(one_chunk(last + 1), n_devices)


@pytest.mark.parametrize("most", [{}, {"blocks": 65_536}, {"threads_per_block": 1024}, {"region_size": 1 << 24}])
def test_geometry_is_accepted_up_to_its_bounds(most: dict[str, int]) -> None:
    facts = {"blocks": 1, "threads_per_block": 1, "region_size": 1} | most
    assert accept.accept_threads(facts) == max(facts["blocks"], facts["threads_per_block"])
    for name, wrong in ((name, size + 1) for name, size in most.items()):
        with pytest.raises(ValueError, match=f"{name} is {wrong}, it must be from 1 to {wrong - 1:,}"):
            accept.accept_threads(facts | {name: wrong})
    for name in facts:
        with pytest.raises(ValueError, match=f"{name} is 0, it must be from 1"):
            accept.accept_threads(facts | {name: 0})
        for wrong in (True, 1.0, "1", None):
            with pytest.raises(TypeError, match="is no whole number"):
                accept.accept_threads(facts | {name: wrong})


def told(level: str = "full", **changes: Any) -> tuple[dict[str, Any], dict[bytes, memoryview]]:
    """Return what the file of a run says of it."""
    head = dataclasses.replace(header(), **changes)
    metadata = {
        fmt.FILES_KEY: fmt.pack_texts([text for file in head.source for text in file]),
        fmt.REGIONS_KEY: fmt.pack_array(head.regions),
        fmt.HEAP_KEY: fmt.pack_array(head.heap),
    }
    facts = fmt.from_json(fmt.to_json(writer._header_facts(head, level)))
    return facts, {key: memoryview(text) for key, text in metadata.items()}


FILES = (("main.hvm4", "@main = 1\n"), ("λ.hvm4", ""), ("last", "@x = 2"))


def test_a_header_comes_back_as_it_was_told() -> None:
    changes: dict[str, Any] = {"source": FILES, "entry": "other", "mode": "collapse", "limit": 7, "kernel": "1" * 64}
    changes |= {"root": 5, "stamps": 9, "units": (2, 0), "skipped": 3, "device": "gpu", "heap": np.ones(3, np.uint64)}
    head = dataclasses.replace(header(), **changes)
    for level in ("full", "events"):
        found = accept.accept_header(*told(level, **changes))
        for name in (field.name for field in dataclasses.fields(head) if field.name not in ("heap", "regions")):
            assert getattr(found, name) == getattr(head, name)
        assert found.regions.tolist() == head.regions.tolist()
        assert found.heap.tolist() == ([1, 1, 1] if level == "full" else [])
    assert accept.accept_header(*told(limit=None)).limit is None


def test_a_file_may_leave_out_what_the_first_format_had_not() -> None:
    facts, metadata = told(root=5, stamps=9, skipped=3, source=FILES, units=(1, 2))
    for name in ("root", "stamps", "units", "skipped", "operations"):
        del facts[name]
    found = accept.accept_header(facts, metadata)
    assert (found.root, found.stamps, found.units, found.skipped) == (0, 0, (0,), 0)


def test_a_file_may_know_fewer_codes_and_no_others() -> None:
    facts, metadata = told()
    for name, known in fmt.TABLES_OF_CODES.items():
        for fewer in range(len(known) + 1):
            assert accept.accept_header(facts | {name: list(known[:fewer])}, metadata).entry == "main"
        for other in ([*known, "more"], ["other", *known[1:]], ["other"]):
            with pytest.raises(UnsupportedVersion, match=f"other {name} than"):
                accept.accept_header(facts | {name: other}, metadata)


def test_a_heap_fits_into_its_regions_and_these_have_blocks() -> None:
    full = np.ones(8 * 64 + 1, np.uint64)
    assert accept.accept_header(*told(heap=full[1:])).heap.size == 8 * 64
    with pytest.raises(ValueError, match="the heap has 513 cells, more than its 8 regions"):
        accept.accept_header(*told(heap=full))
    for regions, blocks in (([3, 0], 4), ([0], 1), ([], 1)):
        changes: dict[str, Any] = {"regions": np.array(regions, np.uint32), "blocks": blocks}
        assert accept.accept_header(*told(**changes)).regions.tolist() == regions
    with pytest.raises(ValueError, match="a region belongs to block 4, the machine has 4"):
        accept.accept_header(*told(regions=np.array([3, 4, 0], np.uint32)))


@pytest.mark.parametrize(("files", "last"), [(FILES, 2), (FILES[:1], 0), ((), 0)])
def test_units_are_places_among_the_files(files: tuple[tuple[str, str], ...], last: int) -> None:
    assert accept.accept_header(*told(source=files, units=(0, last))).units == (0, last)
    for wrong in (last + 1, -1):
        with pytest.raises(ValueError, match=f"are no places among {len(files)} files"):
            accept.accept_header(*told(source=files, units=(0, wrong)))


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"region_size": (1 << 24) + 1}, ValueError),
        ({"machine": [1]}, TypeError),
        ({"rules": "dup_sup"}, TypeError),
        ({"level": "everything"}, UnsupportedVersion),
    ],
    ids=str,
)
def test_a_header_that_makes_no_sense_is_refused(facts: dict[str, Any], error: type[Exception]) -> None:
    good, metadata = told()
    with pytest.raises(error):
        accept.accept_header(good | facts, metadata)


def test_a_file_has_a_name_and_a_text() -> None:
    facts, metadata = told()
    odd = memoryview(fmt.pack_texts(["main.hvm4", "@main = 1", "other.hvm4"]))
    with pytest.raises(ValueError, match="shorter"):
        accept.accept_header(facts, metadata | {fmt.FILES_KEY: odd})


def test_an_end_is_what_the_file_says() -> None:
    lines, log = ("1", "λ\n"), ("told",)
    metadata: dict[bytes, memoryview] = {
        fmt.LINES_KEY: memoryview(fmt.pack_texts(lines)),
        fmt.LOG_KEY: memoryview(fmt.pack_texts(log)),
    }
    for digest in (None, "ab"):
        facts = {"digest": digest, "status": "error", "message": "why"}
        end = accept.accept_end(facts, metadata)
        assert end is not None
        assert (end.status, end.message, end.lines, end.log) == ("error", "why", lines, log)
        assert accept.accept_end({"digest": digest}, {}) is None
    for wrong in ({"digest": 3}, {"digest": None, "status": 3}, {"digest": None, "status": "done", "message": 3}):
        with pytest.raises(TypeError, match="3 is no text"):
            accept.accept_end(wrong, metadata)


def test_operations_belong_to_events_of_their_pass() -> None:
    events = Ragged(np.array([0, 2, 2, 5]), np.zeros(5, ALL_TABLES["events"]))
    rows = np.zeros(3, ROW)
    for offsets, places, is_good in (
        ([0, 2, 2, 3], [1, 0, 2], True),
        ([0, 2, 2, 3], [1, 0, 3], False),
        ([0, 2, 2, 3], [2, 0, 2], False),
        ([0, 0, 1, 1], [0], False),
        ([0, 0, 0, 0], [], True),
    ):
        ops = np.zeros(len(places), ALL_TABLES["ops"])
        ops["event"] = places
        chunk = Chunk(0, kept=True, rows=rows, tables={"events": events, "ops": Ragged(np.array(offsets), ops)})
        if is_good:
            accept.accept_operations(chunk)
            continue
        with pytest.raises(ValueError, match="an event is none of its pass"):
            accept.accept_operations(chunk)
    accept.accept_operations(Chunk(0, kept=True, rows=rows, tables={"events": events}))


@pytest.mark.parametrize("size", [79, 80, 81])
def test_a_column_of_an_extension_type_is_named_with_what_it_claims(size: int) -> None:
    plain = pa.schema([("a", pa.uint32()), ("b", pa.list_(pa.struct([("c", pa.uint8()), ("d", pa.uint8())])))])
    claim = {b"ARROW:extension:name": b"e" * size}
    inner = pa.struct([("c", pa.uint8()), pa.field("d", pa.uint8(), metadata=claim)])
    assert accept.extension_type(plain) == ""
    for name, found in (
        ("n" * size, pa.field("n" * size, pa.uint8(), metadata=claim)),
        ("b.item.d", pa.field("b", pa.list_(inner))),
    ):
        says = accept.extension_type(pa.schema([*plain, found]))
        assert says == f"column '{name[:80]}' is of the extension type '{'e' * min(size, 80)}'"


def test_an_extension_type_that_pyarrow_knows_is_seen_as_well() -> None:
    known = pa.schema([("a", pa.list_(pa.fixed_shape_tensor(pa.uint8(), [2])))])
    assert accept.extension_type(known) == "column 'a.item' is of the extension type 'arrow.fixed_shape_tensor'"


@pytest.mark.parametrize("names", [("a",), "ab", None, {"a": 1}])
def test_names_are_a_list(names: object) -> None:
    assert accept.accept_names(["a", "λ"]) == ("a", "λ")
    with pytest.raises(TypeError, match="is no list of names"):
        accept.accept_names(names)
