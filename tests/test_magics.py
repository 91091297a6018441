"""The notebook's doors, in a shell without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output

import hvm4viz
from hvm4viz.errors import HeapExhausted
from hvm4viz.estimate import ResourceNotice
from hvm4viz.magics import ExpectationFailed
from hvm4viz.widgets import show_run

ROOT = Path(__file__).parents[1]
PAIR = "@main = #Pair{#Pair{1, 2}, 3}"


class Notebook:
    """A shell with the magics loaded, and what its last cell did."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance()
        self.shell.reset(new_session=True)
        self.shell.run_line_magic("load_ext", "hvm4viz")
        self.shown: CapturedIO

    def __call__(self, cell: str) -> Any:
        """Run a cell; return its value, or raise what it raised."""
        with capture_output() as self.shown:
            done = self.shell.run_cell(cell, store_history=True)
        done.raise_error()
        return done.result

    @property
    def names(self) -> dict[str, Any]:
        return self.shell.user_ns


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    yield Notebook()
    InteractiveShell.clear_instance()


# Cells.


def test_a_cell_returns_its_run_once(notebook: Notebook) -> None:
    run = notebook(f"%%hvm4 -o pair\n{PAIR}")
    assert run.text == "#Pair{#Pair{1,2},3}"
    assert notebook.names["pair"] is run
    assert notebook.names["_"] is run
    assert not notebook.shown.outputs, "the value is shown by the shell, not by us"
    assert notebook.shown.stdout.count("#Pair{#Pair{1,2},3}") == 1


def test_options_reach_the_machine(notebook: Notebook) -> None:
    run = notebook(f"%%hvm4 --blocks 2 -t 1 --shard address -R counts\n{PAIR}")
    assert run.machine == hvm4viz.Machine(blocks=2, threads_per_block=1, shard="address")
    assert run.trace.level == "counts"


def test_braces_and_signs_are_left_to_hvm4(notebook: Notebook) -> None:
    notebook.names["x"] = "no"
    cell = '%%hvm4 -e "[5,#Pair{1,2}]"\n@main = [λ{0: 5; λn. n}(0), #Pair{1, 2}] // {x} {{x}} $x %x'
    assert notebook(cell).text == "[5,#Pair{1,2}]"


def test_names_are_expanded_only_when_asked(notebook: Notebook) -> None:
    notebook.names["count"] = 20
    assert notebook("%%hvm4 --expand\n@main = {{count}} + 1").text == "21"
    with pytest.raises(hvm4viz.Hvm4vizError):
        notebook("%%hvm4\n@main = {{count}} + 1")
    with pytest.raises(UsageError, match=r"no variable 'cuont' \(did you mean count\?\)"):
        notebook("%%hvm4 --expand\n@main = {{cuont}} + 1")


def test_definitions_are_saved_and_imported(notebook: Notebook) -> None:
    assert notebook("%%hvm4 --name lib\n@double = λ&n. n + n") is None
    assert notebook("%%hvm4 --import lib\n@main = @double(21)").text == "42"
    notebook("%hvm4 books")
    assert notebook.shown.stdout == "lib: @double\n"
    with pytest.raises(UsageError, match=r"no book 'lob' \(did you mean lib\?\)"):
        notebook("%%hvm4 --import lob\n@main = 1")


def test_views(notebook: Notebook) -> None:
    assert notebook(f"%%hvm4 -q -o one\n{PAIR}") is None
    assert (notebook.shown.stdout, notebook.shown.outputs) == ("", [])
    assert notebook.names["one"].status == "done"
    assert notebook(f"%%hvm4 --view text\n{PAIR}") is None
    (output,) = notebook.shown.outputs
    assert set(output.data) == {"text/plain"}
    assert notebook(f"%%hvm4 --view none\n{PAIR}") is None
    assert notebook.shown.outputs == []
    assert notebook(f"%%hvm4 --no-run\n{PAIR}") is None


def test_a_view_begins_as_the_options_say(notebook: Notebook) -> None:
    run = notebook(f"%%hvm4 --view widget --panels heap,events --pass 1 --height 400\n{PAIR}")
    shown = run._repr_mimebundle_()
    assert {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"} == set(shown)
    assert run.shown == {"view": "widget", "panels": ["heap", "events"], "pass_index": 1, "height": 400}
    table = notebook(f"%%hvm4 --view table\n{PAIR}")
    assert "<table>" in table._repr_mimebundle_()["text/html"]
    assert set(notebook(f"%%hvm4\n{PAIR}")._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}, (
        "no notebook"
    )


def test_a_cell_writes_its_view_to_a_page(notebook: Notebook, tmp_path: Path) -> None:
    notebook(f"%%hvm4 --html {tmp_path}/pair.html\n{PAIR}")
    assert "hv-data" in (tmp_path / "pair.html").read_text(encoding="utf-8")


def test_runs_traces_and_files_are_viewed_and_compared(notebook: Notebook, tmp_path: Path) -> None:
    notebook(f"%%hvm4 -o one --save {tmp_path}/one.hvt\n{PAIR}")
    notebook(f"%%hvm4 -o two --blocks 3\n{PAIR}")
    assert notebook("%hvm4 view one").trace is notebook.names["one"].trace
    assert notebook(f'%hvm4 view "{tmp_path}/one.hvt"').trace.n_passes == 3
    view = notebook("%hvm4 compare one two")
    assert [service.trace for service in view.services] == [notebook.names[name].trace for name in ("one", "two")]


def test_options_of_the_session_are_shown_and_changed(notebook: Notebook) -> None:
    try:
        notebook("%hvm4 options view=static theme=dark progress=off")
        assert "view = static" in notebook.shown.stdout
        assert "progress = False" in notebook.shown.stdout
        assert set(notebook(f"%%hvm4\n{PAIR}")._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}
    finally:
        hvm4viz.set_options(view="auto", theme="auto", progress="auto")


def test_figures_are_shown_or_written(notebook: Notebook, tmp_path: Path) -> None:
    run = notebook(f"%%hvm4 -o run --fig overview --fig overview={tmp_path}/a.svg\n{PAIR}")
    assert "image/png" in notebook.shown.outputs[0].data
    assert (tmp_path / "a.svg").is_file()
    assert notebook(f"%hvm4 figure run frontier_profile {tmp_path}/b.pdf") is None
    assert (tmp_path / "b.pdf").is_file()
    notebook("%hvm4 figure run overview")
    assert "image/png" in notebook.shown.outputs[0].data
    assert notebook.shown.stdout.startswith("program ")
    assert f"hvm4viz {hvm4viz.__version__}" in notebook.shown.stdout
    assert run.status == "done"


# Failures.


def test_a_syntax_error_is_shown_without_frames_and_fails_the_cell(notebook: Notebook) -> None:
    with pytest.raises(hvm4viz.Hvm4vizError) as caught:
        notebook("%%hvm4\n@main = λx. y")
    assert caught.value.line == 1  # type: ignore[attr-defined]
    shown = notebook.shown.stdout
    assert shown.startswith("UnboundName: cell:1:13: undefined variable 'y'\n@main = λx. y\n            ^\n")
    assert "hint: " in shown
    assert "Traceback" not in shown
    assert "magics.py" not in shown


def test_a_stopped_run_is_bound_shown_and_fails_the_cell(notebook: Notebook) -> None:
    with pytest.raises(hvm4viz.Hvm4vizError, match="raise timeout") as caught:
        notebook("%%hvm4 --timeout 0.3 -o stopped\n@main = @main")
    run = notebook.names["stopped"]
    assert run.status == "timeout"
    assert run.trace.n_passes > 0
    assert caught.value.run is run  # type: ignore[attr-defined]
    (output,) = notebook.shown.outputs
    assert "timeout | " in output.data["text/plain"]
    assert "magics.py" not in notebook.shown.stdout
    assert notebook.shown.stdout.count("raise --timeout") == 1
    assert not any("to go on" in str(data) for data in output.data.values()), "once, in the error"
    notebook("stopped")
    assert "raise timeout" in notebook.shown.stdout, "a run shown by itself says why it stopped"


def test_a_wrong_answer_fails_the_cell(notebook: Notebook) -> None:
    assert notebook('%%hvm4 --expect "[1,2]"\n@main = [1, 2]').text == "[1,2]"
    with pytest.raises(ExpectationFailed, match="expected '3', got '1'"):
        notebook("%%hvm4 -e 3\n@main = 1")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%hvm4 --blcks 3\n@main = 1", r"unknown option --blcks \(did you mean --blocks\?\)"),
        ("%%hvm4 -o 1x\n@main = 1", "'1x' cannot name a variable"),
        ("%%hvm4 --bogus\n@main = 1", r"unknown option --bogus; %%hvm4\? lists the options$"),
        ("%%hvm4 --memory private\n@main = 1", "--memory private: the cpu device"),
        ("%%hvm4 --blocks 0\n@main = 1", "from 1 to 65,536"),
        ("%%hvm4 --fig nothing\n@main = 1", "no figure 'nothing'"),
        ('%%hvm4 --expect "1\n@main = 1', "No closing quotation"),
        ("%hvm4 rum x", r"unknown command 'rum' \(did you mean run\?\)"),
        ("%hvm4 run missing.hvm4", "missing.hvm4: No such file"),
        (
            "%hvm4 figure nobody overview",
            "there is no variable 'nobody' here yet; run a cell with %%hvm4 -o nobody first",
        ),
        ("%hvm4 figure", "NAME KIND"),
        ("%hvm4 view", "write %hvm4 view NAME"),
        ("%hvm4 view nobody", "there is no variable 'nobody' here yet"),
        ("%hvm4 view a/b", "'a/b' is neither a variable nor a .hvt file"),
        (
            "%hvm4 view a/b.hvm4",
            "'a/b.hvm4' is a program; run it first: %hvm4 run a/b.hvm4 -o run, then",
        ),
        (f"%hvm4 view {__file__}", "is no .hvt file; if it is a program, run it first: %hvm4 run /"),
        ("%hvm4 compare one", "write %hvm4 compare A B"),
        ("%hvm4 options vew=1", "no option 'vew'"),
        ("%hvm4 options view", "write NAME=VALUE"),
        ("%%hvm4 --panels heep\n@main = 1", "'heep' is no panel"),
        ("%%hvm4 --height 3\n@main = 1", "from 320 to 2,000"),
        ("%%hvm4 --html a.txt\n@main = 1", "must end in .html"),
        ("%%hvm4 --html no/such/a.html\n@main = 1", "there is no folder"),
    ],
)
def test_usage_errors_are_one_line(notebook: Notebook, cell: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        notebook(cell)
    assert notebook.shown.stdout == ""
    assert notebook.shown.stderr.startswith("UsageError: ")


def test_a_variable_that_is_no_run_is_told_by_its_type(notebook: Notebook) -> None:
    notebook.names["seven"] = 7
    with pytest.raises(UsageError, match="'seven' is of type int, neither a run nor a trace; %%hvm4 -o NAME binds a"):
        notebook("%hvm4 view seven")


@pytest.mark.parametrize(
    "line", ["%hvm4 view 'a b.hvm4'", "%hvm4 compare 'a b.hvm4' 'a b.hvm4'", "%hvm4 figure c.hvm4 overview,dark"]
)
def test_what_is_said_of_a_program_that_has_not_run_works(
    notebook: Notebook, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a b.hvm4", "c.hvm4"):
        (tmp_path / name).write_text("@main = 1 + 2", encoding="utf-8")
    with pytest.raises(UsageError, match="is a program; run it first: ") as caught:
        notebook(line)
    run, then = str(caught.value).partition("run it first: ")[2].split(", then ")
    assert notebook(run).text == "3"
    notebook(then)
    assert notebook.shown.stderr == ""


def test_a_notice_speaks_of_options_as_the_error_does(notebook: Notebook) -> None:
    cell = "@two = λ&f. λx. f(f(x))\n@main = @two(@two)(@two)(@two)(λx. #S{x})(#Z)"
    with (
        pytest.warns(ResourceNotice, match=r"a larger one than --heap 1MiB lets the run go on"),
        pytest.raises(HeapExhausted),
    ):
        notebook(f"%%hvm4 --heap 1MiB --view none\n{cell}")
    assert "re-run with --heap '1 GiB' or leave it out" in notebook.shown.stdout


# Lines.


def test_a_file_is_run_with_the_same_options(notebook: Notebook) -> None:
    run = notebook(f'%hvm4 run "{ROOT}/notebooks/programs/words.hvm4" -o words --blocks 2')
    assert run.machine.blocks == 2
    assert run.result.python()[0] == "star 3"
    assert notebook.names["words"] is run


def test_devices_and_help(notebook: Notebook) -> None:
    notebook("%hvm4 devices")
    assert "cpu: " in notebook.shown.stdout
    assert notebook("%hvm4 doctor").is_well
    notebook("%hvm4 help")
    everything = notebook.shown.stdout
    assert "--region-size" in everything
    assert "%%hvm4 -o run" in everything
    assert "--mode {snf,collapse}" in everything
    assert not re.search("[<>]", everything)
    notebook("%hvm4")
    assert notebook.shown.stdout == everything
    notebook("%hvm4 help --shard")
    assert 0 < notebook.shown.stdout.count("\n") < 6


def test_the_question_mark_shows_options_and_examples(notebook: Notebook) -> None:
    notebook.shell.run_cell("pass")
    text = notebook.shell.find_cell_magic("hvm4").__doc__ or ""
    assert text.count("    %%hvm4") == 2
    assert "--threads-per-block" in text


# The display.


class Tags(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_is_text_picture_and_page() -> None:
    bundle: dict[str, Any] = show_run(hvm4viz.run(PAIR))
    assert set(bundle) == {"text/plain", "image/png", "text/html"}
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert len(bundle["image/png"]) < 150 << 10
    page = Tags()
    page.feed(bundle["text/html"])
    assert page.tags == {"div", "pre", "img"}
    assert page.attributes == {"style", "alt", "width", "src"}
    for part in ("#Pair{#Pair{1,2},3}", "done | 3 passes", "program ", "hvm4viz "):
        assert part in page.text


def test_a_run_without_a_trace_is_text() -> None:
    bundle = show_run(hvm4viz.run(PAIR, record="off"))
    assert set(bundle) == {"text/plain", "text/html"}
    assert "no digest" in str(bundle["text/plain"])


@pytest.mark.parametrize(
    "answer", ["</pre><script>alert(1)</script><img src=x onerror=alert(1)>", "' onload='alert(1)", "$x^2$ & &lt;"]
)
def test_hostile_text_stays_text(answer: str) -> None:
    program = hvm4viz.parse(f'@main = "{answer}"', name="<script>\x1b[31m\u202e</script>")
    run = hvm4viz.run(program)
    run.message = answer + "\x1b[31m\u202e"
    bundle: dict[str, Any] = show_run(run)
    page = Tags()
    page.feed(bundle["text/html"])
    assert page.tags == {"div", "pre", "img"}
    assert page.attributes == {"style", "alt", "width", "src"}
    assert page.text.count(answer) == 2
    assert not set("\x1b\u202e") & set(bundle["text/plain"] + bundle["text/html"])


def test_a_long_answer_is_cut_and_says_so() -> None:
    run = hvm4viz.run("@many = λ{0: []; λ&n. n <> @many(n - 1)}\n@main = @many(5000)")
    bundle: dict[str, Any] = show_run(run)
    assert len(run.text) > 20_000
    assert len(bundle["text/plain"]) < 6_000
    assert "the whole answer is Run.text" in bundle["text/plain"]


def test_a_figure_is_shown_with_what_identifies_its_run(notebook: Notebook) -> None:
    import hvm4viz.figures

    run = hvm4viz.run(PAIR, machine=hvm4viz.Machine(dup="claim", visibility="live"))
    shell: Any = notebook.shell
    format_of = shell.display_formatter.format
    shown, _ = format_of(hvm4viz.figures.filmstrip(run.trace))
    assert shown["image/png"].startswith(b"\x89PNG")
    for text in (shown["text/plain"], shown["text/html"]):
        for part in ("program ", "8 blocks of 4 threads", "dup claim", "visibility live", "heap ", "hvm4viz 0."):
            assert part in text
        assert "Entries of 3 passes by thread" in text
    measured, _ = format_of(hvm4viz.figures.comparison_matrix([[1]], ["p"], ["a"], quantity="s", note="of <today>"))
    assert "of &lt;today&gt;" in measured["text/html"]


def test_figures_of_others_are_left_alone(notebook: Notebook) -> None:
    from matplotlib.figure import Figure

    shell: Any = notebook.shell
    shown, _ = shell.display_formatter.format(Figure())
    assert set(shown) == {"text/plain"}
