"""Exports: what other tools read is what the trace says."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError, TraceExists
from hvm4viz.events import OPERATIONS, OUTCOMES, REASONS
from hvm4viz.trace import Trace, recorder, whole
from hvm4viz.trace.export import to_perfetto
from hvm4viz.trace.export.tables import TABLES, table
from hvm4viz.trace.export.to_dot import quoted
from hvm4viz.trace_commands import TABLES as OFFERED
from tests.trace.records import header, record, wide_passes
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module", params=[1 << 20, 20_000], ids=["one chunk", "many chunks"])
def trace(request: pytest.FixtureRequest) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_BYTES", request.param)
        return hv.run(hv.load(PROGRAMS / "queens.hvm4"), record="full", progress=False).trace


def expected(trace: Trace, name: str) -> dict[str, list[Any]]:
    """Return some columns of a table as the trace itself tells them."""
    events, ops, deferrals = trace.events(), trace.ops(), trace.deferrals()
    return {
        "passes": {"pass": list(range(trace.n_passes)), "interactions": trace.interactions.tolist()},
        "events": {
            "pass": trace.passes().tolist(),
            "loc": events["loc"].tolist(),
            "outcome": [OUTCOMES[code] for code in events["outcome"]],
            "reason": [REASONS[code] for code in events["reason"]],
            "block": (events["thread"] // 4).tolist(),
        },
        "deferrals": {"opened": deferrals["opened"].tolist(), "slot": deferrals["slot"].tolist()},
        "pairs": {"count": trace.deferral_pairs()["count"].tolist()},
        "outcomes": {"count": trace.outcomes[trace.outcomes.nonzero()].tolist()},
        "rules": {"rule": [trace.header.rules[rule] for rule in trace.rules.keys]},
        "cells": {"cells": trace.cells.states.tolist()},
        "remote": {"cells": trace.remote.counts.tolist()},
        "given": {"block": trace.given["block"].tolist()},
        "ops": {"op": [OPERATIONS[code] for code in ops["op"]], "loc": ops["loc"].tolist()},
        "deltas": {"cell": trace.deltas()["cell"].tolist(), "after": trace.deltas()["after"].tolist()},
    }[name]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_in_every_format(trace: Trace, name: str, tmp_path: Path) -> None:
    right = expected(trace, name)
    found = table(trace, name)
    with trace.to_csv(tmp_path / "a.csv", table=name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parquet = pyarrow.parquet.read_table(trace.to_parquet(tmp_path / "a.parquet", table=name))
    with np.load(trace.to_npz(tmp_path / "a.npz", table=name), allow_pickle=False) as npz:
        arrays = dict(npz)
    for column, values in right.items():
        assert found[column].to_pylist() == values
        assert parquet[column].to_pylist() == values
        assert [row[column] for row in rows] == [str(value) for value in values]
        names = arrays.get(f"{column}_names")
        assert (arrays[column] if names is None else names[arrays[column]]).tolist() == values
    assert found.num_rows == len(rows) == parquet.num_rows
    assert set(found.schema.names) == set(parquet.schema.names) == {name for name in arrays if "_names" not in name}


def test_the_command_line_offers_every_table() -> None:
    assert set(OFFERED) == set(TABLES)


def test_empty_tables_have_their_columns(tmp_path: Path) -> None:
    trace = hv.run("@main = 1", record="full", max_passes=0).trace
    for name in TABLES:
        assert table(trace, name).num_rows == 0
        assert trace.to_csv(tmp_path / f"{name}.csv", table=name).read_text().count("\n") == 1
        trace.to_parquet(tmp_path / f"{name}.parquet", table=name)
        trace.to_npz(tmp_path / f"{name}.npz", table=name)
    trace.to_perfetto(tmp_path / "a.perfetto")
    trace.to_dot(tmp_path / "a.dot", 0)


def test_what_a_trace_does_not_hold(tmp_path: Path) -> None:
    trace = hv.run("@main = 1", record="counts").trace
    for name in ("events", "deferrals", "ops", "deltas"):
        with pytest.raises(TraceError, match="run it again with record="):
            trace.to_csv(tmp_path / "a.csv", table=name)
    with pytest.raises(TraceError, match="record='events'"):
        trace.to_perfetto(tmp_path / "a.perfetto")
    with pytest.raises(TraceError, match="record='full'"):
        trace.to_dot(tmp_path / "a.dot", 0)
    with pytest.raises(ValueError, match="table='all': must be one of passes, events"):
        trace.to_parquet(tmp_path / "a.parquet", table="all")
    assert list(tmp_path.iterdir()) == []


def write_all(trace: Trace, folder: Path, **options: Any) -> list[Path]:
    return [
        trace.to_csv(folder / "a.csv", **options),
        trace.to_parquet(folder / "a.parquet", **options),
        trace.to_npz(folder / "a.npz", **options),
        trace.to_dot(folder / "a.dot", 5, **options),
        trace.to_graphml(folder / "a.graphml", 5, **options),
        trace.to_perfetto(folder / "a.perfetto", **options),
    ]


def test_exports_never_overwrite_unless_told_and_are_the_same_each_time(trace: Trace, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in write_all(trace, tmp_path)}
    for path in before:
        p = (5,) if path.suffix in (".dot", ".graphml") else ()
        with pytest.raises(TraceExists, match="overwrite=True"):
            getattr(trace, f"to_{path.suffix[1:]}")(path, *p)
    write_all(trace, tmp_path, overwrite=True)
    for path, data in before.items():
        if path.suffix != ".npz":  # an archive holds the time of writing
            assert path.read_bytes() == data
    assert sorted(tmp_path.iterdir()) == sorted(before)


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_an_export_that_fails_leaves_nothing(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(whole.os, call, fails)
    if call == "link":
        monkeypatch.setattr(Path, "rename", fails)
    for name in ("csv", "parquet", "npz", "perfetto"):
        with pytest.raises(TraceError, match="no space"):
            getattr(trace, f"to_{name}")(tmp_path / f"a.{name}")
    with pytest.raises(TraceError, match=r"cannot be written here|no space"):
        trace.to_graphml(tmp_path / "none" / "a.graphml", 3)
    assert list(tmp_path.iterdir()) == []


# Graphs.


def test_a_dot_file_has_the_nodes_and_edges_of_the_graph(trace: Trace, tmp_path: Path) -> None:
    graph = trace.graph(9, depth=4)
    text = trace.to_dot(tmp_path / "a.dot", 9, depth=4).read_text()
    assert {int(n) for n in re.findall(r"^  (\d+) \[label", text, re.MULTILINE)} == set(graph)
    drawn = re.findall(r'^  (\d+) -> (\d+) \[label="(\w+)"', text, re.MULTILINE)
    edges = {(int(a), int(b), field) for a, b, field in drawn}
    assert edges == {(a, b, field) for a, b, field in graph.edges(data="field")}
    assert text.count("style=dashed") == sum(facts["is_frame"] for _, facts in graph.nodes(data=True))
    assert text.startswith('digraph "pass 9" {\n')
    assert text.endswith("}\n")


def test_texts_in_a_dot_file_are_text() -> None:
    assert quoted('a"b\\c\nd\0e\x1bλ\ud800') == '"a\\"b\\\\c\\nd?e?λ\\\\ud800"'


def test_a_graphml_file_is_read_back(trace: Trace, tmp_path: Path) -> None:
    graph = trace.graph(9)
    path = trace.to_graphml(tmp_path / "a.graphml", 9)
    read = nx.read_graphml(path, node_type=int, force_multigraph=True)
    assert set(read) == set(graph)
    assert sorted((a, b, f) for a, b, f in read.edges(data="field")) == sorted(graph.edges(data="field"))
    for cell, facts in graph.nodes(data=True):
        assert int(read.nodes[cell]["word"], 16) == facts["word"]
        assert read.nodes[cell]["text"] == facts["text"]
        assert read.nodes[cell]["owner"] == facts["owner"]
    assert ET.parse(path).getroot().tag.endswith("graphml")


# Perfetto.

perfetto = pytest.mark.skipif(
    importlib.util.find_spec("perfetto") is None, reason="the package perfetto is not installed"
)


def packets(path: Path) -> Any:
    protos = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    found = protos.Trace()
    found.ParseFromString(path.read_bytes())
    return found.packet, protos.TrackEvent


@perfetto
def test_a_perfetto_file_has_tracks_slices_flows_and_counters(trace: Trace, tmp_path: Path) -> None:
    found, kinds = packets(trace.to_perfetto(tmp_path / "a.perfetto"))
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in found if p.HasField("track_descriptor")}
    names = [track.name for track in tracks.values()]
    assert sum(name.startswith("region ") for name in names) == trace.n_regions
    assert {"frontier", "interactions", "deferred", "contended", "parked", "cells in use"} <= set(names)
    assert all(not track.parent_uuid or track.parent_uuid in tracks for track in tracks.values())
    events = [p.track_event for p in found if p.HasField("track_event")]
    assert all(event.track_uuid in tracks for event in events)
    begins = [event for event in events if event.type == kinds.TYPE_SLICE_BEGIN]
    ends = [event for event in events if event.type == kinds.TYPE_SLICE_END]
    regions = trace.events()["loc"] // trace.region_size
    assert len(begins) == len(ends) == len(set(zip(trace.passes().tolist(), regions.tolist(), strict=True)))
    notes = [{note.name: note.uint_value for note in event.debug_annotations} for event in begins]
    for code, name in enumerate(OUTCOMES):
        assert sum(note.get(name, 0) for note in notes) == trace.outcomes[:, code].sum()
    assert sum(note["cells"] for note in notes) == trace.events()["cells"].sum()
    counted = {name: [] for name in names}
    for event in events:
        if event.type == kinds.TYPE_COUNTER:
            counted[tracks[event.track_uuid].name].append(event.counter_value)
    assert counted["frontier"] == trace.frontier_sizes.tolist()
    assert counted["cells in use"] == trace.cells.dense().sum(axis=1).tolist()
    starts = [flow for event in events for flow in event.flow_ids]
    stops = [flow for event in events for flow in event.terminating_flow_ids]
    deferrals = trace.deferrals()
    assert sorted(starts) == list(range(1, deferrals.size + 1))
    assert sorted(stops) == (np.flatnonzero(deferrals["closed"] >= 0) + 1).tolist()


@perfetto
def test_a_flow_goes_from_the_task_to_the_slot(trace: Trace, tmp_path: Path) -> None:
    found, _ = packets(trace.to_perfetto(tmp_path / "a.perfetto", clock="time"))
    tracks = {p.track_descriptor.uuid: p.track_descriptor.name for p in found if p.HasField("track_descriptor")}
    at = {
        (kind, flow): (p.timestamp, int(tracks[p.track_event.track_uuid].split()[1]))
        for p in found
        if p.HasField("track_event")
        for kind in ("flow_ids", "terminating_flow_ids")
        for flow in getattr(p.track_event, kind)
    }
    for number, each in enumerate(trace.deferrals()[:200], 1):
        time, region = at["flow_ids", number]
        assert region == each["home"]
        if each["closed"] >= 0:
            later, region = at["terminating_flow_ids", number]
            assert region == each["owner"]
            assert later > time


@perfetto
def test_arrows_that_are_left_out_are_told(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_perfetto, "FLOWS_MAX", 10)
    found, _ = packets(trace.to_perfetto(tmp_path / "a.perfetto"))
    names = [p.track_descriptor.name for p in found if p.HasField("track_descriptor")]
    assert any("arrows for the first 10 of" in name for name in names)
    assert sum(len(p.track_event.flow_ids) for p in found) == 10


def test_without_the_package_it_says_how_to_get_it(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(to_perfetto, "import_module", missing)
    with pytest.raises(TraceError, match=r"pip install 'hvm4viz\[perfetto\]'"):
        trace.to_perfetto(tmp_path / "a.perfetto")
    with pytest.raises(ValueError, match="clock='utc'"):
        trace.to_perfetto(tmp_path / "a.perfetto", clock="utc")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


HOSTILE = ("</script>", '"><svg onload=x>', "=1+1", "a\0b", "\ud800", "\u202e", "x" * 10_000, "a\nb\r\n,c", "%s{}")


def test_hostile_names_stay_text_in_every_format(tmp_path: Path) -> None:
    head = dataclasses.replace(header(), rules=tuple(HOSTILE[:7]), source=(("<b>\ud800", "@main = 1"),))
    told = [dataclasses.replace(each, device=HOSTILE[each.index % 9]) for each in wide_passes([3] * 9)]
    trace = record(told, level="full", head=head)
    for name in ("rules", "passes"):
        with trace.to_csv(tmp_path / f"{name}.csv", table=name).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len({len(row) for row in rows}) == 1
        trace.to_parquet(tmp_path / f"{name}.parquet", table=name)
        with np.load(trace.to_npz(tmp_path / f"{name}.npz", table=name), allow_pickle=False) as arrays:
            assert arrays["pass"].size
    trace.to_dot(tmp_path / "a.dot", 0)
    ET.parse(trace.to_graphml(tmp_path / "a.graphml", 0))
    if importlib.util.find_spec("perfetto"):
        packets(trace.to_perfetto(tmp_path / "a.perfetto"))
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


@perfetto
def test_passes_without_an_entry_have_no_slice(tmp_path: Path) -> None:
    for widths in ([0, 0], [0, 3, 0], []):
        found, kinds = packets(record(wide_passes(widths)).to_perfetto(tmp_path / f"{len(widths)}.perfetto"))
        begins = [p for p in found if p.HasField("track_event") and p.track_event.type == kinds.TYPE_SLICE_BEGIN]
        assert bool(begins) == (sum(widths) > 0)
