"""The command line: what goes to which stream, and which code it ends with."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import hvm4viz
from hvm4viz.cli import main
from hvm4viz.commands import CODES

ROOT = Path(__file__).parents[1]
WORDS = ROOT / "notebooks/programs/words.hvm4"
PAIR = "@main = #Pair{#Pair{1, 2}, #Pair{3, 4}}"
LOOP = "@main = @main"
GROWS = "@build = λ{0: []; λ&n. n <> @build(n - 1)}\n@main = @build(1000000)"

Written = Callable[[str], str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(text: str) -> str:
        path = tmp_path / "program.hvm4"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


class Shown:
    """What a command printed, and its exit code."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *argv: str) -> None:
        capsys.readouterr()
        self.code = main(argv)
        self.out, self.err = capsys.readouterr()


# Answers.


def test_the_answer_goes_to_standard_output_and_the_statistics_do_not(
    capsys: pytest.CaptureFixture[str], written: Written
) -> None:
    shown = Shown(capsys, "run", written(PAIR))
    assert (shown.code, shown.out) == (0, "#Pair{#Pair{1,2},#Pair{3,4}}\n")
    assert shown.err.startswith("done | 3 passes | 0 interactions | 0 deferrals | ")
    assert " | digest " in shown.err


def test_quiet_leaves_the_answer_alone(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    shown = Shown(capsys, "run", "-q", written(PAIR))
    assert (shown.out, shown.err) == ("#Pair{#Pair{1,2},#Pair{3,4}}\n", "")


def test_a_dash_reads_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("@main = λx. x".encode())))
    assert Shown(capsys, "run", "-").out == "λa.a\n"


def test_json_is_one_object_with_all_of_it(
    capsys: pytest.CaptureFixture[str], written: Written, tmp_path: Path
) -> None:
    trace = str(tmp_path / "run.hvt")
    shown = Shown(capsys, "run", written(PAIR), "--json", "-o", trace, "--blocks", "2")
    found = json.loads(shown.out)
    assert list(found) == ["status", "message", "lines", "log", "stats", "machine", "device", "digest", "trace"]
    assert (found["status"], found["lines"], found["trace"]) == ("done", ["#Pair{#Pair{1,2},#Pair{3,4}}"], trace)
    assert found["machine"]["blocks"] == 2
    assert found["stats"]["passes"] == 3
    assert len(found["digest"]) == 64
    assert shown.out.count("\n") == 1


def test_log_lines_come_before_the_answer_and_leave_room_for_json(
    capsys: pytest.CaptureFixture[str], written: Written
) -> None:
    path = written('@main = %log("first")')
    assert Shown(capsys, "run", path).out == "first\n[]\n"
    shown = Shown(capsys, "run", path, "--json")
    assert json.loads(shown.out)["log"] == ["first"]
    assert shown.err.startswith("first\n")


def test_a_collapse_prints_its_results_one_a_line(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    path = written("@main = [&A{1, 2}, &B{3, 4}]")
    lines = ["[1,3]", "[1,4]", "[2,3]", "[2,4]"]
    assert Shown(capsys, "run", path, "-C").out.splitlines() == lines
    shown = Shown(capsys, "run", path, "--limit", "2")
    assert (shown.code, shown.out.splitlines()) == (0, lines[:2])
    assert json.loads(Shown(capsys, "run", path, "-C", "--json").out)["lines"] == lines


def test_the_saved_trace_is_told_and_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "words.hvt"
    picture = tmp_path / "words.png"
    shown = Shown(capsys, "run", str(WORDS), "-o", str(trace), "--fig", f"overview={picture}")
    assert shown.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"trace: {trace}\nfigure: {picture}\nnotebook: " in shown.err

    told = Shown(capsys, "info", str(trace))
    assert told.code == 0
    for line in ("status       done", "entry        @main", "interactions 17,724", "state        complete"):
        assert line in told.out
    assert hvm4viz.open_trace(trace).digest() in told.out

    checked = Shown(capsys, "verify", str(trace))
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.startswith("the trace keeps the protocol: ")
    assert "not checked: a slot is published once, and nobody takes it then (needs a recording at 'full'" in checked.out

    for name, start in (("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG")):
        assert Shown(capsys, "figure", str(trace), "overview", str(tmp_path / name)).code == 0
        (made,) = (path for path in tmp_path.iterdir() if path.name.lower() == name.lower())
        assert made.read_bytes().startswith(start)


def test_devices_lists_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(capsys, "devices")
    assert shown.code == 0
    assert shown.out.startswith("cpu ") or "\ncpu " in shown.out


def test_protocols_are_measured_on_a_program_by_name_or_by_file(
    capsys: pytest.CaptureFixture[str], written: Written
) -> None:
    shown = Shown(capsys, "bench", "protocols", "words", written(PAIR), "--rounds", "1", "--blocks", "4")
    head, _, words, alike = shown.out.splitlines()
    assert shown.code == 0
    assert head == "| program | owner | owner, return | block | block, return | atomic | claim |"
    assert words.startswith("| `words` | ")
    assert alike.startswith("| `program` | the same |")
    assert "measuring words\n" in shown.err
    assert "2 programs, program text " in shown.err
    assert "4 blocks of 4 threads" in shown.err
    found = json.loads(Shown(capsys, "bench", "protocols", "words", "--rounds", "1", "--json").out)
    assert [each["protocol"] for each in found["measured"]] == head.strip("| ").split(" | ")[1:]
    assert {each["interactions"] for each in found["measured"]} == {17724}
    assert "8 blocks of 4 threads" in found["provenance"]


def test_measuring_what_is_not_there_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(capsys, "bench", "protocols", "wrods")
    assert (shown.code, shown.out) == (2, "")
    assert "did you mean words?" in shown.err
    assert Shown(capsys, "bench", "nothing").code == 2
    assert Shown(capsys, "bench", "protocols", "words", "--dup", "claim").code == 2


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(capsys, "--version")
    assert (shown.code, shown.out) == (0, f"hvm4viz {hvm4viz.__version__}\n")


def test_no_run_checks_only(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    assert Shown(capsys, "run", "--no-run", written(LOOP)).code == 0
    assert Shown(capsys, "run", "--no-run", written("@main = (")).code == 3


# What can go wrong before a run.


def test_what_cannot_be_read_is_exit_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    missing, folder = tmp_path / "missing.hvm4", tmp_path
    shown = Shown(capsys, "run", str(missing))
    assert (shown.code, shown.out, shown.err) == (2, "", f"hvm4viz: {missing}: No such file or directory\n")
    shown = Shown(capsys, "run", str(folder))
    assert (shown.code, shown.out, shown.err) == (2, "", f"hvm4viz: {folder}: Is a directory\n")
    for command in (("info", str(missing)), ("verify", str(missing)), ("figure", str(missing), "overview", "x.png")):
        shown = Shown(capsys, *command)
        assert (shown.code, shown.out) == (2, "")
        assert f"hvm4viz: {missing}: " in shown.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "{} is empty; write @main = ..."),
        ("\n", "{} is empty; write @main = ..."),
        ("// nothing\n", "@main not defined: {} has no definition; write @main = ..."),
        ("@foo = 1\n", "@main not defined in {}; write @main = ..., or name another entry with --main NAME"),
        (
            "@f = 1\n// @ sign\n @ mian =\n 1",
            "@main not defined in {0}; @mian at {0}:3:2 is close to it: rename it @main, or run it with --main mian",
        ),
    ],
    ids=["empty", "break", "comment", "other", "misspelt"],
)
def test_no_entry_is_exit_3(capsys: pytest.CaptureFixture[str], written: Written, text: str, says: str) -> None:
    file = written(text)
    shown = Shown(capsys, "run", file)
    assert (shown.code, shown.out) == (3, "")
    assert shown.err == f"hvm4viz: {says.format(file)}\n"


def test_another_entry_can_be_named(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    assert Shown(capsys, "run", written("@foo = 1\n"), "--main", "foo").out == "1\n"


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\0\0", bytes(range(128, 256)) * 8, b"\xff\xfe@\0m\0"])
def test_binary_garbage_is_exit_3_with_a_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(content)
    shown = Shown(capsys, "run", str(path))
    assert (shown.code, shown.out) == (3, "")
    assert shown.err.startswith(f"{path}:1:1: ")
    assert "- expected: definition or #include\n" in shown.err
    assert not any(character < " " and character != "\n" for character in shown.err)


def test_a_syntax_error_shows_line_caret_and_hint(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    path = written("@main = λx. (x + y)\n")
    shown = Shown(capsys, "run", path)
    assert (shown.code, shown.out) == (3, "")
    first, line, caret, *rest = shown.err.splitlines()
    assert first == f"{path}:1:18: undefined variable 'y'"
    assert (line, caret) == ("@main = λx. (x + y)", " " * 17 + "^")
    assert any(note.startswith("- hint: ") for note in rest)


def test_a_file_that_is_no_trace_is_exit_2(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    shown = Shown(capsys, "info", written(PAIR))
    assert (shown.code, shown.out) == (2, "")
    assert "not a trace" in shown.err


def test_a_trace_is_never_overwritten(capsys: pytest.CaptureFixture[str], written: Written, tmp_path: Path) -> None:
    there = tmp_path / "there.hvt"
    there.write_text("precious")
    shown = Shown(capsys, "run", written(PAIR), "-o", str(there))
    assert (shown.code, shown.out) == (2, "")
    assert str(there) in shown.err
    assert there.read_text() == "precious"


@pytest.mark.parametrize(("name", "says"), [("", "trace file is empty"), (".", "this is a folder")])
def test_a_trace_has_to_have_a_name(capsys: pytest.CaptureFixture[str], written: Written, name: str, says: str) -> None:
    shown = Shown(capsys, "run", written(PAIR), "--save", name)
    assert (shown.code, shown.out) == (2, "")
    assert says in shown.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "COMMAND"),
        (("rn",), "(did you mean run?)"),
        (("run",), "FILE"),
        (("run", "x", "--blcks", "3"), "(did you mean --blocks?)"),
        (("run", "x", "--blocks", "0"), "from 1 to 65,536"),
        (("run", "x", "--fig", "overvew"), "(did you mean overview?)"),
        (("run", "x", "--fig", "overview=a.bmp"), ".png, .pdf, .svg"),
        (("run", "x", "--fig", "overview=no/such/a.png"), "no folder"),
        (("run", "x", "--heap", "much"), "'much' is not understood"),
    ],
)
def test_usage_is_exit_2_and_says_what_would_do(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    shown = Shown(capsys, *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert says in shown.err


def test_a_device_that_is_not_there_is_exit_4(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    shown = Shown(capsys, "run", written(PAIR), "--device", "abacus")
    assert (shown.code, shown.out) == (4, "")
    assert "abacus" in shown.err


# What can go wrong in a run.


def test_a_run_without_end_stops_at_its_timeout_with_a_trace(
    capsys: pytest.CaptureFixture[str], written: Written, tmp_path: Path
) -> None:
    trace = tmp_path / "loop.hvt"
    began = time.monotonic()
    shown = Shown(capsys, "run", written(LOOP), "--timeout", "2", "-o", str(trace))
    assert (shown.code, shown.out) == (5, "")
    assert shown.err.startswith(
        "hvm4viz: stopped after 2 s; raise --timeout to go on, unless the program never ends\ntimeout | "
    )
    assert time.monotonic() - began < 20
    kept = hvm4viz.open_trace(trace)
    assert kept.complete
    assert kept.n_passes > 0
    assert kept.meta["status"] == "timeout"


def test_a_run_that_outgrows_its_heap_stops_with_a_size_that_would_do(
    capsys: pytest.CaptureFixture[str], written: Written, tmp_path: Path
) -> None:
    trace = tmp_path / "big.hvt"
    shown = Shown(capsys, "run", written(GROWS), "--heap", "1MiB", "-o", str(trace))
    assert (shown.code, shown.out) == (5, "")
    assert "\nhvm4viz: no free region left" in shown.err
    assert shown.err.startswith("hvm4viz: note: the heap is 9")
    assert "re-run with --heap '1 GiB' or leave it out (the default); if that fills too" in shown.err
    assert hvm4viz.open_trace(trace).meta["status"] == "heap_full"


def test_too_few_passes_is_exit_5(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    shown = Shown(capsys, "run", written(PAIR), "--max-passes", "1")
    assert (shown.code, shown.out) == (5, "")
    assert "pass limit | 1 pass | " in shown.err


def test_a_runtime_error_is_exit_3(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    shown = Shown(capsys, "run", written("@main = 1(2)"))
    assert (shown.code, shown.out) == (3, "")
    assert "cannot apply a number" in shown.err


def test_a_failed_expectation_is_exit_1(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    assert Shown(capsys, "run", written("@main = 1"), "--expect", "1").code == 0
    shown = Shown(capsys, "run", written("@main = 1"), "--expect", "2")
    assert shown.code == 1
    assert "expected '2', got '1'" in shown.err


def test_check_and_repeat_agree(capsys: pytest.CaptureFixture[str], written: Written) -> None:
    assert Shown(capsys, "run", written(PAIR), "--check", "--repeat", "3").code == 0


def test_every_status_has_an_exit_code() -> None:
    assert set(CODES) == {status.value for status in hvm4viz.Status}


# What only a process of its own can show.


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "hvm4viz", *arguments]


def test_an_interrupt_keeps_the_trace(written: Written, tmp_path: Path) -> None:
    trace = tmp_path / "stopped.hvt"
    process = subprocess.Popen(
        command("run", written(LOOP), "-o", str(trace), "--fuel", "1000"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (trace.exists() and trace.stat().st_size > 4096) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "interrupted | " in err
    kept = hvm4viz.open_trace(trace)
    assert kept.meta["status"] == "interrupted"
    assert kept.n_passes > 0


def test_results_of_an_endless_collapse_are_out_before_it_ends(written: Written) -> None:
    path = written("@all = λ&n. &A{n, @all(n + 1)}\n@main = @all(0)")
    process = subprocess.Popen(command("run", "-C", path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert [process.stdout.readline() for _ in range(3)] == ["0\n", "1\n", "2\n"]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.skipif(os.name == "nt", reason="pipes break differently there")
def test_a_reader_that_goes_away_is_no_error(written: Written) -> None:
    script = f'"{sys.executable}" -m hvm4viz run "{written(PAIR)}" | true; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "0\n"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_start_up_imports_neither_matplotlib_nor_pyarrow_nor_ipython() -> None:
    code = "import sys, hvm4viz.cli; print({'matplotlib', 'pyarrow', 'IPython', 'networkx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# Standard streams that are closed, or full.

NO_ANSWER = "hvm4viz: standard output: "


def in_bash(line: str) -> tuple[int, str, str]:
    """Run a line in which ``$RUN`` is the command; return exit code and both outputs."""
    environment = {**os.environ, "RUN": f"{sys.executable} -m hvm4viz"}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    for fault in ("Traceback", "Exception ignored", "AttributeError"):
        assert fault not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no bash, no /dev/full")
@pytest.mark.parametrize(
    ("streams", "code", "out", "err"),
    [
        ("- <&-", 2, "", "hvm4viz: standard input is closed"),
        (">&-", 2, "", f"{NO_ANSWER}closed: the answer cannot be written\n"),
        (">/dev/full", 2, "", f"{NO_ANSWER}No space left on device\n"),
        ("--json >/dev/full", 2, "", f"{NO_ANSWER}No space left on device\n"),
        ("2>&-", 0, "1\n", ""),
        ("2>/dev/full", 0, "1\n", ""),
        ("<&- 2>&- -o trace.hvt", 0, "1\n", ""),
        ("-e 2 2>/dev/full", 1, "1\n", ""),
        ("--bogus 2>/dev/full", 2, "", ""),
        ("--bogus 2>&-", 2, "", ""),
        ("<&- >&- 2>&-", 2, "", ""),
        ("--help >/dev/full", 2, "", f"{NO_ANSWER}No space left on device\n"),
    ],
)
def test_streams_that_do_not_work_end_in_a_code_and_no_traceback(
    written: Written, tmp_path: Path, streams: str, code: int, out: str, err: str
) -> None:
    file = "" if streams.startswith("-") and streams[1] == " " else written("@main = 1")
    found = in_bash(f"cd {tmp_path} && PYTHONPATH={ROOT} $RUN run {file} {streams}")
    assert found[:2] == (code, out)
    assert found[2].startswith(err)
    if not err:
        assert found[2] == ""
    if "trace.hvt" in streams:
        assert hvm4viz.open_trace(tmp_path / "trace.hvt").complete


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize("entry", [("-m", "hvm4viz"), ("hvm4viz",)], ids=["module", "script"])
@pytest.mark.parametrize("module", ["numpy", "hvm4viz.cli"])
def test_an_interrupt_during_imports_leaves_no_traceback(
    written: Written, tmp_path: Path, module: str, entry: tuple[str, ...]
) -> None:
    stopper = tmp_path / "sitecustomize.py"
    stopper.write_text(
        "import os, signal, sys\n"
        "class Stopper:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stopper())\n"
    )
    script = tmp_path / "hvm4viz"
    script.write_text("import sys\nsys.path.pop(0)\nfrom hvm4viz.__main__ import console\nconsole()\n")
    arguments = entry if entry[0] == "-m" else (str(script),)
    done = subprocess.run(
        [sys.executable, *arguments, "run", written(PAIR)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "hvm4viz: interrupted\n")


def test_an_interrupt_during_imports_is_left_to_a_program_that_only_imports() -> None:
    code = (
        "import sys\nfrom hvm4viz.interrupt import ends_the_command\nwith ends_the_command(): raise KeyboardInterrupt"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no bash, no /dev/zero")
def test_standard_input_without_an_end_is_not_read_to_its_end() -> None:
    code, out, err = in_bash(f"cd {ROOT} && $RUN run - </dev/zero")
    assert (code, out) == (3, "")
    assert "67,108,864" in err


# Views.


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []

    def remember(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", remember)
    return addresses


def test_a_view_is_written_where_it_was_asked_for(
    capsys: pytest.CaptureFixture[str], written: Written, tmp_path: Path, opened: list[str]
) -> None:
    trace, page = tmp_path / "run.hvt", tmp_path / "run.html"
    assert Shown(capsys, "run", written(PAIR), "-o", str(trace), "--html", str(page)).code == 0
    assert "hv-data" in page.read_text(encoding="utf-8")
    for file in (str(trace), written(PAIR)):
        page.unlink()
        shown = Shown(capsys, "view", file, "--html", str(page), "--theme", "dark")
        assert (shown.code, shown.out, shown.err) == (0, "", f"view: {page}\n")
        assert "hv-data" in page.read_text(encoding="utf-8")
    assert opened == []


def test_a_view_is_opened_in_a_browser(capsys: pytest.CaptureFixture[str], written: Written, opened: list[str]) -> None:
    shown = Shown(capsys, "view", written(PAIR), "--record", "full")
    assert shown.code == 0
    (address,) = opened
    assert address.startswith("file:///")
    assert address.endswith("/program.html")
    assert Path(shown.err.removeprefix("view: ").strip()).is_file()


def test_a_view_of_a_run_that_failed_shows_it_and_says_so(
    capsys: pytest.CaptureFixture[str], written: Written, tmp_path: Path
) -> None:
    page = tmp_path / "bad.html"
    shown = Shown(capsys, "view", written("@main = 1(2)"), "--html", str(page))
    assert shown.code == 3
    assert "RUNTIME_ERROR" in shown.err
    assert "RUNTIME_ERROR" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("view", "missing.hvt"), "missing.hvt: cannot be read: No such file"),
        (("view", "missing.hvm4"), "missing.hvm4: No such file"),
        (("view", "x.hvt", "--html", "a.txt"), "must end in .html"),
        (("view", "x.hvt", "--html", "no/such/a.html"), "there is no folder"),
        (("bench", "view", "--rounds", "0"), "every number must be 1 or more"),
    ],
)
def test_views_that_cannot_be_made(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str) -> None:
    shown = Shown(capsys, *arguments)
    assert shown.code == 2
    assert says in shown.err
