"""A real kernel that is stopped, or killed, in the middle of things: it stops at once, and what there is stays."""

from __future__ import annotations

import os
import signal
import struct
import time
from collections.abc import Iterator
from math import inf
from pathlib import Path
from queue import Empty
from typing import Any, Final

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from hvm4viz.trace import open_trace

Kernel = tuple[KernelManager, BlockingKernelClient]

STOP_S: Final = 0.25
"""Longest that anything goes on after the stop button, behind the pass that is under way."""

TRIES: Final = 4
"""A busy machine may be late, and Python forgets an interrupt that comes in a callback; the promise is kept if it is
kept once."""

LOST_S: Final = 5.0
"""When to press again: nothing of ours goes on for so long."""

SET_UP: Final = """
import time
import hvm4viz as hv
from hvm4viz import figures
NATS = "@nats = λ&n. &(n){n, @nats(n + 1)} @main = @nats(0)"
TREE = "@tree = λ{0: λ&x. #L{x, x * x}; λ&n. λ&x. #B{@tree(n - 1, x + x), @tree(n - 1, x + x + 1)}} @main = @tree(9, 1)"
run = hv.run(TREE, record="full", device="cpu", machine=hv.Machine(blocks=16, fuel=8), progress=False)
assert run.status == "done", run.message
hv.run(NATS, mode="collapse", limit=3, device="cpu", progress=False)  # compiled now, not when it is to be stopped
next(iter(hv.results(NATS)))
digest, passes, deferrals = run.trace.digest(), run.trace.n_passes, len(run.trace.deferrals())
print("ready")
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    manager, client = start_new_kernel(kernel_name="python3")
    assert said(execute(manager, client, SET_UP)) == "ready\n"
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def execute(
    manager: KernelManager, client: BlockingKernelClient, code: str, *, stop_after_s: float | None = None
) -> list[dict[str, Any]]:
    """Run a cell; press the stop button so long after it says ``now``, if asked. Returns its messages."""
    request = client.execute(code)
    messages: list[dict[str, Any]] = []
    while True:
        try:
            message = client.get_iopub_msg(timeout=120 if stop_after_s is None or not messages else LOST_S)
        except Empty:
            messages.append({"msg_type": "lost", "content": {}})
            manager.interrupt_kernel()
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        messages.append(message)
        if stop_after_s is not None and said([message]).startswith("now"):
            time.sleep(stop_after_s)
            messages.append({"msg_type": "stopped", "content": {"at": time.time()}})
            manager.interrupt_kernel()
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return messages


def said(messages: list[dict[str, Any]]) -> str:
    return "".join(message["content"]["text"] for message in messages if message["msg_type"] == "stream")


def stop_in(kernel: Kernel, work: str, then: str) -> str:
    """Press the stop button in the middle of some work; return what ``then`` prints, once the work ended in time."""
    code = f"""
try:
    print("now", flush=True)  # on a busy machine the button may be pressed before this has returned
    while True:
        {work}
except KeyboardInterrupt:
    pass
print("ended", time.time(), flush=True)
print({then})
"""
    late: list[float] = []
    for attempt in range(TRIES):
        messages = execute(*kernel, code, stop_after_s=0.4 + 0.07 * attempt)
        stopped = next(message["content"]["at"] for message in messages if message["msg_type"] == "stopped")
        is_lost = any(message["msg_type"] == "lost" for message in messages)
        errors = [message["content"] for message in messages if message["msg_type"] == "error"]
        # the second press of one that only came late may come behind the work
        wrong = [each for each in errors if not (is_lost and each["ename"] == "KeyboardInterrupt")]
        assert not wrong, "\n".join(wrong[0]["traceback"])
        if is_lost:
            late.append(inf)
            continue
        ended, _, rest = said(messages).partition("ended ")[2].partition("\n")
        late.append(float(ended) - stopped)
        if late[-1] <= STOP_S:
            return rest
    raise AssertionError(f"went on for {late} s after the stop button")


def test_a_collapse_stops_and_keeps_its_results_and_passes(kernel: Kernel) -> None:
    work = "found = hv.run(NATS, mode='collapse', device='cpu', progress=False)\n        break"
    rest = stop_in(kernel, work, "found.status, found.lines[:3], found.trace.n_passes > 3, len(found.trace.digest())")

    assert rest == "interrupted ['0', '1', '2'] True 64\n"


def test_results_one_by_one_stop_and_stay(kernel: Kernel) -> None:
    work = "taken = []\n        for term in hv.results(NATS): taken.append(term.python())\n        break"
    rest = stop_in(kernel, work, "taken[:3], len(taken) > 3")

    assert rest == "[0, 1, 2] True\n"


@pytest.mark.parametrize("figure", ["overview", "filmstrip", "net_diagram", "deferral_heatmap"])
def test_a_figure_stops_and_can_be_drawn_again(kernel: Kernel, figure: str) -> None:
    rest = stop_in(
        kernel,
        f"figures.{figure}(run.trace)",
        f"run.trace.digest() == digest, len(figures.{figure}(run.trace).axes) > 0",
    )

    assert rest == "True True\n"


def test_an_animation_stops_and_leaves_what_was_there(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "run.gif"
    path.write_bytes(b"what was there")

    rest = stop_in(
        kernel,
        f"figures.animate(run.trace, {str(path)!r}, passes=list(range(passes)) * 50, stride=1, progress=False)",
        "run.trace.digest() == digest",
    )

    assert rest == "True\n"
    assert path.read_bytes() == b"what was there"
    assert [each.name for each in tmp_path.iterdir()] == ["run.gif"]


def test_long_questions_to_a_trace_stop_and_are_answered_afterwards(kernel: Kernel) -> None:
    work = """fresh = run.trace.slice(0, passes)
        fresh.verify(); list(fresh.find_all("tag:DP0")); fresh.heatmap("cells"); fresh.deferrals(); fresh.roles"""
    rest = stop_in(
        kernel,
        work,
        "fresh.verify().offence, len(fresh.deferrals()) == deferrals, fresh.digest_or_none() in (None, digest),"
        " len(list(fresh.find_all('tag:DP0'))) == len(list(run.trace.find_all('tag:DP0')))",
    )

    assert rest == "None True True True\n"


RUN: Final = """
import os, struct
import hvm4viz as hv
sink = os.open({acknowledged!r}, os.O_WRONLY | os.O_CREAT)

def on_pass(record):
    os.write(sink, struct.pack("<q", record.index))

hv.run("@main = @main", save={save!r}, device="cpu", machine=hv.Machine(fuel=50), on_pass=on_pass, progress=False)
"""


@pytest.mark.parametrize("pause", [0.3, 1.1])
def test_a_kernel_that_is_killed_leaves_every_pass_that_was_told_of(tmp_path: Path, pause: float) -> None:
    manager, client = start_new_kernel(kernel_name="python3")
    save, acknowledged = tmp_path / "run.hvt", tmp_path / "acknowledged"
    try:
        client.execute(RUN.format(acknowledged=str(acknowledged), save=str(save)))
        deadline = time.monotonic() + 60
        while not acknowledged.exists() or acknowledged.stat().st_size < 8 * 20:
            assert time.monotonic() < deadline, "no pass was run"
            time.sleep(0.02)
        time.sleep(pause)
        pid = int(manager.provisioner.pid)  # type: ignore[union-attr]
        os.kill(pid, signal.SIGKILL)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    told = list(struct.iter_unpack("<q", acknowledged.read_bytes()[: acknowledged.stat().st_size // 8 * 8]))
    trace = open_trace(save)
    assert trace.state == "interrupted"
    assert [index for (index,) in told] == list(range(len(told)))
    assert len(told) <= trace.n_passes <= len(told) + 1
    assert trace.outcomes.sum() == trace.n_passes
    assert trace.verify().offence is None
