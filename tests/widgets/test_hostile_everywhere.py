"""Text that tries to be more than text, through every way out: it stays text, and nothing in it is active."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import json
import os
import pty
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import nbformat
import numpy as np
import pyarrow.parquet
import pytest

import hvm4viz as hv
from hvm4viz.cli import main
from hvm4viz.diagnosis import Check, Diagnosis
from hvm4viz.figures import comparison_matrix, scaling, speed_bars
from hvm4viz.figures.save import save
from hvm4viz.trace import Trace, open_trace
from hvm4viz.trace.compare import compare
from hvm4viz.trace.export.tables import TABLES
from hvm4viz.widgets import show_run
from hvm4viz.widgets.escape import terminal_text
from hvm4viz.widgets.figure import show_figure
from hvm4viz.widgets.trace_view import TraceView
from tests.figures.subjects import FIGURES
from tests.trace.records import header, record, wide_passes
from tests.widgets.samples import HOSTILE as SHARED
from tests.widgets.samples import hostile
from tests.widgets.test_escape import HOSTILE as ESCAPED
from tests.widgets.test_page import Made

PLACES: Final = (
    "'\"><script>alert(1)</script>",
    "]]><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "\x1b[31m\u202e\0\ud800\u2028",
    "$\\nothing$ {{7*7}} &lt;b&gt;",
)
"""A few that stand for the rest where each one costs a picture; short, so that nothing is cut off."""

HOSTILE: Final = [
    *dict.fromkeys(
        [*PLACES, *SHARED, *ESCAPED, "\ud800\udc00", "=1+1", "$\\nothing$", 'a\nb\r\n,"c', "%s{}", "e\u0301\u200f"]
    )
]
IDS: Final = range(len(HOSTILE))

UNSEEN: Final = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]|\r"
)
"""What a terminal would obey, and nobody sees."""


VIEWS: Final = {"table": HOSTILE, "text": HOSTILE, "static": PLACES, "widget": PLACES}
"""Ways to show a run; the last two draw pictures (``test_trace_view.py`` has them of every text)."""


class Strict(HTMLParser):
    """Reads markup, and refuses all that is not known to be harmless."""

    TAGS: Final = {"div", "pre", "img", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "br"}
    ATTRIBUTES: Final = {"style", "alt", "width", "src", "scope"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.TAGS, tag
        for name, value in attrs:
            assert name in self.ATTRIBUTES, name
            if name == "src":
                assert re.fullmatch(r"data:image/png;base64,[A-Za-z0-9+/=]+", value or "")
            if name == "style":
                assert "url" not in (value or "")
                assert "expression" not in (value or "")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


def inert_svg(path: Path) -> None:
    """Check that a picture is nothing but shapes, letters and descriptions."""
    data = path.read_bytes()
    for node in ET.fromstring(data).iter():
        space, _, tag = str(node.tag).removeprefix("{").rpartition("}")
        assert not space or space in {
            "http://www.w3.org/2000/svg", "http://purl.org/dc/elements/1.1/", "http://creativecommons.org/ns#",
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        }, space  # fmt: skip
        assert tag.lower() not in {"script", "foreignobject", "iframe", "a", "animate", "set", "handler", "object"}, tag
        for name, value in node.attrib.items():
            plain = name.rpartition("}")[2].lower()
            assert not plain.startswith("on"), name
            if plain in {"href", "src"}:
                assert re.match(r"#|data:image/png;base64,", value), value
            if plain in {"style", "clip-path", "fill"}:
                assert re.search(r"url\((?!#)|expression|javascript", value) is None, value
        if tag == "style":
            assert "<" not in (node.text or "")
            assert "url" not in (node.text or "")
    assert b"<!ENTITY" not in data
    assert data.count(b"<!DOCTYPE") <= 1
    data.decode("utf-8")


def trace_of(text: str) -> Trace:
    """Record a run in which a text stands wherever one can."""
    head = dataclasses.replace(
        header(device=text, source=text), source=((text, text), (text, text)), entry=text, rules=tuple([text] * 7)
    )
    told = [dataclasses.replace(each, device=text) for each in wide_passes([3, 9, 20, 1])]
    return record(told, level="full", head=head, status="error", lines=(text, text))


def foreign(text: str) -> str:
    """Return a text as UTF-8 can hold it: a table of Arrow takes no other."""
    return text.encode("utf-8", "backslashreplace").decode()


@pytest.fixture(autouse=True)
def long_fields() -> Iterator[None]:
    before = csv.field_size_limit(1 << 24)
    yield
    csv.field_size_limit(before)


@cache
def run_of(text: str) -> hv.Run:
    return hostile(text)


# Figures.


@pytest.mark.parametrize("text", PLACES, ids=range(len(PLACES)))
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_shapes_and_letters(name: str, text: str, tmp_path: Path) -> None:
    figure = FIGURES[name](trace_of(text))
    for words in ("text", "paths"):
        inert_svg(save(figure, tmp_path / words, formats=("svg",), svg_text=words)[0])
    shown = show_figure(figure)
    assert shown is not None
    Strict(str(shown["text/html"]))
    assert not UNSEEN.search(f"{shown['text/plain']}{shown['text/html']}")


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_labels_of_tables_are_letters(text: str, tmp_path: Path) -> None:
    drawn = [speed_bars([text, "b"], [1, 2], quantity=text, note=text)]
    if text in PLACES:
        runs = {"program": [text, "b"], "device": ["c", text], "regions": [1, 2], text: [3, 4], "ips": [5, 6]}
        drawn += [scaling(runs), scaling(runs, x=text)]
        drawn += [comparison_matrix([[1, 2]], [text], [text, "b"], quantity=text, note=text)]
    for number, figure in enumerate(drawn):
        inert_svg(save(figure, tmp_path / str(number), formats=("svg",), svg_text="text")[0])


# Exports.


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_exports_hold_it_as_text(text: str, tmp_path: Path) -> None:
    trace = trace_of(text)
    for table in TABLES if text in PLACES else ("rules", "passes"):  # the other tables hold numbers and our own words
        with trace.to_csv(tmp_path / f"{table}.csv", table=table).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len({len(row) for row in rows}) == 1, table
        columns = pyarrow.parquet.read_table(trace.to_parquet(tmp_path / f"{table}.parquet", table=table))
        assert columns.num_rows == len(rows) - 1
        assert columns.schema.names == rows[0]
        with np.load(trace.to_npz(tmp_path / f"{table}.npz", table=table), allow_pickle=False) as arrays:
            assert all(array.dtype.kind in "buifUS" for array in arrays.values())
    rules = pyarrow.parquet.read_table(tmp_path / "rules.parquet")["rule"].to_pylist()
    assert set(rules) == {foreign(text)}
    with (tmp_path / "rules.csv").open(newline="", encoding="utf-8") as file:
        assert [row["rule"] for row in csv.DictReader(file)] == rules


GRAPH_NAMES: Final = {"graphml", "key", "default", "graph", "node", "edge", "data"}
DOT_LINE: Final = re.compile(r'(digraph "[^"\\]*" \{|  [\w]+( -> \w+)? \[.*\];|\})')


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_graphs_hold_it_as_text(text: str, tmp_path: Path) -> None:
    trace = run_of(text).trace
    dot = trace.to_dot(tmp_path / "a.dot", 0).read_text(encoding="utf-8")
    for line in dot.splitlines():
        unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        assert DOT_LINE.fullmatch(unquoted), line
        assert "<" not in unquoted
    tree = ET.parse(trace.to_graphml(tmp_path / "a.graphml", 0))
    assert {node.tag.rpartition("}")[2] for node in tree.iter()} <= GRAPH_NAMES


@pytest.mark.skipif(importlib.util.find_spec("perfetto") is None, reason="needs hvm4viz[perfetto]")
@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_a_trace_for_perfetto_can_be_read(text: str, tmp_path: Path) -> None:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Packets

    found: Any = Packets()
    found.ParseFromString(trace_of(text).to_perfetto(tmp_path / "a.perfetto").read_bytes())
    assert len(found.packet) > 4


# What objects say of themselves.


def spoken(text: str) -> Iterator[tuple[str, str]]:
    """Yield what everything that meets program text says of itself, with its name."""
    run, trace = run_of(text), trace_of(text)
    yield "repr of a run", repr(run)
    yield "repr of a trace", repr(trace)
    for term in run.results:
        yield "repr of a term", repr(term)
    yield "summary of a difference", str(compare(trace, run.trace))
    yield "verdict of a check", str(trace.verify())
    waited = trace.deferrals()[0]
    yield "why", "\n".join(map(str, trace.why(int(waited["loc"]), int(waited["opened"]))))
    yield "diff", str(run.trace.diff(0, run.trace.n_passes))
    yield "diagnosis", str(Diagnosis((Check(text, "FIX", text, text),)))


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_what_objects_say_is_fit_for_a_terminal(text: str) -> None:
    for name, said in spoken(text):
        assert not UNSEEN.search(said), name


@pytest.mark.parametrize(
    ("view", "text"),
    [(view, text) for view, texts in VIEWS.items() for text in texts],
    ids=[f"{view} {number}" for view, texts in VIEWS.items() for number in range(len(texts))],
)
def test_displays_hold_it_as_text_also_in_a_notebook_file(text: str, view: Any, tmp_path: Path) -> None:
    shown = show_run(run_of(text), view=view)
    assert not UNSEEN.search(str(shown["text/plain"]))
    if "text/html" in shown:
        assert not UNSEEN.search(str(shown["text/html"]))
        Strict(str(shown["text/html"]))
    kept = {kind: data for kind, data in shown.items() if isinstance(data, str | dict)}
    book: Any = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell("run", outputs=[nbformat.v4.new_output("display_data", data=kept)])]
    nbformat.validate(book)
    path = tmp_path / "a.ipynb"
    nbformat.write(book, str(path))
    json.loads(path.read_text(encoding="utf-8"))
    Strict(Diagnosis((Check(text, "FIX", text, text),))._repr_html_())


@pytest.mark.parametrize("text", PLACES, ids=range(len(PLACES)))
def test_pages_of_two_runs_hold_it_as_data(text: str, tmp_path: Path) -> None:
    run = run_of(text)
    for number, view in enumerate((TraceView(run), TraceView(run, compare=run_of("other")), TraceView(trace_of(text)))):
        made = Made(view.to_html(tmp_path / f"{number}.html").read_text(encoding="utf-8"))
        assert made.tags.count("script") == 2
        assert not {name for name in made.attributes if name.startswith("on")}


# Error messages.


def faults(text: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield messages of everything that may refuse a text, with what refused it."""
    name = text[:50].replace("/", "").replace("\0", "").encode("utf-8", "replace").decode().strip(".") or "x"
    program, torn = folder / f"{name}.hvm4", folder / f"{name}.hvt"
    program.write_text(f"@main = 1 {text}", encoding="utf-8", errors="replace")
    torn.write_bytes(text.encode("utf-8", "replace"))
    tries = {
        "parse": lambda: hv.parse(f"@main = {text} (", name=text[:200]),
        "a name": lambda: hv.parse(f"@main = x{text}", name=text[:200]),
        "load": lambda: hv.load(program),
        "include": lambda: hv.parse(f'#include "{text}"\n@main = 1', name=text[:200]),
        "entry": lambda: hv.run("@main = 1", entry=text),
        "trace": lambda: open_trace(torn),
        "size": lambda: hv.Machine(heap=text),
        "setting": lambda: hv.Machine(dup=text),  # pyright: ignore[reportArgumentType]
        "device": lambda: hv.run("@main = 1", device=text),
        "figure": lambda: FIGURES["deferral_heatmap"](trace_of("x"), what=text),
    }
    for what, attempt in tries.items():
        try:
            attempt()
        except (ValueError, OSError, RuntimeError) as error:
            yield what, str(error).replace(str(torn), "the file")  # its name is the caller's own


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
def test_the_command_line_shows_every_message_as_text(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = dict(faults(text, tmp_path))
    assert len(said) >= 6
    for program in tmp_path.glob("*.hvm4"):
        argument = text.replace("\0", "").encode("utf-8", "replace").decode()
        for line in (
            ["run", str(program)],
            ["info", str(program.with_suffix(".hvt"))],
            ["run", f"--entry={argument}", "-q", str(program)],
        ):
            main(line)
            shown = capsys.readouterr()
            assert shown.err
            assert not UNSEEN.search(shown.err.replace("\t", " "))
    for what, message in said.items():
        assert not UNSEEN.search(message), what


def on_a_terminal(*argv: str) -> str:
    """Run the command on a terminal of its own; return what it showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "hvm4viz", *argv])
    shown = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_a_terminal_gets_answers_logs_and_messages_without_anything_to_obey(tmp_path: Path) -> None:
    text = "\x1b]0;t\x07\x1b[31m\x9b1m\u202e\u2066\u061c\ufeff\r<script>"
    program = tmp_path / "\x1b[31m\u202e.hvm4"
    sources = (f'@main = "{text}"', f'@main = %log("{text}")', f'@main = #A{{"{text}"}}(1)', "@main = \x1b[31m\u202e")
    for source in sources:
        program.write_text(source, encoding="utf-8")
        shown = on_a_terminal("run", str(program))
        assert shown.strip()
        assert not UNSEEN.search(shown), terminal_text(shown)
