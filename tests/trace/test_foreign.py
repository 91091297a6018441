"""Files are read without this package: by pyarrow alone, and by the lines that the page gives."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.trace import Trace
from hvm4viz.trace.format import schema
from tests.trace.records import record, wide_passes

PAGE = Path(__file__).parents[2] / "hvm4viz" / "trace" / "README.md"
WIDTHS = [1, 4, 0, 30, 200]

ALONE = """
import json, sys
import pyarrow as pa
import pyarrow.ipc
with pa.memory_map(sys.argv[1]) as source:
    stream = pa.ipc.open_file(source)
    table = stream.read_all()
header = json.loads(table.schema.metadata[b"hvm4viz.header"])
events = table["events"].combine_chunks()
fields = {field.name: events.flatten().field(field.name).to_pylist() for field in events.type.value_type}
print(json.dumps({
    "passes": table["pass"].to_pylist(),
    "parents": events.value_parent_indices().to_pylist(),
    "fields": fields,
    "rules": [[(header["rules"][rule["rule"]], rule["count"]) for rule in row] for row in table["rules"].to_pylist()],
    "outcomes": header["outcomes"],
    "foreign": [name for name in sys.modules if name.split(".")[0] in ("hvm4viz", "numpy.testing")],
}))
"""


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return record(wide_passes(WIDTHS), path=tmp_path / "run.hvt", sync=True)


@pytest.fixture
def path(tmp_path: Path, trace: Trace) -> Path:
    assert trace.complete
    return tmp_path / "run.hvt"


def test_pyarrow_alone_reads_every_event(path: Path, trace: Trace) -> None:
    shown = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(path)], check=True, capture_output=True, text=True, cwd=path.parent
    ).stdout
    found = json.loads(shown)
    assert found["foreign"] == []
    assert found["passes"] == list(range(len(WIDTHS)))
    assert found["parents"] == trace.passes().tolist()
    for name, values in found["fields"].items():
        assert values == trace.events()[name].tolist()
    assert found["outcomes"][1] == "done"
    assert [sum(count for _, count in row) for row in found["rules"]] == WIDTHS


FULL = """
import json, sys
import pyarrow as pa
import pyarrow.ipc
table = pyarrow.ipc.open_file(sys.argv[1]).read_all()
found = {}
for name in ("deltas", "ops", "image"):
    lists = table[name].combine_chunks()
    values = lists.flatten()
    found[name] = [lists.value_parent_indices().to_pylist()]
    found[name] += [values.field(i).to_pylist() for i in range(len(values.type))]
found["foreign"] = [name for name in sys.modules if name.split(".")[0] == "hvm4viz"]
print(json.dumps(found))
"""


def test_pyarrow_alone_reads_every_changed_cell(tmp_path: Path) -> None:
    run = hv.run("@main = ! &x = [1 + 1, 2]; #P{x, x}", record="full", save=tmp_path / "run.hvt", progress=False)
    shown = subprocess.run(
        [sys.executable, "-I", "-c", FULL, str(tmp_path / "run.hvt")], check=True, capture_output=True, text=True
    ).stdout
    found = json.loads(shown)
    assert found["foreign"] == []
    for name, values in (("deltas", run.trace.deltas()), ("ops", run.trace.long_table("ops"))):
        assert found[name][1:] == [values[field].tolist() for field in values.dtype.names or ()]
        assert len(found[name][0]) == values.size > 0


def lines_of_the_page() -> list[str]:
    return [
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "hvm4viz" not in block
    ]


@pytest.mark.parametrize(
    ("block", "library"), list(zip(lines_of_the_page(), ("pandas", "polars", "duckdb"), strict=True))
)
def test_the_lines_on_the_page_work(
    path: Path,
    trace: Trace,
    block: str,
    library: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    assert block.count("\n") <= 3
    assert "run.hvt" in block
    names: dict[str, object] = {}
    exec("import pyarrow.ipc\n" + ("" if library == "pandas" else f"import {library}\n"), names)
    monkeypatch.chdir(path.parent)
    exec(block, names)
    outcomes, counts = np.unique(trace.events()["outcome"], return_counts=True)
    if library == "pandas":
        frame: object = names["frame"]
        assert np.array_equal(frame["pass"], trace.passes())  # type: ignore[index]
    else:  # both print entries by outcome
        printed = capsys.readouterr().out
        for outcome, count in zip(outcomes.tolist(), counts.tolist(), strict=True):
            assert re.search(rf"\b{outcome}\b.*\b{count}\b", printed)


def test_the_page_names_every_column() -> None:
    page = PAGE.read_text()
    for field in schema("full", 8):
        assert f"`{field.name}`" in page


@pytest.mark.parametrize("level", ["counts", "events", "full"])
def test_a_trace_tells_the_columns_of_its_file(tmp_path: Path, level: str) -> None:
    ipc: Any = importlib.import_module("pyarrow.ipc")
    trace = hv.run("@main = 1 + 2", record=level).trace  # type: ignore[arg-type]
    with ipc.open_file(str(trace.save(tmp_path / "run.hvt"))) as source:
        assert source.schema.equals(trace.schema)
