"""All that writes a file people keep, in one table: each can save one of two contents to a place."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from hvm4viz.trace import Trace
from tests.trace.records import full_passes, header, record

Save = Callable[[int, Path, bool], object]
"""Saves content 0 or 1; the last argument is whether it may replace a file, where that can be chosen."""


@dataclass(frozen=True)
class Saver:
    """One way to write a file.

    Attributes
    ----------
    place : str
        Where the file goes in a folder.
    save : callable
    """

    place: str
    save: Save


@cache
def trace(version: int) -> Trace:
    head = dataclasses.replace(header(), regions=(np.arange(64) % 4).astype(np.uint32))
    return record(full_passes([3, 40, 3, 40 + version]), level="full", head=head)


def exported(method: str, place: str, *words: int, **options: Any) -> Saver:
    def save(version: int, path: Path, overwrite: bool) -> object:  # noqa: FBT001
        passes = [p + version for p in words]
        return getattr(trace(version), method)(path, *passes, overwrite=overwrite, **options)

    return Saver(place, save)


@cache
def drawn(version: int) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    found = Figure((1, 1))
    found.add_artist(Line2D([0, 1], [version, 1]))
    return found


def figure(form: str) -> Saver:
    def save(version: int, path: Path, _: bool) -> object:  # noqa: FBT001
        from hvm4viz import figures

        return figures.save(drawn(version), path.with_suffix(""), formats=(form,), dpi=40)

    return Saver(f"a.{form}", save)


@cache
def view(version: int) -> Any:
    from hvm4viz.widgets.trace_view import TraceView

    return TraceView(trace(version))


def animation(form: str) -> Saver:
    def save(version: int, path: Path, _: bool) -> object:  # noqa: FBT001
        from hvm4viz.figures import animate
        from hvm4viz.figures.frames import Frames

        pictures = [(p, np.full((240, 320, 3), 80 * p + version, np.uint8)) for p in (1, 3)]
        with patch.object(Frames, "__iter__", lambda _: iter(pictures)):
            return animate(trace(version), path, passes=[1, 3], size=(320, 240), progress=False)

    return Saver(f"a.{form}", save)


@cache
def table(version: int) -> Any:
    import pyarrow as pa

    return pa.table({"program": ["words"], "seconds": [float(version)]})


def swept(form: str) -> Saver:
    def save(version: int, path: Path, _: bool) -> object:  # noqa: FBT001
        from hvm4viz.sweep_command import _writer

        return _writer(str(path))(table(version))

    return Saver(f"a.{form}", save)


def kept(version: int, path: Path, _: bool) -> None:  # noqa: FBT001
    from hvm4viz.sweeps.shelf import Shelf

    Shelf(path.parents[1]).keep(path.stem, {"seconds": version})


def goldens(version: int, path: Path, _: bool) -> None:  # noqa: FBT001
    from hvm4viz.golden import make, runs

    made = list(runs.goldens()[version : version + 2])
    with (
        patch.object(make, "FILE", path),
        patch.object(make, "made_anew", lambda: made),
        redirect_stdout(io.StringIO()),
    ):
        make.main()


def gallery_page(version: int, path: Path, _: bool) -> None:  # noqa: FBT001
    from hvm4viz.figures import gallery

    with patch.object(gallery, "FOLDER", path.parent), patch.object(gallery, "page", lambda: f"page {version}"):
        gallery.write(())


def notebooks(version: int, path: Path, _: bool) -> None:  # noqa: FBT001
    """Copy them beside you; there are no two contents of these, as a copy that is there stays."""
    from hvm4viz import lab

    package = path.parents[1] / f"package{version}"
    for name in ("_notebooks/00_tour.ipynb", "_notebooks/more/a.png", "programs/words.hvm4"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(f"{name} {version}" * 99)
    with patch.object(lab, "__file__", str(package / "lab.py")), patch.object(lab, "COPY", str(path)):
        lab.notebooks()


SAVERS: dict[str, Saver] = {
    "trace": exported("save", "a.hvt"),
    "csv": exported("to_csv", "a.csv", table="events"),
    "parquet": exported("to_parquet", "a.parquet", table="events"),
    "npz": exported("to_npz", "a.npz", table="deltas"),
    "dot": exported("to_dot", "a.dot", 1),
    "graphml": exported("to_graphml", "a.graphml", 1),
    "perfetto": exported("to_perfetto", "a.pftrace"),
    "figure as pdf": figure("pdf"),
    "figure as png": figure("png"),
    "figure as svg": figure("svg"),
    "page": Saver("a.html", lambda version, path, _: view(version).to_html(path)),
    "animation as gif": animation("gif"),
    "animation as html": animation("html"),
    "table as csv": swept("csv"),
    "table as parquet": swept("parquet"),
    "table as arrow": swept("arrow"),
    "kept run": Saver("ab/abcd.json", kept),
    "goldens": Saver("golden.json", goldens),
    "gallery": Saver("README.md", gallery_page),
    "notebooks": Saver("hvm4viz-notebooks", notebooks),
}


def content(path: Path) -> bytes | dict[str, bytes] | None:
    """Return what is in a file, or in the files of a folder; None if nothing is there."""
    if path.is_dir():
        return {each.relative_to(path).as_posix(): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    return path.read_bytes() if path.exists() else None
