"""``hvm4viz export`` and ``hvm4viz compare``, and what ``hvm4viz info`` says of cells."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import hvm4viz as hv
from hvm4viz.cli import main
from hvm4viz.trace import open_trace
from tests.trace.time_travel import PROGRAMS


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("traces")
    program = hv.load(PROGRAMS / "queens.hvm4")
    hv.run(program, record="full", save=folder / "a.hvt", progress=False)
    hv.run(program, machine=hv.Machine(blocks=4), save=folder / "b.hvt", progress=False)
    return folder / "a.hvt", folder / "b.hvt"


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.parametrize("form", ["perfetto", "csv", "parquet", "npz", "dot", "graphml"])
def test_every_format_is_written(
    traces: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    pytest.importorskip("perfetto") if form == "perfetto" else None
    out = tmp_path / f"a.{form}"
    code, printed, notes = said(capsys, "export", traces[0], "--to", form, out)
    assert (code, printed) == (0, "")
    assert notes == f"{form}: {out}, {out.stat().st_size:,} bytes\n"
    assert out.stat().st_size > 100
    code, _, notes = said(capsys, "export", traces[0], "--to", form, out)
    assert code == 2
    assert "already there" in notes
    assert said(capsys, "export", traces[0], "--to", form, out, "--overwrite")[0] == 0


def test_tables_and_graphs_are_chosen(
    traces: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = open_trace(traces[0])
    assert said(capsys, "export", traces[0], "--to", "csv", tmp_path / "a.csv", "--table", "events")[0] == 0
    with (tmp_path / "a.csv").open(newline="") as file:
        assert sum(1 for _ in csv.DictReader(file)) == trace.n_events
    assert said(capsys, "export", traces[0], "--to", "parquet", tmp_path / "a.parquet", "--table", "deltas")[0] == 0
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").num_rows == trace.deltas().size
    assert said(capsys, "export", traces[0], "--to", "npz", tmp_path / "a.npz", "--table", "passes")[0] == 0
    with np.load(tmp_path / "a.npz") as arrays:
        assert np.array_equal(arrays["frontier"], trace.frontier_sizes)
    words = ("--pass", 9, "--depth", 2, "--max-nodes", 5, "--root", 0)
    assert said(capsys, "export", traces[0], "--to", "dot", tmp_path / "a.dot", *words)[0] == 0
    assert (tmp_path / "a.dot").read_text() == trace.to_dot(
        tmp_path / "b.dot", 9, depth=2, max_nodes=5, root=0
    ).read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--to", "dot", "--table", "events"), "dot has no option --table; it is for csv, parquet, npz"),
        (("--to", "csv", "--pass", "3"), "csv has no option --pass; it is for dot, graphml"),
        (("--to", "csv", "--max-nodes", "3"), "csv has no option --max-nodes"),
        (("--to", "npz", "--clock", "time"), "npz has no option --clock; it is for perfetto"),
        (("--to", "dot", "--pass", "9999"), "pass 9999: the trace has passes"),
        (("--to", "dot", "--root", "-1"), "--root -1: the heap has cells"),
        (("--to", "xls"), "invalid choice: 'xls'"),
        (("--to", "csv", "--table", "all"), "invalid choice: 'all'"),
        ((), "the following arguments are required: --to"),
    ],
)
def test_what_is_asked_for_wrongly(
    traces: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    code, _, notes = said(capsys, "export", traces[0], tmp_path / "out", *words)
    assert code == 2
    assert says in notes
    assert list(tmp_path.iterdir()) == []


def test_a_trace_that_does_not_hold_it(
    traces: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, notes = said(capsys, "export", traces[1], "--to", "csv", tmp_path / "a.csv", "--table", "deltas")
    assert code == 2
    assert "--record full" in notes
    assert said(capsys, "export", tmp_path / "none.hvt", "--to", "csv", tmp_path / "a.csv")[0] == 2


def test_equal_traces_are_equal(traces: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, notes = said(capsys, "compare", traces[0], traces[0])
    assert (code, notes) == (0, "")
    assert printed == "the same happened in both: 58 passes, 3,741 events\n"


@pytest.mark.parametrize("align", ["pass", "interactions"])
def test_different_traces_exit_with_one(
    traces: tuple[Path, Path], capsys: pytest.CaptureFixture[str], align: str
) -> None:
    code, printed, notes = said(capsys, "compare", *traces, "--align", align)
    assert (code, notes) == (1, "")
    lines = printed.splitlines()
    assert lines[0] == "asked for: blocks 8 and 4"
    assert lines[1].startswith("pass ")
    assert " in the first, " in lines[1]
    assert lines[2].split()[0] == "passes"


def test_what_of_a_damaged_trace_was_verified_is_told(
    traces: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = traces[0].read_bytes()
    for name, tail in (("whole", b""), ("damaged", b"ARROW1")):
        (tmp_path / f"{name}.hvt").write_bytes(data + tail)
    assert said(capsys, "verify", tmp_path / "whole.hvt")[0] == 0
    code, printed, notes = said(capsys, "verify", tmp_path / "damaged.hvt")
    assert code == 1
    assert printed.startswith("passes 0 to 57 keep the protocol; the file is damaged after them")
    assert "damaged.hvt: damaged: " in notes


def test_files_that_are_no_traces(
    traces: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a b.hvt").write_text("// a program\n@main = 1")
    notes = said(capsys, "compare", traces[0], tmp_path / "a b.hvt")[2]
    assert f"a b.hvt is a program, not a trace; hvm4viz run '{tmp_path}/a b.hvt' -o" in notes
    (tmp_path / "a.hvt").write_text("no program")
    code, _, notes = said(capsys, "compare", traces[0], tmp_path / "a.hvt")
    assert code == 2
    assert "not a trace" in notes
    assert said(capsys, "compare", traces[0])[0] == 2


def test_info_tells_what_is_known_of_cells(traces: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    trace = open_trace(traces[0])
    code, printed, _ = said(capsys, "info", traces[0])
    assert code == 0
    line = next(line for line in printed.splitlines() if line.startswith("cells"))
    assert line.split(maxsplit=1)[1] == f"{trace.deltas().size:,} changes, to the end; the machine's state at 1 pass"
    assert "cells  " not in said(capsys, "info", traces[1])[1]
