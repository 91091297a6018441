"""Sweeps: what is in the table, what is kept, and what a crash costs."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.bench.programs import samples
from hvm4viz.errors import DeviceUnavailable, EntryNotFound, HvmSyntaxError
from hvm4viz.sweeps import gather, job
from hvm4viz.sweeps.table import COLUMNS

LIST = "@range = λ{0: []; λ&n. n <> @range(n - 1)} @main = ! &list = @range(6); #Pair{list, list}"
MEASURED_ANEW = {"seconds", "device_s", "ips", "finished_at"}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def rows(table: Any) -> list[dict[str, Any]]:
    return table.to_pylist()


def settled(table: Any) -> list[dict[str, Any]]:
    """Leave out what is measured anew each time."""
    return [{name: value for name, value in row.items() if name not in MEASURED_ANEW} for row in rows(table)]


def test_a_row_tells_what_ran_and_what_it_did(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    machine = hv.Machine(blocks=2, threads_per_block=2, region_size=64, dup="claim", fuel=50)
    table = hv.sweep(
        {"pairs": LIST}, {"small": machine}, "cpu", executor=threads, cache=tmp_path, record="events", workers=2
    )
    run = hv.run(LIST, machine=machine, device="cpu")
    assert table.column_names == list(COLUMNS)
    (row,) = rows(table)
    settings = {name: value for name, value in machine.settings().items() if name != "heap"}
    assert {name: row[name] for name in settings} == settings
    assert (row["program"], row["machine"], row["threads"], row["heap_bytes"]) == ("pairs", "small", 4, 2**30)
    assert (row["device"], row["workers"], row["repeat"], row["version"]) == ("cpu", 2, 0, hv.__version__)
    assert row["device_name"].startswith("cpu (")
    assert (row["status"], row["error"], row["answer"], row["results"]) == ("done", None, run.text, 1)
    for name in ("passes", "interactions", "deferrals", "max_frontier", "mean_frontier", "parallelism"):
        assert row[name] == getattr(run.stats, name)
    assert row["contentions"] == run.trace.n_contentions
    assert row["remote_writes"] == int(run.trace.remote.counts.sum())
    assert row["heap_words"] == run.stats.cells_used
    assert row["trace_digest"] == run.trace.digest()
    assert row["ips"] == row["interactions"] / row["seconds"]


def test_every_column_says_what_it_means_and_stands_in_the_docstring(threads: ThreadPoolExecutor) -> None:
    table = hv.sweep("@main = 1", executor=threads, cache=False)
    for field in table.schema:
        assert field.metadata[b"meaning"], field.name
        assert field.name in (hv.sweep.__doc__ or "")
    (row,) = rows(table)
    assert (row["machine"], row["fuel"], row["limit"], row["trace_digest"]) == ("default", None, None, None)


def test_rows_come_in_the_order_asked_for_whatever_ends_first(tmp_path: Path) -> None:
    class Backwards(ThreadPoolExecutor):
        """Carries out the last call first."""

        def __init__(self) -> None:
            super().__init__(1)
            self.calls: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []

        def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self.calls.append((future, fn, args))
            if len(self.calls) == 8:
                for late, call, given in reversed(self.calls):
                    late.set_result(call(*given))
            return future

    sizes = [hv.Machine(region_size=size) for size in (64, 128)]
    table = hv.sweep(["@main = 1", "@main = 2"], sizes, ["cpu"], repeat=2, executor=Backwards(), cache=tmp_path)
    order = [(row["program"], row["region_size"], row["repeat"]) for row in rows(table)]
    assert order == [(name, size, number) for name in ("cell", "cell (2)") for size in (64, 128) for number in (0, 1)]
    assert table.column("answer").to_pylist() == ["1"] * 4 + ["2"] * 4
    assert rows(table)[0]["machine"] == "region_size=64"


def test_runs_that_fail_are_rows_with_their_errors(threads: ThreadPoolExecutor) -> None:
    programs = {"fine": "@main = 1", "wrong": "@main = (1)(2)", "endless": "@main = @main"}
    machines = {"usual": hv.Machine(fuel=100), "refused": hv.Machine(memory="private", fuel=100)}
    table = hv.sweep(programs, machines, "cpu", max_passes=20, executor=threads, cache=False)
    assert [row["status"] for row in rows(table)] == ["done", "refused", "error", "refused", "pass_limit", "refused"]
    fine, refused, wrong, _, endless, _ = rows(table)
    assert fine["error"] is None
    assert "memory='private'" in refused["error"]
    assert (refused["error_type"], refused["passes"], refused["ips"]) == ("ValueError", None, None)
    assert "cannot apply a number" in wrong["error"]
    assert "raise max_passes" in endless["error"]
    assert endless["passes"] == 20


def test_what_cannot_be_run_at_all_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(HvmSyntaxError):
        hv.sweep(["@main = 1", "@main = ("], cache=tmp_path)
    with pytest.raises(EntryNotFound):
        hv.sweep("@other = 1", cache=tmp_path)
    with pytest.raises(DeviceUnavailable, match="cpuu"):
        hv.sweep("@main = 1", devices=["cpuu"], cache=tmp_path)
    with pytest.raises(ValueError, match="repeat=0"):
        hv.sweep("@main = 1", repeat=0, cache=tmp_path)
    with pytest.raises(ValueError, match="processes=0"):
        hv.sweep("@main = 1", processes=0, cache=tmp_path)
    assert not list(tmp_path.iterdir())


def test_programs_of_the_package_bring_their_mode_and_limit(threads: ThreadPoolExecutor) -> None:
    both = samples(["cheapest_change", "words"])
    change, words = rows(hv.sweep(both, devices="cpu", executor=threads, cache=False))
    assert (change["program"], change["mode"], change["limit"], change["results"]) == (
        "cheapest_change", "collapse", 10, 10
    )  # fmt: skip
    assert change["answer"].split("\n") == list(both[0].expected)
    assert (words["program"], words["mode"], words["limit"]) == ("words", "snf", None)


def test_a_run_is_kept_under_all_that_it_depends_on(
    threads: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    carry_out = gather.carry_out

    def counting(job: Any, ticket: str) -> Any:
        ran.append(job)
        return carry_out(job, ticket)

    monkeypatch.setattr(gather, "carry_out", counting)

    def fresh(**changes: Any) -> int:
        ran.clear()
        given = {"programs": "@main = 1", "machines": hv.Machine(), "devices": "cpu", **changes}
        hv.sweep(**given, executor=threads, cache=tmp_path)
        return len(ran)

    assert fresh() == 1
    assert fresh() == 0
    assert fresh(repeat=3) == 2
    assert fresh(programs={"another name": "@main = 1"}) == 0
    assert fresh(programs="@main = 1 // another text") == 1
    assert fresh(machines=hv.Machine(blocks=4)) == 1
    assert fresh(devices="sim") == 1
    assert fresh(devices="sim", seed=1) == 1
    assert fresh(record="events") == 1
    rule = next(rule for rule in hv.kernel().rules if rule.name == "DUP-SUP")
    assert fresh(kernel=hv.kernel().replace("DUP-SUP", rule.text + "// edited\n")) == 1
    monkeypatch.setattr(job, "__version__", "0.0.0.next")
    assert fresh() == 1


def test_kept_runs_keep_their_times_and_damaged_ones_run_again(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    first = hv.sweep("@main = 1", repeat=2, devices="cpu", executor=threads, cache=tmp_path)
    assert hv.sweep("@main = 1", repeat=2, devices="cpu", executor=threads, cache=tmp_path).equals(first)
    files = sorted(tmp_path.rglob("*.json"))
    assert len(files) == 2
    files[0].write_bytes(files[0].read_bytes()[:-9])
    files[1].write_text(files[1].read_text().replace('"interactions": 0', '"interactions": 1'))
    again = hv.sweep("@main = 1", repeat=2, devices="cpu", executor=threads, cache=tmp_path)
    assert settled(again) == settled(first)
    assert all(a["finished_at"] > b["finished_at"] for a, b in zip(rows(again), rows(first), strict=True))
    assert not list(tmp_path.rglob("*.part"))


# ---- processes, and what happens to them

MINE = """
import os, signal
import hvm4viz as hv

@hv.primitive("square", arity=1)
def square(n: hv.Term) -> int:
    print("to be seen by nobody")
    return n.python() ** 2

@hv.primitive("die", arity=1)
def die(how: hv.Term) -> int:
    if how.python() == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(how.python())
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / f"{name}.py").write_text(MINE)
    monkeypatch.syspath_prepend(folder)
    yield name
    sys.modules.pop(name, None)


def test_a_worker_that_dies_takes_one_run_with_it(mine: str, tmp_path: Path) -> None:
    programs = {
        "square": "@main = %square(3)", "exits": "@main = %die(3)", "killed": "@main = %die(9)", "plain": "@main = 7"
    }  # fmt: skip
    __import__(mine)
    with pytest.raises(ValueError, match=rf"%square: name the module that defines it.*{mine}"):
        hv.sweep(programs, cache=tmp_path / "kept")
    table = hv.sweep(programs, devices="cpu", primitives=[mine], processes=1, repeat=2, cache=tmp_path / "kept")
    assert [row["status"] for row in rows(table)] == ["done"] * 2 + ["lost"] * 4 + ["done"] * 2
    assert [row["answer"] for row in rows(table)] == ["9"] * 2 + [None] * 4 + ["7"] * 2
    assert "exit code 3" in rows(table)[2]["error"]
    if os.name != "nt":
        assert "SIGKILL" in rows(table)[4]["error"]
    assert rows(table)[2]["error_type"] == "WorkerLost"
    assert len(list((tmp_path / "kept").rglob("*.json"))) == 4, "what was lost is tried again next time"


def test_a_primitive_of_the_script_itself_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(n: hv.Term) -> int:
        return n.python()

    monkeypatch.setattr(here, "__module__", "__main__")
    hv.primitive("here", arity=1)(here)
    with pytest.raises(ValueError, match=r"Move it into a module"):
        hv.sweep("@main = %here(1)", primitives=["json"], cache=False)


def test_an_executor_that_breaks_says_so_and_what_is_done_is_kept(tmp_path: Path) -> None:
    class Breaks(ThreadPoolExecutor):
        count = 0

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.count += 1
            future: Future[Any] = Future()
            if self.count > 3:
                future.set_exception(BrokenExecutor("gone"))
            else:
                future.set_result(fn(*args, **kwargs))
            return future

    with pytest.raises(BrokenExecutor) as raised:
        hv.sweep("@main = 1", repeat=5, devices="cpu", executor=Breaks(1), cache=tmp_path)
    assert "call sweep again" in raised.value.__notes__[0]
    assert len(list(tmp_path.rglob("*.json"))) <= 3


def test_a_process_pool_of_the_standard_library_serves_too() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        (row,) = rows(hv.sweep(LIST, devices="cpu", executor=pool, cache=False))
    assert row["answer"] == hv.run(LIST).text


def test_a_worker_of_a_cluster_that_dies_takes_one_run_with_it(mine: str) -> None:
    distributed: Any = pytest.importorskip(
        "distributed", reason="Dask is not installed: pip install 'hvm4viz[cluster]'"
    )
    config: Any = importlib.import_module("dask").config
    programs = {"exits": "@main = %die(3)", "plain": "@main = 7"}
    with (
        config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        table = hv.sweep(programs, devices="cpu", primitives=mine, executor=client.get_executor(), cache=False)
    lost, plain = rows(table)
    assert (lost["status"], lost["error_type"], plain["status"], plain["answer"]) == (
        "lost",
        "KilledWorker",
        "done",
        "7",
    )


SCRIPT = """
import sys
from pathlib import Path
import hvm4viz as hv

LIST = "@range = λ{0: []; λ&n. n <> @range(n - 1)} @main = ! &list = @range(SIZE); #Pair{list, list}"

def swept(executor, cache):
    programs = {str(size): LIST.replace("SIZE", str(size)) for size in range(20, 30)}
    machines = [hv.Machine(blocks=blocks, fuel=fuel) for blocks in (1, 2, 4, 8, 16) for fuel in ("auto", 10)]
    return hv.sweep(programs, machines, ("cpu",), repeat=2, executor=executor, cache=cache, progress=False)

def written(executor):
    import pyarrow.parquet
    pyarrow.parquet.write_table(swept(executor, sys.argv[1]), sys.argv[2])

"""
ON_PROCESSES = "written(None)  # no guard around the main part: none is needed\n"
ON_DASK = """
if __name__ == "__main__":
    from dask.distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        written(client.get_executor())
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the table of the script, made by threads of this process and never stopped."""
    script: dict[str, Any] = {}
    exec(SCRIPT, script)
    with ThreadPoolExecutor(2) as pool:
        return script["swept"](pool, tmp_path_factory.mktemp("whole"))


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.json")}


@pytest.mark.skipif(os.name == "nt", reason="process groups and SIGKILL are POSIX's")
@pytest.mark.parametrize("place", [ON_PROCESSES, ON_DASK], ids=["processes", "dask"])
def test_a_sweep_of_200_runs_that_is_killed_half_way_goes_on_with_the_rest(
    place: str, undisturbed: Any, tmp_path: Path
) -> None:
    if place is ON_DASK:
        pytest.importorskip("distributed", reason="Dask is not installed: pip install 'hvm4viz[cluster]'")
    read: Any = pytest.importorskip("pyarrow.parquet").read_table
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + place, encoding="utf-8")
    cut, out = tmp_path / "cut", tmp_path / "cut.parquet"

    # Given a sweep whose whole process group is killed half-way,
    started = subprocess.Popen([sys.executable, script, cut, out], start_new_session=True)
    deadline = time.monotonic() + 100
    while len(kept(cut)) < 70:
        assert started.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    before = kept(cut)
    assert 70 <= len(before) < 200
    assert not out.exists()

    # when it is started again,
    subprocess.run([sys.executable, script, cut, out], check=True, timeout=100)

    # then only the missing ones run, those kept have their times, and the table is that of a sweep never stopped.
    after = kept(cut)
    assert len(after) == 200
    assert {name: after[name] for name in before} == before
    resumed = read(out)
    assert settled(resumed) == settled(undisturbed)
    assert resumed.schema.equals(undisturbed.schema, check_metadata=True)
    kept_rows = [row for row in rows(resumed) if f"{row['key']}.json" in before]
    assert len(kept_rows) == len(before)
    for row in kept_rows:
        found = json.loads(before[f"{row['key']}.json"])["found"]
        assert (row["seconds"], row["device_s"]) == (found["seconds"], found["device_s"])
    assert not list(cut.rglob("*.part"))


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to a group is POSIX's")
def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + ON_PROCESSES, encoding="utf-8")
    started = subprocess.Popen(
        [sys.executable, script, tmp_path / "kept", tmp_path / "out"], start_new_session=True, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 100
    while len(kept(tmp_path / "kept")) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does
    _, said = started.communicate(timeout=30)
    assert started.returncode in (-signal.SIGINT, 130)
    assert b"KeyboardInterrupt" in said
    words = said.decode()
    assert f"of 200 runs are kept in {tmp_path / 'kept'}; the same call goes on with the others" in words
    assert words.count("Traceback") == 1, "the workers are silent"
    while is_there(started.pid):  # no worker is left
        assert time.monotonic() < deadline
        time.sleep(0.02)
