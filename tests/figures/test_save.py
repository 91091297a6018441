"""The files of figures, read as printers read them: fonts, sizes, lines, bytes, and what they say of themselves."""

from __future__ import annotations

import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from hvm4viz import __version__, figures
from hvm4viz.figures.save import save
from tests.figures.subjects import FIGURES, TRACES
from tests.trace.records import worked_example

WIDTHS = {
    ("acm", "column"): 3.33, ("acm", "text"): 7.0, ("ieee", "column"): 3.5, ("ieee", "text"): 7.16,
    ("nature", "column"): 89 / 25.4, ("nature", "text"): 183 / 25.4, ("lncs", "column"): 4.8, ("lncs", "text"): 4.8,
}  # fmt: skip


def written(name: str, folder: Path, *, width: Any = "column", dark: bool = False, **options: Any) -> list[Path]:
    with figures.style("acm", width, dark=dark):
        figure = FIGURES[name](TRACES["format_2_full.hvt"]())
    return save(figure, folder / name, **options)


def objects(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the dictionary and the unpacked stream (or nothing) of each object of a PDF file."""
    for found in re.finditer(rb"^\d+ 0 obj\s(.*?)\sendobj", data, flags=re.DOTALL | re.MULTILINE):
        head, _, rest = found[1].partition(b"stream\n")
        is_packed = rest and b"FlateDecode" in head and b"/Predictor" not in head
        yield head, zlib.decompressobj().decompress(rest) if is_packed else b""


def pages(data: bytes) -> bytes:
    """Return what is drawn: the streams that hold no fonts, pictures or tables."""
    kept = [
        s
        for head, s in objects(data)
        if s and not re.search(rb"/Length1|/Image|/ObjStm|/XRef|begincmap", head + s[:400])
    ]
    return b"\n".join(kept)


def test_the_reader_of_pdf_files_sees_what_it_must_refuse(tmp_path: Path) -> None:
    with mpl.rc_context({"pdf.fonttype": 3}):
        figure = figures.frontier_profile(worked_example())
        figure.savefig(tmp_path / "three.pdf")
    heads = b"".join(head for head, _ in objects((tmp_path / "three.pdf").read_bytes()))
    assert b"/Type3" in heads
    assert b"/FontFile2" not in heads


@pytest.mark.parametrize("name", FIGURES)
def test_fonts_are_embedded_as_truetype_alone(name: str, tmp_path: Path) -> None:
    (path,) = written(name, tmp_path, formats=("pdf",))
    heads = [head for head, _ in objects(path.read_bytes())]
    fonts = [head for head in heads if re.search(rb"/Type /Font\b(?!Descriptor)", head)]
    descriptors = [head for head in heads if b"/FontDescriptor" in head and b"/FontName" in head]
    kinds = {kind for head in fonts for kind in re.findall(rb"/Subtype /(\w+)", head)}
    assert kinds <= {b"Type0", b"CIDFontType2", b"TrueType"}
    embedded = [head for head in heads if b"/FontName" in head and b"/Flags" in head]
    assert embedded
    assert descriptors
    for head in embedded:
        assert b"/FontFile2" in head
        assert not re.search(rb"/FontFile\b|/FontFile3", head)
    programs = [s for head, s in objects(path.read_bytes()) if b"/Length1" in head]
    assert len(programs) == len(embedded)
    assert all(program.startswith((b"\x00\x01\x00\x00", b"true")) for program in programs)


@pytest.mark.parametrize(("venue", "width"), WIDTHS)
def test_pages_are_exactly_as_wide_as_a_column(venue: Any, width: Any, tmp_path: Path) -> None:
    mine: Any = {"savefig.bbox": "tight", "savefig.pad_inches": 1, "savefig.dpi": 33}
    for name in ("overview", "pass_diagram", "scaling"):
        with figures.style(venue, width):
            figure = FIGURES[name](worked_example())
        with mpl.rc_context(mine):  # whatever the user has chosen for other figures
            pdf, png, svg = save(figure, tmp_path / name)
        (box,) = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf.read_bytes())
        points = WIDTHS[venue, width] * 72
        assert float(box[0]) == pytest.approx(points, abs=1e-6)
        assert Image.open(png).width == int(WIDTHS[venue, width] * 300 + 1e-9)
        assert float(re.findall(r'width="([\d.]+)pt"', svg.read_text())[0]) == pytest.approx(points, abs=1e-3)


@pytest.mark.parametrize(("width", "dark"), [("column", False), ("text", True)])
@pytest.mark.parametrize("name", FIGURES)
def test_type_is_at_least_seven_points_and_lines_half_a_point(
    name: str,
    width: Any,
    dark: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    (path,) = written(name, tmp_path, formats=("pdf",), width=width, dark=dark)
    drawn = pages(path.read_bytes()).decode("latin-1")
    sizes = [float(size) for size in re.findall(r"/F[\w-]+ ([\d.]+) Tf", drawn)]
    assert sizes
    assert min(sizes) >= 7
    assert max(sizes) <= 9
    assert not re.search(r"(?<!\S)0?\.\d+ 0 0 0?\.\d+ \S+ \S+ cm", drawn), "something is drawn smaller than it says"
    widths = set(stroked(drawn))
    assert widths
    assert min(widths) >= 0.5


def stroked(drawn: str) -> Iterator[float]:
    """Yield the width of every line that is drawn; a width that is set before an area is filled draws none."""
    width, kept, numbers = 1.0, [], [0.0]
    for word in drawn.split():
        if word == "w":
            width = numbers[-1]
        elif word == "q":
            kept.append(width)
        elif word == "Q":
            width = kept.pop() if kept else 1.0
        elif word in ("S", "s", "B", "b", "B*", "b*"):
            yield width
        numbers = [*numbers[-1:], float(word)] if re.fullmatch(r"-?[\d.]+", word) else numbers


@pytest.mark.parametrize("name", FIGURES)
def test_equal_figures_are_equal_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    for one, two in zip(written(name, tmp_path), written(name, tmp_path / "again"), strict=True):
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"scaling"}))
def test_files_name_their_runs_and_versions(name: str, tmp_path: Path) -> None:
    digest = TRACES["format_2_full.hvt"]().digest_or_none()
    assert digest
    for path in written(name, tmp_path):
        said = words_of(path)
        assert digest in said
        assert f"hvm4viz {__version__}" in said
        assert f"Matplotlib v{mpl.__version__}" in said or f"Matplotlib version{mpl.__version__}" in said
        assert "region_size=" in said
        assert not re.search(r"20\d\d-\d\d-\d\d|D:20\d\d", said)


def test_a_figure_of_a_table_names_the_table_by_a_digest(tmp_path: Path) -> None:
    for path in written("scaling", tmp_path):
        assert re.search(r"table of runs, digest [0-9a-f]{64}", words_of(path))


def words_of(path: Path) -> str:
    if path.suffix == ".png":
        with Image.open(path) as picture:
            info = picture.info
        return " ".join(str(value) for value in info.values())
    data = path.read_bytes()
    if path.suffix == ".svg":
        return data.decode()
    heads = b" ".join(head for head, _ in objects(data)).replace(b"\\\n", b"").replace(b"\\", b"")
    return heads.decode("latin-1").replace("\x00", "")


def test_words_of_a_svg_can_be_outlines_or_text(tmp_path: Path) -> None:
    figure = figures.frontier_profile(worked_example())
    (outlines,) = save(figure, tmp_path / "a", formats=("svg",))
    (text,) = save(figure, tmp_path / "b", formats=("svg",), svg_text="text")
    assert ">entries</text>" not in outlines.read_text()
    assert ">entries</text>" in text.read_text()
    with pytest.raises(ValueError, match="svg_text='both'"):
        save(figure, tmp_path / "c", svg_text="both")  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "dark"), [*((name, False) for name in FIGURES), ("compare_heatmap", True)])
def test_the_page_looks_like_the_picture_in_another_renderer(name: str, dark: bool, tmp_path: Path) -> None:  # noqa: FBT001
    if shutil.which("pdftoppm") is None:
        pytest.skip("no pdftoppm here: install poppler-utils to compare PDF with PNG")
    pdf, png = written(name, tmp_path, formats=("pdf", "png"), width="text", dark=dark)
    subprocess.run(["pdftoppm", "-png", "-r", "300", "-singlefile", pdf, tmp_path / "page"], check=True, timeout=60)
    page, picture = (Image.open(each).convert("L") for each in (tmp_path / "page.png", png))
    assert abs(page.width - picture.width) <= 1
    assert abs(page.height - picture.height) <= 1
    # Renderers place words and edges up to a pixel apart: compare what is left at an eighth of the size.
    size = (picture.width // 8, picture.height // 8)
    one, two = (np.asarray(each.resize(size, Image.Resampling.BOX)).astype(float) for each in (page, picture))
    apart = np.abs(one - two)
    assert apart.mean() < 2, "on the whole"
    assert (apart > 80).mean() < 0.003, "here and there"
    blank = np.full_like(one, np.median(two))
    assert np.abs(blank - two).mean() > 3 * apart.mean(), "a blank page would be nearly as near"
