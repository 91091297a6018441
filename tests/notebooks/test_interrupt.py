"""The stop button, in a real kernel."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel


@pytest.fixture
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager, client = start_new_kernel(kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def execute(
    kernel: tuple[KernelManager, BlockingKernelClient], code: str, *, stop_after_s: float | None = None
) -> list[dict[str, Any]]:
    """Run a cell; return its messages. Interrupt it so long after its first display, if asked."""
    manager, client = kernel
    request = client.execute(code)
    messages: list[dict[str, Any]] = []
    stop_at = float("inf")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if time.monotonic() > stop_at:
            manager.interrupt_kernel()
            stop_at = float("inf")
        try:
            message = client.get_iopub_msg(timeout=0.1)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        messages.append(message)
        if stop_after_s is not None and message["msg_type"] == "display_data":
            stop_at, stop_after_s = time.monotonic() + stop_after_s, None
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return messages
    raise AssertionError("the cell did not end")


def test_an_interrupt_shows_and_binds_the_run_so_far(kernel: tuple[KernelManager, BlockingKernelClient]) -> None:
    execute(kernel, "%load_ext hvm4viz")
    messages = execute(kernel, "%%hvm4 -o stopped --fuel 1000\n@main = @main", stop_after_s=1)
    kinds = [message["msg_type"] for message in messages]
    progress = [m["content"] for m in messages if m["msg_type"] in ("display_data", "update_display_data")]
    assert progress[0]["data"]["text/plain"].startswith("pass ")
    assert len({c["transient"]["display_id"] for c in progress if "display_id" in c.get("transient", {})}) == 1
    assert "interrupted | " in progress[-1]["data"]["text/plain"]
    assert "image/png" in progress[-1]["data"]
    (error,) = (message["content"] for message in messages if message["msg_type"] == "error")
    assert error["ename"] == "Interrupted"
    assert len(error["traceback"]) == 1
    assert "execute_result" not in kinds
    told = execute(kernel, "print(stopped.status, stopped.trace.n_passes > 0, len(stopped.trace.digest()))")
    assert [m["content"]["text"] for m in told if m["msg_type"] == "stream"] == ["interrupted True 64\n"]


def test_an_interrupt_of_a_sweep_keeps_what_is_done(
    kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path
) -> None:
    execute(kernel, "import hvm4viz as hv")
    text = "@count = λ{0: 0; λ&n. @count(n - 1)} @main = @count(20000)"
    call = f"hv.sweep({text!r}, hv.Machine(fuel=100), 'cpu', repeat=1000, cache={str(tmp_path)!r})"
    messages = execute(kernel, call, stop_after_s=1)
    progress = [m["content"]["data"]["text/plain"] for m in messages if m["msg_type"] == "update_display_data"]
    assert "of 1,000 runs | stopped after" in progress[-1]
    (error,) = (message["content"] for message in messages if message["msg_type"] == "error")
    assert error["ename"] == "KeyboardInterrupt"
    (said,) = (m["content"]["text"] for m in messages if m["msg_type"] == "stream")
    kept = len(list(tmp_path.rglob("*.json")))
    assert kept
    where = f"{kept:,} of 1,000 runs are kept in {tmp_path}"
    assert said == f"sweep: interrupted; {where}; the same call goes on with the others\n"
