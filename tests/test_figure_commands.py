"""``hvm4viz figure`` and ``animate``: every figure, its options, and what is said when they do not fit."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, feather, parquet

from hvm4viz.cli import main
from hvm4viz.figure_request import figure_kinds
from hvm4viz.options import FIGURE
from tests.figures.subjects import GOLDEN

FULL, OLD = GOLDEN / "format_2_full.hvt", GOLDEN / "format_2.hvt"
OPTIONS: dict[str, list[str]] = {
    "compare_heatmap": [
        "--with",
        str(OLD),
        "--what",
        "entries",
        "--reduce",
        "sum",
        "--norm",
        "linear",
        "--zero",
        "white",
    ],
    "deferral_heatmap": ["--marks", "1+2..3", "--no-colorbar", "--shape", "3x2"],
    "filmstrip": ["--passes", "0..2+-1"],
    "interaction_mix": ["--no-share"],
    "net_diagram": ["--pass", "1", "--root", "0", "--depth", "3", "--max-nodes", "5"],
    "pass_diagram": ["--pass", "-1"],
    "region_occupancy": ["--pass", "2"],
    "thread_map": ["--against", "region"],
    "ownership_map": ["--shape", "4x4", "--dark"],
    "scaling": ["--x", "blocks", "--y", "speedup", "--by", "program+repeat"],
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = {"program": ["a"] * 4, "blocks": [1, 2, 1, 2], "repeat": [0, 0, 1, 1], "seconds": [4.0, 2.0, 5.0, 2.5]}
    path = tmp_path / "runs.parquet"
    parquet.write_table(pa.table(rows), path)
    return path


@pytest.mark.parametrize("kind", figure_kinds())
def test_every_figure_is_drawn_with_its_options(kind: str, table: Path, tmp_path: Path) -> None:
    source = table if kind == "scaling" else FULL
    out = tmp_path / "out.png"
    assert main(["figure", str(source), kind, str(out), *OPTIONS.get(kind, [])]) == 0
    with Image.open(out) as picture:
        assert picture.width == 900


def test_every_option_of_a_figure_is_in_the_table_and_the_other_way_round() -> None:
    style = {option.dest for option in FIGURE if option.target == "style"}
    figures = {name for draw in figure_kinds().values() for name in inspect.signature(draw).parameters}
    known = {option.dest for option in FIGURE if option.target == "figure"} - {"fps", "size", "stride"}
    assert style == {"venue", "width", "dark", "usetex"}
    assert known == figures - {"trace", "a", "runs", "ax", "fig"}


@pytest.mark.parametrize(
    ("options", "pixels"), [(["--venue", "ieee"], 1050), (["--width", "text"], 2100), (["--dark"], 900)]
)
def test_the_venue_sets_the_width(options: list[str], pixels: int, tmp_path: Path) -> None:
    assert main(["figure", str(FULL), "overview", str(tmp_path / "a.png"), *options]) == 0
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width == pixels
        assert (picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)) is ("--dark" not in options)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_tables_of_runs_may_have_any_usual_format(ending: str, table: Path, tmp_path: Path) -> None:
    rows, path = parquet.read_table(table), tmp_path / f"a.{ending}"
    {"parquet": parquet.write_table, "arrow": feather.write_feather, "csv": csv.write_csv}[ending](rows, path)
    assert main(["figure", str(path), "scaling", str(tmp_path / "a.svg"), "--x", "blocks", "--y", "seconds"]) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("overvew",), "(did you mean overview?)"),
        (("overview", "--root", "3"), "overview has no option --root; it is for net_diagram"),
        (("compare_heatmap",), "compare_heatmap needs a second trace: add --with B.hvt"),
        (("compare_heatmap", "--with", "no.hvt"), "no.hvt"),
        (("pass_diagram", "--pass", "999"), "pass_diagram: pass 999: the trace has passes 0 to"),
        (("net_diagram", "--root", "99999999"), "the heap has cells 0 to"),
        (("net_diagram", "--max-nodes", "0"), "--max-nodes 0"),
        (("scaling",), "a table of runs ends in one of .parquet"),
        (("deferral_heatmap", "--shape", "3"), "'3' must be two whole numbers above 0"),
        (("filmstrip", "--passes", "5..2"), "'5..2' must go up"),
        (("filmstrip", "--passes", "x"), "'x' must be a whole number"),
        (("overview", "--venue", "acn"), "(did you mean acm?)"),
    ],
)
def test_what_does_not_fit_is_said(
    words: tuple[str, ...], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, *options = words
    assert main(["figure", str(FULL), kind, str(tmp_path / "a.png"), *options]) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_table_without_a_column_is_named(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figure", str(table), "scaling", str(tmp_path / "a.png")]) == 2
    assert (
        "no column 'regions'; --x, --y and --by may name 'program', 'blocks', 'repeat', 'seconds'"
        in capsys.readouterr().err
    )
    (tmp_path / "b.parquet").write_text("no table")
    assert main(["figure", str(tmp_path / "b.parquet"), "scaling", str(tmp_path / "a.png")]) == 2
    assert "b.parquet: the table cannot be read" in capsys.readouterr().err


def test_a_run_draws_figures_with_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "a.hvm4"
    program.write_text("@main = (1 + 2)\n")
    asked = f"pass_diagram,pass=0,venue=acm,dark={tmp_path}/a=b.pdf", f"thread_map={tmp_path}/t.png"
    assert main(["run", str(program), "--fig", asked[0], "--fig", asked[1]]) == 0
    assert (tmp_path / "a=b.pdf").read_bytes().startswith(b"%PDF")
    assert "figure:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("request_text", "says"),
    [
        ("overview,", "is not understood; write KIND"),
        ("overview,pas=3", "no option 'pas' of figures (did you mean pass?)"),
        ("overview,pass=3", "overview has no option pass; it is for net_diagram"),
        ("pass_diagram,pass", "is not understood; write KIND"),
        ("pass_diagram,dark,pass", "is not understood; write KIND"),
        ("pass_diagram,pass=x", "option 'pass' of a figure: 'x' must be a whole number"),
        ("pass_diagram,dark=1", "figure file '1' must end in"),
        ("pass_diagram,venue=acn", "option venue='acn': must be one of screen, acm"),
        ("scaling", "scaling is of many runs"),
        ("compare_heatmap", "in run --fig: compare_heatmap,with=B.hvt"),
    ],
)
def test_requests_are_checked_before_the_run(
    request_text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "no such program"), "--fig", request_text]) == 2
    assert says in capsys.readouterr().err


def test_animate_writes_what_the_name_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.gif"
    options = ["--passes", "0..2", "--stride", "2", "--fps", "5", "--size", "480x300", "--dark"]
    assert main(["animate", str(OLD), str(out), *options]) == 0
    assert f"animation: {out}, {out.stat().st_size:,} bytes" in capsys.readouterr().err
    with Image.open(out) as opened:
        picture: Any = opened
        assert (picture.n_frames, picture.size, picture.info["duration"]) == (2, (480, 300), 200)


def test_animate_says_that_it_wrote_a_gif(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["animate", str(OLD), str(tmp_path / "a.mp4"), "--passes", "0", "--size", "320x240"]) == 0
    said = capsys.readouterr().err
    assert "MP4 needs ffmpeg" in said
    assert "animation: " in said
    assert (tmp_path / "a.gif").is_file()


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--passes", "99"], "pass 99"), (["--size", "10x10"], "must be 320 x 240"), (["--fps", "0"], "--fps 0.0")],
)
def test_animate_refuses(options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["animate", str(OLD), str(tmp_path / "a.gif"), *options]) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
